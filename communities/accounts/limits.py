"""Limits for each form of the account area: how often it may be sent, by address, account or field.

Signing in has separate limits. The middleware calls `count` for each request that the table names. A refused
form is drawn nevertheless: it shows the refusal and keeps the typed values, with the status 429. Pages
without one of our forms are replaced by a page with the refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from allauth.account.internal.stagekit import unstash_login
from django.http import HttpRequest

from communities import sign_in
from communities.gate import throttling
from communities.ground.mail_addresses import canonical
from communities.sign_in import TooManyAttempts

MINUTES, HOUR, DAY = 600, 3_600, 86_400  # All values are seconds; the first is ten minutes.


@dataclass(frozen=True, slots=True)
class Window:
    """At most `attempts` requests in `seconds`, counted by the address, the account, or the value
    of a field.
    """

    by: Literal["address", "account", "email"]
    attempts: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Limit:
    windows: tuple[Window, ...]
    keeps_form: bool = True
    """Whether the page's form shows the refusal. Otherwise a separate page shows it."""
    counts_reading: bool = False
    """Whether GET counts, too, because the address contains a secret that somebody may guess."""


def _limit(
    *windows: tuple[Literal["address", "account", "email"], int, int],
    keeps_form: bool = True,
    counts_reading: bool = False,
) -> Limit:
    return Limit(tuple(Window(*each) for each in windows), keeps_form, counts_reading)


_FACTOR = _limit(("account", 20, HOUR))
_SIMPLE = _limit(("account", 30, HOUR), keeps_form=False)
_BUILDING = _limit(("account", 120, HOUR), keeps_form=False)
_SECRET_ADDRESS = _limit(("address", 30, MINUTES), keeps_form=False, counts_reading=True)
_PASSWORD = _limit(("account", 6, MINUTES), ("address", 30, MINUTES))
TABLE: dict[str, Limit] = {
    "account_signup": _limit(("address", 20, HOUR), ("email", 5, HOUR)),
    "account_invitation": _limit(("address", 30, MINUTES), keeps_form=False, counts_reading=True),
    "account_join": _SIMPLE,
    "account_reset_password": _limit(("address", 20, HOUR), ("email", 5, HOUR)),
    "account_reset_password_from_key": _SECRET_ADDRESS,
    "account_confirm_email": _SECRET_ADDRESS,
    "account_reauthenticate": _PASSWORD,
    "account_change_password": _PASSWORD,
    "account_set_password": _PASSWORD,
    "account_email": _limit(("account", 20, HOUR)),
    "mfa_authenticate": _limit(("account", 10, MINUTES), ("account", 60, DAY), ("address", 30, MINUTES)),
    "mfa_reauthenticate": _PASSWORD,
    "mfa_reauthenticate_webauthn": _limit(("account", 10, MINUTES), keeps_form=False),
    "mfa_login_webauthn": _limit(("address", 30, MINUTES), keeps_form=False, counts_reading=True),
    "mfa_trust": _SIMPLE,
    "mfa_activate_totp": _FACTOR,
    "mfa_deactivate_totp": _SIMPLE,
    "mfa_generate_recovery_codes": _SIMPLE,
    "mfa_add_webauthn": _FACTOR,
    "mfa_edit_webauthn": _FACTOR,
    "mfa_remove_webauthn": _SIMPLE,
    "usersessions_list": _SIMPLE,
    "account_key_new": _SIMPLE,
    "account_key_rotate": _SIMPLE,
    "account_setup_step": _BUILDING,
    "account_chat_check": _SIMPLE,
    "account_chat_again": _BUILDING,
    "account_webhook_new": _SIMPLE,
    "account_webhook_rotate": _SIMPLE,
    "account_webhook_edit": _BUILDING,
    "account_webhook_switch": _BUILDING,
    "account_webhook_ping": _BUILDING,
    "account_webhook_delete": _BUILDING,
    "account_webhook_restore": _BUILDING,
    "account_delivery_again": _BUILDING,
    "account_forget_browsers": _SIMPLE,
    "account_invitation_merge": _limit(("address", 30, MINUTES), keeps_form=False, counts_reading=True),
    "account_merge": _SIMPLE,
    "account_data_export": _limit(("account", 10, HOUR), keeps_form=False),
    "account_data_erase": _SIMPLE,
    "account_data_leave": _SIMPLE,
    "socialaccount_connections": _SIMPLE,
}
UNLIMITED = {
    "account_login": "Counted before a password is hashed, by `communities.sign_in`.",
    "account_key_revoke": "Revoking must always work, and a key is revoked once.",
    "account_logout": "Tells nothing, and ends only one's own session.",
    "source_login": "Counted by its own view, which draws the refusal with the name of the platform.",
}
"""Forms without a row here, with the reason."""


OF_A_SIGN_IN = {"mfa_authenticate": 1, "mfa_login_webauthn": 2}
"""Forms that prove the identity of a person. A passkey sends several requests for one proof, because it
fetches a challenge first.
"""


def count(request: HttpRequest, url_name: str) -> None:
    """Count an attempt. Raises TooManyAttempts."""
    limit = TABLE.get(url_name)
    if limit is None or (request.method in ("GET", "HEAD") and not limit.counts_reading):
        return
    for number, window in enumerate(limit.windows):
        for who in _who(request, window.by):
            sign_in.count(
                _name(url_name, number, who),
                window.attempts,
                seconds=window.seconds,
                refusal="There were too many attempts.",
            )


def give_back(request: HttpRequest) -> None:
    """After a correct proof, take back the attempt that was counted against its address (rule 12.11)."""
    url_name = (request.resolver_match and request.resolver_match.url_name) or ""
    if url_name not in OF_A_SIGN_IN:
        return
    _give_back(request, url_name, by=("address",), hits=OF_A_SIGN_IN[url_name])


def give_all_back(request: HttpRequest) -> None:
    """Take back all attempts that this request counted, because nothing was checked."""
    url_name = (request.resolver_match and request.resolver_match.url_name) or ""
    if url_name in TABLE:
        _give_back(request, url_name, by=("address", "account", "email"), hits=1)


def _give_back(request: HttpRequest, url_name: str, *, by: Collection[str], hits: int) -> None:
    for number, window in enumerate(TABLE[url_name].windows):
        if window.by in by:
            for who in _who(request, window.by):
                throttling.give_back(f"colloquy:{_name(url_name, number, who)}", hits)


def _name(url_name: str, number: int, who: str) -> str:
    return f"account:{url_name}:{number}:{who}"


def _who(request: HttpRequest, by: str) -> Iterator[str]:
    """Yield the owner of the attempt; nothing if the form lacks the field, or if nobody is signed in."""
    if by == "address":
        yield throttling.hashed(throttling.address_of(request))
    elif by == "email":
        typed = request.POST.get("email", "").strip()
        if typed:
            yield throttling.hashed(canonical(typed))
    elif request.user.is_authenticated:
        yield f"user:{request.user.pk}"
    else:
        pending = unstash_login(request, peek=True)  # The password was correct, and a code is required.
        if pending is not None and pending.user is not None:
            yield f"user:{pending.user.pk}"


def refuse(request: HttpRequest, refusal: TooManyAttempts) -> None:
    """Make the form of this request say that there were too many attempts."""
    request.account_refusal = refusal  # type: ignore[attr-defined]


def refusal_of(request: HttpRequest | None) -> TooManyAttempts | None:
    return getattr(request, "account_refusal", None)
