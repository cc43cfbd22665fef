"""Whose an account on another platform is: signing in with it, connecting it, disconnecting it.

The table Identity is the truth. django-allauth's SocialAccount mirrors the proven ones, in the same
transaction. Nobody is found by an e-mail address.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import WebAuthn
from allauth.socialaccount.models import SocialAccount

from communities.errors import Conflict, NotFound
from communities.models import Identity, User
from communities.sources import platforms
from communities.transactions import in_transaction


class BelongsToAnother(Conflict):
    """The account belongs to another user. Nothing was changed."""

    def __init__(self, identity: Identity) -> None:
        super().__init__("This account belongs to another person here.")
        self.identity_id = identity.pk
        self.user_id = identity.user_id


@in_transaction
def sign_in(*, provider: str, platform_id: str, name: str, at: datetime) -> Identity:
    """The identity with which somebody has just proven to be its owner, with its user.

    If nobody has it yet, a new user gets it. If staff or an API caller added a member with this id, the
    person is that member.
    """
    fields = _fields(provider, platform_id)
    identity = _lock(fields)
    if identity is None:
        user = User(name=name)
        user.set_unusable_password()
        user.save()
        identity = _claim(fields, user.pk)
        if identity.user_id != user.pk:  # two first sign-ins at once: the unique constraint decides
            user.delete()
    return _prove(identity, name=name, at=at)


@in_transaction
def note(*, provider: str, platform_id: str, name: str) -> int:
    """The user of an account that its platform told us of; a new user if nobody has it yet.

    It does not count as proven here: that somebody holds it now proves nothing about a browser.
    """
    fields = _fields(provider, platform_id)
    identity = _lock(fields)
    if identity is None:
        user = User(name=name)
        user.set_unusable_password()
        user.save()
        identity = _claim(fields, user.pk)
        if identity.user_id != user.pk:
            user.delete()
    return identity.user_id


@in_transaction
def connect(*, user_id: int, provider: str, platform_id: str, name: str, at: datetime) -> Identity:
    """Give a user the account that they have just proven to own. Raises BelongsToAnother."""
    fields = _fields(provider, platform_id)
    identity = _lock(fields) or _claim(fields, user_id)
    if identity.user_id != user_id:
        raise BelongsToAnother(identity)
    return _prove(identity, name=name, at=at)


@in_transaction
def disconnect(*, user_id: int, identity_id: int) -> None:
    """Take an account away from its user, with its token. Raises NotFound.

    Refuses (Conflict) the last way to sign in.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=user_id)
    identity = next((each for each in connected(user_id=user_id) if each.pk == identity_id), None)
    if identity is None:
        raise NotFound("There is no such account.")
    if not _has_another_way(user, identity):
        raise Conflict("This is your only way to sign in. First set a password, or connect another account.")
    SocialAccount.objects.filter(provider=identity.provider, uid=identity.platform_id).delete()
    identity.delete()


def belongs_to(*, user_id: int, provider: str, platform_id: str) -> bool:
    """Whether an account is one with which this user has signed in or that they have connected."""
    own = Identity.objects.filter(user_id=user_id, proven_at__isnull=False)
    return own.filter(**_fields(provider, platform_id)).exists()


def connected(*, user_id: int) -> list[Identity]:
    """The accounts with which a user has signed in."""
    rows = Identity.objects.filter(user_id=user_id, community__isnull=True, proven_at__isnull=False)
    return list(rows.exclude(provider=Identity.Provider.WEB).order_by("pk"))


def _has_another_way(user: User, identity: Identity) -> bool:
    if user.has_usable_password():
        return True
    others = [each for each in connected(user_id=user.pk) if each.pk != identity.pk]
    if any(platforms.is_offered(each.provider) for each in others):
        return True
    passkeys = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    return any(WebAuthn(each).is_passwordless for each in passkeys)


def _fields(provider: str, platform_id: str) -> dict[str, Any]:
    return {"provider": provider, "platform_id": platform_id, "community": None}


def _lock(fields: dict[str, Any]) -> Identity | None:
    rows = Identity.objects.select_for_update(of=("self",)).select_related("user")
    return rows.filter(
        provider=fields["provider"], platform_id=fields["platform_id"], community__isnull=True
    ).first()


def _claim(fields: dict[str, Any], user_id: int) -> Identity:
    """Insert the identity for a user, or wait for somebody who does so too; returns the one that is there."""
    Identity.objects.bulk_create([Identity(user_id=user_id, **fields)], ignore_conflicts=True)
    identity = _lock(fields)
    assert identity is not None
    return identity


def _prove(identity: Identity, *, name: str, at: datetime) -> Identity:
    identity.name, identity.proven_at = name, at
    identity.save(update_fields=["name", "proven_at"])
    user = identity.user
    if not user.password:  # as of members whom an API caller added
        user.set_unusable_password()
        user.save(update_fields=["password"])
    if not user.name and name:
        user.name = name
        user.save(update_fields=["name"])
    SocialAccount.objects.update_or_create(
        provider=identity.provider,
        uid=identity.platform_id,
        defaults={"user_id": identity.user_id, "extra_data": {"name": name}},
    )
    return identity
