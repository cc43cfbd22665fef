"""What a member has in sum."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from communities.statements import prepared
from xp.services.ledger import month_of


@dataclass(frozen=True, slots=True)
class Totals:
    """XP ever, XP in the present calendar month (UTC), and surveys and polls completed."""

    total: int = 0
    month: int = 0
    participation: int = 0


_OF_MEMBER = """
    SELECT xp_total, CASE WHEN month = %s::date THEN xp_in_month ELSE 0 END, participation
    FROM xp_standing WHERE member_id = %s
"""


def of_member(*, member_id: int, at: datetime) -> Totals:
    """A member's totals; zeros for one who never earned anything."""
    with prepared() as cursor:
        cursor.execute(_OF_MEMBER, [month_of(at), member_id])
        row = cursor.fetchone()
    return Totals(*row) if row else Totals()
