"""Whether somebody has proven just now who they are, before their ways to sign in change."""

from __future__ import annotations

import time
from urllib.parse import urlencode, urlsplit

from allauth.account import app_settings
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import (
    get_reauthentication_flows,
    raise_if_reauthentication_required,
)
from allauth.core.exceptions import ImmediateHttpResponse
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse


def require_fresh_sign_in(request: HttpRequest) -> None:
    """Have the person confirm who they are, unless they did within the last minutes.

    People without password and factors sign in with one of their sources again: django-allauth would let
    them pass. Raises what the account middleware turns into a redirect.
    """
    if get_reauthentication_flows(request.user):
        raise_if_reauthentication_required(request, app="allauth.socialaccount")
    elif must_sign_in_again(request):
        query = urlencode({"next": _page_of(request)})
        raise ImmediateHttpResponse(redirect(f"{reverse('source_sign_in_again')}?{query}"))


def _page_of(request: HttpRequest) -> str:
    """The page to come back to: this one, or the one whose form was sent."""
    if request.method == "GET":
        return request.get_full_path()
    return urlsplit(request.headers.get("Referer", "")).path or request.path


def must_sign_in_again(request: HttpRequest) -> bool:
    """Whether somebody whose only ways to sign in are sources has not done so within the last minutes."""
    return (
        request.user.is_authenticated
        and not get_reauthentication_flows(request.user)
        and not has_just_signed_in(request)
    )


def has_just_signed_in(request: HttpRequest) -> bool:
    """Whether this session's person has signed in within the last minutes, in whatever way."""
    records = get_authentication_records(request, request.user)
    timeout: int = app_settings.REAUTHENTICATION_TIMEOUT
    return bool(records) and time.time() - records[-1]["at"] < timeout
