"""How XP changes: an entry is added to the member's ledger, and their totals follow (decisions 9.1).

Whoever changes a member's totals locks the member's row against deletion (`KEY SHARE`) before the standing,
so that whoever erases a person under `FOR UPDATE` waits for what is being awarded, and later awards find
nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from communities.errors import Forbidden
from communities.services import members
from communities.services.members import NoSuchMember
from communities.statements import prepared
from xp.models import Standing, XpEntry

EntryJson = dict[str, object]
LONGEST_NAME = XpEntry._meta.get_field("survey_name").max_length
LONGEST_NOTE = XpEntry._meta.get_field("note").max_length

# The member's totals are locked and read, changed, and told to the new entry. `delta` is what a deduction
# leaves of the amount when it has stopped at 0. An award of a month that has passed already (another
# server's clock, a retried task) counts in the total alone.
_AWARD = """
    WITH before AS (
        SELECT standing.member_id, greatest(%s::bigint, -standing.xp_total) AS delta
        FROM communities_member member JOIN xp_standing standing ON standing.member_id = member.id
        WHERE member.id = %s AND member.community_id = %s
        FOR KEY SHARE OF member FOR UPDATE OF standing
    ), after AS (
        UPDATE xp_standing standing
        SET xp_total = standing.xp_total + before.delta,
            xp_in_month = CASE
                WHEN standing.month > %s::date THEN standing.xp_in_month
                WHEN standing.month = %s::date THEN standing.xp_in_month + before.delta
                ELSE before.delta
            END,
            month = greatest(standing.month, %s::date),
            participation = greatest(standing.participation + %s::integer, 0)
        FROM before WHERE standing.member_id = before.member_id
        RETURNING standing.member_id, before.delta, standing.xp_total
    )
    INSERT INTO xp_xpentry (
        member_id, delta, balance_after, source_kind, source_ref, session_number,
        actor_id, survey_name, note, created_at
    )
    SELECT member_id, delta, xp_total, %s::varchar, %s::bigint, %s::integer,
        %s::bigint, %s::varchar, %s::varchar, %s::timestamptz
    FROM after
    RETURNING id, member_id, delta, balance_after
"""
_PARTICIPATE = """
    INSERT INTO xp_standing AS standing (member_id, community_id, xp_total, xp_in_month, participation)
    SELECT id, community_id, 0, 0, greatest(%s::integer, 0)
    FROM communities_member WHERE id = %s AND community_id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id) DO UPDATE SET participation = greatest(standing.participation + %s::integer, 0)
"""
_LOCK = """
    SELECT standing.xp_total
    FROM communities_member member JOIN xp_standing standing ON standing.member_id = member.id
    WHERE member.id = %s AND member.community_id = %s
    FOR KEY SHARE OF member FOR UPDATE OF standing
