"""Whether a person has recently proven who they are, before their ways to sign in change."""

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
from django.utils.http import url_has_allowed_host_and_scheme


def require_fresh_sign_in(request: HttpRequest) -> None:
    """Require that the person confirms who they are, unless they did so within the last minutes.

    People without password and factors sign in with one of their identity providers again; django-allauth
    would not require that. Raises an exception that the account middleware converts to a redirect.
    """
    if get_reauthentication_flows(request.user):
        raise_if_reauthentication_required(request, app="allauth.socialaccount")
    elif must_sign_in_again(request):
        query = urlencode({"next": _page_of(request)})
        raise ImmediateHttpResponse(redirect(f"{reverse('source_sign_in_again')}?{query}"))


def _page_of(request: HttpRequest) -> str:
    """The page to return to: this page, or the page whose form was sent."""
    if request.method == "GET":
        return request.get_full_path()
    sender = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(sender, {request.get_host()})  # a text of ours is an address
    return (is_ours and urlsplit(sender).path) or request.path


def must_sign_in_again(request: HttpRequest) -> bool:
    """Whether a person who can only use identity providers has not signed in within the last minutes."""
    return (
        request.user.is_authenticated
        and not get_reauthentication_flows(request.user)
        and not has_just_signed_in(request)
    )


def has_just_signed_in(request: HttpRequest) -> bool:
    """Whether this session's person has signed in within the last minutes, in any way."""
    records = get_authentication_records(request, request.user)
    timeout: int = app_settings.REAUTHENTICATION_TIMEOUT
    return bool(records) and time.time() - records[-1]["at"] < timeout
