"""Deleting rows that have expired."""

from __future__ import annotations

from datetime import datetime, timedelta

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef

from communities.ground.transactions import in_transaction
from communities.models import IdempotentRequest

BATCH_SIZE = 5_000
# A session that gets another key has no listing for a moment, so its listing is deleted only after this time.
SETTLED_AFTER = timedelta(days=1)


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


def delete_ended_sessions(*, at: datetime) -> int:
    """Delete expired sessions, and the listings of deleted sessions. Returns the number of deleted sessions.

    Safe to run twice. Rows that a request has locked are left for the next run.
    """
    deleted = 0
    while True:
        with in_transaction:
            expired = Session.objects.select_for_update(skip_locked=True).filter(expire_date__lte=at)
            keys = list(expired.values_list("pk", flat=True)[:BATCH_SIZE])
            Session.objects.filter(pk__in=keys).delete()
            UserSession.objects.filter(session_key__in=keys).delete()
        deleted += len(keys)
        if len(keys) < BATCH_SIZE:
            break
    _delete_listings_without_session(at=at)
    return deleted


def _delete_listings_without_session(*, at: datetime) -> None:
    """Delete listings of sessions that ended in other ways, such as by signing out; some stay listed after
    that.
    """
    is_gone = ~Exists(Session.objects.filter(pk=OuterRef("session_key")))
    while True:
        with in_transaction:
            listed = UserSession.objects.select_for_update(skip_locked=True, of=("self",))
            gone = listed.filter(is_gone, last_seen_at__lte=at - SETTLED_AFTER)
            ids = list(gone.values_list("pk", flat=True)[:BATCH_SIZE])
            UserSession.objects.filter(pk__in=ids).delete()
        if len(ids) < BATCH_SIZE:
            return
