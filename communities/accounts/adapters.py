"""The answers to django-allauth's questions: how mails are sent, who may sign up, and who owns an account
elsewhere.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Any, ClassVar

import requests
from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme

from communities import sign_in
from communities.accounts import browsers, failures, sign_ups, wording
from communities.gate import throttling
from communities.ground import outgoing as connections
from communities.ground import sealing
from communities.ground.sealing import SealedColumn
from communities.ground.transactions import in_transaction
from communities.identity_providers import platforms
from communities.models import User, unnamed
from communities.services.mail import mails
from communities.services.mail.letters import compose
from communities.services.people import identities

_FACTORS = "second factors"
SEALED = SealedColumn(
    Authenticator, "data", lambda row: sealing.seal_for(purpose=_FACTORS, row=""), path="secret"
)


class AccountAdapter(DefaultAccountAdapter):
    """The adapter of accounts. It writes mails as rows, which the worker sends. The texts of mails and
    messages are Colloquy's own.
    """

    error_messages: ClassVar[dict[str, Any]] = {**DefaultAccountAdapter.error_messages, **wording.ERRORS}

    # Mails and messages

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Write the mail into the outbox. So nobody waits for a mail server, and nobody can measure whether a
        mail was sent.
        """
        agent = str(context.get("user_agent", ""))
        values = {
            "email": email,
            "username": "u-",
            "account_url": _address("mfa_index"),
            "browser": browsers.name_of(agent),
            **context,
        }
        message = compose(wording.LETTERS[template_prefix](values), to=email)
        user = context.get("user")
        mails.write(message, kind=template_prefix, at=timezone.now(), user_id=getattr(user, "pk", None))

    def send_notification_mail(
        self,
        template_prefix: str,
        user: Any,
        context: dict[str, Any] | None = None,
        email: str | None = None,
    ) -> None:
        super().send_notification_mail(template_prefix, user, {"user": user, **(context or {})}, email)

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        words = message or wording.MESSAGES[message_template or ""].format_map(message_context or {})
        if words:
            messages.add_message(request, level, words, extra_tags=extra_tags)

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return an address below BASE_URL, because mails must not trust the Host of a request."""
        uidb36, _, token = key.partition("-")
        return _address("account_reset_password_from_key", uidb36=uidb36, key=token)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return _address("account_confirm_email", key=emailconfirmation.key)

    def send_account_already_exists_mail(self, email: str) -> None:
        address = _address("account_reset_password")
        self.send_mail("account/email/account_already_exists", email, {"password_reset_url": address})

    # Signing in and up

    def clean_email(self, email: str) -> str:
        """Refuse an address that no mail can be sent to, at its field."""
        if not mails.is_sendable(email):
            raise ValidationError(mails.UNSENDABLE, code="invalid")
        return email

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Return the user who has these credentials. An inactive user gets the same answer as a wrong
        password. Raises TooManyAttempts.
        """
        # The typed text is passed as both names: the user is looked up by either, and the password is hashed
        # once.
        if credentials.get("username"):
            credentials.pop("email", None)
        with sign_in.hashing_slot(request):
            user = super().authenticate(request, **credentials)
        return user if user is not None and user.is_active else None

    def set_password(self, user: Any, password: str) -> None:
        """Set a password unless another request has set one since `user` was loaded.

        In that case the page is drawn again, because its link or the typed current password is no longer
        valid.
        """
        earlier = user.password
        with sign_in.hashing_slot(context.request):
            user.set_password(password)
        with in_transaction:
            identities.leave_unproven(user_id=user.pk)
            if not User.objects.filter(pk=user.pk, password=earlier).update(password=user.password):
                raise ImmediateHttpResponse(HttpResponseRedirect(context.request.path))

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> Any:
        with sign_in.hashing_slot():
            return super().save_user(request, user, form, commit)

    def get_login_stages(self) -> list[str]:
        return [
            "communities.accounts.stages.ConfirmAddress",
            "communities.accounts.stages.AskForFactor",
            "allauth.mfa.stages.TrustStage",
        ]

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **kwargs)
        if not kwargs["signup"] and not sign_in.is_known_browser(request, user):
            self.send_notification_mail("account/email/new_sign_in", user)
        sign_in.remember_browser(response, request, user)
        return response

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        """Show the same page as for a wrong password, so that nobody learns that this account exists."""
        failures.record(request, "account", "inactive", account=sign_in.account_of(user.pk))
        messages.error(request, wording.MISMATCH)
        return HttpResponseRedirect(reverse("account_login"))

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return reverse("admin:index" if getattr(request.user, "may_enter_admin", False) else "account")

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return self.get_login_redirect_url(request)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")

    def is_safe_url(self, url: str) -> bool:
        """Return whether an address is on this host. Another allowed host is not enough."""
        host = context.request.get_host()
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={host}, require_https=context.request.is_secure()
        )

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address in the form that a session stores: for IPv6 the network, as in limits."""
        address = throttling.address_of(request).partition("/")[0]
        try:
            return str(ipaddress.ip_address(address))
        except ValueError:
            return "0.0.0.0"

    def populate_username(self, request: HttpRequest, user: Any) -> None:
        """Set no user name: people sign in by e-mail address or by an identity provider."""
        user.username = user.username or unnamed()

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return whether a community lets anybody sign up. Invitations have their own page."""
        return sign_ups.community_of(request) is not None

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        return [{**each, "description": _METHODS[each["id"]]} for each in methods]

    def generate_emailconfirmation_key(self, email: str) -> str:
        return secrets.token_urlsafe(48)


