"""Actions that follow from changes in people's accounts."""

from __future__ import annotations

from typing import Any

from allauth.account.signals import authentication_step_completed, email_confirmed
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import (
    authenticator_added,
    authenticator_removed,
    authenticator_reset,
    authenticator_used,
)
from allauth.usersessions.models import UserSession
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest
from django.utils import timezone

from communities import second_factors
from communities.accounts import lifetimes
from communities.accounts.adapters import AccountAdapter
from communities.services.inviting import invitations


def connect() -> None:
    for signal in (authenticator_added, authenticator_removed, authenticator_reset):
        signal.connect(_rotate_session, dispatch_uid="communities.accounts.rotate")
    authenticator_added.connect(_note_factor, dispatch_uid="communities.accounts.factor")
    authenticator_used.connect(_tell_of_recovery_code, dispatch_uid="communities.accounts.recovery_code")
    authentication_step_completed.connect(_rotate_after_proof, dispatch_uid="communities.accounts.proof")
    user_logged_in.connect(lifetimes.begin, dispatch_uid="communities.accounts.begin")
    email_confirmed.connect(_admit, dispatch_uid="communities.accounts.admit")


def _rotate_session(sender: object, request: HttpRequest, **kwargs: Any) -> None:
    """Give the session a new key after a change of factors, as after a sign-in."""
    old = request.session.session_key
    request.session.cycle_key()
    UserSession.objects.filter(session_key=old).update(session_key=request.session.session_key)


def _note_factor(
    sender: object, request: HttpRequest, user: Any, authenticator: Authenticator, **kwargs: Any
) -> None:
    if authenticator.type in second_factors.FACTORS:
        second_factors.note_added(request, user_id=user.pk)


def _rotate_after_proof(sender: object, request: HttpRequest, **kwargs: Any) -> None:
    """Give the session a new key after a signed-in person has confirmed who they are."""
    if kwargs.get("reauthenticated"):
        _rotate_session(sender, request)


def _tell_of_recovery_code(
    sender: object, request: HttpRequest, user: Any, authenticator: Authenticator, **kwargs: Any
) -> None:
    if authenticator.type == Authenticator.Type.RECOVERY_CODES:
        AccountAdapter(request).send_notification_mail("mfa/email/recovery_code_used", user)


def _admit(sender: object, email_address: Any, **kwargs: Any) -> None:
    """A person who signed up freely becomes a member once they have confirmed the address."""
    invitations.admit_confirmed(user=email_address.user, email=email_address.email, at=timezone.now())
