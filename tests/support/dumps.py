"""The whole database as text, in which tests search for forbidden data."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def dump() -> dict[str, set[str]]:
    """Every row of every table as text, by table. Bytes appear as Latin-1 and as hex."""
    rows = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            rows[table] = {repr([readable(value) for value in row]) for row in cursor.fetchall()}
    return rows


def readable(value: object) -> object:
    """A value of a column in a form that can be searched."""
    if isinstance(value, memoryview | bytes):
        return bytes(value).decode("latin-1") + bytes(value).hex()
    return value.isoformat() if isinstance(value, datetime) else value
