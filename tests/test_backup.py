"""`manage.py backup` and `restore`: a drill under load, and what is refused."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from psycopg import sql

from config import backups, secret_key, servers
from tests.factories import UserFactory, WebhookFactory
from tests.support.concurrency import wait_until
from tests.support.processes import ROOT, environment
from tests.support.surveys import scenario
from webhooks.services import sealed_secrets

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

SECRET = "whsec_only-for-tests"
WRITERS = 3


@pytest.fixture
def new_database() -> Iterator[str]:
    """The URL of an empty database of the same server."""
    name = f"{connection.settings_dict['NAME']}_restored"
    quoted = sql.Identifier(name)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(quoted))
    parts = urlsplit(os.environ["DATABASE_URL"])
    yield f"{parts.scheme}://{parts.netloc}/{name}?{parts.query}"
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of this test's database, with a project that was answered once and a webhook."""
    secret_key.record()
    _answer(scenario.project(scenario.CHOICE), "first")
    webhook = WebhookFactory.create()
    webhook.sealed_secret = sealed_secrets.seal(SECRET, community_id=webhook.community_id)
    webhook.save()
    client, user = Client(), UserFactory.create()
    client.force_login(user)
    UserSession.objects.create(user=user, ip="127.0.0.1", session_key=client.session.session_key)
    file = tmp_path / "all.backup"
    _say("backup", str(file))
    return file


