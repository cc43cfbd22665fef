"""`manage.py migrate` on a site in use: slow statements, held locks, and indexes left half built."""

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from pytest_django import Settings

from config import secret_key
from config.management.commands import migrate as command
from config.models import KeyFingerprint
from tests.support.database import fetch_all

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _stalling(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The app is installed without a table, and the usual timeout is shorter than its first migration."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "options", "-c statement_timeout=100ms")
    connection.close()
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.support.stalling"]
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS stalling_thing, stalling_other")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'stalling'")
    connection.close()


def _migrate(name: str, **streams: Any) -> str:
    written = io.StringIO()
    call_command("migrate", "stalling", name, **{"stdout": written, "stderr": written, **streams})
    return written.getvalue()


@contextmanager
def _used_elsewhere() -> Iterator[BaseDatabaseWrapper]:
    """Another connection has written to the table in a transaction that stays open."""
    other = connection.copy()
    other.set_autocommit(False)
    try:
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE stalling_thing IN ROW EXCLUSIVE MODE")
        yield other
    finally:
        other.close()


def _interrupt_creation(statement: str) -> None:
    """Cancel the concurrent creation of an index in its middle."""
    with _used_elsewhere(), connection.cursor() as cursor, pytest.raises(OperationalError, match="timeout"):
        cursor.execute(statement)


def _indexes() -> dict[str, bool]:
    """Whether each index of the table, other than its primary key, is valid."""
    return dict(
        fetch_all(
            "SELECT indexrelid::regclass::text, indisvalid FROM pg_index"
            " WHERE indrelid = 'stalling_thing'::regclass AND NOT indisprimary"
        )
    )


def test_a_statement_may_take_longer_than_the_timeout_of_the_site() -> None:
    _migrate("0001")

    assert fetch_all("SELECT to_regclass('stalling_thing')::text") == [("stalling_thing",)]
    assert fetch_all("SHOW statement_timeout") == [("100ms",)]  # as before, in the same process


@pytest.mark.parametrize(
    ("before", "name"),
    [("0001", "0002_lock"), ("0003", "0004_lock_twice")],  # as a whole, and only its second operation
)
def test_a_migration_that_meets_a_lock_lets_others_pass_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, before: str, name: str
) -> None:
    _migrate(before)
    pauses: list[float] = []
    monkeypatch.setattr(command, "LOCK_TIMEOUT", "20ms")

    with _used_elsewhere() as writer:

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            third = connection.copy()
            with closing(third), third.cursor() as cursor:  # the migration does not stand in its way
                cursor.execute("SELECT FROM stalling_thing")
            if len(pauses) == 2:
                writer.rollback()

        monkeypatch.setattr("time.sleep", pause)
        written = _migrate(name)

    assert pauses == [1, 2]
    assert written.count(f"stalling.{name} waits for a lock of another transaction. Next try in") == 2
    assert fetch_all("SELECT count(*) FROM django_migrations WHERE name = %s", name) == [(1,)]


def test_a_lock_that_is_never_released_ends_it_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    _migrate("0001")
    monkeypatch.setattr(command, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(command, "PAUSES", (0, 0))

    with _used_elsewhere(), pytest.raises(CommandError, match=r"^stalling\.0002_lock was tried 3 times"):
        _migrate("0002")


def test_indexes_that_an_interruption_left_behind_are_built_again() -> None:
    _migrate("0002")
    _interrupt_creation("CREATE INDEX CONCURRENTLY thing_by_number ON stalling_thing (number)")
    left = _indexes()

    first = _migrate("0003")
    after_first = _indexes()
    _interrupt_creation("CREATE INDEX CONCURRENTLY thing_of_an_operator ON stalling_thing (number, id)")
    _interrupt_creation("REINDEX INDEX CONCURRENTLY thing_by_number")
    left_again = _indexes()
    second = _migrate("0003")

    assert left == {"thing_by_number": False}
    assert after_first == {"thing_by_number": True}
    assert "has left the index thing_by_number, which is built again" in first
    assert left_again["thing_of_an_operator"] is False
    assert len(left_again) == 3  # with the unfinished copy
    assert _indexes() == {"thing_by_number": True, "thing_of_an_operator": True}
    assert "The index thing_of_an_operator is invalid" in second


def test_the_key_is_recorded_once_and_then_left_alone() -> None:
    KeyFingerprint.objects.all().delete()

    _migrate("0001")
    recorded = KeyFingerprint.objects.get().fingerprint
    KeyFingerprint.objects.update(fingerprint="of another key")
    _migrate("0001")

    assert recorded == secret_key.fingerprint()
    assert KeyFingerprint.objects.get().fingerprint == "of another key"
