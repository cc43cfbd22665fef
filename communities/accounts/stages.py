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
    """The step that requires a confirmed address. It applies only to people who signed up with an address.

    Staff who sign in by a user name may have no address, and neither may people who sign in by an identity
    provider.
    """

    def handle(self) -> tuple[Any, bool]:
        login = self.login
        if login.user is not None and not must_confirm(login.user):
            return None, True
        # Without a user, somebody signed up with the address of an existing account. The owner of the account
        # gets a mail about that.
        send_verification_email_at_login(self.request, login)
        return get_adapter().respond_email_verification_sent(self.request, login.user), True


class AskForFactor(AuthenticateStage):
    """The step that asks for a second factor. A remembered browser counts as having passed the step, unless
    its owner had all browsers forgotten since.
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
        # The cookie stores whole seconds, rounded down. So a cookie from the same second counts as older.
        return not any(
            each.fingerprint == fingerprint and each.at > since for each in trust.decode_trust_cookie(request)
        )


def must_confirm(user: AbstractBaseUser) -> bool:
    """Return whether a person signed up with an address, and has confirmed neither this address nor another
    one.

    The address of a sign-up is the main address. An address that is added later becomes the main address once
    it is confirmed.
    """
    states = EmailAddress.objects.filter(user_id=user.pk).values_list("verified", "primary")
    return (False, True) in states and not any(verified for verified, _ in states)
