"""Notices a connection pooler, such as an old PgBouncer, that loses the statements that a connection has
prepared.
"""

from __future__ import annotations

from contextlib import closing

from django.db import connection
from psycopg import Connection, Cursor
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

LOSES_STATEMENTS = (
    "{} leads to a pooler that loses prepared statements, like PgBouncer before version 1.21 in "
    "transaction mode: set PREPARED_STATEMENTS=false, or use PgBouncer 1.21 or newer with "
    "`max_prepared_statements` above 0, or connect to PostgreSQL directly."
)
TRIES = 10


def keeps_prepared_statements() -> bool:
    """Return whether clients that share a server connection may each prepare their own statements.

    In transaction mode an old pooler gives the next client a server connection with the prepared statements
    of the last client, so the names of the statements are taken. The clients connect one after another, so
    that a small pool is enough. Returns True, too, if none of TRIES clients got the server connection of
    another client.
    """
    seen: set[int] = set()
    for _ in range(TRIES):
        with closing(connection.copy()) as client:
            client.ensure_connection()
            assert isinstance(client.connection, Connection)
            try:
                process = _server_process(client.connection)
            except (DuplicatePreparedStatement, InvalidSqlStatementName):
                return False
            # A pooler answers with its own process id when a client connects.
            if process == client.connection.info.backend_pid or process in seen:
                return True
            seen.add(process)
    return True


def _server_process(client: Connection) -> int:
    with Cursor(client) as cursor:
        row = cursor.execute("SELECT pg_backend_pid()", prepare=True).fetchone()
    assert row is not None
    return int(row[0])
