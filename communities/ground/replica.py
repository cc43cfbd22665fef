"""Big readings from a streaming replica of the database (rules 12.940 to 12.942).

A reading sees at least what was committed before it began. First the primary says how far its log is written,
and the reading waits a moment until the replica has replayed the log up to there. So everybody finds what
they have just written, and nobody finds what was erased; writes need no mark for that. While the replica
takes longer, or does not answer, readings use the primary.
"""

from __future__ import annotations

import functools
import math
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from threading import Thread
from typing import ParamSpec, TypeVar

import psycopg
import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import QueryCanceled
from psycopg.pq import ExecStatus

ALIAS = "replica"
P = ParamSpec("P")
R = TypeVar("R")
log = structlog.get_logger("colloquy.replica")


class State(StrEnum):
    """Whether readings use the replica, or the reason why they use the primary."""

    OK = "ok"
    LAGGING = "lagging"
    UNAVAILABLE = "unavailable"
    WRONG = "wrong"


# For this time no reading of this process tries the replica again; then one does, before the others.
SECONDS_TO_REST = {State.LAGGING: 1.0, State.UNAVAILABLE: 5.0, State.WRONG: 5.0}
SECONDS_TO_ANSWER = 2.0  # A replica that does not say its position in this time is not read.
SECONDS_OF_A_PROBE = 0.5
# The position in the log that a commit has reached before its client is answered. Without
# `synchronous_commit` the log is written a little later.
_PRIMARY = """
    SELECT system_identifier::text || current_database(), pg_wal_lsn_diff(
        CASE current_setting('synchronous_commit')
            WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn()
        END, '0/0')::bigint
    FROM pg_control_system()
"""
_REPLICA = """
    SELECT system_identifier::text || current_database(),
        CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END,
        extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float
    FROM pg_control_system()
"""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the replica is behind the primary: in bytes of the log, and in seconds since the last commit
    that the replica has replayed. Both are None if the replica did not say.
    """

    state: State
    bytes: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Last:
    """The last state that a reading of this process has found."""

    state: State = State.OK
    rests_until: float = -math.inf


_last = _Last()


def is_set() -> bool:
    """Whether the installation has a replica."""
    return ALIAS in connections.settings


def from_replica(reading: Callable[P, R]) -> Callable[P, R]:
    """Decorator for a function that only reads, and returns rows instead of a queryset.

    The function reads from the replica if there is one. It runs again, on the primary, if the replica fails,
    ends the statement because of a conflict with the primary's changes, or refuses the statement. Inside a
    transaction the function reads from the primary.
    """

    @functools.wraps(reading)
    def read(*args: P.args, **kwargs: P.kwargs) -> R:
        if not is_set() or not _may_use_replica():
            return reading(*args, **kwargs)
        try:
            with _as_default(connections[ALIAS]):
                return reading(*args, **kwargs)
        except (DatabaseError, InterfaceError) as error:
            if isinstance(error.__cause__, QueryCanceled):  # The time limit holds for the primary, too.
                raise
            _leave(error, reading.__qualname__)
        return reading(*args, **kwargs)

    return read


def measure(*, max_wait: float = 0.0) -> Lag:
    """The lag of the replica after at most `max_wait` seconds for catching up."""
    ends, pause = time.monotonic() + max_wait, 0.001
    replica = connections[ALIAS]
    try:
        with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
            cursor.execute(_PRIMARY)
            database, written = cursor.fetchone()
        while True:
            own, replayed, seconds = _position_of(replica)
            if own != database or replayed is None:
                return Lag(State.WRONG)
            if replayed >= written:
                return Lag(State.OK, 0, 0.0)
            if time.monotonic() + pause > ends:
                return Lag(State.LAGGING, written - replayed, seconds)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
    except (DatabaseError, InterfaceError) as error:
        replica.close()
        log.info("replica.unavailable", cause=type(error.__cause__ or error).__name__)
        return Lag(State.UNAVAILABLE)


def state() -> State:
    """The state that a probe finds within SECONDS_OF_A_PROBE.

    Proxies wait about a second for a probe, and take a process that does not answer for one that cannot work.
    So the probe has its own thread and connections, which may wait longer for a machine that has vanished.
    """
    found: list[State] = []

    def probe() -> None:
        try:
            found.append(
                measure(max_wait=min(settings.DATABASE_REPLICA_SECONDS, SECONDS_OF_A_PROBE / 2)).state
            )
        finally:
            connections.close_all()

    thread = Thread(target=probe, daemon=True)
    thread.start()
    thread.join(SECONDS_OF_A_PROBE)
    return found[0] if found else State.UNAVAILABLE


def _position_of(replica: BaseDatabaseWrapper) -> tuple[str, int | None, float | None]:
    """The database's name, the position in the log, and the seconds, as a replica says them.

    Raises OperationalError after SECONDS_TO_ANSWER. Statements of a cursor would wait for a process that is
    frozen, or for a pooler without a server.
    """
    replica.close_if_health_check_failed()
    replica.ensure_connection()
    with replica.wrap_database_errors:
        connection = replica.connection.pgconn
        connection.send_query(_REPLICA.encode())
        connection.flush()
        poll = select.poll()
        poll.register(connection.socket, select.POLLIN)
        if not poll.poll(SECONDS_TO_ANSWER * 1000):
            raise psycopg.OperationalError("The replica does not answer.")
        result = connection.get_result()
        if result is None or result.status != ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError("The replica does not say its position.")
        connection.get_result()  # The end of the answer.
    own, replayed, seconds = (result.get_value(0, column) for column in range(3))
    return own.decode(), replayed and int(replayed), seconds and float(seconds)


@contextmanager
def instead_of_primary() -> Iterator[None]:
    """Let all statements of this thread use the replica, for checks of its connection."""
    with _as_default(connections[ALIAS]):
        yield


def _may_use_replica() -> bool:
    primary = connections[DEFAULT_DB_ALIAS]
    if primary.in_atomic_block or primary.alias == ALIAS:  # The latter is a reading inside another one.
        return False
    now = time.monotonic()
    if _last.state != State.OK:
        if now < _last.rests_until:
            return False
        _last.rests_until = now + SECONDS_TO_REST[_last.state]
    state = measure(max_wait=settings.DATABASE_REPLICA_SECONDS).state
    _note(state)
    return state == State.OK  # Another thread may have changed the last state.


def _note(state: State) -> None:
    if state != _last.state:
        log.warning("replica.state", state=state, before=_last.state)
    _last.state = state
    if state != State.OK:
        _last.rests_until = time.monotonic() + SECONDS_TO_REST[state]


def _leave(error: Exception, reading: str) -> None:
    """Note that a reading has failed on the replica. A connection that has ended means that the replica is
    away.
    """
    log.warning("replica.left", reading=reading, cause=type(error.__cause__ or error).__name__)
    replica = connections[ALIAS]
    is_away = replica.connection is None or replica.connection.closed
    replica.close()  # Django would ask the server whether the connection still works, and wait for that.
    if is_away:
        _note(State.UNAVAILABLE)


@contextmanager
def _as_default(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Let the statements of this thread use another connection. Connections belong to one thread each."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = database
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary
