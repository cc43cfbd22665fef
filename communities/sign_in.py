"""Signing in to the admin: limited before any password is hashed, which takes a third of a second of CPU.

Attempts are counted in sliding windows in Redis (without it, in each process) by

    the address                 somebody who tries many accounts
    the address and account     somebody who tries many passwords of one account; forgotten after a success
    the account                 many addresses that try passwords of one account

The last one alone would let anybody lock out an account that they know by name. So a browser that has signed
in before keeps a signed cookie for that account, and its attempts are counted by that cookie instead, whether
they succeed or not. It keeps its name when it signs in again, or each time would bring new attempts.

The form for another password asks for the present one, and is limited too: by the account that is signed in.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.admin.sites import AdminSite
from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse

from communities.http import throttling
from communities.words import plural

WINDOW = 600  # seconds
ATTEMPTS_OF_ADDRESS = 30
ATTEMPTS_OF_ADDRESS_AND_ACCOUNT = 6
ATTEMPTS_OF_ACCOUNT = 60
ATTEMPTS_OF_BROWSER = 12  # that has signed in to this account before
ATTEMPTS_TO_CHANGE_A_PASSWORD = 6

KNOWN_BROWSER = "colloquy_browser"
KNOWN_FOR = timedelta(days=90)

# Of this process. Hashing leaves the interpreter free, but it occupies a core and a thread of the web server.
MAX_HASHING = 1
SECONDS_TO_WAIT = 1.0  # for a slot
RETRY_AFTER = 2  # seconds
_hashing = BoundedSemaphore(MAX_HASHING)
_waiting = BoundedSemaphore(MAX_HASHING)


class TooManyAttempts(Exception):
    """No password is looked at now. Waiting `retry_after` seconds helps."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def count_attempt(request: HttpRequest, username: str) -> None:
    """Count an attempt to sign in to an account, which need not exist. Raises TooManyAttempts."""
    address, account = throttling.hashed(throttling.address_of(request)), _hashed_account(username)
    browser = _known_browser(request, account)
    if browser is not None:
        limits = [
            (f"browser:{browser}", ATTEMPTS_OF_BROWSER),
            (f"browsers:{account}", ATTEMPTS_OF_ACCOUNT),  # one person may collect many cookies
        ]
    else:
        limits = [
            (f"address:{address}", ATTEMPTS_OF_ADDRESS),
            (f"pair:{address}:{account}", ATTEMPTS_OF_ADDRESS_AND_ACCOUNT),
            (f"account:{account}", ATTEMPTS_OF_ACCOUNT),
        ]
    for name, limit in limits:
        _count(name, limit, "There were too many attempts to sign in.")


def _count(name: str, limit: int, refusal: str) -> None:
    allowance = throttling.take_surely(f"colloquy:sign-in:{name}", limit, seconds=WINDOW)
    if allowance.is_used_up:
        minutes = plural(-(-allowance.retry_after // 60), "minute")
        raise TooManyAttempts(
            f"{refusal} Please wait {minutes}, then try again.", retry_after=allowance.retry_after
        )


def forget_attempts(request: HttpRequest, username: str) -> None:
    """After a success, forget the attempts from this address for this account."""
    address, account = throttling.hashed(throttling.address_of(request)), _hashed_account(username)
    throttling.forget(f"colloquy:sign-in:pair:{address}:{account}")


@contextmanager
def hashing_slot() -> Iterator[None]:
    """Let few passwords be hashed at one time. Raises TooManyAttempts rather than let many threads wait."""
    is_free = _hashing.acquire(blocking=False)
    if not is_free and _waiting.acquire(blocking=False):
        try:
            is_free = _hashing.acquire(timeout=SECONDS_TO_WAIT)
        finally:
            _waiting.release()
    if not is_free:
        message = "Many people are signing in at this moment. Please try again in a few seconds."
        raise TooManyAttempts(message, retry_after=RETRY_AFTER)
    try:
        yield
    finally:
        _hashing.release()


class SignInForm(AdminAuthenticationForm):
    """The form of the login page. It asks nobody for a password whose attempts are used up."""

    retry_after = 0

    def clean(self) -> dict[str, Any]:
        request, username = self.request, self.cleaned_data.get("username")
        if request is None or not username or not self.cleaned_data.get("password"):
            return super().clean()
        try:
            count_attempt(request, username)
            with hashing_slot():
                cleaned = super().clean()
        except TooManyAttempts as refusal:
            self.retry_after = refusal.retry_after
            raise ValidationError(str(refusal), code="too_many") from None
        forget_attempts(request, username)
        return cleaned


class LimitedSignIn(AdminSite):
    """Django's admin site, with limited sign-in."""

    login_form = SignInForm

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if isinstance(form, SignInForm) and form.retry_after:
            response.status_code = 429
            response["Retry-After"] = str(form.retry_after)
        elif request.method == "POST" and form is None:  # signed in; a refused form is shown again
            _remember_browser(response, request)
        return response

    def password_change(  # type: ignore[override]  # the stubs know of no redirect
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method != "POST":
            return super().password_change(request, extra_context)
        try:
            _count(
                f"password:{request.user.pk}",
                ATTEMPTS_TO_CHANGE_A_PASSWORD,
                "There were too many attempts to change this password.",
            )
            with hashing_slot():
                return super().password_change(request, extra_context)
        except TooManyAttempts as refusal:
            headers = {"Retry-After": str(refusal.retry_after)}
            return HttpResponse(str(refusal), status=429, headers=headers, content_type="text/plain")


def _hashed_account(username: str) -> str:
    return throttling.hashed(unicodedata.normalize("NFKC", username).casefold())


def _signer() -> TimestampSigner:
    return TimestampSigner(salt="communities.sign_in")


def _known_browser(request: HttpRequest, account: str) -> str | None:
    """The random name of a browser that has signed in to this account; None for others."""
    try:
        signed = _signer().unsign(request.COOKIES.get(KNOWN_BROWSER, ""), max_age=KNOWN_FOR)
    except BadSignature:
        return None
    name, _, known_account = signed.partition(".")
    return name if known_account == account else None


def _remember_browser(response: HttpResponse, request: HttpRequest) -> None:
    """A browser that is known keeps its name: with a new one it would have new attempts each time."""
    account = _hashed_account(request.user.get_username())
    name = _known_browser(request, account) or secrets.token_urlsafe(12)
    response.set_cookie(
        KNOWN_BROWSER,
        _signer().sign(f"{name}.{account}"),
        max_age=KNOWN_FOR,
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
