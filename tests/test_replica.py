"""Exports, results and lists that read from a streaming replica, and what they read while it is behind or
away.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from psycopg.errors import QueryCanceled, SerializationFailure
from pytest_django import Settings

from communities.ground import replica
from communities.ground.replica import Lag, State, from_replica
from config import admin as health_page
from config import environment, metrics, servers, startup
from config.postgresql import pooler
from surveys.models import Project
from surveys.services.people import service as people
from surveys.services.responses import service as responses
from tests.support.caller import TEXT, Caller
from tests.support.concurrency import BackgroundCall, wait_until
from tests.support.database import access_rules, fetch_all
from tests.support.metrics import parse_samples, value
from tests.support.moments import LUNCHTIME
from tests.support.surveys.exports import lines
from tests.support.surveys.results import OPEN_WEB, converse

SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
READS_ONLY = "SELECT current_setting('transaction_read_only')"


@contextmanager
def configured(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Iterator[None]:
    """A replica in the settings, which have these changes."""
    connections.settings[replica.ALIAS] = deepcopy(connection.settings_dict) | changes
    monkeypatch.setattr(replica, "_last", replica._Last())
    try:
        yield
    finally:
        connections[replica.ALIAS].close()
        del connections[replica.ALIAS]
        del connections.settings[replica.ALIAS]


@pytest.fixture
def any_database(django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test connect to a second database, which Django's test cases forbid."""
    real = django_db_blocker._real_ensure_connection
    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", real)


