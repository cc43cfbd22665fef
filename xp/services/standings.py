"""A member's totals: XP, XP of the month, and participation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from xp.models import Standing
from xp.services.ledger import month_of


@dataclass(frozen=True, slots=True)
class Totals:
    """Total XP, XP of the current calendar month (UTC), and the number of completed surveys and polls."""

    total: int = 0
    month: int = 0
    participation: int = 0


def of_member(*, member_id: int, at: datetime) -> Totals:
    """A member's totals in the month of `at`; zeros if they have earned nothing."""
    standing = Standing.objects.filter(pk=member_id).first()
    if standing is None:
        return Totals()
    xp_in_month = standing.xp_in_month if standing.month == month_of(at) else 0
    return Totals(standing.xp_total, xp_in_month, standing.participation)
