"""The log of failed sign-ins, and of signed-in people who fail to confirm who they are.

Each attempt is one line, `sign_in.failed`, with keyed hashes of the address and the account. The limits of
attempts use the same hashes. Lines about one account can be found together, and contain no names.
"""

from __future__ import annotations

from typing import Literal

import structlog
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponseBase

from communities import sign_in
from communities.gate import throttling

Way = Literal["password", "code", "passkey", "platform", "link", "account"]
"""The proof that was not accepted. With `account` the proof was right, but the account is closed."""
OF_PAGES: dict[str, Way] = {
    "mfa_login_webauthn": "passkey",
    "mfa_reauthenticate_webauthn": "passkey",
    "account_reset_password_from_key": "link",
    "account_confirm_email": "link",
    "account_invitation": "link",
}
"""Pages that are not drawn once their attempts are used up, by the name of their URL."""

log = structlog.get_logger("colloquy.sign_in")


def record(
    request: HttpRequest,
    way: Way,
    reason: str,
    *,
    account: str | None = None,
    **more: object,
) -> None:
    """Log a failed attempt. `account` is a keyed hash, or None if no account was named."""
    log.warning(
        "sign_in.failed",
        way=way,
        reason=reason,
        again=request.user.is_authenticated,
        address=throttling.hashed(throttling.address_of(request)),
        account=account,
        **more,
    )


def record_form(request: HttpRequest, way: Way, form: BaseForm) -> None:
    """Log the refusal of a form. The reason is the code of its first error."""
    first = next(error for errors in form.errors.as_data().values() for error in errors)
    user = getattr(form, "user", None)
    account = getattr(form, "account", None) if user is None else sign_in.account_of(user.pk)
    record(request, way, first.code or "invalid", account=account)


def record_dead_link(request: HttpRequest, response: HttpResponseBase) -> None:
    """Log a mail's link that does not work, if this page reports such a link."""
    context = getattr(response, "context_data", None) or {}
    name = request.resolver_match.url_name if request.resolver_match else None
    is_dead = context.get("token_fail") or (name == "account_confirm_email" and not context["confirmation"])
    if is_dead:
        record(request, "link", "invalid_link")
