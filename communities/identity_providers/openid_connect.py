"""ID tokens of OpenID Connect: signed by the platform, for us, for this one attempt to sign in."""

from __future__ import annotations

import hmac
import json
from datetime import datetime
from typing import Any

import jwt

from communities.identity_providers import api, platforms
from communities.identity_providers.failures import BadProof

KEYS = "https://www.googleapis.com/oauth2/v3/certs"
ISSUER = "https://accounts.google.com"
_LEEWAY = 60  # Clocks may differ by this many seconds.


def read_id_token(token: str, *, nonce: str, at: datetime) -> dict[str, Any]:
    """The claims of a valid ID token. Raises BadProof, PlatformUnavailable."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key(token),
            algorithms=["RS256"],
            audience=platforms.credentials("video").client_id,
            options={
                "require": ["iss", "sub", "aud", "exp", "iat"],
                "verify_exp": False,
                "verify_iat": False,
            },
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise BadProof(f"The ID token is not valid: {error}.") from error
    if claims["iss"] not in _issuers():
        raise BadProof("The ID token is of another issuer.")
    if claims.get("azp", _client_id()) != _client_id() or not isinstance(claims["aud"], str):
        raise BadProof("The ID token is for somebody else.")
    if not isinstance(claims["exp"], int | float) or claims["exp"] + _LEEWAY < at.timestamp():
        raise BadProof("The ID token has expired.")
    if not isinstance(claims["iat"], int | float) or claims["iat"] - _LEEWAY > at.timestamp():
        raise BadProof("The ID token is from the future.")
    if not nonce or not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise BadProof("The ID token is for another attempt to sign in.")
    return claims


def _client_id() -> str:
    return platforms.credentials("video").client_id


def _issuers() -> tuple[str, ...]:
    own = platforms.address("video", ISSUER)
    return (own, "accounts.google.com") if own == ISSUER else (own,)


def _key(token: str) -> Any:
    key_id = jwt.get_unverified_header(token).get("kid")
    reply = api.get("video", KEYS)
    keys = reply.content.get("keys") if isinstance(reply.content, dict) else None
    if reply.status != 200 or not isinstance(keys, list):
        raise api.unexpected("video", reply)
    for each in keys:
        if isinstance(each, dict) and each.get("kid") == key_id and each.get("kty") == "RSA":
            return jwt.algorithms.RSAAlgorithm.from_jwk(json.dumps(each))
    raise BadProof("The ID token is signed with an unknown key.")
