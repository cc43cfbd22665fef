"""Rows whose day is over."""

from __future__ import annotations

from datetime import datetime

from communities.models import IdempotentRequest
from communities.transactions import in_transaction

AT_ONCE = 5_000


def forget_idempotent_requests(*, at: datetime) -> int:
    """Delete what was kept for Idempotency-Keys whose time is over; how many went. Safe to run twice.

    A row that a request is taking over at this moment is left to that request.
    """
    gone = 0
    while True:
        with in_transaction:
            due = IdempotentRequest.objects.select_for_update(skip_locked=True).filter(expires_at__lte=at)
            claims = list(due.values_list("pk", flat=True)[:AT_ONCE])
            IdempotentRequest.objects.filter(pk__in=claims).delete()
        gone += len(claims)
        if len(claims) < AT_ONCE:
            return gone
