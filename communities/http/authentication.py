"""X-API-Key → the key, with its community and what its maker may do there now (decisions 2.1)."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q

from communities.errors import InvalidApiKey, MissingApiKey
from communities.models import ApiKey, Member
from communities.tiers import TIERS

SECONDS_TO_REMEMBER = 5.0  # a revoked key, or a changed role, works on for this long at most
KEYS_TO_REMEMBER = 10_000
LONGEST_KEY = 200
LAST_USE_IS_NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: one API key, its community, and the role it has there."""

    api_key_id: int
    key_prefix: str
    community_id: int
    user_id: int
    role: str
    tier: str

    @property
    def requests_per_minute(self) -> int:
        return TIERS[self.tier].requests_per_minute


class Memory:
    """Callers by the digest of their key, for some seconds, in this process."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, tuple[float, Caller]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> Caller | None:
        known = self._callers.get(digest)
        return known[1] if known is not None and known[0] > time.monotonic() else None

    def put(self, digest: str, caller: Caller) -> None:
        with self._lock:
            self._callers.pop(digest, None)
            self._callers[digest] = (time.monotonic() + SECONDS_TO_REMEMBER, caller)
            while len(self._callers) > KEYS_TO_REMEMBER:
                self._callers.popitem(last=False)

    def forget(self) -> None:
        with self._lock:
            self._callers.clear()


memory = Memory()


def caller_of(key: str | None, *, at: datetime) -> Caller:
    """The caller whose key this is.

    Raises MissingApiKey without one, InvalidApiKey for a key that is unknown, revoked or expired, or
    whose maker has left the community.
    """
    if not key:
        raise MissingApiKey("Send the API key in the header X-API-Key.")
    if len(key) > LONGEST_KEY:
        raise InvalidApiKey("This API key is not valid.")
    digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    caller = memory.get(digest)
    if caller is None:
        caller = _look_up(digest, at)
        memory.put(digest, caller)
    return caller


def _look_up(digest: str, at: datetime) -> Caller:
    found = (
        ApiKey.objects.filter(
            Q(digest=digest) | Q(previous_digest=digest, previous_expires_at__gt=at),
            Q(expires_at__isnull=True) | Q(expires_at__gt=at),
            revoked_at__isnull=True,
            user__is_active=True,
            user__memberships__community=F("community"),
            user__memberships__left_at__isnull=True,
        )
        .values_list(
            "pk",
            "key_prefix",
            "community_id",
            "user_id",
            "user__memberships__access",
            "restricted_to",
            "community__tier",
            "last_used_at",
        )
        .first()
    )
    if found is None:
        raise InvalidApiKey("This API key is not valid.")
    *known, access, restricted_to, tier_name, last_used_at = found
    _note_use(known[0], last_used_at, at)
    is_held_back = restricted_to is not None and access == Member.Access.ADMIN
    return Caller(*known, role=restricted_to if is_held_back else access, tier=tier_name)


def _note_use(api_key_id: int, last_used_at: datetime | None, at: datetime) -> None:
    if last_used_at is None or at - last_used_at >= LAST_USE_IS_NOTED_EVERY:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=at - LAST_USE_IS_NOTED_EVERY)
        ApiKey.objects.filter(stale, pk=api_key_id).update(last_used_at=at)
