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