_METHODS = {
    "reauthenticate": "Use your password",
    "mfa_reauthenticate": "Use a code",
    "mfa_reauthenticate:webauthn": "Use a passkey",
}


def _address(name: str, **kwargs: str) -> str:
    return f"{settings.BASE_URL}{reverse(name, kwargs=kwargs)}"


class PlatformAdapter(DefaultSocialAccountAdapter):
    """Accounts of other sites. `communities.services.people.identities` decides the owner before this adapter
    is called.
    """

    def list_apps(
        self, request: HttpRequest | None, provider: str | None = None, client_id: str | None = None
    ) -> list[SocialApp]:
        """The credentials, only from the settings."""
        return [
            SocialApp(
                provider=name,
                name=platforms.NAMES[name],
                client_id=own.client_id,
                secret=own.client_secret,
            )
            for name, own in settings.SIGN_IN_PROVIDERS.items()
            if own.is_offered and provider in (None, name) and client_id in (None, own.client_id)
        ]

    def get_requests_session(self) -> requests.Session:
        return connections.session()

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False  # These people already have a user.

    def authenticate_by_email(self, sociallogin: Any) -> None:
        """Find nobody: e-mail addresses of other sites prove nothing."""


class FactorAdapter(DefaultMFAAdapter):
    """Second factors: their secrets are encrypted in the database."""

    error_messages: ClassVar[dict[str, Any]] = {**DefaultMFAAdapter.error_messages, **wording.FACTOR_ERRORS}

    def generate_authenticator_name(self, user: Any, type: Any) -> str:
        count = Authenticator.objects.filter(user_id=user.pk, type=type).count()
        return f"Passkey {count + 1}" if count else "Passkey"

    def get_totp_label(self, user: Any) -> str:
        return str(user.email or user.get_full_name())

    def _get_user_identifier(self, user: Any) -> str:
        return self.get_totp_label(user)

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        return {**super().get_public_key_credential_rp_entity(), "name": "Colloquy"}

    def get_public_key_credential_user_entity(self, user: Any) -> dict[str, Any]:
        return {**super().get_public_key_credential_user_entity(user), "display_name": user.get_full_name()}

    def encrypt(self, text: str) -> str:
        return sealing.seal(text, purpose=_FACTORS, row="").hex()

    def decrypt(self, encrypted_text: str) -> str:
        return sealing.unseal(bytes.fromhex(encrypted_text), purpose=_FACTORS, row="")
