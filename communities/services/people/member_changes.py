"""Changes of members, announced as events (rules 1.41 and 9.6).

A trigger records each change of a member in the transaction of the change: see `CHANGES_OF_MEMBERS` in the
migrations. Services that change members call `announce` in the same transaction. Seconds later,
`announce_due` announces changes by other writers, and changes with rounded times.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby
from typing import Protocol

from django.db import connection

from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction

BATCH = 500  # One transaction announces at most this many members.
# The query takes rows that are due at a time, in the order of ids, so that concurrent writers never deadlock.
_TAKE = """
    DELETE FROM communities_memberchange WHERE member_id IN (
        SELECT member_id FROM communities_memberchange WHERE {where} ORDER BY member_id {limit}
    ) RETURNING community_id, due_at, member_id
"""
_OF_USERS = "SELECT id FROM communities_member WHERE user_id = ANY(%(users)s)"
_NOW = _TAKE.format(
    where=f"due_at <= clock_timestamp() AND (member_id = ANY(%(members)s) OR member_id IN ({_OF_USERS}))",
    limit="FOR UPDATE",
)
_DUE = _TAKE.format(where="due_at <= %(at)s", limit="LIMIT %(most)s FOR UPDATE SKIP LOCKED")


class Announce(Protocol):
    """Writes an event for each of these members who still exists."""

    def __call__(
        self, *, community_id: int, member_ids: Collection[int], at: datetime, happened_at: datetime | None
    ) -> None: ...


_announcers: list[Announce] = []


def announce_by(announce: Announce) -> None:
    """Register the function that writes the events, from the app that knows members with their XP, and
    events.
    """
    _announcers[:] = [announce]


@in_transaction
def announce(*, at: datetime, member_ids: Collection[int] = (), user_ids: Collection[int] = ()) -> None:
    """Write an event for each of these members, or of these users' members, who has changed.

    Members whose times are rounded wait for the end of the hour or day.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NOW, {"members": list(member_ids), "users": list(user_ids)})
        rows = cursor.fetchall()
    for community_id, members in groupby(sorted(rows), key=lambda row: row[0]):
        _announce(community_id, [row[2] for row in members], at=at, happened_at=None)


def announce_due(*, at: datetime) -> int:
    """Write the events of all changes that are due and not announced yet.

    Returns the number of changed members. Runs may overlap: each skips the rows that another run has locked.
    """
    announced = 0
    while True:
        with in_transaction:
            with connection.cursor() as cursor:
                cursor.execute(_DUE, {"at": at, "most": BATCH})
                rows = cursor.fetchall()
            for (community_id, due_at), members in groupby(sorted(rows), key=lambda row: row[:2]):
                _announce(community_id, [row[2] for row in members], at=at, happened_at=due_at)
        announced += len(rows)
        if len(rows) < BATCH:
            return announced


def _announce(
    community_id: int, member_ids: Collection[int], *, at: datetime, happened_at: datetime | None
) -> None:
    for announcer in _announcers:
        announcer(community_id=community_id, member_ids=member_ids, at=at, happened_at=happened_at)


@contextmanager
def times_rounded(rounded_to: Rounding | None) -> Iterator[None]:
    """Make the database record changes inside the block with rounded times, because the changes happen
    together with anonymous answers.
    """
    if rounded_to is None:
        yield
        return
    _round(rounded_to.value)
    yield
    _round("")


def _round(precision: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('colloquy.rounded_to', %s, true)", [precision])
