"""Backups of the whole installation: one file with a dump of the database and a manifest.

All data is in the database, uploaded pictures included, so nothing else has to be kept except SECRET_KEY,
which is not in the file. Sign-ins are not in the file either: with their keys, a reader of the file could act
as everybody who is signed in, and a restore would revive those that have ended since.

The file is a ZIP archive: `database.dump` in pg_dump's custom format, and `manifest.json`, which is written
last. Both show the database at one moment, also while the site is in use.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql
from psycopg.conninfo import make_conninfo

from config import secret_key
from config.servers import postgres_tool

DUMP, MANIFEST = "database.dump", "manifest.json"
FORMAT = 1
SIGN_INS = ("django_session", "usersessions_usersession")  # tables that are empty in a backup
MAX_MANIFEST = 1_048_576  # bytes
CHUNK = 1_048_576  # bytes that are copied at once
_TABLES = """
    SELECT c.relname FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY 1
"""
_MIGRATIONS = "SELECT app || '.' || name FROM django_migrations ORDER BY 1"
# No statement here may be ended by the timeouts of web processes.
_NO_TIMEOUTS = """
    SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0
"""


class CannotRestore(Exception):
    """The file cannot be restored here. The message is a sentence to show to the user."""


@dataclass(frozen=True)
class Manifest:
    """What a backup contains. `fingerprint` is that of the database's SECRET_KEY; None: it recorded none.

    `counts` are the numbers of rows by table, and `postgresql` is the major version of the server.
    """

    format: int
    version: str
    made_at: str
    postgresql: int
    fingerprint: str | None
    migrations: list[str]
    counts: dict[str, int]

    @property
    def rows(self) -> int:
        return sum(self.counts.values())


# Writing


def write(file: Path, *, at: datetime) -> Manifest:
    """Write a backup of the database. Either the whole file is there at the end, or none.

    Only its owner can read the file. Raises FileExistsError if it exists, CannotStart without a pg_dump that
    fits, and CalledProcessError if pg_dump fails.
    """
    if file.exists():
        raise FileExistsError(file)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".unfinished", dir=file.parent)
    try:
        with open(descriptor, "wb") as unfinished:
            with zipfile.ZipFile(unfinished, "w", allowZip64=True) as archive:
                manifest = _dump(archive, at=at)
                archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2))
            unfinished.flush()
            os.fsync(unfinished.fileno())
        # `os.replace` alone would overwrite a file of this name that was made meanwhile.
        file.touch(mode=0o600, exist_ok=False)
        os.replace(temporary, file)
    except BaseException:
        os.unlink(temporary)
        raise
    return manifest


def _dump(archive: zipfile.ZipFile, *, at: datetime) -> Manifest:
    """Dump the database as one snapshot shows it, and return the manifest of the same snapshot."""
    with closing(_connect()) as own, own.transaction():
        own.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        [[snapshot]] = own.execute("SELECT pg_export_snapshot()").fetchall()
        major = own.info.server_version // 10_000
        options = ["--format=custom", f"--snapshot={snapshot}", "--no-owner", "--no-privileges"]
        options += [f"--exclude-table-data={name}" for name in SIGN_INS]
        with (
            _program("pg_dump", *options, major=major, own=own, stdout=subprocess.PIPE) as process,
            archive.open(DUMP, "w", force_zip64=True) as dump,
        ):
            assert process.stdout is not None
            shutil.copyfileobj(process.stdout, dump, CHUNK)
        recorded = own.execute("SELECT fingerprint FROM config_keyfingerprint").fetchone()
        return Manifest(
            format=FORMAT,
            version=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
            made_at=at.isoformat(),
            postgresql=major,
            fingerprint=recorded[0] if recorded else None,
            migrations=[name for (name,) in own.execute(_MIGRATIONS).fetchall()],
            counts=_counts(own) | dict.fromkeys(SIGN_INS, 0),
        )


# Restoring


def restore(file: Path) -> Manifest:
    """Restore a backup into this installation's database, which must be empty: all of it, or nothing.

    Raises CannotRestore if the file is broken or newer than this program, if the database is not empty or
    older than the backup's, if SECRET_KEY is another, or if the numbers of rows differ at the end.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = _read_manifest(archive)
            _check_program(manifest)
            with closing(_connect()) as own:
                _check_database(manifest, own)
                if archive.testzip() is not None:
                    raise CannotRestore(f"{file} is damaged.")
                _load(archive, manifest, own)
                _check_counts(manifest, _counts(own))
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, TypeError, RecursionError) as error:
        raise CannotRestore(f"{file} is no backup, or it is damaged.") from error
    return manifest


def _read_manifest(archive: zipfile.ZipFile) -> Manifest:
    with archive.open(MANIFEST) as stored:
        manifest = Manifest(**json.loads(stored.read(MAX_MANIFEST)))
    if not isinstance(manifest.counts, dict) or not isinstance(manifest.migrations, list):
        raise TypeError("The manifest has other parts than `_dump` writes.")
    return manifest


def _check_program(manifest: Manifest) -> None:
    known = {".".join(name) for name in MigrationLoader(None).disk_migrations}
    newer = sorted(set(manifest.migrations) - known)
    if manifest.format > FORMAT or newer:
        raise CannotRestore(
            f"The backup was made by a newer Colloquy ({manifest.version}): this one does not know "
            f"{newer[0] if newer else 'its format'}. Install that version, and restore then."
        )
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    if manifest.fingerprint not in {None, *map(secret_key.fingerprint, keys)}:
        raise CannotRestore(
            "The backup was made with another SECRET_KEY: set that one. With this key, its secrets could not "
            "be read, and respondents would not be recognised."
        )


def _check_database(manifest: Manifest, own: psycopg.Connection[Any]) -> None:
    if own.execute(_TABLES).fetchone() is not None:
        raise CannotRestore(
            "The database is not empty: create a new one and set DATABASE_URL, or run `make reset` if it is "
            "the embedded one and its data can go."
        )
    major = own.info.server_version // 10_000
    if major < manifest.postgresql:
        raise CannotRestore(
            f"The backup is from PostgreSQL {manifest.postgresql}, and this server is the older {major}."
        )


def _load(archive: zipfile.ZipFile, manifest: Manifest, own: psycopg.Connection[Any]) -> None:
    major = max(manifest.postgresql, own.info.server_version // 10_000)
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
    with (
        archive.open(DUMP) as dump,
        _program("pg_restore", *options, major=major, own=own, stdin=subprocess.PIPE) as process,
    ):
        assert process.stdin is not None
        with process.stdin as restored, suppress(BrokenPipeError):  # Its exit code says that it failed.
            shutil.copyfileobj(dump, restored, CHUNK)
    own.execute("ANALYZE")


def _check_counts(manifest: Manifest, counts: Mapping[str, int]) -> None:
    names: Collection[str] = manifest.counts.keys() | counts.keys()
    wrong = sorted(name for name in names if manifest.counts.get(name) != counts.get(name))
    if wrong:
        raise CannotRestore(
            f"Restored, but the table {wrong[0]} has {counts.get(wrong[0], 0)} rows, and the backup says "
            f"{manifest.counts.get(wrong[0], 0)}. Do not use this database."
        )


# The database


def _connect() -> psycopg.Connection[Any]:
    """A connection of its own to this installation's database, without timeouts."""
    own = psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor})
    own.autocommit = True
    own.execute(_NO_TIMEOUTS)
    return own


def _counts(own: psycopg.Connection[Any]) -> dict[str, int]:
    names = [name for (name,) in own.execute(_TABLES).fetchall()]
    count = sql.SQL("SELECT count(*) FROM {}")
    return {name: own.execute(count.format(sql.Identifier(name))).fetchall()[0][0] for name in names}


@contextmanager
def _program(
    name: str,
    *options: str,
    major: int,
    own: psycopg.Connection[Any],
    stdin: int | None = None,
    stdout: int | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program of PostgreSQL on this database. Raises CalledProcessError if it fails.

    Its password is in its environment, where other users cannot read it, and not among its arguments.
    """
    # Only what this installation sets: psycopg's own libpq has options that an older program does not know.
    chosen = connection.get_connection_params()
    place = {name: value for name, value in own.info.get_parameters().items() if name in chosen}
    command = [str(postgres_tool(name, major=major)), *options, f"--dbname={make_conninfo(**place)}"]
    environment = os.environ | ({"PGPASSWORD": own.info.password} if own.info.password else {})
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, env=environment, stdin=stdin, stdout=stdout, stderr=errors)
        try:
            yield process
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        if code:
            raise subprocess.CalledProcessError(code, name, stderr=_last_line(errors))


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "without a reason"
