"""Events of erased members that an earlier version left to be written later.

It wrote the member's running anonymous conversations in the erasure's transaction, so the event had to wait
for the end of their hour or day. An erasure leaves those conversations alone now (`people`), and writes its
event itself. Rows that a process of the earlier version leaves during an update are still told.
"""

from __future__ import annotations

import uuid
from datetime import datetime

import structlog

from communities import sealing
from communities.transactions import in_transaction
from surveys.models import SealedErasure
from surveys.services import events

BATCH_SIZE = 1_000
_PURPOSE = "erasures"
log = structlog.get_logger("colloquy.erasures")


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
