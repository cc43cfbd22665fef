"""The leaderboard: members who are present and have XP, most first (decisions 4)."""

from __future__ import annotations

from datetime import datetime

from communities import services as communities
from communities.errors import Conflict
from xp.services import members, ranks
from xp.services.members import MemberJson
from xp.services.ranks import Board


def refuse_where_switched_off(*, community_id: int) -> None:
    """Refuses where the community has switched its leaderboard off."""
    if not communities.get_settings(community_id=community_id).has_leaderboard:
        raise Conflict("This community's settings have the leaderboard switched off (`use_leader_board`).")


def count(*, community_id: int, period: str, at: datetime) -> int:
    """How many it holds, in all or in the month."""
    return ranks.count(_board(community_id, period, at))


def page(offset: int, length: int, *, community_id: int, period: str, at: datetime) -> list[MemberJson]:
    """A part of it; `rank` is by the period's XP, `all` or `month`."""
    board = _board(community_id, period, at)
    ids = ranks.member_ids(board, offset, length)
    column = "xp_monthly" if period == "month" else "xp_total"
    rows = members.unranked(ids, community_id=community_id, at=at)
    places = ranks.of_amounts(board, [row[column] for row in rows])
    return [{**row, "rank": places[row[column]]} for row in rows]


def _board(community_id: int, period: str, at: datetime) -> Board:
    if period == "month":
        return ranks.of_month(community_id=community_id, at=at)
    return ranks.of_all_time(community_id=community_id)
