"""The leaderboard: present members with XP, most XP first (rule 8.10)."""

from __future__ import annotations

from datetime import datetime

from communities import services as communities
from communities.ground.errors import Conflict
from xp.services import members, ranks
from xp.services.members import MemberJson
from xp.services.ranks import Board


def refuse_where_switched_off(*, community_id: int) -> None:
    """Raise `Conflict` if the community has its leaderboard switched off."""
    if not communities.get_settings(community_id=community_id).has_leaderboard:
        raise Conflict("The leaderboard is switched off in this community's settings (`use_leader_board`).")


def count(*, community_id: int, period: str, at: datetime) -> int:
    """The number of members on the leaderboard of a period, `all` or `month`."""
    return ranks.count(_board(community_id, period, at))


def page(offset: int, length: int, *, community_id: int, period: str, at: datetime) -> list[MemberJson]:
    """A page of the leaderboard. `rank` counts the XP of the period, `all` or `month`."""
    board = _board(community_id, period, at)
    ids = ranks.member_ids(board, offset, length)
    column = "xp_monthly" if period == "month" else "xp_total"
    rows = members.unranked(ids, community_id=community_id, at=at)
    rank_by_xp = ranks.rank_by_xp(board, [row[column] for row in rows])
    return [{**row, "rank": rank_by_xp[row[column]]} for row in rows]


def _board(community_id: int, period: str, at: datetime) -> Board:
    if period == "month":
        return ranks.month_board(community_id=community_id, at=at)
    return ranks.all_time_board(community_id=community_id)
