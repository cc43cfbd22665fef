"""Statements written by hand. Those that run again and again are parsed and planned once a connection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper
from psycopg import Cursor


class _Cursor(Cursor[Any]):
    def _convert_query(self, *args: Any) -> Any:
        """Leaves the statement where Django's log of queries looks for it."""
        self._query = super()._convert_query(*args)
        return self._query


@contextmanager
def prepared() -> Iterator[CursorWrapper]:
    """A cursor like Django's own, with parameters sent apart from the statement, which psycopg so prepares.

    The database's CPU time for a vote fell from 1.2 to 0.6 ms, and for an answer on a page from 0.8 to 0.35.
    A parameter that stands where PostgreSQL cannot tell its type needs a cast. See also `prepare_threshold`
    in the settings.
    """
    connection.close_if_health_check_failed()  # as Django does before the first statement of a request
    connection.ensure_connection()
    wrapped = connection.make_debug_cursor if connection.queries_logged else connection.make_cursor
    with wrapped(_Cursor(connection.connection)) as cursor:  # type: ignore[arg-type]
        yield cursor


def found(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows of a statement that is planned for its values each time, as one about a whole table should."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