def _say(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def _answer(project: Any, who: str) -> None:
    scenario.say(scenario.begin(project, who), 0)


def _refusal(file: Path, database: str) -> str:
    """The sentence with which `restore` refuses to fill this database."""
    name = urlsplit(database).path.removeprefix("/")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(connection.settings_dict, "NAME", name)
        with pytest.raises(CommandError) as refused:
            _say("restore", str(file))
    return str(refused.value)


def _manifest(file: Path) -> dict[str, Any]:
    with zipfile.ZipFile(file) as archive:
        content: dict[str, Any] = json.loads(archive.read(backups.MANIFEST))
    return content


def _with(file: Path, **changes: object) -> Path:
    """A copy of a backup with another manifest."""
    copy = file.with_name("changed.backup")
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(copy, "w") as changed:
        changed.writestr(backups.DUMP, archive.read(backups.DUMP))
        changed.writestr(backups.MANIFEST, json.dumps(_manifest(file) | changes))
    return copy


def test_a_backup_under_load_is_one_moment_and_is_restored_whole(tmp_path: Path, new_database: str) -> None:
    """Rules 12.560 and 12.561: the drill."""
    secret_key.record()
    project = scenario.project(scenario.CHOICE)
    webhook = WebhookFactory.create()
    webhook.sealed_secret = sealed_secrets.seal(SECRET, community_id=webhook.community_id)
    webhook.save()
    stopping, answered = threading.Event(), [0] * WRITERS
    file = tmp_path / "all.backup"

    def go_on_answering(writer: int) -> None:
        try:
            while not stopping.is_set():
                _answer(project, f"{writer}-{answered[writer]}")
                answered[writer] += 1
        finally:
            connection.close()

    threads = [threading.Thread(target=go_on_answering, args=(each,)) for each in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: all(answered))
        before = sum(answered)
        _say("backup", str(file))
        at_the_end = sum(answered)
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    restored = subprocess.run(
        [sys.executable, "manage.py", "restore", str(file)],
        cwd=ROOT,
        env=environment() | {"DATABASE_URL": new_database},
        capture_output=True,
        text=True,
        check=False,
    )

    assert restored.returncode == 0, restored.stderr
    counts = _manifest(file)["counts"]
    with closing(psycopg.connect(new_database)) as there:
        [[responses, complete]] = there.execute(
            "SELECT count(*), count(completed_at) FROM surveys_conversation"
        ).fetchall()
        [[tallied]] = there.execute("SELECT sum(completed) FROM surveys_tally").fetchall()
        [[sealed]] = there.execute("SELECT sealed_secret FROM webhooks_webhook").fetchall()
    assert before < at_the_end
    assert before <= complete == tallied <= at_the_end + WRITERS
    assert responses == counts["surveys_conversation"]
    assert sealed_secrets.unseal(sealed, community_id=webhook.community_id) == SECRET
    assert f"Restored {sum(counts.values())} rows" in restored.stdout


def test_only_its_owner_reads_the_file_and_nothing_else_is_left(backup: Path) -> None:
    """Rule 12.560."""
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [path.name for path in backup.parent.iterdir()] == [backup.name]
    assert os.environ["SECRET_KEY"].encode() not in backup.read_bytes()


def test_nobody_is_signed_in_after_a_restore(backup: Path, new_database: str) -> None:
    """Rule 12.970."""
    tables = [model._meta.db_table for model in apps.get_models() if "session" in model._meta.label_lower]
    assert sorted(tables) == sorted(backups.SIGN_INS)
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT count(*) FROM {table}")
            assert cursor.fetchone() == (1,)
    name = urlsplit(new_database).path.removeprefix("/")
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(connection.settings_dict, "NAME", name)
        _say("restore", str(backup))

    with closing(psycopg.connect(new_database)) as there:
        for table in tables:
            assert there.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_an_existing_file_is_never_replaced(backup: Path) -> None:
    """Rule 12.560."""
    before = backup.read_bytes()

    with pytest.raises(CommandError, match=r"all\.backup exists\. Nothing was written\."):
        _say("backup", str(backup))

    assert backup.read_bytes() == before


def test_a_dump_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.560."""
    broken = tmp_path / "pg_dump"
    broken.write_text("#!/bin/sh\necho half of it\necho 'disk is full' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(backups, "postgres_tool", lambda name, major: broken)

    with pytest.raises(CommandError, match=r"pg_dump failed: disk is full\. Nothing was written\."):
        _say("backup", str(tmp_path / "all.backup"))

    assert [path.name for path in tmp_path.iterdir()] == ["pg_dump"]


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        _say("backup", str(tmp_path / "missing" / "all.backup"))


def test_a_database_with_tables_is_left_alone(backup: Path) -> None:
    """Rule 12.561."""
    with pytest.raises(CommandError, match="The database is not empty"):
        _say("restore", str(backup))


NEWER = ["surveys.9999_of_next_year"]


# What the manifest says, and the refusal; the last one is noticed when everything is restored.
UNFIT: list[tuple[dict[str, object], str]] = [
    ({"fingerprint": "0" * 64}, "The backup was made with another SECRET_KEY"),
    ({"migrations": NEWER}, "by a newer Colloquy (1.0.0): this one does not know surveys.9999_of_next_year"),
    ({"format": 2}, "by a newer Colloquy (1.0.0): this one does not know its format"),
    ({"postgresql": 99}, "The backup is from PostgreSQL 99, and this server is the older"),
    ({"more": 1}, "is no backup, or it is damaged"),
    ({"migrations": 5}, "is no backup, or it is damaged"),
    ({"counts": {"surveys_answer": 7}}, "Do not use this database."),
]


def test_what_does_not_fit_is_refused_in_words(backup: Path, new_database: str) -> None:
    """Rule 12.561."""
    for changes, sentence in UNFIT:
        assert sentence in _refusal(_with(backup, **changes), new_database)
        assert _has_tables(new_database) == ("counts" in changes), changes


def _has_tables(database: str) -> bool:
    with closing(psycopg.connect(database)) as there:
        return bool(there.execute(backups._TABLES).fetchall())


def test_a_damaged_file_restores_nothing(backup: Path, new_database: str) -> None:
    """Rule 12.561."""
    whole = backup.read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:middle], whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]):
        backup.write_bytes(damaged)

        assert "damaged" in _refusal(backup, new_database)
        assert not _has_tables(new_database)


def test_the_tool_of_the_servers_version_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.560."""
    for major in (15, 17, 18):
        folder = tmp_path / str(major)
        folder.mkdir()
        (folder / "pg_dump").write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.1'\n")
        (folder / "pg_dump").chmod(0o755)
    monkeypatch.delenv("COLLOQUY_POSTGRES_BIN", raising=False)
    monkeypatch.setattr(servers, "_in_wheel", lambda package, pattern: [tmp_path / "18", tmp_path / "15"])
    monkeypatch.setattr(servers, "_postgres_on_path", lambda program: [tmp_path / "17"])

    taken = [servers.postgres_tool("pg_dump", major=major).parent.name for major in (14, 15, 17, 18)]

    assert taken == ["15", "15", "17", "18"]
    for major, fitting in ((16, "16"), (19, "19 or newer")):
        with pytest.raises(servers.CannotStart, match=f"No pg_dump of PostgreSQL {fitting} was found"):
            servers.postgres_tool("pg_dump", major=major)
