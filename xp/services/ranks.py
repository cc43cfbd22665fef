"""Ranks of the present members of a community, by total XP or by XP of the month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.ground.statements import fetch_rows
from xp.services.ledger import month_of

# Members who have left are few and have their own index. Excluding them costs half as much as joining all
# other members.
_IS_PRESENT = """
    NOT EXISTS (
        SELECT FROM communities_member AS gone
        WHERE gone.id = standing.member_id AND gone.community_id = standing.community_id
            AND gone.left_at IS NOT NULL
    )
"""


@dataclass(frozen=True, slots=True)
class Board:
    """A ranking as SQL: the column of the standing to rank by, and the condition for standings to count."""

    xp: str
    where: str
    values: tuple[Any, ...]


def all_time_board(*, community_id: int) -> Board:
    """All present members with XP, ranked by their total."""
    has_xp = "standing.community_id = %s AND standing.xp_total > 0"
    return Board("xp_total", f"{has_xp} AND {_IS_PRESENT}", (community_id,))


def month_board(*, community_id: int, at: datetime) -> Board:
    """All present members who gained XP in the calendar month (UTC) of `at`, ranked by this XP."""
    has_xp = "standing.community_id = %s AND standing.month = %s AND standing.xp_in_month > 0"
    return Board("xp_in_month", f"{has_xp} AND {_IS_PRESENT}", (community_id, month_of(at)))


def count(board: Board) -> int:
    """The number of ranked members."""
    rows = fetch_rows(f"SELECT count(*) FROM xp_standing AS standing WHERE {board.where}", board.values)
    return int(rows[0][0])


def member_ids(board: Board, offset: int, length: int) -> list[int]:
    """A page of the ranked members' ids, most XP first. Equal members are ordered by id."""
    rows = fetch_rows(
        f"""
        SELECT standing.member_id FROM xp_standing AS standing WHERE {board.where}
        ORDER BY standing.{board.xp} DESC, standing.member_id LIMIT %s OFFSET %s
        """,
        [*board.values, length, offset],
    )
    return [row[0] for row in rows]


def rank_by_xp(board: Board, amounts: Sequence[int]) -> dict[int, int]:
    """The rank that each amount of XP has on a board: 1 plus the number of members with more XP (rule 8.9).

    One statement reads the index down to the smallest amount, and counts the members between neighbouring
    amounts.
    """
    if not amounts:
        return {}
    ascending = sorted(set(amounts))
    rows = fetch_rows(
        f"""
        SELECT width_bucket(standing.{board.xp}, %s::bigint[]), count(*) FROM xp_standing AS standing
        WHERE {board.where} AND standing.{board.xp} > %s GROUP BY 1
        """,
        [[amount + 1 for amount in ascending], *board.values, ascending[0]],
    )
    count_by_place = dict(rows)
    ranks, above = {}, 0
    for place in range(len(ascending), 0, -1):
        above += count_by_place.get(place, 0)
        ranks[ascending[place - 1]] = above + 1
    return ranks


def count_above(board: Board, amount: int, *, most: int) -> int:
    """The number of members with more XP on a board; `most` means that many or more."""
    rows = fetch_rows(
        f"""
        SELECT count(*) FROM (
            SELECT FROM xp_standing AS standing WHERE {board.where} AND standing.{board.xp} > %s
            ORDER BY standing.{board.xp} DESC, standing.member_id LIMIT %s
        ) AS above
        """,
        [*board.values, amount, most],
    )
    return int(rows[0][0])
