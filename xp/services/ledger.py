"""The XP ledger: every change adds an entry and updates the member's totals with it (rules 8.2 to 8.4).

Each change locks the member's row against deletion (`FOR KEY SHARE`) before it locks the standing. Erasing a
person takes `FOR UPDATE`: it waits for awards in progress, and later awards find no member.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from communities.ground.errors import Forbidden
from communities.ground.statements import prepared
from communities.ground.transactions import in_transaction
from communities.services.people import members
from communities.services.people.members import NoSuchMember
from xp.models import Standing, XpEntry

EntryJson = dict[str, object]
MAX_NAME_LENGTH = XpEntry._meta.get_field("survey_name").max_length
MAX_NOTE_LENGTH = XpEntry._meta.get_field("note").max_length

# Locks and reads the member's totals, changes them, and writes an entry with the result. `delta` is the
# amount after a deduction has stopped at 0. An award for a past month (another server's clock, a retried
# task) counts in the total only. All new totals come from `before`: of `standing` the UPDATE would first see
# the row before a gift that has just been committed, and PostgreSQL would refuse a deduction of that gift.
_AWARD = """
    WITH before AS (
        SELECT standing.*, greatest(%s::bigint, -standing.xp_total) AS delta
        FROM communities_member member JOIN xp_standing standing ON standing.member_id = member.id
        WHERE member.id = %s AND member.community_id = %s
        FOR KEY SHARE OF member FOR UPDATE OF standing
    ), after AS (
        UPDATE xp_standing standing
        SET xp_total = before.xp_total + before.delta,
            xp_in_month = CASE
                WHEN before.month > %s::date THEN before.xp_in_month
                WHEN before.month = %s::date THEN before.xp_in_month + before.delta
                ELSE before.delta
            END,
            month = greatest(before.month, %s::date),
            participation = greatest(before.participation + %s::integer, 0)
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
_COUNT_PARTICIPATION = """
    INSERT INTO xp_standing AS standing (member_id, community_id, xp_total, xp_in_month, participation)
    SELECT id, community_id, 0, 0, greatest(%s::integer, 0)
    FROM communities_member WHERE id = %s AND community_id = %s
    FOR KEY SHARE
    ON CONFLICT (member_id) DO UPDATE SET participation = greatest(standing.participation + %s::integer, 0)
"""
_LOCK_STANDING = """
    SELECT standing.xp_total
    FROM communities_member member JOIN xp_standing standing ON standing.member_id = member.id
    WHERE member.id = %s AND member.community_id = %s
    FOR KEY SHARE OF member FOR UPDATE OF standing
"""
# In the model's order, as `from_db` expects for a complete row.
_ENTRY_COLUMNS = (
    *("id", "member_id", "delta", "balance_after", "source_kind", "source_ref", "session_number"),
    *("actor_id", "actor_pseudonym", "survey_name", "note", "created_at"),
)
_OF_GIVER = """
    FROM xp_xpentry entry JOIN communities_member receiver ON receiver.id = entry.member_id
    WHERE entry.actor_id = ANY(%s)
"""
_COMMUNITIES_OF_GIVER = f"SELECT DISTINCT receiver.community_id {_OF_GIVER} ORDER BY 1"
_ERASE_GIVER = f"""
    UPDATE xp_xpentry SET actor_id = NULL, actor_pseudonym = %s
    WHERE id IN (SELECT entry.id {_OF_GIVER} AND receiver.community_id = %s)
"""


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
    """Give XP, or take it if `amount` is negative.

    A deduction stops at a total of 0; `delta` of the entry is the actual change. `at` decides the month
    (UTC). `recorded_at` is the time written to the entry, `at` if it is None. `participation` is added to the
    member's participation in the same statement (see `count_participation`). `actor_id` is the user who gives
    by hand. The caller prevents that user from being erased or merged until the transaction ends
    (`communities.services.trail.presence`). Raises `NoSuchMember` if there is no such member in the
    community. Takes one statement, or three for a member's first XP.
    """
    month = month_of(at)
    source = (kind.value, source_ref, session_number, actor_id)
    about = (_truncated(survey_name, MAX_NAME_LENGTH), _truncated(note, MAX_NOTE_LENGTH), recorded_at or at)
    values = [amount, member_id, community_id, month, month, month, participation, *source, *about]
    row = _write_entry(values)
    if row is None:
        # The call creates the standing.
        count_participation(member_id=member_id, community_id=community_id, change=0)
        row = _write_entry(values)
    if row is None:
        raise NoSuchMember
    return XpEntry.from_db("default", _ENTRY_COLUMNS, (*row, *source, "", *about))


def count_participation(*, member_id: int, community_id: int, change: int = 1) -> None:
    """Add to the number of surveys and polls that a member completed, which never falls below 0.

    Creates the member's standing if there is none. Does nothing if there is no such member.
    """
    with prepared() as cursor:
        cursor.execute(_COUNT_PARTICIPATION, [change, member_id, community_id, change])


def lock(*, member_id: int, community_id: int) -> None:
    """Prevent other changes of a member's XP until the transaction ends.

    Does nothing if there is no such member. The member's own row is not locked, because two admins who award
    XP to each other would wait for each other.
    """
    # Locks the standing if it exists
    count_participation(member_id=member_id, community_id=community_id, change=0)


@in_transaction
def reset(*, member_id: int, community_id: int, actor_id: int, at: datetime) -> XpEntry | None:
    """Set a member's XP to 0 by an entry. Returns None if the member has no XP."""
    with prepared() as cursor:
        cursor.execute(_LOCK_STANDING, [member_id, community_id])
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


@in_transaction
def erase(*, member_id: int) -> None:
    """Delete a member's ledger and standing. The caller has locked the member's row.

    There is no other way to delete entries.
    """
    _allow("colloquy.erased_member", str(member_id))
    XpEntry.objects.filter(member_id=member_id).delete()
    _allow("colloquy.erased_member", "")
    Standing.objects.filter(member_id=member_id).delete()


def communities_of_giver(*, user_ids: Collection[int]) -> list[int]:
    """The ids of the communities in which one of these users gave or took XP by hand."""
    with connection.cursor() as cursor:
        cursor.execute(_COMMUNITIES_OF_GIVER, [list(user_ids)])
        return [row[0] for row in cursor.fetchall()]


@in_transaction
def erase_giver(*, community_id: int, user_ids: Collection[int], pseudonym: str) -> None:
    """Replace a person by a pseudonym in the entries that they made by hand in a community (rule 7.20).

    There is no other way to change entries. `user_ids` are the person's user and the users merged into it.
    """
    users = list(user_ids)
    _allow("colloquy.erased_givers", ",".join(map(str, users)))
    with connection.cursor() as cursor:
        cursor.execute(_ERASE_GIVER, [pseudonym, users, community_id])
    _allow("colloquy.erased_givers", "")


# --- Reading ----------------------------------------------------------------------------------------


def refuse_unless_readable(*, community_id: int, member_id: int, role: str, user_id: int) -> None:
    """Raise `Forbidden` unless the ledger is the user's own or the role is admin (rule 8.5)."""
    member = members.get_membership(community_id=community_id, member_id=member_id)
    if role != "admin" and member.user_id != user_id:
        raise Forbidden("Only admins may read another member's XP ledger.")


def entries(*, member_id: int) -> QuerySet[XpEntry]:
    """A member's entries, newest first."""
    return XpEntry.objects.filter(member_id=member_id).order_by("-id")


def count(*, member_id: int) -> int:
    """The number of a member's entries."""
    return entries(member_id=member_id).count()


def page(offset: int, length: int, *, community_id: int, member_id: int) -> list[EntryJson]:
    """A page of a member's entries in the shape of the API, newest first."""
    rows = entries(member_id=member_id)[offset : offset + length]
    return entries_as_json(list(rows), community_id=community_id)


def entries_as_json(rows: Collection[XpEntry], *, community_id: int) -> list[EntryJson]:
    """Entries in the shape of the API (rule 8.1), with the current names of the users who made them."""
    actors = {entry.actor_id for entry in rows if entry.actor_id is not None}
    names = members.display_names(community_id=community_id, user_ids=actors)
    return [_as_json(entry, names) for entry in rows]


def _as_json(entry: XpEntry, names: Mapping[int, str]) -> EntryJson:
    return {
        "id": entry.pk,
        "delta": entry.delta,
        "balance_after": entry.balance_after,
        "source_kind": entry.source_kind,
        "source_ref": entry.source_ref,
        "session_number": entry.session_number,
        "actor_name": None if entry.actor_id is None else names.get(entry.actor_id),
        "actor_pseudonym": entry.actor_pseudonym or None,
        "survey_name": entry.survey_name,
        "note": entry.note,
        "created_at": entry.created_at,
    }


def month_of(at: datetime) -> date:
    """The first day of a moment's calendar month, UTC."""
    return at.astimezone(UTC).date().replace(day=1)


def _write_entry(values: list[Any]) -> tuple[int, int, int, int] | None:
    with prepared() as cursor:
        cursor.execute(_AWARD, values)
        row: tuple[int, int, int, int] | None = cursor.fetchone()
    return row


def _truncated(text: str | None, max_length: int | None) -> str | None:
    return text and text[:max_length]


def _allow(setting: str, value: str) -> None:
    """Set the people whose entries the database's trigger lets through until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [setting, value])
