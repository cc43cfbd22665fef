"""Direct access to the test's database."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction


def fetch_all(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


@contextmanager
def access_rules(lines: str) -> Iterator[None]:
    """Put lines before those of pg_hba.conf. Other processes of the tests, which share the server, wait.

    Skips the test if the tests run on a server that is not their own.
    """
    rules = Path(fetch_all("SHOW hba_file")[0][0])
    if not str(connection.settings_dict["HOST"]).startswith("/") or not os.access(rules, os.W_OK):
        pytest.skip("the tests do not run on a PostgreSQL of their own")
    with (Path(os.environ["VAR_DIR"]).parent / "rules.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        earlier = rules.read_text()
        rules.write_text(f"{lines}{earlier}")
        try:
            fetch_all("SELECT pg_reload_conf()")
            yield
        finally:
            rules.write_text(earlier)


def truncate(*tables: str) -> None:
    """Empty tables and free the space of deleted rows, so later rows are stored in the order of writing."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")


@contextmanager
def kept_for_many_tests(blocker: Any) -> Iterator[None]:
    """Keep the rows that this block writes for all tests of a module or class, and delete them afterwards.

    Tests with the mark `django_db` roll back their own changes. `blocker`: pytest-django's
    `django_db_blocker`.
    """
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    with blocker.unblock(), block:
        yield
        transaction.set_rollback(True)


@contextmanager
def taken_back() -> Iterator[None]:
    """Roll back everything that this block writes, including callbacks that wait for its commit."""
    before, waiting = transaction.savepoint(), len(connection.run_on_commit)
    try:
        yield
    finally:
        transaction.savepoint_rollback(before)
        del connection.run_on_commit[waiting:]
