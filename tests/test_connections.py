"""A persistent connection is checked before it is used, without a statement."""

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext


@pytest.mark.django_db
def test_an_open_connection_is_usable_and_checked_without_a_statement() -> None:
    connection.ensure_connection()

    with CaptureQueriesContext(connection) as statements:
        is_usable = connection.is_usable()

    assert is_usable
    assert len(statements) == 0


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_has_closed_is_unusable() -> None:
    connection.ensure_connection()
    parameters = connection.get_connection_params()
    address = {
        name: parameters[name]
        for name in ("dbname", "user", "password", "host", "port")
        if name in parameters
    }
    process = connection.connection.info.backend_pid
    with psycopg.connect(**address, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [process])

    is_usable = connection.is_usable()
    connection.close()

    assert not is_usable
