"""Members as the interface tells them (2.8): in an order, with what they earned. Nothing is changed here.

Statements are written by hand and read the tables of `communities` too. A page of a community of 100,000
members is then found, joined and ranked in as many statements as a page of one; loaded room by room it would
take the members' names and orders apart from what they are ordered by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from communities import services as communities
from communities.errors import Conflict, Forbidden, NotFound
from xp import levels
from xp.models import Achievement, EarnedAchievement
from xp.services import achievements
from xp.services.ledger import month_of

MAX_ID = 2**63 - 1
NO_MEMBER = "There is no such member."
NEAR_THE_TOP = 10_000  # further down everybody is sorted at any rate
MemberJson = dict[str, object]

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
# Those who left are few and have an index of their own: to pass over them costs half of joining all others.
_IS_PRESENT = """
    NOT EXISTS (
        SELECT FROM communities_member AS gone
        WHERE gone.id = standing.member_id AND gone.community_id = standing.community_id
            AND gone.left_at IS NOT NULL
    )
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A member, as far as it matters what may be done."""

    user_id: int
    has_left: bool


@dataclass(frozen=True, slots=True)
class _Board:
    """What ranks go by: a column of the standings of those who are present, and which standings count."""

    xp: str
    where: str
    values: tuple[Any, ...]


# --- Members ----------------------------------------------------------------------------------------


def count_members(*, community_id: int, filters: Mapping[str, Any]) -> int:
    """How many members a listing with these filters has, in all."""
    where, values = _where(community_id, filters)
    return int(_one(f"SELECT count(*) {_MEMBERS} WHERE {where}", values)[0])


def members(
    offset: int, length: int, *, community_id: int, filters: Mapping[str, Any], sort: str, at: datetime
) -> list[MemberJson]:
    """A part of the members, in the order `rank`, `name` or `joined_at`; those who left too.

    `filters` may hold `access` and `search`: a part of nick or name, or a member's id.
    """
    where, values = _where(community_id, filters)
    is_all = not any(filters.get(name) for name in ("access", "search"))
    if sort == "rank" and is_all and offset + length <= NEAR_THE_TOP:
        # In this order those with XP come first, and in theirs an index stands.
        ids = _ranked_ids(_of_all_time(community_id), offset, length)
        if len(ids) == length:
            return _told(ids, community_id=community_id, at=at)
    ids = _column(
        f"SELECT member.id {_MEMBERS} WHERE {where} ORDER BY {_ORDER[sort]} LIMIT %s OFFSET %s",
        [*values, length, offset],
    )
    return _told(ids, community_id=community_id, at=at)


def member(*, community_id: int, member_id: int, at: datetime) -> MemberJson:
    """One member, also one who left. Raises NotFound."""
    told = _told([member_id], community_id=community_id, at=at)
    if not told:
        raise NotFound(NO_MEMBER)
    return told[0]


def find(*, community_id: int, member_id: int) -> Found:
    """Who a member is, and whether they left. Raises NotFound."""
    row = _one_or_none(
        "SELECT user_id, left_at IS NOT NULL FROM communities_member WHERE community_id = %s AND id = %s",
        [community_id, member_id],
    )
    if row is None:
        raise NotFound(NO_MEMBER)
    return Found(*row)


# --- Leaderboard ------------------------------------------------------------------------------------


def refuse_without_leaderboard(*, community_id: int) -> None:
    """Refuses where the community has switched its leaderboard off."""
    if not _has_leaderboard(community_id):
        raise Conflict("This community's settings have the leaderboard switched off (`use_leader_board`).")


def count_ranked(*, community_id: int, period: str, at: datetime) -> int:
    """How many present members have XP, in all or in the month."""
    board = _board(community_id, period, at)
    return int(_one(f"SELECT count(*) FROM xp_standing AS standing WHERE {board.where}", board.values)[0])


def leaderboard(
    offset: int, length: int, *, community_id: int, period: str, at: datetime
) -> list[MemberJson]:
    """A part of the present members with XP, most first; `rank` is by the period's XP, `all` or `month`."""
    board = _board(community_id, period, at)
    ids = _ranked_ids(board, offset, length)
    column = "xp_monthly" if period == "month" else "xp_total"
    rows = _rows(ids, community_id=community_id, at=at)
    ranks = _ranks(board, [row[column] for row in rows])
    return [{**row, "rank": ranks[row[column]]} for row in rows]


def _has_leaderboard(community_id: int) -> bool:
    return communities.get_settings(community_id=community_id).has_leaderboard


def _board(community_id: int, period: str, at: datetime) -> _Board:
    if period != "month":
        return _of_all_time(community_id)
    where = (
        f"standing.community_id = %s AND standing.month = %s AND standing.xp_in_month > 0 AND {_IS_PRESENT}"
    )
    return _Board("xp_in_month", where, (community_id, month_of(at)))


def _of_all_time(community_id: int) -> _Board:
    counts = "standing.community_id = %s AND standing.xp_total > 0"
    return _Board("xp_total", f"{counts} AND {_IS_PRESENT}", (community_id,))


