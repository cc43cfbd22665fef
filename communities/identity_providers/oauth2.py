"""OAuth 2 (RFC 6749) with PKCE (RFC 7636): the address for the browser, codes, and new tokens."""

from __future__ import annotations

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from communities.identity_providers import api, platforms
from communities.identity_providers.failures import BadProof, TokenRefused


@dataclass(frozen=True, slots=True)
class Tokens:
    """The answer of the token endpoint.

    `refresh` and `id_token` may be empty; `expires_at` None means no expiry.
    """

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    expires_at: datetime | None
    id_token: str = field(default="", repr=False)


def new_verifier() -> str:
    return secrets.token_urlsafe(64)


def authorize_address(
    provider: str, *, redirect_uri: str, state: str, verifier: str, nonce: str, asks_again: bool
) -> str:
    """The address for the browser.

    `asks_again` makes the platform ask for consent again, to get a new refresh token.
    """
    platform = platforms.OAUTH2[provider]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    parameters = {
        "response_type": "code",
        "client_id": platforms.credentials(provider).client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(platform.scopes),
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        **platform.extra,
    }
    if "openid" in platform.scopes:
        parameters["nonce"] = nonce
        if asks_again:
            parameters["prompt"] = "consent"
    return f"{platforms.address(provider, platform.authorize)}?{urlencode(parameters)}"


def exchange(provider: str, *, code: str, redirect_uri: str, verifier: str, at: datetime) -> Tokens:
    """Tokens for a code. Raises BadProof if the platform refuses the code, and PlatformUnavailable."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    reply = _ask(provider, form)
    if reply.status != 200:
        raise BadProof(f"The code was refused: {_error(reply.content)}.")
    return _tokens(provider, reply, at=at)


def refresh(provider: str, *, refresh_token: str, at: datetime) -> Tokens:
    """New tokens. Raises TokenRefused if the grant has ended, and PlatformUnavailable."""
    reply = _ask(provider, {"grant_type": "refresh_token", "refresh_token": refresh_token})
    if reply.status in (400, 401):
        raise TokenRefused(f"{platforms.NAMES[provider]} gives no new token: {_error(reply.content)}.")
    if reply.status != 200:
        raise api.unexpected(provider, reply)
    return _tokens(provider, reply, at=at)


def _ask(provider: str, form: dict[str, str]) -> api.Reply:
    own = platforms.credentials(provider)
    credentials = {"client_id": own.client_id, "client_secret": own.client_secret}
    return api.post(provider, platforms.OAUTH2[provider].token, form=form | credentials)


def _tokens(provider: str, reply: api.Reply, *, at: datetime) -> Tokens:
    content = reply.content if isinstance(reply.content, dict) else {}
    access, kind = content.get("access_token"), str(content.get("token_type", "bearer"))
    if not isinstance(access, str) or not access or kind.lower() != "bearer":
        raise api.unexpected(provider, reply)
    seconds = content.get("expires_in")
    lasts = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 10**9
    return Tokens(
        access,
        _text(content.get("refresh_token")),
        at + timedelta(seconds=seconds) if lasts and seconds else None,
        _text(content.get("id_token")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _error(content: Any) -> str:
    error = content.get("error") if isinstance(content, dict) else None
    return str(error)[:100]
