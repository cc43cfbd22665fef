"""Signing in with a password. Attempts are limited before any password is hashed, because a hash takes a
third of a second of CPU.

Attempts are counted in sliding windows in Redis (without it, in each process) by

    the address                 somebody who tries many accounts; a success gives its own attempt back
    the address and account     somebody who tries many passwords of one account; forgotten after a success
    the account                 many addresses that try passwords of one account

The last limit alone would let anybody lock out an account that they know by name. So a browser that has
signed in before has a signed cookie for that account. The attempts of this browser are counted by the cookie
instead, whether they succeed or not. The browser keeps its random name in the cookie at later sign-ins;
otherwise each sign-in would bring new attempts.

The account is the typed text, an address or a user name; an existing account counts as the same under all its
names.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import BoundedSemaphore
from typing import Any

from allauth.account.internal.userkit import filter_users_by_email, get_user_by_username
from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse

from communities.gate import throttling
from communities.ground.words import plural

WINDOW = 600  # seconds
ATTEMPTS_OF_ADDRESS = 30
ATTEMPTS_OF_ADDRESS_AND_ACCOUNT = 6
ATTEMPTS_OF_ACCOUNT = 60
ATTEMPTS_OF_BROWSER = 12  # A browser that has signed in to this account before has this many attempts.

MAX_LOGIN = 320  # A name or mail address has at most this many characters.

KNOWN_FOR = timedelta(days=90)
ACCOUNTS_OF_BROWSER = 5

# The limit of this process. Hashing leaves the interpreter free, but it occupies a core and a thread of the
# web server.
MAX_HASHING = 1
SECONDS_TO_WAIT = 1.0  # An attempt waits this long for a slot.
RETRY_AFTER = 2  # seconds
_hashing = BoundedSemaphore(MAX_HASHING)
_waiting = BoundedSemaphore(MAX_HASHING)
# The slot for browsers with a cookie of an account. They do not wait for strangers, who may be many.
_hashing_of_known = BoundedSemaphore(MAX_HASHING)
_waiting_of_known = BoundedSemaphore(MAX_HASHING)


class TooManyAttempts(Exception):
    """Nothing is checked now. Waiting `retry_after` seconds helps."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooBusy(TooManyAttempts):
    """Others are signing in, so nothing was checked: the caller takes the attempt back."""


def count_attempt(request: HttpRequest, account: str) -> None:
    """Count an attempt to sign in to an account (`account_named`). Raises TooManyAttempts."""
    for name, limit in _limits(request, account):
        count(f"sign-in:{name}", limit, seconds=WINDOW, refusal="There were too many attempts to sign in.")


def give_attempt_back(request: HttpRequest, account: str) -> None:
    """Take back the attempt of `count_attempt`, because the password was not checked."""
    for name, _ in _limits(request, account):
        throttling.give_back(f"colloquy:sign-in:{name}")


def _limits(request: HttpRequest, account: str) -> list[tuple[str, int]]:
    address = throttling.hashed(throttling.address_of(request))
    browser = _known_browsers(request).get(account)
    if browser is not None:
        return [
            (f"browser:{browser}", ATTEMPTS_OF_BROWSER),
            (f"browsers:{account}", ATTEMPTS_OF_ACCOUNT),  # One person may collect many cookies.
        ]
    return [
        (f"address:{address}", ATTEMPTS_OF_ADDRESS),
        (f"pair:{address}:{account}", ATTEMPTS_OF_ADDRESS_AND_ACCOUNT),
        (f"account:{account}", ATTEMPTS_OF_ACCOUNT),
    ]


def count(name: str, limit: int, *, seconds: int, refusal: str) -> None:
    """Count an attempt under a name. Raises TooManyAttempts."""
    allowance = throttling.take_surely(f"colloquy:{name}", limit, seconds=seconds)
    if allowance.is_used_up:
        minutes = plural(-(-allowance.retry_after // 60), "minute")
        raise TooManyAttempts(
            f"{refusal} Please wait {minutes}, then try again.", retry_after=allowance.retry_after
        )


def forget_attempts(request: HttpRequest, account: str) -> None:
    """After a success, delete the attempts from this address for this account.

    A success is not counted for the network address, so many people who share an address can sign in
    (rule 12.11). Failed attempts at other accounts remain counted. Otherwise a person who guesses passwords
    could reset the count by signing in to their own account.
    """
    address = throttling.hashed(throttling.address_of(request))
    throttling.forget(f"colloquy:sign-in:pair:{address}:{account}")
    if account not in _known_browsers(request):  # The attempts of known browsers are not counted by address.
        throttling.give_back(f"colloquy:sign-in:address:{address}")


@contextmanager
def hashing_slot(request: HttpRequest | None = None) -> Iterator[None]:
    """Limit how many passwords are hashed at the same time.

    Raises TooBusy, so that not too many threads wait. Browsers that have signed in before have a separate
    slot.
    """
    is_known = request is not None and bool(_known_browsers(request))
    hashing, waiting = (_hashing_of_known, _waiting_of_known) if is_known else (_hashing, _waiting)
    is_free = hashing.acquire(blocking=False)
    if not is_free and waiting.acquire(blocking=False):
        try:
            is_free = hashing.acquire(timeout=SECONDS_TO_WAIT)
        finally:
            waiting.release()
    if not is_free:
        message = "Many people are signing in at this moment. Please try again in a few seconds."
        raise TooBusy(message, retry_after=RETRY_AFTER)
    try:
        yield
    finally:
        hashing.release()


def is_known_browser(request: HttpRequest, user: Any) -> bool:
    """Whether this browser has signed in to this account before."""
    return account_of(user.pk) in _known_browsers(request)


def remember_browser(response: HttpResponse, request: HttpRequest, user: Any) -> None:
    """Store in a cookie that this browser has signed in to the account.

    A known browser keeps its random name. With a new name the browser would have new attempts each time.
    """
    known, account = _known_browsers(request), account_of(user.pk)
    names = {account: known.get(account) or secrets.token_urlsafe(12), **known}
    pairs = [f"{name}.{each}" for each, name in list(names.items())[:ACCOUNTS_OF_BROWSER]]
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        _signer().sign(",".join(pairs)),
        max_age=KNOWN_FOR,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def account_named(login: str) -> str:
    """A keyed hash of the typed account, which need not exist. Nothing reveals whether the account exists.

    Names that begin with the same `MAX_LOGIN` characters share a hash: no account has a longer name.
    """
    by_email = filter_users_by_email(login, prefer_verified=True, for_login=True)
    user = by_email[0] if len(by_email) == 1 else get_user_by_username(login)
    if user is not None:
        return account_of(user.pk)
    return throttling.hashed(unicodedata.normalize("NFKC", login[:MAX_LOGIN]).casefold())


def account_of(user_id: int) -> str:
    """A keyed hash of an account."""
    return throttling.hashed(f"user:{user_id}")


def _signer() -> TimestampSigner:
    return TimestampSigner(salt="communities.sign_in")


def _known_browsers(request: HttpRequest) -> dict[str, str]:
    """The accounts to which this browser has signed in, with its random name for each."""
    try:
        cookie = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
        signed = _signer().unsign(cookie, max_age=KNOWN_FOR)
    except BadSignature:
        return {}
    pairs = (pair.partition(".") for pair in signed.split(","))
    return {account: name for name, _, account in pairs}
