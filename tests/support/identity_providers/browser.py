"""A browser, imitated by Django's test client: it signs in on a platform and returns."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from tests.support.identity_providers import visits

_REFRESH = re.compile(r'http-equiv="refresh" content="0;url=([^"]+)"')


def leave(client: Client, provider: str, **fields: str) -> str:
    """Press the button of an identity provider; returns the platform's address."""
    response = client.post(f"/account/sources/{provider}/login/", fields)
    match = _REFRESH.search(response.content.decode())
    assert response.status_code == 200, response
    assert match, response.content
    return html.unescape(match[1])


def back_from(client: Client, provider: str, *, person: int | None = 0, **fields: str) -> str:
    """The address to which the platform redirects the browser: path and query."""
    parts = urlsplit(visits.choose(leave(client, provider, **fields), person=person))
    return f"{parts.path}?{parts.query}"


def sign_in(client: Client, provider: str, *, person: int | None = 0, **fields: str) -> Any:
    """Sign in as one of the people, and return the response of the callback."""
    return client.get(back_from(client, provider, person=person, **fields))


def user_of(client: Client) -> int | None:
    """The id of the user who is signed in; None if nobody is."""
    user_id = client.session.get("_auth_user_id")
    return int(user_id) if user_id else None
