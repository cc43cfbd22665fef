"""Members with their XP in the shape of the API (rule 1.13), sorted, filtered and ranked.

This module only reads. The statements are written by hand and join tables of `communities`: a list is sorted
by columns of both apps. A page takes the same number of statements in a community of 100,000 members as in a
community of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from communities import services as communities
from communities.ground.statements import fetch_rows
from communities.services.people.members import NoSuchMember, get_membership
from xp import levels
from xp.services import achievements, ranks
from xp.services.ledger import month_of

INDEX_SCAN_LIMIT = 10_000  # Beyond this offset, the database sorts all members anyway.
LAST_COUNTED = 10_000  # The last rank that a profile shows.
MemberJson = dict[str, Any]

# PostgreSQL leaves out each join whose table a statement does not use.
_MEMBERS = """
    FROM communities_member AS member
    LEFT JOIN communities_user AS person ON person.id = member.user_id
    LEFT JOIN xp_standing AS standing ON standing.member_id = member.id
"""
_NAME = "lower(coalesce(nullif(member.nick, ''), nullif(person.name, '')))"
_BY_RANK = "member.left_at IS NOT NULL, coalesce(standing.xp_total, 0) DESC, member.id"
# The orders other than `rank`, by expressions that are never null, so that two rows can be compared. Missing
# values are last.
_PLACES = {
    "name": f"{_NAME} IS NULL, coalesce({_NAME}, ''), member.id",
    # The same expression as its index
    "joined_at": "coalesce(member.joined_at, 'infinity'::timestamptz), member.id",
    "id": "member.id",
}
_ORDER = {"rank": _BY_RANK, **_PLACES}
SORTS = tuple(_ORDER)
_COLUMNS = """
    member.id, member.user_id, account.platform_id, person.name, member.nick, member.avatar_url,
    member.access, coalesce(standing.xp_total, 0),
    CASE WHEN standing.month = %s THEN standing.xp_in_month ELSE 0 END,
    coalesce(standing.participation, 0), member.joined_at, member.left_at, member.updated_at
"""
_ACCOUNT = """
    LEFT JOIN LATERAL (
        SELECT platform_id FROM communities_identity
        WHERE user_id = member.user_id AND provider = 'chat'
            AND (community_id IS NULL OR community_id = member.community_id)
        ORDER BY id LIMIT 1
    ) AS account ON TRUE
