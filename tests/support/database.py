"""Direct access to the test's database."""

from __future__ import annotations

from typing import Any

from django.db import connection


def fetch_all(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
