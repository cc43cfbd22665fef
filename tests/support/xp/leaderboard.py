"""Members with XP, written directly into the tables, and values from lists of members."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from communities.models import Member
from tests.factories import EarnedAchievementFactory, IdentityFactory, MemberFactory, StandingFactory
from tests.support.caller import Caller
from xp.models import EarnedAchievement

JANUARY = date(2026, 1, 1)
LATE_IN_JANUARY = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)


def member(
    caller: Caller,
    name: str = "",
    *,
    xp: int | None = None,
    in_month: int = 0,
    month: date | None = None,
    participation: int = 0,
    chat: str | None = None,
    **fields: Any,
) -> Member:
    """A new member of the caller's community. Without `xp` it has no standing. `month` defaults to now."""
    member = MemberFactory.create(community=caller.community, user__name=name, **fields)
    if chat is not None:
        IdentityFactory.create(user=member.user, platform_id=chat)
    if xp is not None:
        StandingFactory.create(
            member=member,
            xp_total=xp,
            xp_in_month=in_month,
            month=month or datetime.now(UTC).date().replace(day=1),
            participation=participation,
        )
    return member


def achievement(member: Member, **fields: Any) -> EarnedAchievement:
    """An achievement earned by the member, of a number that no other test uses."""
    return EarnedAchievementFactory.create(member=member, **{"awarded_at": LATE_IN_JANUARY, **fields})


def leave(member: Member) -> None:
    """The member leaves the community."""
    member.left_at = LATE_IN_JANUARY
    member.save(update_fields=["left_at"])


def names(response: Any) -> list[str | None]:
    """The names in a list of members."""
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["data"]]


def ranks(response: Any) -> list[tuple[str | None, int | None]]:
    """The names and ranks in a list of members."""
    assert response.status_code == 200, response.content
    return [(row["name"], row["rank"]) for row in response.json()["data"]]
