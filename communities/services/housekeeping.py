"""Deleting rows that have expired."""

from __future__ import annotations

from datetime import datetime

from communities.models import IdempotentRequest
from communities.transactions import in_transaction

BATCH_SIZE = 5_000


def delete_expired_idempotent_requests(*, at: datetime) -> int:
    """Delete the stored responses of expired Idempotency-Keys, and return how many. Safe to run twice.

    Rows that are locked by a request which takes over their key are skipped.
    """
    deleted = 0
    while True:
        with in_transaction:
            expired = IdempotentRequest.objects.select_for_update(skip_locked=True).filter(expires_at__lte=at)
            claims = list(expired.values_list("pk", flat=True)[:BATCH_SIZE])
            IdempotentRequest.objects.filter(pk__in=claims).delete()
        deleted += len(claims)
        if len(claims) < BATCH_SIZE:
            return deleted
