"""Members with XP, written straight into the tables: what listings are made of."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import count
from typing import Any

from communities.models import Identity, Member, User
from tests.surveys.calling import Caller
from xp.models import EarnedAchievement, Standing

JANUARY = date(2026, 1, 1)
LATE_IN_JANUARY = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)
_numbers = count(1)


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
    """One of the caller's community. Without `xp` nothing was ever earned; the month is the present one."""
    user = User.objects.create(name=name)
    made = Member.objects.create(community=caller.community, user=user, **fields)
    if chat is not None:
        Identity.objects.create(user=user, provider="chat", platform_id=chat)
    if xp is not None:
        Standing.objects.create(
            member=made,
            community=caller.community,
            xp_total=xp,
            xp_in_month=in_month,
            month=month or datetime.now(UTC).date().replace(day=1),
            participation=participation,
        )
    return made


def achievement(of: Member, **fields: Any) -> EarnedAchievement:
    given = {"number": next(_numbers), "name": "Regular", "awarded_at": LATE_IN_JANUARY, **fields}
    return EarnedAchievement.objects.create(member=of, **given)


def leave(who: Member) -> None:
    who.left_at = LATE_IN_JANUARY
    who.save(update_fields=["left_at"])


def names(answer: Any) -> list[str | None]:
    assert answer.status_code == 200, answer.content
    return [each["name"] for each in answer.json()["data"]]


def ranks(answer: Any) -> list[tuple[str | None, int | None]]:
    assert answer.status_code == 200, answer.content
    return [(each["name"], each["rank"]) for each in answer.json()["data"]]
