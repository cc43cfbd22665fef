"""The events that tell of erased members (decisions 15.7, 15.22).

    announce      writes the event, or stores it encrypted if it would reveal anonymous answers
    announce_due  writes the events that waited; runs every minute

An erasure also writes the member's running anonymous conversations. An event with the member's id in the same
transaction would join the two for anybody who reads the database. So such an event is written once the hour
or day of the erasure is over.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime

import structlog

from communities import rounding, sealing
from communities.rounding import Rounding
from communities.transactions import in_transaction
from surveys.models import Project, SealedErasure
from surveys.services import events

BATCH_SIZE = 1_000
_PURPOSE = "erasures"
log = structlog.get_logger("colloquy.erasures")


def announce(*, community_id: int, member_id: int, anonymous_in: Collection[int], at: datetime) -> None:
    """Tell webhooks that a member was erased. Takes part in the erasure's transaction.

    `anonymous_in` are the projects in which the erasure changed anonymous conversations.
    """
    if not anonymous_in:
        events.member_erased(community_id=community_id, member_id=member_id, at=at)
        return
    projects = Project.with_deleted.filter(pk__in=anonymous_in)
    is_daily = projects.filter(rounds_times_to_day=True).exists()
    row = SealedErasure(community_id=community_id)
    row.due_at = rounding.after(at, Rounding.DAY if is_daily else Rounding.HOUR)
    row.sealed = sealing.seal(str(member_id), purpose=_PURPOSE, row=row.pk)
    row.save(force_insert=True)


def announce_due(*, at: datetime) -> int:
    """Tell webhooks of the erasures whose hour or day is over. Returns how many.

    Their time is the end of the hour or day. The transaction that writes an event deletes its row, so none is
    written twice. Rows that were encrypted with another secret stay, and are logged.
    """
    announced, last = 0, uuid.UUID(int=0)
    while True:
        with in_transaction:
            due = SealedErasure.objects.filter(due_at__lte=at, pk__gt=last).order_by("pk")
            rows = list(due.select_for_update(skip_locked=True)[:BATCH_SIZE])
            last = rows[-1].pk if rows else last
            announced += sum(map(_announce, rows))
        if len(rows) < BATCH_SIZE:
            return announced


def _announce(row: SealedErasure) -> bool:
    try:
        member_id = int(sealing.unseal(row.sealed, purpose=_PURPOSE, row=row.pk))
    except sealing.Unreadable:
        log.error("erasures.unreadable", community_id=row.community_id)
        return False
    events.member_erased(community_id=row.community_id, member_id=member_id, at=row.due_at)
    row.delete()
    return True
