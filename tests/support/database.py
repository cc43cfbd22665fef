"""Direct access to the test's database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


def fetch_all(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def truncate(*tables: str) -> None:
    """Empty tables, and take the room of deleted rows, so that rows stand in the order of their writing."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")


@contextmanager
def kept_for_many_tests(blocker: Any) -> Iterator[None]:
    """What a fixture of a module or class writes in this block is there for all its tests, and then gone.

    Tests with the mark `django_db` take back what they change themselves. `blocker`: pytest-django's
    `django_db_blocker`.
    """
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]
    with blocker.unblock(), block:
        yield
        transaction.set_rollback(True)


@contextmanager
def taken_back() -> Iterator[None]:
    """Whatever is written in this block is taken back at its end, with what waits for its commit."""
    before, waiting = transaction.savepoint(), len(connection.run_on_commit)
    try:
        yield
    finally:
        transaction.savepoint_rollback(before)
        del connection.run_on_commit[waiting:]
