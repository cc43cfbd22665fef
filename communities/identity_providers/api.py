"""One request to a platform, and the meaning of its status for all platforms."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import requests

from communities.ground.outgoing import session, time_limit
from communities.identity_providers import platforms
from communities.identity_providers.failures import PlatformUnavailable, TokenRefused

SECONDS = 15.0  # for one answer, also if its headers come one byte at a time
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class Reply:
    """A platform's answer. `content` is parsed JSON, or None if the body is no JSON."""

    status: int
    content: Any
    text: str


def get(
    provider: str,
    url: str,
    *,
    token: str = "",
    params: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send a GET request to a platform.

    Raises PlatformUnavailable and TokenRefused; callers handle other errors.
    """
    authorization = {"Authorization": f"Bearer {token}"} if token else {}
    reply = _send("GET", provider, url, params=params, headers={**(headers or {}), **authorization})
    if token and reply.status == 401:
        raise TokenRefused(f"{platforms.NAMES[provider]} refused the token.", content=reply.content)
    return reply


def post(provider: str, url: str, *, form: Mapping[str, str]) -> Reply:
    """Send a form to a platform. Raises PlatformUnavailable."""
    return _send("POST", provider, url, data=form, headers={"Accept": "application/json"})


def unexpected(provider: str, reply: Reply) -> PlatformUnavailable:
    """The error for an answer that a client does not know."""
    return PlatformUnavailable(f"{platforms.NAMES[provider]} answered {reply.status} unexpectedly.")


def _send(method: str, provider: str, url: str, **kwargs: Any) -> Reply:
    name = platforms.NAMES[provider]
    try:
        with time_limit(SECONDS), session() as each:
            response = each.request(method, platforms.address(provider, url), **kwargs)
    except (requests.RequestException, TimeoutError) as failure:
        raise PlatformUnavailable(f"{name} cannot be reached.") from failure
    if response.status_code == 429:
        wait = _wait(response.headers.get("Retry-After", ""))
        raise PlatformUnavailable(f"{name} asks us to wait.", retry_after=wait)
    if response.status_code >= 500:
        raise PlatformUnavailable(f"{name} answered {response.status_code}.")
    return Reply(response.status_code, _json(response), response.content.decode(errors="replace"))


def _wait(header: str) -> timedelta:
    """The time to wait: whole or fractional seconds, at most an hour; a minute if the platform does not
    say.
    """
    if not _SECONDS.fullmatch(header.strip()):
        return timedelta(minutes=1)
    return timedelta(seconds=min(math.ceil(float(header)), 3600))


def _json(response: requests.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
