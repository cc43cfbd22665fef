"""Members as the interface tells them (2.8): in an order, with what they earned. Nothing is changed here.

Statements are written by hand and read the tables of `communities` too. A page of a community of 100,000
members is then found, joined and ranked in as many statements as a page of one; loaded room by room it would
take the members' names and orders apart from what they are ordered by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from communities import services as communities
from communities.services.members import NoSuchMember
from communities.statements import found
from xp import levels
from xp.services import achievements, ranks
from xp.services.ledger import month_of

NEAR_THE_TOP = 10_000  # further down everybody is sorted at any rate
MemberJson = dict[str, Any]

# By joins that are left out wherever a statement asks nothing of their tables.
_MEMBERS = """
    FROM communities_member AS member
    LEFT JOIN communities_user AS person ON person.id = member.user_id
    LEFT JOIN xp_standing AS standing ON standing.member_id = member.id
"""
_ORDER = {
    "rank": "member.left_at IS NOT NULL, coalesce(standing.xp_total, 0) DESC, member.id",
    "name": "lower(coalesce(nullif(member.nick, ''), nullif(person.name, ''))), member.id",
    "joined_at": "member.joined_at, member.id",
}
_COLUMNS = """
    member.id, account.platform_id, person.name, member.nick, member.avatar_url, member.access,
    coalesce(standing.xp_total, 0), CASE WHEN standing.month = %s THEN standing.xp_in_month ELSE 0 END,
    coalesce(standing.participation, 0), member.joined_at, member.left_at
"""
_ACCOUNT = """
    LEFT JOIN LATERAL (
        SELECT platform_id FROM communities_identity
        WHERE user_id = member.user_id AND provider = 'chat' ORDER BY id LIMIT 1
    ) AS account ON TRUE
"""


def count(*, community_id: int, filters: Mapping[str, Any]) -> int:
    """How many members a listing with these filters has, in all."""
    where, values = _where(community_id, filters)
    return int(found(f"SELECT count(*) {_MEMBERS} WHERE {where}", values)[0][0])


def page(
    offset: int, length: int, *, community_id: int, filters: Mapping[str, Any], sort: str, at: datetime
) -> list[MemberJson]:
    """A part of the members, in the order `rank`, `name` or `joined_at`; those who left too.

    `filters` may hold `access` and `search`: a part of nick or name, or a member's id.
    """
    where, values = _where(community_id, filters)
    is_all = not any(filters.get(name) for name in ("access", "search"))
    if sort == "rank" and is_all and offset + length <= NEAR_THE_TOP:
        # In this order those with XP come first, and in theirs an index stands.
        ids = ranks.member_ids(ranks.of_all_time(community_id=community_id), offset, length)
        if len(ids) == length:
            return _ranked(ids, community_id=community_id, at=at)
    rows = found(
        f"SELECT member.id {_MEMBERS} WHERE {where} ORDER BY {_ORDER[sort]} LIMIT %s OFFSET %s",
        [*values, length, offset],
    )
    return _ranked([row[0] for row in rows], community_id=community_id, at=at)


def one(*, community_id: int, member_id: int, at: datetime) -> MemberJson:
    """One member, also one who left. Refuses whoever is none."""
    rows = _ranked([member_id], community_id=community_id, at=at)
    if not rows:
        raise NoSuchMember
    return rows[0]


def unranked(ids: Sequence[int], *, community_id: int, at: datetime) -> list[MemberJson]:
    """Those of these who are members of the community, in this order; their rank is still to be found."""
    if not ids:
        return []
    rows = found(
        f"""
        SELECT {_COLUMNS} {_MEMBERS} {_ACCOUNT}
        JOIN unnest(%s::bigint[]) WITH ORDINALITY AS wanted (id, place) ON wanted.id = member.id
        WHERE member.community_id = %s ORDER BY wanted.place
        """,
        [month_of(at), list(ids), community_id],
    )
    earned = achievements.earned_by(member_ids=ids)
    return [_as_json(row, earned.get(row[0], [])) for row in rows]


def _ranked(ids: Sequence[int], *, community_id: int, at: datetime) -> list[MemberJson]:
    """These members, each with their rank of all time; null for who left and where nobody is ranked."""
    rows = unranked(ids, community_id=community_id, at=at)
    if not communities.get_settings(community_id=community_id).has_leaderboard:
        return rows
    amounts = [row["xp_total"] for row in rows if row["left_at"] is None]
    places = ranks.of_amounts(ranks.of_all_time(community_id=community_id), amounts)
    return [{**row, "rank": None if row["left_at"] else places[row["xp_total"]]} for row in rows]


def _where(community_id: int, filters: Mapping[str, Any]) -> tuple[str, list[Any]]:
    parts, values = ["member.community_id = %s"], [community_id]
    more: list[Any] = []
    if filters.get("access"):
        parts.append("member.access = %s")
        more.append(filters["access"])
    if search := filters.get("search"):
        parts.append(
            "(strpos(lower(member.nick), lower(%s)) > 0 OR strpos(lower(person.name), lower(%s)) > 0"
            " OR member.id::text = %s)"
        )
        more += [search] * 3
    return " AND ".join(parts), [*values, *more]


def _as_json(row: Sequence[Any], earned: list[dict[str, Any]]) -> MemberJson:
    (
        key,
        platform_id,
        name,
        nick,
        avatar_url,
        access,
        xp_total,
        xp_monthly,
        participation,
        joined_at,
        left_at,
    ) = row
    return {
        "id": str(key),
        "platform_id": platform_id,
        "name": name or None,
        "nick": nick or None,
        "avatar_url": avatar_url or None,
        "access": access,
        "rank": None,
        "xp_total": xp_total,
        "xp_monthly": xp_monthly,
        "level": levels.level_of(xp_total),
        "participation": participation,
        "achievements": earned,
        "joined_at": joined_at,
        "left_at": left_at,
    }
