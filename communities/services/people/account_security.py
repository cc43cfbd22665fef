"""The ways to sign in of an account, which superusers see and remove.

These functions are for people who lost their second factor, and for accounts that another person has taken
over. The owner of the account gets a mail, and the audit trails of the owner's communities get an entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.urls import reverse

from communities.ground.transactions import in_transaction
from communities.identity_providers import platforms
from communities.models import Identity, User
from communities.services.mail import mails
from communities.services.mail.letters import Letter, compose
from communities.services.mail.recipients import proven_address
from communities.services.people import staff

KIND = mails.declare("account_security_notice", mails.Consent.CONFIRMED)
ALARM = (
    "If you did not ask for this, sign in, look at the sessions and the ways to sign in of your account, and "
    "tell the people who run this site."
)


@dataclass(frozen=True, slots=True)
class WaysIn:
    """The ways in which a person can sign in.

    Recovery codes are not counted as a way: they replace a factor.
    """

    has_password: bool
    proven_addresses: Sequence[str]
    platforms: Sequence[str]
    """Names of the identity providers that are connected."""
    has_authenticator_app: bool
    passkeys: Sequence[str]
    """The names that the owner gave to the passkeys."""

    @property
    def has_factors(self) -> bool:
        """Whether there is anything that `remove_factors` removes."""
        return self.has_authenticator_app or bool(self.passkeys)


def ways_in(user: User) -> WaysIn:
    factors = list(Authenticator.objects.filter(user=user).order_by("pk"))
    proven = EmailAddress.objects.filter(user=user, verified=True).order_by("-primary", "pk")
    connected = Identity.objects.filter(user=user, community=None).order_by("provider")
    return WaysIn(
        has_password=user.has_usable_password(),
        proven_addresses=list(proven.values_list("email", flat=True)),
        platforms=[platforms.LABELS[each.provider] for each in connected],
        has_authenticator_app=any(each.type == Authenticator.Type.TOTP for each in factors),
        passkeys=[
            each.data.get("name") or "Passkey" for each in factors if each.type == Authenticator.Type.WEBAUTHN
        ],
    )


def sessions_of(user: User, *, at: datetime) -> list[UserSession]:
    """The sessions in which a person is signed in, the most recently used first."""
    present = Session.objects.filter(expire_date__gt=at).values("session_key")
    listed = UserSession.objects.filter(user=user, session_key__in=present)
    return list(listed.order_by("-last_seen_at", "-pk"))


@in_transaction
def end_sessions(*, by: User, user: User, at: datetime) -> None:
    """End all sessions of a person; every remembered browser must pass a second factor again."""
    _end_all(user, at=at)
    staff.record_account_change(staff=by, user=user, fields=["sessions"], before={}, after={}, at=at)
    _tell(
        user,
        Letter(
            "You were signed out everywhere",
            ["Staff of this site ended all sessions of your account. Sign in again to go on."],
            action=("Sign in", f"{settings.BASE_URL}{reverse('account_login')}"),
        ),
        at=at,
    )


@in_transaction
def remove_factors(*, by: User, user: User, at: datetime) -> None:
    """Remove the authenticator app, its recovery codes and all passkeys of a person.

    The sessions end, too, because one of them may belong to a finder of the lost device.
    """
    Authenticator.objects.filter(user=user).delete()
    _end_all(user, at=at)
    changed = ["second_factors", "sessions"]
    staff.record_account_change(staff=by, user=user, fields=changed, before={}, after={}, at=at)
    _tell(
        user,
        Letter(
            "Your authenticator app and passkeys were removed",
            [
                "Staff of this site removed them and ended all your sessions.",
                "Signing in does not ask for a code any more: add a new authenticator app or passkey soon.",
            ],
            action=("Sign in", f"{settings.BASE_URL}{reverse('account_login')}"),
        ),
        at=at,
    )


def _end_all(user: User, *, at: datetime) -> None:
    listed = UserSession.objects.filter(user=user)
    keys = [*listed.values_list("session_key", flat=True), *_unlisted_sessions(user, at=at)]
    listed.delete()
    Session.objects.filter(session_key__in=keys).delete()
    User.objects.filter(pk=user.pk).update(browsers_forgotten_at=at)


def _unlisted_sessions(user: User, *, at: datetime) -> list[str]:
    """The keys of a user's sessions that began without django-allauth, as by a command."""
    listed = UserSession.objects.values("session_key")
    others = Session.objects.filter(expire_date__gt=at).exclude(session_key__in=listed)
    return [
        each.session_key for each in others.iterator() if each.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]


def _tell(user: User, letter: Letter, *, at: datetime) -> None:
    """Write a mail to the owner, if they have proven an address."""
    address = proven_address(user_id=user.pk)
    if address is None:
        return
    letter = Letter(
        letter.subject,
        letter.paragraphs,
        action=letter.action,
        facts=[("When", f"{at:%-d %B %Y, %H:%M} UTC")],
        closing=[ALARM],
    )
    mails.write(compose(letter, to=address), kind=KIND, at=at, user_id=user.pk)
