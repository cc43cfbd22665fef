"""Empties the database after a test that committed, in a time that depends only on the rows it wrote.

Django truncates every table and writes all permissions again, which takes longer than most of these tests.
"""

from __future__ import annotations

from functools import cache

from django.db import connection, transaction
from django.test import TransactionTestCase

KEPT = ("django_content_type", "auth_permission")  # tables that Django would fill again
LARGE = 512 * 1024  # bytes; in larger tables, dead rows and plans for many rows would slow later tests down


def empty_only_what_has_rows() -> None:
    """Let tests that commit end this way. Without a superuser's role, Django empties the database."""
    TransactionTestCase._fixture_teardown = _empty  # type: ignore[attr-defined]


_empty_all = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]


def _empty(test: TransactionTestCase) -> None:
    if not _is_superuser():
        _empty_all(test)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_tables())
        sizes: dict[str, int] = dict(cursor.fetchall())
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger, no check of references
        for table in (name for name, size in sizes.items() if size <= LARGE):
            cursor.execute(f"DELETE FROM {table}")
        large = [name for name, size in sizes.items() if size > LARGE]
        if large:
            cursor.execute(f"TRUNCATE {', '.join(large)} CASCADE")


@cache
def _is_superuser() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('is_superuser')::boolean")
        (is_superuser,) = cursor.fetchone()
    return bool(is_superuser)


@cache
def _tables() -> str:
    """A statement that gives the tables with rows, each with its size in bytes."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return " UNION ALL ".join(
        f"SELECT '{name}', pg_relation_size('{name}') WHERE EXISTS (SELECT FROM {name})"
        for name in sorted(names)
        if name not in KEPT
    )
