"""Empties the database after a test that committed, in a time that depends only on the rows it wrote.

Django truncates every table, writes all permissions again and opens a new connection, which takes longer
than most of these tests.
"""

from __future__ import annotations

from functools import cache

from django.db import connection, transaction
from django.test import TransactionTestCase

KEPT = {"django_content_type", "auth_permission"}  # what Django would write again
LARGE = 512 * 1024  # bytes, from which on dead rows and plans made for many rows would slow later tests down
WITHOUT_TRIGGERS = "SET LOCAL session_replication_role = replica"  # nor checks of references
CONNECTION_AS_OPENED = ["SELECT pg_advisory_unlock_all()", "RESET ALL", "SET TIME ZONE 'UTC'"]


def empty_quickly() -> None:
    """Let tests that commit end this way. Without a superuser's role, Django empties the database."""
    TransactionTestCase._fixture_teardown = _empty  # type: ignore[attr-defined]
    TransactionTestCase._should_reload_connections = _needs_new_connection  # type: ignore[attr-defined]


_empty_all = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]


def _empty(test: TransactionTestCase) -> None:
    if not _is_superuser():
        _empty_all(test)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(WITHOUT_TRIGGERS)
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND pg_relation_size(oid) > %s",
            [_tables(), LARGE],
        )
        if large := ", ".join(name for (name,) in cursor.fetchall()):
            cursor.execute(f"TRUNCATE {large} CASCADE")
        # Deleting from all tables in one message takes 1 ms; asking which of them have rows takes 10.
        cursor.execute("; ".join([*(f"DELETE FROM {name}" for name in _tables()), *CONNECTION_AS_OPENED]))


def _needs_new_connection(test: TransactionTestCase) -> bool:
    return not _is_superuser()


@cache
def _is_superuser() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('is_superuser')::boolean")
        (is_superuser,) = cursor.fetchone()
    return bool(is_superuser)


@cache
def _tables() -> list[str]:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [name for name in names if name not in KEPT]
