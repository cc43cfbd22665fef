"""Creating, rotating and revoking API keys. A secret is shown once and never stored (rules 1.20 to 1.23)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, Forbidden, NotFound, refuse
from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction
from communities.models import ApiKey, Community, Member
from communities.services.api_keys import key_notices
from communities.services.tenants import communities
from communities.services.trail import audit

PREFIX_LENGTH = 14
MAX_KEYS = 50
_RANKS = (None, Member.Access.MEMBER, Member.Access.CREATOR, Member.Access.ADMIN)
ROTATED_SECRET_LIFETIME = timedelta(hours=24)


def new_secret(mode: str = ApiKey.Mode.LIVE) -> str:
    """Return the prefix of keys of this mode and 43 random URL-safe characters (256 bits)."""
    return f"cq_{mode}_{secrets.token_urlsafe(32)}"


def digest_of(secret: str) -> str:
    """Return the stored digest of a key. A key is random, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


@in_transaction
def create_key(
    *,
    actor: Actor | None,
    community_id: int,
    user_id: int,
    name: str,
    at: datetime,
    description: str | None = None,
    restricted_to: str | None = None,
    scope: str = ApiKey.Scope.ALL,
    mode: str = ApiKey.Mode.LIVE,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Create a key of this user, and return it with its secret (rule 1.25). Without an `actor` a command
    creates it.

    Its owner gets a mail. The first test key of a community makes its test side. Refuses an expiry in the
    past, and more than 50 keys that are not revoked. Raises Forbidden for a test key, which makes no keys.
    """
    if expires_at is not None and expires_at <= at:
        refuse("expires_at", "in_past", "`expires_at` must be in the future.")
    # The lock ensures that two concurrent requests cannot both create the 50th key.
    community = Community.objects.select_for_update(no_key=True).get(pk=community_id)
    if community.is_test:
        raise Forbidden("A test key makes no keys: use a live key, or the account area.")
    if ApiKey.objects.filter(community_id=community_id, revoked_at__isnull=True).count() >= MAX_KEYS:
        raise Conflict(f"A community has at most {MAX_KEYS} API keys: revoke one first.")
    if mode == ApiKey.Mode.TEST:
        communities.make_test_side(community, at=at)
    secret = new_secret(mode)
    key = ApiKey.objects.create(
        community_id=community_id,
        user_id=user_id,
        name=name,
        description=description,
        restricted_to=restricted_to,
        scope=scope,
        mode=mode,
        key_prefix=secret[:PREFIX_LENGTH],
        digest=digest_of(secret),
        created_at=at,
        expires_at=expires_at,
    )
    after = {
        **_shown(key),
        "role": restricted_to,
        "scope": scope,
        "mode": mode,
        "expires_at": expires_at,
    }
    audit.record(actor=actor, action=Action.API_KEY_CREATED, on=_subject(key), at=at, after=after)
    key_notices.tell_of_new_key(key, at=at)
    return key, secret


@in_transaction
def rotate_key(*, actor: Actor, key_id: int, at: datetime) -> tuple[ApiKey, str]:
    """Give a key a new secret. The old one works for another 24 hours, or until the next rotation.

    The key still acts for its maker, also if another person rotates it. So the key stores who rotated it and
    when, and its maker gets a mail. Refuses a key that is revoked or expired.
    """
    key = _locked(actor.community_id, key_id)
    if not key.is_active_at(at):
        raise Conflict("This API key is revoked or expired.")
    secret, before = new_secret(key.mode), _shown(key)
    key.previous_digest, key.previous_expires_at = key.digest, at + ROTATED_SECRET_LIFETIME
    key.digest, key.key_prefix = digest_of(secret), secret[:PREFIX_LENGTH]
    key.rotated_by_id, key.rotated_at = actor.user_id, at
    key.save(
        update_fields=[
            *("previous_digest", "previous_expires_at", "digest", "key_prefix"),
            *("rotated_by", "rotated_at"),
        ]
    )
    audit.record(
        actor=actor,
        action=Action.API_KEY_ROTATED,
        on=_subject(key),
        at=at,
        before=before,
        after={**_shown(key), "previous_key_expires_at": key.previous_expires_at},
    )
    key_notices.tell_of_rotation(key, actor=actor, at=at)
    return key, secret


@in_transaction
def revoke_key(*, actor: Actor | None, community_id: int, key_id: int, at: datetime) -> None:
    """Revoke a key. Revoking it again changes nothing. Without an `actor` a command revokes it."""
    key = _locked(community_id, key_id)
    if key.revoked_at is None:
        key.revoked_at = at
        key.save(update_fields=["revoked_at"])
        audit.record(
            actor=actor, action=Action.API_KEY_REVOKED, on=_subject(key), at=at, after={"revoked_at": at}
        )


@in_transaction
def keep_within(
    *,
    actor: Actor,
    key_ids: Sequence[int],
    had: str | None,
    has: str | None,
    at: datetime,
    rounded_to: Rounding | None = None,
) -> None:
    """Keep keys within the access that their maker `had`, if a merge of two accounts gave the maker more.

    The keys of a creator are restricted to that role. No key can be restricted to less. So the keys of
    members are revoked, and the keys of people who were no members and whose keys did not work.
    """
    if _RANKS.index(has) <= _RANKS.index(had):
        return
    for key in ApiKey.objects.select_for_update().filter(pk__in=key_ids, revoked_at=None).order_by("pk"):
        if had != Member.Access.CREATOR:
            key.revoked_at = at
            action, after = Action.API_KEY_REVOKED, dict[str, object](revoked_at=at)
        elif key.restricted_to is None:
            key.restricted_to = ApiKey.Restriction.CREATOR
            action, after = Action.API_KEY_UPDATED, dict[str, object](role=key.restricted_to)
        else:
            continue
        key.save(update_fields=["revoked_at", "restricted_to"])
        audit.record(actor=actor, action=action, on=_subject(key), at=at, after=after, rounded_to=rounded_to)


def _subject(key: ApiKey) -> audit.Subject:
    return audit.Subject(key.community_id, "api_key", key.pk, key.name)


def _shown(key: ApiKey) -> dict[str, object]:
    """The fields of a key for the audit trail: never the key itself, nor a digest of it."""
    return {"key_prefix": key.key_prefix}


def _locked(community_id: int, key_id: int) -> ApiKey:
    key = ApiKey.objects.select_for_update().filter(community_id=community_id, pk=key_id).first()
    if key is None:
        raise NotFound("There is no such API key.")
    return key
