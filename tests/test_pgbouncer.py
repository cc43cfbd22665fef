"""Prepared statements behind a PgBouncer in transaction mode, and without one."""

import subprocess
from typing import Any

import pytest
from django.conf import settings as current
from django.db import DatabaseError, connection
from pytest_django import Settings

from communities.ground.statements import prepared
from config import environment, startup
from config.postgresql import pooler
from tests.support.concurrency import run_together
from tests.support.pgbouncer import BINARY, pgbouncer

__all__ = ["pgbouncer"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]


def _options(*, prepared_statements: bool) -> dict[str, Any]:
    database = environment.django_database(
        current.DATABASE_URL, statement_timeout=30, prepared_statements=prepared_statements
    )
    return dict(database["OPTIONS"])


def _repeat() -> list[int]:
    """The results of two repeated statements, like the statements of a hot path."""
    results = []
    for number in range(20):
        for statement in ("SELECT %s::int + 1", "SELECT %s::int + 2"):
            with prepared() as cursor:
                cursor.execute(statement, [number])
                results.append(cursor.fetchone()[0])
    return results


EXPECTED = [number + more for number in range(20) for more in (1, 2)]


@pytest.mark.usefixtures("pgbouncer")
def test_an_old_pgbouncer_is_told_at_the_start_and_works_without_prepared_statements(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    version = subprocess.run([str(BINARY), "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, version.split()[1].split(".")))[:2] >= (1, 21):
        pytest.skip("this PgBouncer keeps prepared statements")
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", _options(prepared_statements=True))
    failures = run_together(_repeat, _repeat, _repeat, _repeat)
    with pytest.raises(SystemExit) as stopped:
        startup.check()

    settings.PREPARED_STATEMENTS = False
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", _options(prepared_statements=False))
    startup.check()
    results = run_together(_repeat, _repeat, _repeat, _repeat)

    assert any(isinstance(failure, DatabaseError) for failure in failures)
    assert stopped.value.code == pooler.LOSES_STATEMENTS.format("DATABASE_URL")
    assert results == [EXPECTED] * 4


def test_without_a_pooler_statements_are_prepared_and_nothing_is_told() -> None:
    startup.check()

    assert current.PREPARED_STATEMENTS
    assert pooler.keeps_prepared_statements()
    assert _options(prepared_statements=True)["prepare_threshold"] == 2
    assert _repeat() == EXPECTED