def _ranked_ids(board: _Board, offset: int, length: int) -> list[int]:
    return _column(
        f"""
        SELECT standing.member_id FROM xp_standing AS standing WHERE {board.where}
        ORDER BY standing.{board.xp} DESC, standing.member_id LIMIT %s OFFSET %s
        """,
        [*board.values, length, offset],
    )


def _ranks(board: _Board, amounts: Sequence[int]) -> dict[int, int]:
    """For each amount of XP, the rank of whoever has it: 1, and one more for everybody who has more.

    One walk down the index to the least amount, which counts between each two neighbours.
    """
    if not amounts:
        return {}
    rising = sorted(set(amounts))
    rows = _all(
        f"""
        SELECT width_bucket(standing.{board.xp}, %s::bigint[]), count(*) FROM xp_standing AS standing
        WHERE {board.where} AND standing.{board.xp} > %s GROUP BY 1
        """,
        [[amount + 1 for amount in rising], *board.values, rising[0]],
    )
    between = dict(rows)
    ranks, above = {}, 0
    for place in range(len(rising), 0, -1):
        above += between.get(place, 0)
        ranks[rising[place - 1]] = above + 1
    return ranks


# --- What may be read of one ------------------------------------------------------------------------


def refuse_unless_readable(*, member: Found, role: str, user_id: int) -> None:
    """Refuses a key that may not read a member's ledger: others' are the admins' (decisions 2.2)."""
    if role != "admin" and member.user_id != user_id:
        raise Forbidden("Only admins may read the XP ledger of somebody else.")


def described_achievements(*, community_id: int) -> QuerySet[Achievement]:
    """What the community's achievements are called, in the order of their numbers."""
    return Achievement.objects.filter(community_id=community_id).order_by("number")


def achievement_as_json(described: Achievement) -> dict[str, object]:
    """What an achievement is called and looks like, as the interface tells it."""
    return {
        "id": str(described.number),
        "name": described.name,
        "image_url": described.image_url or achievements.badge_address(described.number),
        "role_id": described.role_id or None,
    }


# --- Rows -------------------------------------------------------------------------------------------


def _where(community_id: int, filters: Mapping[str, Any]) -> tuple[str, list[Any]]:
    parts, values = ["member.community_id = %s"], [community_id]
    more: list[Any] = []
    if filters.get("access"):
        parts.append("member.access = %s")
        more.append(filters["access"])
    if search := filters.get("search"):
        parts.append(
            "(strpos(lower(member.nick), lower(%s)) > 0 OR strpos(lower(person.name), lower(%s)) > 0"
            " OR member.id = %s)"
        )
        is_id = search.isascii() and search.isdigit() and len(search) <= 19 and int(search) <= MAX_ID
        more += [search, search, int(search) if is_id else 0]
    return " AND ".join(parts), [*values, *more]


def _told(ids: Sequence[int], *, community_id: int, at: datetime) -> list[MemberJson]:
    """These members, each with their rank of all time; null for who left and where nobody is ranked."""
    rows = _rows(ids, community_id=community_id, at=at)
    if not _has_leaderboard(community_id):
        return rows
    amounts = [row["xp_total"] for row in rows if row["left_at"] is None]
    ranks = _ranks(_of_all_time(community_id), amounts)
    return [{**row, "rank": None if row["left_at"] else ranks[row["xp_total"]]} for row in rows]


def _rows(ids: Sequence[int], *, community_id: int, at: datetime) -> list[dict[str, Any]]:
    """Those of these who are members of the community, in this order; their rank is still to be found."""
    if not ids:
        return []
    found = _all(
        f"""
        SELECT {_COLUMNS} {_MEMBERS} {_ACCOUNT}
        JOIN unnest(%s::bigint[]) WITH ORDINALITY AS wanted (id, place) ON wanted.id = member.id
        WHERE member.community_id = %s ORDER BY wanted.place
        """,
        [month_of(at), list(ids), community_id],
    )
    earned = _earned(ids)
    return [_row_as_json(row, earned.get(row[0], [])) for row in found]


def _row_as_json(row: Sequence[Any], earned: list[dict[str, object]]) -> dict[str, Any]:
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


def _earned(ids: Sequence[int]) -> Mapping[int, list[dict[str, object]]]:
    """The achievements of each of these members, the first earned first."""
    told: dict[int, list[dict[str, object]]] = {}
    for earned in EarnedAchievement.objects.filter(member_id__in=ids).order_by("awarded_at", "number"):
        told.setdefault(earned.member_id, []).append(achievements.as_json(earned))
    return told


def _all(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _column(sql: str, values: Sequence[Any]) -> list[Any]:
    return [row[0] for row in _all(sql, values)]


def _one_or_none(sql: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    return next(iter(_all(sql, values)), None)


def _one(sql: str, values: Sequence[Any]) -> tuple[Any, ...]:
    return _all(sql, values)[0]