"""


def count(*, community_id: int, filters: Mapping[str, Any]) -> int:
    """The number of members that match the filters."""
    where, values = _where(community_id, filters)
    return int(fetch_rows(f"SELECT count(*) {_MEMBERS} WHERE {where}", values)[0][0])


def page(
    offset: int, length: int, *, community_id: int, filters: Mapping[str, Any], sort: str, at: datetime
) -> list[MemberJson]:
    """A page of the members, including those who have left, in one of the orders SORTS.

    `filters` may have `access`, `user_id`, `platform_id` (an account on the chat platform), `updated_after`,
    and `search`: a part of the nick or name, or a member's id.
    """
    where, values = _where(community_id, filters)
    names = ("access", "search", "user_id", "platform_id", "updated_after")
    is_unfiltered = all(filters.get(name) is None for name in names)
    if sort == "rank" and is_unfiltered and offset + length <= INDEX_SCAN_LIMIT:
        # Members with XP are first in this order, and an index contains them sorted.
        ids = ranks.member_ids(ranks.all_time_board(community_id=community_id), offset, length)
        if len(ids) == length:
            return _ranked(ids, community_id=community_id, at=at)
    rows = fetch_rows(
        f"SELECT member.id {_MEMBERS} WHERE {where} ORDER BY {_ORDER[sort]} LIMIT %s OFFSET %s",
        [*values, length, offset],
    )
    return _ranked([row[0] for row in rows], community_id=community_id, at=at)


def page_after(
    after: int, length: int, *, community_id: int, filters: Mapping[str, Any], sort: str, at: datetime
) -> list[MemberJson]:
    """The members after a given one in an order other than `rank`, as `page` returns them.

    The given member need not match the filters, and may have left. Raises `NoSuchMember` if there is none.
    """
    get_membership(community_id=community_id, member_id=after)
    where, values = _where(community_id, filters)
    places = _PLACES[sort]
    rows = fetch_rows(
        f"""
        SELECT member.id {_MEMBERS}
        WHERE {where} AND ({places}) > (SELECT {places} {_MEMBERS} WHERE member.id = %s)
        ORDER BY {places} LIMIT %s
        """,
        [*values, after, length],
    )
    return _ranked([row[0] for row in rows], community_id=community_id, at=at)


def get(*, community_id: int, member_id: int, at: datetime) -> MemberJson:
    """One member, present or not. Raises `NoSuchMember` if there is none."""
    rows = _ranked([member_id], community_id=community_id, at=at, most=achievements.MOST_OF_ONE)
    if not rows:
        raise NoSuchMember
    return rows[0]


def of_ids(ids: Sequence[int], *, community_id: int, at: datetime) -> list[MemberJson]:
    """The members with these ids, in this order, with their ranks."""
    return _ranked(ids, community_id=community_id, at=at)


def profile(*, community_id: int, member_id: int, at: datetime) -> MemberJson:
    """One member like `get`, but the rank is counted only up to LAST_COUNTED; all later ranks are
    LAST_COUNTED + 1.
    """
    rows = unranked([member_id], community_id=community_id, at=at)
    if not rows:
        raise NoSuchMember
    row = rows[0]
    if row["left_at"] or not communities.get_settings(community_id=community_id).has_leaderboard:
        return row
    board = ranks.all_time_board(community_id=community_id)
    return {**row, "rank": ranks.count_above(board, row["xp_total"], most=LAST_COUNTED) + 1}


def unranked(
    ids: Sequence[int], *, community_id: int, at: datetime, most: int = achievements.MOST_IN_LISTS
) -> list[MemberJson]:
    """The members with these ids in this order, with `rank` null and their newest `most` achievements.

    Leaves out ids of other communities.
    """
    if not ids:
        return []
    rows = fetch_rows(
        f"""
        SELECT {_COLUMNS} {_MEMBERS} {_ACCOUNT}
        JOIN unnest(%s::bigint[]) WITH ORDINALITY AS wanted (id, place) ON wanted.id = member.id
        WHERE member.community_id = %s ORDER BY wanted.place
        """,
        [month_of(at), list(ids), community_id],
    )
    earned = achievements.earned_by(member_ids=ids, most=most)
    return [_as_json(row, earned.get(row[0], [])) for row in rows]


def _ranked(
    ids: Sequence[int], *, community_id: int, at: datetime, most: int = achievements.MOST_IN_LISTS
) -> list[MemberJson]:
    """These members with their all-time rank: null if they have left or the leaderboard is switched off."""
    rows = unranked(ids, community_id=community_id, at=at, most=most)
    if not communities.get_settings(community_id=community_id).has_leaderboard:
        return rows
    amounts = [row["xp_total"] for row in rows if row["left_at"] is None]
    rank_by_xp = ranks.rank_by_xp(ranks.all_time_board(community_id=community_id), amounts)
    return [{**row, "rank": None if row["left_at"] else rank_by_xp[row["xp_total"]]} for row in rows]


def _where(community_id: int, filters: Mapping[str, Any]) -> tuple[str, list[Any]]:
    conditions = ["member.community_id = %s"]
    values: list[Any] = [community_id]
    if filters.get("access"):
        conditions.append("member.access = %s")
        values.append(filters["access"])
    if (user_id := filters.get("user_id")) is not None:
        conditions.append("member.user_id = %s")
        values.append(user_id)
    if platform_id := filters.get("platform_id"):
        conditions.append(
            "member.user_id IN (SELECT user_id FROM communities_identity WHERE provider = 'chat'"
            " AND platform_id = %s AND (community_id IS NULL OR community_id = member.community_id))"
        )
        values.append(platform_id)
    if (changed := filters.get("updated_after")) is not None:
        conditions.append("member.updated_at >= %s")
        values.append(changed)
    if search := filters.get("search"):
        conditions.append(
            "(strpos(lower(member.nick), lower(%s)) > 0 OR strpos(lower(person.name), lower(%s)) > 0"
            " OR member.id::text = %s)"
        )
        values += [search] * 3
    return " AND ".join(conditions), values


def _as_json(row: Sequence[Any], earned: list[dict[str, Any]]) -> MemberJson:
    (
        member_id,
        user_id,
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
        updated_at,
    ) = row
    return {
        "id": str(member_id),
        "user_id": str(user_id),
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
        "updated_at": updated_at,
    }
