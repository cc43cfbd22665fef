"""Rows whose day is over."""

from __future__ import annotations

from datetime import datetime

from communities.models import IdempotentRequest

AT_ONCE = 5_000


def forget_idempotent_requests(*, at: datetime) -> int:
    """Delete what was kept for Idempotency-Keys whose time is over; how many went. Safe to run twice."""
    gone = 0
    while True:
        due = IdempotentRequest.objects.filter(expires_at__lte=at).order_by("expires_at").values("pk")[:AT_ONCE]
        deleted, _ = IdempotentRequest.objects.filter(pk__in=due).delete()
        gone += deleted
        if deleted < AT_ONCE:
            return gone
