"""The number of mails that a community may still write today to addresses that nobody has confirmed
(rule 7.33).

    take(…)   a number of mails, or a refusal
    left(…)   how many are left, to show it
    lock(…)   the same, and nobody else takes any until the transaction ends

An address is confirmed if the account of exactly this member has proven it. Other accounts make no
difference; otherwise the sum would reveal which addresses have an account.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from communities.ground.errors import Conflict
from communities.ground.transactions import in_transaction
from communities.models import MailSum

KEPT_FOR = timedelta(days=7)
_TAKE = """
    INSERT INTO communities_mailsum AS own (community_id, day, mails)
    SELECT %(community)s, %(day)s, %(wanted)s WHERE %(wanted)s <= %(most)s
    ON CONFLICT (community_id, day) DO UPDATE SET mails = own.mails + excluded.mails
    WHERE own.mails + excluded.mails <= %(most)s
"""
_LOCK = """
    INSERT INTO communities_mailsum AS own (community_id, day, mails) VALUES (%s, %s, 0)
    ON CONFLICT (community_id, day) DO UPDATE SET mails = own.mails RETURNING mails
"""


@in_transaction
def take(*, community_id: int, wanted: int, at: datetime) -> None:
    """Count this number of further mails to unconfirmed addresses.

    Refuses (Conflict) all of them if there are too many. The row stays locked until the transaction ends, so
    that two transactions cannot exceed the sum together.
    """
    if not wanted:
        return
    most = settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY
    values: dict[str, Any] = {"community": community_id, "day": _day(at), "wanted": wanted, "most": most}
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, values)
        is_granted = cursor.rowcount == 1
    if not is_granted:
        raise Conflict(refusal(wanted=wanted, left=left(community_id=community_id, at=at)))


def left(*, community_id: int, at: datetime) -> int:
    """How many mails to unconfirmed addresses a community may still write today."""
    of_today = MailSum.objects.filter(community_id=community_id, day=_day(at))
    return _left(of_today.values_list("mails", flat=True).first() or 0)


@in_transaction
def lock(*, community_id: int, at: datetime) -> int:
    """Return the same number as `left`, and lock it: nobody else takes mails until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [community_id, _day(at)])
        return _left(cursor.fetchone()[0])


def refusal(*, wanted: int, left: int) -> str:
    """The sentences that explain why this many mails are not sent today."""
    most = f"{settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY:,}"
    rule = f"A community can send {most} mails a day to addresses that their owners have not confirmed."
    if not left:
        return f"{rule} Those of today are used up, so nothing was sent. Please send these tomorrow (UTC)."
    return (
        f"{rule} {left:,} of today's are left, and these are {wanted:,}, so nothing was sent. Please send "
        "fewer, and the others tomorrow (UTC)."
    )


def forget_old(*, at: datetime) -> None:
    """Delete the sums of past days."""
    MailSum.objects.filter(day__lt=_day(at - KEPT_FOR)).delete()


def _left(mails: int) -> int:
    return max(0, settings.UNCONFIRMED_MAILS_PER_COMMUNITY_AND_DAY - mails)


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()
