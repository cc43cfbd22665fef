"""`migrate` for a site in use. A long statement is not cancelled, and a short statement does not stop the
site.

A statement that waits for a lock blocks all other statements behind it. So the statement gives up after
LOCK_TIMEOUT, and its transaction is retried later: a whole migration, or one operation of a migration that is
not atomic. An index that is created concurrently blocks nobody, and may wait for hours, for example for a
backup.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.operations.base import Operation
from psycopg.errors import DeadlockDetected, LockNotAvailable

from config import secret_key
from config.models import KeyFingerprint

LOCK_TIMEOUT = "2s"
PAUSES = (1, 2, 4, 8, 15, 30, 30, 30)  # The seconds between two tries.
# Indexes that an interrupted REINDEX CONCURRENTLY leaves beside the original index.
_LEFT_BY_REINDEX = re.compile(r"_cc(new|old)\d*$")
_INVALID_INDEXES = """
    SELECT index.relname FROM pg_index i
    JOIN pg_class index ON index.oid = i.indexrelid JOIN pg_class tab ON tab.oid = i.indrelid
    WHERE NOT i.indisvalid AND tab.relname = ANY(%s) AND pg_table_is_visible(tab.oid)
    AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
    ORDER BY 1
"""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        self._database: BaseDatabaseWrapper = connections[options["database"]]
        self._current = ""
        try:
            self._set(statement_timeout="0", idle_in_transaction_session_timeout="0")
            self._try(lambda: super(Command, self).handle(*args, **options))
            if not options["fake"]:
                self._rebuild_invalid_indexes()
            if KeyFingerprint._meta.db_table in self._database.introspection.table_names():
                secret_key.record()
        finally:
            if not self._database.in_atomic_block:
                self._database.close()  # The next connection has the usual timeouts.

    def migration_progress_callback(
        self, action: str, migration: Migration | None = None, fake: bool = False
    ) -> None:
        """Prepare each migration. Django calls this method outside of the migration's transaction."""
        if migration is not None and action in {"apply_start", "unapply_start"} and not fake:
            self._current = f"{migration.app_label}.{migration.name}"
            names = _concurrent_indexes(migration, forwards=action == "apply_start")
            self._set(lock_timeout="0" if names else LOCK_TIMEOUT)
            for name in names:
                self._drop_leftover(name)
            if not migration.atomic:
                for operation in migration.operations:
                    self._try_each_time(operation)
        super().migration_progress_callback(action, migration, fake)

    def _try_each_time(self, operation: Operation) -> None:
        """Retry an operation alone, because the operations before it have been committed."""
        for name in ("database_forwards", "database_backwards"):
            run = getattr(operation, name)
            setattr(operation, name, lambda *args, run=run: self._try(lambda: run(*args)))

    def _try(self, run: Callable[[], object]) -> None:
        """Run a function, and repeat it if the function does not get its locks.

        Raises CommandError after the last try.
        """
        for pause in (*PAUSES, None):
            try:
                run()
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if pause is None:
                    raise CommandError(
                        f"{self._current} was tried {len(PAUSES) + 1} times, but other transactions hold "
                        "locks on its tables all the time. End those transactions, or run migrate again when "
                        "the site is quieter."
                    ) from error
                self.stderr.write(
                    f"\n{self._current} waits for a lock of another transaction. Next try in {pause} s."
                )
                time.sleep(pause)
            else:
                return

    def _drop_leftover(self, name: str) -> None:
        """Drop an index that a migration is about to create, if an interrupted try has left it."""
        with self._database.cursor() as cursor:
            cursor.execute(
                "SELECT FROM pg_class WHERE relname = %s AND relkind = 'i' AND pg_table_is_visible(oid)",
                [name],
            )
            if cursor.fetchone() is not None:
                self._say(f"An interrupted migration has left the index {name}, which is built again.")
                cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {self._quoted(name)}")

    def _rebuild_invalid_indexes(self) -> None:
        """Rebuild invalid indexes, which PostgreSQL keeps up to date but does not read.

        Indexes that are being built now remain unchanged.
        """
        with self._database.cursor() as cursor:
            cursor.execute(_INVALID_INDEXES, [self._database.introspection.django_table_names()])
            names = [name for (name,) in cursor.fetchall()]
            if names:
                self._set(lock_timeout="0")
            for name in names:
                self._say(f"The index {name} is invalid, as its creation was interrupted. It is rebuilt.")
                statement = "DROP INDEX" if _LEFT_BY_REINDEX.search(name) else "REINDEX INDEX"
                cursor.execute(f"{statement} CONCURRENTLY {self._quoted(name)}")

    def _set(self, **settings: str) -> None:
        with self._database.cursor() as cursor:
            for name, value in settings.items():
                cursor.execute(f"SET {name} = %s", [value])

    def _say(self, sentence: str) -> None:
        if self.verbosity:
            self.stdout.write(f"\n{sentence}")

    def _quoted(self, name: str) -> str:
        return self._database.ops.quote_name(name)


def _concurrent_indexes(migration: Migration, *, forwards: bool) -> list[str]:
    """The indexes that a migration creates concurrently in this direction."""
    if forwards:
        return [each.index.name for each in migration.operations if isinstance(each, AddIndexConcurrently)]
    return [each.name for each in migration.operations if isinstance(each, RemoveIndexConcurrently)]
