"""The only client of the chat platform: one synchronous request of the bot, with typed errors.

The client never waits for a rate limit: its callers retry later. Never call it in a transaction. Tokens and
bodies are never logged.
"""

from __future__ import annotations

import functools
import json as json_module
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import requests
import structlog
from django.conf import settings

from communities.chat_platform import pacing
from communities.chat_platform.pacing import Route
from communities.ground.outgoing import session_of_bot

MOST_REASON = 512  # The reason in the server's audit log has at most this many bytes, encoded.
SHORT_WAIT = timedelta(seconds=5)  # The wait if the platform does not say how long to wait.
AFTER_A_BAN = timedelta(minutes=1)  # The wait if the network in front of the platform has blocked us.
# Codes that ask for a slower pace, with any status. They concern edits of old messages, announcements, a
# channel and a server.
_SLOW_DOWN = frozenset({20016, 20022, 20028, 20029, 30046})

log = structlog.get_logger("colloquy.chat")


class PlatformError(Exception):
    """The platform did not carry out the request. `code` is the platform's code for the reason, if there is
    one.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: int | None = None,
        retry_after: timedelta | None = None,
        field: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.code = message, status, code
        self.retry_after, self.field = retry_after, field


class Unreachable(PlatformError):
    """The platform did not answer, has an outage, or accepts no calls of the bot now. A retry may succeed
    later.
    """


class RateLimited(PlatformError):
    """Too many requests: a retry may succeed after `retry_after`."""


class Unauthorized(PlatformError):
    """The bot's token is wrong."""


class Refused(PlatformError):
    """The platform understood the request, and will never carry it out."""


@dataclass(frozen=True, slots=True)
class File:
    """A file that is sent with a message."""

    name: str
    content: bytes
    media_type: str


def request(
    method: str,
    path: str,
    *,
    json: Mapping[str, Any] | Sequence[Any] | None = None,
    files: Sequence[File] = (),
    reason: str = "",
    as_bot: bool = True,
) -> Any:
    """Send a request to the platform, and return its answer as parsed JSON; None if the answer is empty.

    `path` follows the API's base address, such as `/channels/1/messages`. `reason` is shown in the audit log
    of the server. Without `as_bot`, the path itself contains a token. Raises PlatformError.
    """
    application = settings.CHAT
    if application is None:
        raise Unreachable("No chat platform is configured.")
    route = pacing.route_of(method, path)
    if wait := pacing.reserve(route, as_bot=as_bot):
        raise _not_now(wait)
    headers = {"Authorization": f"Bot {application.bot_token}"} if as_bot else {}
    if reason:
        headers["X-Audit-Log-Reason"] = _encoded(reason)
    body = {"files": _parts(json, files)} if files else {} if json is None else {"json": json}
    began, status = time.perf_counter(), None
    try:
        session = _session(application.api_base_url)
        response = session.request(method, f"{application.api_base_url}{path}", headers=headers, **body)
        status = response.status_code
    except requests.RequestException as failure:
        raise Unreachable("The chat platform cannot be reached.") from failure
    finally:
        milliseconds = round((time.perf_counter() - began) * 1000, 1)
        log.info("chat.request", route=route.name, status=status, milliseconds=milliseconds)
    pacing.learn(route, response.headers)
    content = _json(response)
    if 200 <= response.status_code < 300 and (content is not None or not response.content):
        return content
    raise _failure(route, response, content, as_bot=as_bot)


def require_pace(method: str, path: str) -> None:
    """Raise the error that a limit would cause for a request of the bot now. Callers use this before they
    create the content.
    """
    if wait := pacing.look(pacing.route_of(method, path), as_bot=True):
        raise _not_now(wait)


def _not_now(wait: pacing.Wait) -> PlatformError:
    if wait.cause == "circuit":
        words = "The chat platform refused the bot’s token a few minutes ago."
        return Unreachable(words, retry_after=wait.lasts)
    return RateLimited("The chat platform asked us to wait.", retry_after=wait.lasts)


def _failure(route: Route, response: requests.Response, content: Any, *, as_bot: bool) -> PlatformError:
    """Return the error for a response, and apply the limits in the response to all other requests."""
    raw, status = content if isinstance(content, dict) else {}, response.status_code
    code = raw.get("code") if isinstance(raw.get("code"), int) else None
    message = str(raw.get("message") or f"The chat platform answered {status}.")[:300]
    if status == 429 or code in _SLOW_DOWN:
        wait = _wait(route, response, content)
        words = "The chat platform asked us to wait."
        return RateLimited(words, status=status, code=code, retry_after=wait)
    if status == 401:
        if as_bot:
            log.error("chat.token_refused")
            pacing.open_circuit()
        return Unauthorized("The chat platform does not accept the token.", status=status, code=code)
    if 400 <= status < 500:
        return Refused(message, status=status, code=code, field=_first_field(raw.get("errors")))
    return Unreachable(f"The chat platform answered {status}.", status=status, code=code)


def _wait(route: Route, response: requests.Response, content: Any) -> timedelta:
    """Return the time to wait, and make all requests wait if the limit is global."""
    by_header = pacing.read_seconds(response.headers.get("Retry-After"))
    if not isinstance(content, dict):  # The response comes from the network in front of the API.
        wait = by_header or AFTER_A_BAN
        log.error("chat.shut_out", seconds=wait.total_seconds())
        pacing.stop_all(wait)
        return wait
    wait = pacing.read_seconds(content.get("retry_after")) or by_header or SHORT_WAIT
    if content.get("global") is True or "X-RateLimit-Global" in response.headers:
        pacing.stop_all(wait)
    # If requests remain, the limit applies to this request only.
    elif response.headers.get("X-RateLimit-Remaining", "0") == "0":
        pacing.stop(route, wait)
    return wait


def _first_field(errors: Any, path: str = "") -> str:
    """The path of the first field that the platform complains about, such as `components.0.emoji.name`."""
    if not isinstance(errors, dict):
        return path
    for key, inner in errors.items():
        if key == "_errors":
            return path
        return _first_field(inner, f"{path}.{key}" if path else str(key))
    return path


def _json(response: requests.Response) -> Any:
    try:
        return response.json() if response.content else None
    except ValueError:
        return None


def _parts(json: Any, files: Sequence[File]) -> list[tuple[str, tuple[str | None, Any, str]]]:
    parts: list[tuple[str, tuple[str | None, Any, str]]] = [
        ("payload_json", (None, json_module.dumps(json), "application/json"))
    ]
    for n, file in enumerate(files):
        parts.append((f"files[{n}]", (file.name, file.content, file.media_type)))
    return parts


@functools.lru_cache(maxsize=4)
def _session(base_url: str) -> requests.Session:
    """One session for all threads of a process, which keeps its connections open."""
    return session_of_bot(base_url)


def _encoded(reason: str) -> str:
    """The reason for a header, which accepts only ASCII. It is cut between characters, not within one."""
    while len(quote(reason)) > MOST_REASON:
        reason = reason[:-1]
    return quote(reason)
