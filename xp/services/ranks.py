"""Who ranks where among the members of a community who are present: by XP, in all or of the month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.statements import found
from xp.services.ledger import month_of

# Those who left are few and have an index of their own: to pass over them costs half of joining all others.
_IS_PRESENT = """
    NOT EXISTS (
        SELECT FROM communities_member AS gone
        WHERE gone.id = standing.member_id AND gone.community_id = standing.community_id
            AND gone.left_at IS NOT NULL
    )
"""


@dataclass(frozen=True, slots=True)
class Board:
    """What ranks go by: a column of the standings of those who are present, and which standings count."""

    xp: str
    where: str
    values: tuple[Any, ...]


def of_all_time(*, community_id: int) -> Board:
    """Everybody who is present and has XP."""
    counts = "standing.community_id = %s AND standing.xp_total > 0"
    return Board("xp_total", f"{counts} AND {_IS_PRESENT}", (community_id,))


def of_month(*, community_id: int, at: datetime) -> Board:
    """Everybody who is present and has gained XP in the calendar month (UTC)."""
    counts = "standing.community_id = %s AND standing.month = %s AND standing.xp_in_month > 0"
    return Board("xp_in_month", f"{counts} AND {_IS_PRESENT}", (community_id, month_of(at)))


def count(board: Board) -> int:
    """How many are ranked."""
    rows = found(f"SELECT count(*) FROM xp_standing AS standing WHERE {board.where}", board.values)
    return int(rows[0][0])


def member_ids(board: Board, offset: int, length: int) -> list[int]:
    """A part of those who are ranked, most XP first; among equals, who is longer known."""
    rows = found(
        f"""
        SELECT standing.member_id FROM xp_standing AS standing WHERE {board.where}
        ORDER BY standing.{board.xp} DESC, standing.member_id LIMIT %s OFFSET %s
        """,
        [*board.values, length, offset],
    )
    return [row[0] for row in rows]


def of_amounts(board: Board, amounts: Sequence[int]) -> dict[int, int]:
    """For each amount of XP, the rank of whoever has it: 1, and one more for everybody who has more.

    One walk down the index to the least amount, which counts between each two neighbours.
    """
    if not amounts:
        return {}
    rising = sorted(set(amounts))
    rows = found(
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