"""
# In the order of the model, as Django takes the values of a whole row.
_WRITTEN = (
    *("id", "member_id", "delta", "balance_after", "source_kind", "source_ref", "session_number"),
    *("actor_id", "survey_name", "note", "created_at"),
)


def award(
    *,
    member_id: int,
    community_id: int,
    amount: int,
    kind: XpEntry.SourceKind,
    at: datetime,
    recorded_at: datetime | None = None,
    participation: int = 0,
    source_ref: int | None = None,
    session_number: int | None = None,
    survey_name: str | None = None,
    actor_id: int | None = None,
    note: str | None = None,
) -> XpEntry:
    """Give XP, or take it where `amount` is negative; a deduction stops at 0, and the entry says so.

    `at` decides the month (UTC); `recorded_at`, where given, is the time that stands in the entry.
    `participation` is what the same event adds to it (see `participate`). Refuses somebody who is no member
    of the community. One statement, three for a member's first XP.
    """
    month = month_of(at)
    told = (
        kind.value,
        source_ref,
        session_number,
        actor_id,
        _cut(survey_name, LONGEST_NAME),
        _cut(note, LONGEST_NOTE),
        recorded_at or at,
    )
    values = [amount, member_id, community_id, month, month, month, participation, *told]
    row = _write(values)
    if row is None:
        participate(member_id=member_id, community_id=community_id, change=0)
        row = _write(values)
    if row is None:
        raise NoSuchMember
    return XpEntry.from_db("default", _WRITTEN, (*row, *told))


def participate(*, member_id: int, community_id: int, change: int = 1) -> None:
    """Count a survey or poll that the member completed, or uncount it; never below 0."""
    with prepared() as cursor:
        cursor.execute(_PARTICIPATE, [change, member_id, community_id, change])


@transaction.atomic
def reset(*, member_id: int, community_id: int, actor_id: int, at: datetime) -> XpEntry | None:
    """Take all XP of a member; None where there is none to take."""
    with prepared() as cursor:
        cursor.execute(_LOCK, [member_id, community_id])
        row = cursor.fetchone()
    total = row[0] if row else 0
    if not total:
        return None
    return award(
        member_id=member_id,
        community_id=community_id,
        amount=-total,
        kind=XpEntry.SourceKind.RESET,
        at=at,
        actor_id=actor_id,
    )


@transaction.atomic
def erase(*, member_id: int) -> None:
    """Delete a member's ledger with what it comes to: the one way in which entries go. Their lock is held."""
    _say_erased(str(member_id))
    XpEntry.objects.filter(member_id=member_id).delete()
    _say_erased("")
    Standing.objects.filter(member_id=member_id).delete()


# --- Telling ----------------------------------------------------------------------------------------


def refuse_unless_readable(*, community_id: int, member_id: int, role: str, user_id: int) -> None:
    """Refuses a key that may not read a member's ledger: others' are the admins' (decisions 2.2)."""
    member = members.place_of(community_id=community_id, member_id=member_id)
    if role != "admin" and member.user_id != user_id:
        raise Forbidden("Only admins may read the XP ledger of somebody else.")


def entries(*, member_id: int) -> QuerySet[XpEntry]:
    """A member's ledger, newest first."""
    return XpEntry.objects.filter(member_id=member_id).order_by("-id")


def count(*, member_id: int) -> int:
    """How many entries a member has."""
    return entries(member_id=member_id).count()


def page(offset: int, length: int, *, community_id: int, member_id: int) -> list[EntryJson]:
    """A part of a member's ledger, newest first, as the interface tells it."""
    part = entries(member_id=member_id)[offset : offset + length]
    return told(list(part), community_id=community_id)


def told(some: Collection[XpEntry], *, community_id: int) -> list[EntryJson]:
    """Entries as the interface tells them (2.9), with what those who made them are called today."""
    actors = {entry.actor_id for entry in some if entry.actor_id is not None}
    names = members.names_of(community_id=community_id, user_ids=actors)
    return [_as_json(entry, names) for entry in some]


def _as_json(entry: XpEntry, names: Mapping[int, str]) -> EntryJson:
    return {
        "id": entry.pk,
        "delta": entry.delta,
        "balance_after": entry.balance_after,
        "source_kind": entry.source_kind,
        "source_ref": entry.source_ref,
        "session_number": entry.session_number,
        "actor_name": None if entry.actor_id is None else names.get(entry.actor_id),
        "survey_name": entry.survey_name,
        "note": entry.note,
        "created_at": entry.created_at,
    }


def month_of(at: datetime) -> date:
    """The first day of the calendar month, UTC."""
    return at.astimezone(UTC).date().replace(day=1)


def _write(values: list[Any]) -> tuple[int, int, int, int] | None:
    with prepared() as cursor:
        cursor.execute(_AWARD, values)
        row: tuple[int, int, int, int] | None = cursor.fetchone()
    return row


def _cut(text: str | None, longest: int | None) -> str | None:
    return text and text[:longest]


def _say_erased(member: str) -> None:
    """Tell the database, until the transaction ends, of whom entries may be deleted."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('colloquy.erased_member', %s, true)", [member])
