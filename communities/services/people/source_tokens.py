"""Tokens with which the server asks platforms about people: encrypted, and refreshed before they expire.

Refresh tokens often rotate: a refresh returns a new one, and the old one becomes invalid. So only one process
refreshes a token, under a lease on its row, and no transaction is open while it asks. A token that a new
sign-in has saved meanwhile is never overwritten.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db.models import Q, QuerySet

from communities.ground import sealing
from communities.ground.sealing import SealedColumn
from communities.ground.transactions import in_transaction
from communities.identity_providers import oauth2
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused
from communities.models import Identity, SourceToken

MARGIN = timedelta(minutes=5)  # A token is refreshed this long before it expires.
LEASE = timedelta(seconds=45)  # The lease is longer than a refresh can take.
SECONDS_TO_WAIT = 6.0  # A process waits this long for another process that refreshes an expired token.
_SECONDS_BETWEEN_LOOKS = 0.1
_PURPOSE = "source tokens"
SEALED = SealedColumn(
    SourceToken, "sealed", lambda row: sealing.seal_for(purpose=_PURPOSE, row=row.identity_id)
)

log = structlog.get_logger("colloquy.sources")


@dataclass(frozen=True, slots=True)
class _Kept:
    """A row as it was read. Its bytes show whether another process has changed the row since."""

    sealed: bytes
    access: str
    refresh: str
    expires_at: datetime | None

    def is_valid_at(self, moment: datetime) -> bool:
        return self.expires_at is None or self.expires_at > moment


@in_transaction
def save(*, identity_id: int, access: str, refresh: str, expires_at: datetime | None) -> None:
    """Save the tokens of a sign-in. Without a new refresh token the existing one remains."""
    SourceToken.objects.select_for_update().filter(pk=identity_id).first()
    kept = None if refresh else _read(identity_id)
    sealed = _seal(identity_id, access, refresh or (kept.refresh if kept else ""))
    SourceToken.objects.update_or_create(
        identity_id=identity_id,
        defaults={"sealed": sealed, "expires_at": expires_at, "refreshing_until": None},
    )


def forget(*, identity_id: int) -> None:
    """Delete the token of an identity."""
    SourceToken.objects.filter(pk=identity_id).delete()


def usable(*, identity_id: int, at: datetime) -> str | None:
    """An access token that is valid at `at`; None if the person has to sign in with this provider again.

    Asks the platform for a new token if the stored token is about to expire, so never call this in a
    transaction. Raises PlatformUnavailable if a new token is needed and the platform cannot give one now.
    """
    kept = _read(identity_id)
    if kept is None or kept.is_valid_at(at + MARGIN):
        return kept.access if kept else None
    if not kept.refresh:
        if kept.is_valid_at(at):
            return kept.access
        _drop(identity_id, kept)
        return None
    if _lease(identity_id, kept, at=at):
        return _refreshed(identity_id, kept, at=at)
    if kept.is_valid_at(at):
        return kept.access
    return _of_another_process(identity_id, kept)


def _refreshed(identity_id: int, kept: _Kept, *, at: datetime) -> str | None:
    provider = Identity.objects.values_list("provider", flat=True).get(pk=identity_id)
    try:
        tokens = oauth2.refresh(provider, refresh_token=kept.refresh, at=at)
    except TokenRefused as refusal:
        log.info("sources.token_refused", provider=provider, cause=str(refusal))
        return _unless_changed(identity_id, kept) if not _drop(identity_id, kept) else None
    except PlatformUnavailable:
        _rows(identity_id, kept).update(refreshing_until=None)
        if kept.is_valid_at(at):
            return kept.access
        raise
    sealed = _seal(identity_id, tokens.access, tokens.refresh or kept.refresh)
    row = {"sealed": sealed, "expires_at": tokens.expires_at, "refreshing_until": None}
    if _rows(identity_id, kept).update(**row):
        return tokens.access
    return _unless_changed(identity_id, kept)


def _lease(identity_id: int, kept: _Kept, *, at: datetime) -> bool:
    free = Q(refreshing_until__isnull=True) | Q(refreshing_until__lte=at)
    return bool(_rows(identity_id, kept).filter(free).update(refreshing_until=at + LEASE))


def _of_another_process(identity_id: int, kept: _Kept) -> str | None:
    pause = threading.Event()
    for _ in range(int(SECONDS_TO_WAIT / _SECONDS_BETWEEN_LOOKS)):
        if not _rows(identity_id, kept).filter(refreshing_until__isnull=False).exists():
            return _unless_changed(identity_id, kept)
        pause.wait(_SECONDS_BETWEEN_LOOKS)
    raise PlatformUnavailable("Another process still asks for a new token.")


def _unless_changed(identity_id: int, kept: _Kept) -> str | None:
    """The token that another process has saved; None if there is none."""
    now = _read(identity_id)
    if now is not None and now.sealed == kept.sealed:
        raise PlatformUnavailable("No new token could be had.")
    return now.access if now else None


def _drop(identity_id: int, kept: _Kept) -> bool:
    deleted, _ = _rows(identity_id, kept).delete()
    return bool(deleted)


def _rows(identity_id: int, kept: _Kept) -> QuerySet[SourceToken]:
    """The row, unless another process has changed it."""
    return SourceToken.objects.filter(pk=identity_id, sealed=kept.sealed)


def _read(identity_id: int) -> _Kept | None:
    row = SourceToken.objects.filter(pk=identity_id).first()
    if row is None:
        return None
    try:
        access, refresh = json.loads(sealing.unseal(row.sealed, purpose=_PURPOSE, row=identity_id))
    except sealing.Unreadable:  # SECRET_KEY has changed.
        forget(identity_id=identity_id)
        return None
    return _Kept(bytes(row.sealed), access, refresh, row.expires_at)


def _seal(identity_id: int, access: str, refresh: str) -> bytes:
    return sealing.seal(json.dumps([access, refresh]), purpose=_PURPOSE, row=identity_id)
