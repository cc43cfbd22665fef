"""The steps between a correct password and being signed in."""

from __future__ import annotations

from typing import Any

from allauth.account import stages
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.email_verification import send_verification_email_at_login
from allauth.account.models import EmailAddress
from allauth.mfa.internal.flows import trust
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.utils import is_mfa_enabled
from allauth.mfa.webauthn.internal.flows import did_use_passwordless_login
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest

from communities import second_factors
from communities.second_factors import FACTORS


class ConfirmAddress(stages.EmailVerificationStage):
    """Requires a confirmed address only from people who made their account with one.

    Staff who sign in by a user name may have no address, nor may people who sign in by an identity provider.
    """

    def handle(self) -> tuple[Any, bool]:
        login = self.login
        if login.user is not None and not must_confirm(login.user):
            return None, True
        # Without a user, the sign-up used an address that has an account: its owner gets a mail that says so.
        send_verification_email_at_login(self.request, login)
        return get_adapter().respond_email_verification_sent(self.request, login.user), True


class AskForFactor(AuthenticateStage):
    """A browser that was remembered before its owner had all browsers forgotten must pass the factor like any
    other. One that is remembered counts as having passed it.
    """

    def handle(self) -> tuple[Any, bool]:
        asks, user = self._should_handle(self.request), self.login.user
        if not asks and user is not None and is_mfa_enabled(user, FACTORS):
            second_factors.prove(self.request, user_id=user.pk)
        response: tuple[Any, bool] = super().handle()
        return response

    def _should_handle(self, request: HttpRequest) -> bool:
        user = self.login.user
        if super()._should_handle(request):
            return True
        if user is None or user.browsers_forgotten_at is None:
            return False
        if not is_mfa_enabled(user, FACTORS) or did_use_passwordless_login(request, user):
            return False
        fingerprint, since = trust.create_config_fingerprint(user), user.browsers_forgotten_at.timestamp()
        # The cookie counts whole seconds, rounded down: a cookie from the same second counts as older.
        return not any(
            each.fingerprint == fingerprint and each.at > since for each in trust.decode_trust_cookie(request)
        )


def must_confirm(user: AbstractBaseUser) -> bool:
    """Whether an account was made with an address that nobody has confirmed, and has no other address.

    Signing up makes its address the main one; an address that is added later becomes the main one once
    confirmed.
    """
    states = EmailAddress.objects.filter(user_id=user.pk).values_list("verified", "primary")
    return (False, True) in states and not any(verified for verified, _ in states)
