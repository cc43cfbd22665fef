"""Signed ID tokens, with a key of the server's own."""

from __future__ import annotations

import functools
import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

KEY_ID = "key-1"


@functools.cache
def key(number: int = 1) -> rsa.RSAPrivateKey:
    """A key; others than the first are not the server's."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def key_set() -> dict[str, Any]:
    public = json.loads(RSAAlgorithm.to_jwk(key().public_key()))
    return {"keys": [public | {"kid": KEY_ID, "use": "sig", "alg": "RS256"}]}


def id_token(claims: dict[str, Any], *, signed_by: Any = None, algorithm: str = "RS256") -> str:
    return jwt.encode(claims, signed_by or key(), algorithm=algorithm, headers={"kid": KEY_ID})


def claims(*, issuer: str, audience: str, subject: str, name: str, email: str, nonce: str) -> dict[str, Any]:
    now = int(time.time())
    return {
        "iss": issuer,
        "azp": audience,
        "aud": audience,
        "sub": subject,
        "name": name,
        "email": email,
        "email_verified": True,
        "nonce": nonce,
        "iat": now,
        "exp": now + 3600,
    }
