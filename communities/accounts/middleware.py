"""The rules of every page of the account area: attempts are limited, and caches store nothing.

The middleware also applies the lifetimes of sessions, for the admin, too. It draws the page with new recovery
codes and the page about a required second factor, because several addresses lead to these pages.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, logout
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from communities import chosen_community, second_factors
from communities.accounts import failures, lifetimes, limits, own_communities, recovery_codes
from communities.accounts.providers.freshness import must_sign_in_again
from communities.ground.errors import ActorGone
from communities.models import User
from communities.second_factors import SecondFactorMissing
from communities.services.trail import presence
from communities.sign_in import TooBusy, TooManyAttempts

AREA, ADMIN = "/account/", "/admin/"
JOINED = (
    "Your account was joined with another one of yours, so this change was not made. Sign in to that one."
)
# django-allauth allows these actions without confirmation for people who sign in only by an identity provider
# and have neither password nor factors.
BY_SOURCE_TOO = {
    "account_email": ("POST",),
    "account_set_password": ("GET", "HEAD", "POST"),
    "mfa_activate_totp": ("GET", "HEAD", "POST"),
    "mfa_add_webauthn": ("GET", "HEAD", "POST"),
}
# Pages that show or change second factors. A session that has not proven one of them must prove one first,
# because a new passkey would open sessions that have.
OF_FACTORS = {
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_add_webauthn",
    "mfa_edit_webauthn",
    "mfa_remove_webauthn",
    "mfa_generate_recovery_codes",
    "mfa_view_recovery_codes",
}


class AccountAreaMiddleware:
    """The middleware of the account area. Requests to other addresses cost only a comparison."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == HTTPStatus.FOUND:
            response = recovery_codes.page_of_new(request) or response
        if request.path.startswith((AREA, ADMIN)):
            lifetimes.settle(request)
        if not request.path.startswith(AREA):
            return response
        response["Cache-Control"] = "no-store"
        refusal = limits.refusal_of(request)
        if refusal is not None:
            response.status_code = 429
            response["Retry-After"] = str(refusal.retry_after)
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or not request.path.startswith(AREA):
            return None
        name = match.url_name or ""
        if request.method in BY_SOURCE_TOO.get(name, ()) and must_sign_in_again(request):
            return redirect("source_sign_in_again")
        if name in OF_FACTORS and (factor := second_factors.unproven(request)):
            return redirect(_confirming(factor, request.path))
        if name == "account_set_password" and request.method == "POST" and not _was_just_proven(request):
            # Otherwise django-allauth would store the form, with the password, in the session
            return redirect(name)
        try:
            limits.count(request, name)
        except TooManyAttempts as refusal:
            limits.refuse(request, refusal)
            if not limits.TABLE[name].keeps_form:
                if name in failures.OF_PAGES:
                    failures.record(request, failures.OF_PAGES[name], "too_many")
                return too_many(request, refusal)
        return None

    def process_template_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.path.startswith(AREA):
            failures.record_dead_link(request, response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer three exceptions: too many passwords are being hashed, a community requires a second factor,
        or the person no longer exists.
        """
        if not hasattr(request, "user"):  # The request has skipped the layers for sessions.
            return None
        # After other errors the user is not read, because that query may fail, too.
        is_likely = presence.refers_to_nobody(exception)
        if isinstance(exception, ActorGone) or (is_likely and _is_gone(request)):
            return sign_in_again(request)
        if isinstance(exception, SecondFactorMissing):
            return explain_second_factor(request, exception)
        if not isinstance(exception, TooManyAttempts):
            return None
        limits.refuse(request, exception)
        if isinstance(exception, TooBusy):
            limits.give_all_back(request)
        return too_many(request, exception)


def _was_just_proven(request: HttpRequest) -> bool:
    return not request.user.is_authenticated or did_recently_reauthenticate(request)


def _is_gone(request: HttpRequest) -> bool:
    user_id = request.user.pk
    return user_id is not None and not User.objects.filter(pk=user_id).exists()


def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Redirect to the sign-in page, which reports it if the account has just been merged into another."""
    with suppress(ActorGone):
        presence.successor_of(user_id=request.user.pk or 0)
        logout(request)  # The merge has deleted the session, so the session cannot store a message.
        messages.info(request, JOINED)
    return redirect_to_login(request.get_full_path(), reverse("account_login"))


def explain_second_factor(request: HttpRequest, missing: SecondFactorMissing) -> HttpResponse:
    """Explain why the page is closed and where to set up or confirm a second factor; that page leads back to
    this one.
    """
    second_factors.remember_wanted(request)
    confirm = ""
    if missing.factor:
        confirm = _confirming(missing.factor, second_factors.forget_wanted(request))
    chosen_community.remember(request, missing.community_id)
    others = [each for each in own_communities.choices(request) if not each.requires_second_factor]
    context = {"community": missing.name, "others": others, "confirm": confirm}
    response = render(request, "account/second_factor_missing.html", context, status=HTTPStatus.FORBIDDEN)
    if "HX-Request" in request.headers:
        response["HX-Refresh"] = "true"  # A part of a page cannot show the explanation.
    return response


def _confirming(factor: str, wanted: str) -> str:
    """The address of the page that asks for a factor of this type, and then leads to the wanted page."""
    name = "mfa_reauthenticate_webauthn" if factor == "webauthn" else "mfa_reauthenticate"
    return f"{reverse(name)}?{urlencode({REDIRECT_FIELD_NAME: wanted})}"


def too_many(request: HttpRequest, refusal: TooManyAttempts) -> HttpResponse:
    return render(request, "account/too_many.html", {"refusal": str(refusal)}, status=429)
