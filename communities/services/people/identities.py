"""Owners of accounts on other platforms: signing in with an account, connecting it, disconnecting it.

A community's entry for an account, and its chat's knowledge of an account, are valid only in that community,
on a user of that community (rule 7.22). The owner's first sign-in makes the account theirs everywhere, and
joins to them the entries of all communities (`join_written`).

A user is locked before their accounts, several users in the order of their ids (`lock_owners`). Proving an
account and accepting an invitation both lock the account's user, so each sees the changes of the other.

The table Identity is authoritative. django-allauth's SocialAccount mirrors the accounts with which people
signed in, in the same transaction. No user is looked up by an e-mail address.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Protocol

import structlog
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import WebAuthn
from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac

from communities.ground import rounding
from communities.ground.errors import Conflict, NotFound
from communities.ground.rounding import Rounding
from communities.ground.statements import fetch_rows, prepared
from communities.ground.transactions import again_after_deadlock, in_transaction
from communities.identity_providers import platforms
from communities.models import Identity, Member, User
from communities.services.people import member_changes

JOIN = "communities.join_written"
_LOCKS = "communities.identities.lock_account"
_WRITTEN = """
    SELECT DISTINCT written.user_id
    FROM communities_identity own
    JOIN communities_identity written
        ON (written.provider, written.platform_id) = (own.provider, own.platform_id)
    JOIN communities_community place ON place.id = written.community_id AND place.test_of_id IS NULL
    JOIN communities_user person ON person.id = written.user_id
    WHERE own.user_id = %(user)s AND own.community_id IS NULL AND written.community_id IS NOT NULL
        AND (%(community)s::bigint IS NULL OR written.community_id = %(community)s) AND person.is_active
        AND NOT person.is_staff
    ORDER BY written.user_id
"""
# A row that is proven while this statement waits for the row remains.
_LEAVE = """
    DELETE FROM communities_identity
    WHERE user_id = %(user)s AND provider <> 'web' AND community_id IS NOT NULL
        AND (%(community)s::bigint IS NULL OR community_id = %(community)s)