@pytest.fixture
def other(transactional_db: None, any_database: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In place of a replica, another connection to the same database, which only reads and has caught up."""
    options = deepcopy(connection.settings_dict["OPTIONS"])
    options["options"] += " -c default_transaction_read_only=on"
    with configured(monkeypatch, OPTIONS=options):
        monkeypatch.setattr(replica, "measure", lambda **_: Lag(State.OK))
        yield


@from_replica
def only_reads() -> bool:
    return fetch_all(READS_ONLY) == [("on",)]


def test_a_reading_uses_the_replica_and_what_surrounds_it_the_primary(other: None) -> None:
    """Rule 12.940."""

    @from_replica
    def outer() -> list[bool]:
        with transaction.atomic():
            return [only_reads(), fetch_all(READS_ONLY) == [("on",)]]

    assert outer() == [True, True]
    assert fetch_all(READS_ONLY) == [("off",)]
    with transaction.atomic():
        assert not only_reads()


@pytest.mark.parametrize("cause", [SerializationFailure, QueryCanceled, psycopg.OperationalError])
def test_a_reading_that_fails_on_the_replica_runs_on_the_primary(other: None, cause: type[Exception]) -> None:
    """Rule 12.942. A statement that takes too long would take as long there."""
    places = []

    @from_replica
    def reading() -> None:
        places.append(fetch_all(READS_ONLY)[0][0])
        if places == ["on"]:
            if cause is psycopg.OperationalError:
                connection.connection.close()
            raise OperationalError from cause()

    if cause is QueryCanceled:
        with pytest.raises(OperationalError):
            reading()
        assert places == ["on"]
    else:
        reading()
        assert places == ["on", "off"]
        assert only_reads() is (cause is SerializationFailure)


@pytest.mark.parametrize("state", [State.LAGGING, State.UNAVAILABLE, State.WRONG])
def test_a_replica_that_is_not_read_is_left_alone_for_a_moment(
    other: None, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    """Rule 12.942."""
    states = [state, State.OK]
    monkeypatch.setattr(replica, "measure", lambda **_: Lag(states.pop(0)))

    assert [only_reads(), only_reads(), len(states)] == [False, False, 1]
    monkeypatch.setattr(time, "monotonic", lambda: replica._last.rests_until)
    assert only_reads()


def test_a_server_that_is_no_replica_is_never_read_but_named(
    db: None, any_database: None, client: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """Rule 12.942."""
    settings.METRICS = True
    with configured(monkeypatch):
        assert replica.measure() == Lag(State.WRONG)
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        assert answer.json()["replica"] == "wrong"
        assert health_page.check_servers()[-1].text.startswith("is no replica of this database")
        assert value(parse_samples(metrics.render().decode()), "colloquy_replica_up") == 0
        assert startup._problems_of_replica() == []
        monkeypatch.setattr(pooler, "keeps_prepared_statements", lambda: False)
        assert startup._problems_of_replica() == [pooler.LOSES_STATEMENTS.format("DATABASE_REPLICA_URL")]
    with configured(monkeypatch, HOST="127.0.0.1", PORT="1"):
        assert replica.measure() == Lag(State.UNAVAILABLE)


def test_a_replica_has_short_limits_which_its_url_replaces() -> None:
    url = "postgresql://reader@there/colloquy?connect_timeout=9"

    options = environment.django_database(url, statement_timeout=30, limits=environment.LIMITS_OF_A_REPLICA)[
        "OPTIONS"
    ]

    assert (options["connect_timeout"], options["tcp_user_timeout"]) == ("9", 5_000)


# A replica of the tests' own server


@dataclass
class Standby:
    """A streaming replica. `sockets` is the folder of its socket."""

    server: servers.Server
    sockets: Path

    def run(self, statement: str) -> Any:
        """The result of a statement, by a connection of its own."""
        with psycopg.connect(host=str(self.sockets), user="colloquy", dbname="postgres") as database:
            return database.execute(statement).fetchall()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Receive, but do not replay."""
        self.run("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.run("SELECT pg_get_wal_replay_pause_state()") == [("paused",)])
        yield
        self.run("SELECT pg_wal_replay_resume()")


@pytest.fixture
def standby(
    transactional_db: None,
    any_database: None,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
) -> Iterator[Standby]:
    """A replica of the tests' own server, which readings use."""
    with access_rules("local replication all trust\n"):
        yield from _streaming(monkeypatch, settings)


def _streaming(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[Standby]:
    folder = servers.new_folder(prefix="colloquy-replica-")
    folder.chmod(0o711)
    sockets, data = folder / "pg", folder / "data"
    sockets.mkdir()
    copying = servers.postgres_binaries() / "pg_basebackup"
    words = [
        "--host",
        connection.settings_dict["HOST"],
        "--username=colloquy",
        "--checkpoint=fast",
        "--write-recovery-conf",
    ]
    subprocess.run([copying, *words, "--pgdata", data], check=True)
    with (data / "postgresql.auto.conf").open("a") as added:
        added.write("max_standby_streaming_delay = 0\n")  # of changes that readings are in the way of
    # A standby begins only once no transaction has more than 64 savepoints: scenes of other tests may have.
    monkeypatch.setattr(servers, "SECONDS_TO_START", 180)
    server = servers.start_postgres(data=data, sockets=sockets, log=folder / "log", durable=False)
    settings.DATABASE_REPLICA_SECONDS, settings.METRICS = 10.0, True
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "options", f"{options['options']} -c synchronous_commit=on")
    connection.close()
    try:
        with configured(monkeypatch, HOST=str(sockets)):
            yield Standby(server, sockets)
    finally:
        connection.close()
        server.stop()
        shutil.rmtree(folder)


@contextmanager
def noted() -> Iterator[list[str]]:
    """The statements of this thread that the replica gets."""
    statements: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        statements.append(sql)
        return execute(sql, *rest)

    with connections[replica.ALIAS].execute_wrapper(note):
        yield statements


def exported(caller: Caller, made: dict[str, Any]) -> list[list[str]]:
    """The lines of an export."""
    return lines(caller.get(f"/projects/{made['id']}/responses/export").getvalue())[1:]


def listed(caller: Caller, made: dict[str, Any]) -> int:
    return int(caller.get(f"/projects/{made['id']}/responses").json()["pagination"]["total"])


def counted(caller: Caller, made: dict[str, Any]) -> int:
    return int(caller.get(f"/projects/{made['id']}/analysis/results").json()["conversation_count"])


@pytest.mark.long
def test_exports_results_and_lists_read_from_the_replica_what_was_just_written(
    standby: Standby, client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules 12.940 and 12.941."""
    caller = Caller()
    made = caller.make_open(TEXT, delivery=OPEN_WEB)

    assert standby.run("SELECT pg_is_in_recovery()") == [(True,)]
    with noted() as statements:
        for n in range(1, 11):
            converse(caller, made, [f"Because of the sea, {n}."])
            for read in (lambda *which: len(exported(*which)), listed, counted):
                statements.clear()
                assert read(caller, made) == n
                assert any("surveys_" in each for each in statements), read
        statements.clear()
        assert len(caller.get("/members").json()["data"]) == 1
        assert any("communities_member" in each for each in statements)
    assert client.get("/readyz").json() == {
        "status": "ok",
        **dict.fromkeys(("database", "redis", "secret_key", "replica"), "ok"),
    }

    # A replica that is behind is not read, so nobody misses a response or finds an erased person.
    ann = caller.beside("member")
    member = caller.community.members.get(user=ann.user)
    converse(caller, made, ["I feed the gulls."], member_id=str(member.pk))
    assert str(ann.user.pk) in exported(caller, made)[-1]
    settings.DATABASE_REPLICA_SECONDS = 0.2
    with standby.paused():
        people.erase(actor=caller.actor, member_id=member.pk, at=LUNCHTIME)
        converse(caller, made, ["Because of the wind."])
        found = exported(caller, made)
        assert [listed(caller, made), counted(caller, made)] == [len(found), len(found)]
        assert found[-1][-1] == "Because of the wind."
        assert not any(str(ann.user.pk) in line for line in found)
        degraded = client.get("/readyz")
        assert (degraded.status_code, degraded.json()["replica"]) == (200, "lagging")
        samples = parse_samples(metrics.render().decode())
        assert value(samples, "colloquy_replica_up") == 1
        assert (value(samples, "colloquy_replica_lag_bytes") or 0) > 0
    settings.DATABASE_REPLICA_SECONDS = 10.0
    monkeypatch.setattr(replica, "_last", replica._Last())
    with noted() as statements:
        assert exported(caller, made) == found
        assert any("surveys_" in each for each in statements)


@pytest.mark.long
def test_no_reading_fails_where_the_replica_cancels_it_or_dies_in_its_middle(
    standby: Standby, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 12.942."""
    caller = Caller()
    made = caller.make_open(TEXT, delivery=OPEN_WEB)
    for n in range(6):
        converse(caller, made, [f"Because of the sea, {n}."])
    places: list[bool] = []

    @from_replica
    def reading() -> None:
        places.append(fetch_all("SELECT pg_is_in_recovery()")[0][0])
        if places == [True]:
            fetch_all("SELECT count(*) FROM surveys_summarymessage, pg_sleep(60)")

    def change() -> None:
        wait_until(lambda: standby.run(SLEEPING) == [(1,)])
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE surveys_summarymessage IN ACCESS EXCLUSIVE MODE")

    changing = BackgroundCall(change)
    reading()
    assert (changing.result(), places) == (None, [True, False])

    monkeypatch.setattr(replica, "SECONDS_TO_ANSWER", 0.2)
    with replica.instead_of_primary():
        [[frozen]] = fetch_all("SELECT pg_backend_pid()")
    os.kill(frozen, signal.SIGSTOP)
    assert listed(caller, made) == 6
    os.kill(frozen, signal.SIGCONT)
    assert replica._last.state == State.UNAVAILABLE
    monkeypatch.setattr(replica, "_last", replica._Last())

    monkeypatch.setattr(replica, "SECONDS_TO_ANSWER", 10.0)
    monkeypatch.setattr(responses, "FIRST_BATCH", 2)
    project = Project.objects.get(pk=made["id"])
    batches = responses.batches(project=project, filters={})
    with noted() as statements:
        first = next(batches)
        assert any("surveys_" in each for each in statements)
    standby.server.process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    assert client.get("/readyz").json()["replica"] == "unavailable"
    assert time.monotonic() - begun < connection.settings_dict["OPTIONS"]["connect_timeout"]
    standby.server.process.kill()
    standby.server.process.wait()
    found = [row[0] for batch in (first, *batches) for row in batch]
    assert len(set(found)) == 6
    assert (len(exported(caller, made)), listed(caller, made), counted(caller, made)) == (6, 6, 6)
    degraded = client.get("/readyz")
    assert (degraded.status_code, degraded.json()["replica"]) == (200, "unavailable")