"""

log = structlog.get_logger("colloquy.sources")


class Merge(Protocol):
    """Moves all data of one user to another user, in a transaction. Raises Conflict."""

    def __call__(self, *, keep_id: int, drop_id: int, at: datetime, rounded_to: Rounding | None) -> None: ...


_merges: list[Merge] = []


def merge_by(merge: Merge) -> None:
    """Register the function that merges users, from the app that knows their answers."""
    _merges[:] = [merge]


class BelongsToAnother(Conflict):
    """The account belongs to another user. The database is unchanged."""

    def __init__(self, identity: Identity) -> None:
        super().__init__("This account belongs to another person here.")
        self.identity_id = identity.pk
        self.user_id = identity.user_id


def lock_owners(*user_ids: int) -> dict[int, User]:
    """Lock users until the transaction ends, in the order of their ids. Returns the users who still exist.

    Users are locked before their accounts, memberships and invitations. Other transactions may still refer to
    them.
    """
    rows = User.objects.select_for_update(no_key=True).filter(pk__in=user_ids).order_by("pk")
    return {user.pk: user for user in rows}


def lock_owner_of(*, community_id: int, member_id: int) -> int | None:
    """Lock the user of a member; a merge may change the user during the wait.

    Returns None if there is no such member.
    """
    rows = Member.objects.filter(community_id=community_id, pk=member_id).values_list("user_id", flat=True)
    user_id = rows.first()
    while user_id is not None:
        lock_owners(user_id)
        locked_id, user_id = user_id, rows.first()
        if user_id == locked_id:
            break
    return user_id


@again_after_deadlock
@in_transaction
def sign_in(*, provider: str, platform_id: str, name: str, at: datetime) -> Identity:
    """The identity that a person has just proven to own, with its user.

    If nobody has signed in with the identity before, its user is the first user for whom a community wrote it
    down, else a new user. `join_written` joins the entries of other communities.
    """
    lock_account(provider, platform_id)
    identity = _locked(provider, platform_id)
    if identity is None:
        identity = Identity(user=_new_user(name), provider=provider, platform_id=platform_id)
    return _prove(identity, name=name, at=at)


@again_after_deadlock
@in_transaction
def note_acting(
    *, community_id: int, platform_id: str, name: str, at: datetime, rounded_to: Rounding | None = None
) -> int:
    """Return the user of an account that has just acted in a community's chat. The platform has signed the
    action.

    Creates a user of this community if nobody has signed in with the account and the community has not
    written it down. An action in one community proves nothing to other communities, and nothing about a
    browser. `rounded_to` is for people who open an anonymous project: no stored time is more precise.
    """
    at = rounding.down(at, rounded_to)
    provider = Identity.Provider.CHAT
    lock_account(provider, platform_id)
    identity = _locked(provider, platform_id, community_id=community_id)
    if identity is None:
        identity = Identity.objects.create(
            user=_new_user(name),
            provider=provider,
            platform_id=platform_id,
            community_id=community_id,
            proven_at=at,
        )
    elif identity.proven_at is None:
        identity.proven_at = at
        identity.save(update_fields=["proven_at"])
        with member_changes.times_rounded(rounded_to):
            User.objects.filter(pk=identity.user_id, name="").update(name=name)
    return identity.user_id


@again_after_deadlock
@in_transaction
def connect(*, user_id: int, provider: str, platform_id: str, name: str, at: datetime) -> Identity:
    """Give a user the account that they have just proven to own. Raises BelongsToAnother."""
    lock_account(provider, platform_id)
    lock_owners(user_id)
    own = Identity.objects.filter(provider=provider, platform_id=platform_id, community__isnull=True)
    identity = own.select_related("user").first()
    if identity is None:
        user = User.objects.get(pk=user_id)
        identity = Identity(user=user, provider=provider, platform_id=platform_id)
    if identity.user_id != user_id:
        raise BelongsToAnother(identity)
    return _prove(identity, name=name, at=at)


def join_written(
    *, user_id: int, at: datetime, community_id: int | None = None, rounded_to: Rounding | None = None
) -> None:
    """Join the entries for the accounts that a person has proven to the person: of all communities, or only
    of this one (rule 7.24).

    Each entry is joined in a separate transaction. An entry that cannot be joined now waits for the next
    sign-in. `rounded_to` is for people who open an anonymous project: no stored time is more precise.
    """
    values = {"user": user_id, "community": community_id}
    for (written_id,) in fetch_rows(_WRITTEN, values):
        try:
            _join(user_id, written_id, values, rounding.down(at, rounded_to), rounded_to)
        except Conflict as refusal:
            log.warning("identities.not_joined", cause=refusal.message)


@again_after_deadlock
def _join(
    user_id: int, written_id: int, values: dict[str, Any], at: datetime, rounded_to: Rounding | None
) -> None:
    with transaction.atomic():
        lock_owners(user_id, written_id)
        if (written_id,) in {tuple(row) for row in fetch_rows(_WRITTEN, values)}:
            _merges[0](keep_id=user_id, drop_id=written_id, at=at, rounded_to=rounded_to)


@in_transaction
def leave_unproven(*, user_id: int, community_id: int | None = None) -> None:
    """Remove from a user the accounts that communities, or only this one, wrote down.

    Call this before the user gets a way to sign in, in the same transaction. Otherwise a person with that way
    to sign in would count as the owner of these accounts (rule 7.25).
    """
    lock_owners(user_id)
    with prepared() as cursor:
        cursor.execute(_LEAVE, {"user": user_id, "community": community_id})


def can_sign_in(*, user_id: int) -> bool:
    """Whether a user has a way to sign in: a password, an address, a second factor, a proven account."""
    user = User.objects.get(pk=user_id)
    return (
        user.has_usable_password()
        or EmailAddress.objects.filter(user=user, verified=True).exists()
        or Authenticator.objects.filter(user=user).exists()
        or Identity.objects.filter(user=user, community__isnull=True).exists()
    )


def has_acted(*, user_id: int) -> bool:
    """Whether the platform has shown that a user owns an account: by a sign-in, or by acting in chat."""
    return Identity.objects.filter(user_id=user_id, proven_at__isnull=False).exists()


def known_to(*, community_id: int) -> Q:
    """The identities of its members that a community may know (rules 7.28 and 7.29).

    A community may know its own entries, with external ids, and the accounts with which people sign in on the
    platforms that the community asks about.
    """
    return Q(community_id=community_id) | Q(
        community__isnull=True, provider__in=asked_about(community_id=community_id)
    )


def searched(*, community_id: int, all_accounts: bool) -> Sequence[str]:
    """The providers whose ids staff may use to search for members: only the chat platform, or `all_accounts`.

    Only admins learn who has an account outside the chat.
    """
    if not all_accounts:
        return [Identity.Provider.CHAT]
    return sorted({Identity.Provider.WEB.value, *asked_about(community_id=community_id)})


def asked_about(*, community_id: int) -> Collection[str]:
    """Return the platforms that a community asks about: the chat platform, and the platforms of its verified
    sources.
    """
    rows = fetch_rows(
        "SELECT DISTINCT provider FROM communities_verifiedsource"
        " WHERE community_id = %s AND removed_at IS NULL",
        [community_id],
    )
    return {Identity.Provider.CHAT.value, *(row[0] for row in rows)}


@again_after_deadlock
@in_transaction
def disconnect(*, user_id: int, identity_id: int) -> None:
    """Remove an account from its user, with its token. Raises NotFound.

    Refuses (Conflict) the last way to sign in.
    """
    lock_owners(user_id)
    user = User.objects.get(pk=user_id)
    identity = next((each for each in connected(user_id=user_id) if each.pk == identity_id), None)
    if identity is None:
        raise NotFound("There is no such account.")
    if not _has_another_way(user, identity):
        raise Conflict("This is your only way to sign in. First set a password, or connect another account.")
    SocialAccount.objects.filter(provider=identity.provider, uid=identity.platform_id).delete()
    identity.delete()  # `member_changes.announce_due` informs the communities.


def belongs_to(*, user_id: int, provider: str, platform_id: str) -> bool:
    """Whether this user has signed in with an account or connected it."""
    return Identity.objects.filter(
        user_id=user_id, provider=provider, platform_id=platform_id, community__isnull=True
    ).exists()


def connected(*, user_id: int) -> list[Identity]:
    """The accounts with which a user has signed in."""
    return list(Identity.objects.filter(user_id=user_id, community__isnull=True).order_by("pk"))


def _has_another_way(user: User, identity: Identity) -> bool:
    if user.has_usable_password():
        return True
    others = [each for each in connected(user_id=user.pk) if each.pk != identity.pk]
    if any(platforms.is_offered(each.provider) for each in others):
        return True
    passkeys = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    return any(WebAuthn(each).is_passwordless for each in passkeys)


def lock_account(provider: str, platform_id: str) -> None:
    """Lock an account until the transaction ends. Sign-ins, actions and new entries of the account wait.

    This lock is taken before all locks on users. The key is a keyed hash, because PostgreSQL shows the owner
    of each lock.
    """
    digest = salted_hmac(_LOCKS, f"{provider} {platform_id}", algorithm="sha256").digest()
    with prepared() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [int.from_bytes(digest[:8], "big", signed=True)])


def _locked(provider: str, platform_id: str, *, community_id: int | None = None) -> Identity | None:
    """Return the account with which a person has signed in, else a community's entry for the account or its
    use in the chat.

    The community is `community_id`, else the first one. Locks the user and then the account. A merge, or a
    change by the community, may give the account another user during the wait; then the account is read
    again.
    """
    account = Identity.objects.filter(provider=provider, platform_id=platform_id).select_related("user")
    written = account.filter(community__isnull=False, community__test_of=None, user__is_staff=False)
    written = written.order_by("user_id")
    if community_id is not None:
        written = written.filter(community_id=community_id)
    proven = account.filter(community__isnull=True)
    while found := proven.first() or written.first():
        lock_owners(found.user_id)
        rows = (written if found.community_id else proven).filter(pk=found.pk, user_id=found.user_id)
        if locked := rows.select_for_update(of=("self",)).first():
            return locked
    return None


def _new_user(name: str) -> User:
    user = User(name=name)
    user.set_unusable_password()
    user.save()
    return user


def _prove(identity: Identity, *, name: str, at: datetime) -> Identity:
    """Store that its user has signed in with an account, which is then valid in every community."""
    identity.name, identity.proven_at, identity.community = name, at, None
    identity.save()
    user = identity.user
    if not user.password:  # The password is blank, for example for members whom an API caller added.
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
    member_changes.announce(user_ids=[identity.user_id], at=at)
    return identity
