"""Signing secrets as they lie in the database: encrypted, and bound to their community.

The key comes from SECRET_KEY, so whoever has only the database cannot sign, nor can a row that was moved
to another community be opened there.
"""

from __future__ import annotations

import functools
import os

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_NONCE_BYTES = 12


def seal(secret: str, *, community_id: int) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher().encrypt(nonce, secret.encode(), _bound_to(community_id))


def unseal(sealed: bytes | memoryview, *, community_id: int) -> str:
    """Raises InvalidTag for what was sealed under another key or for another community, or was changed."""
    whole = bytes(sealed)  # the database gives a view of its buffer
    nonce, encrypted = whole[:_NONCE_BYTES], whole[_NONCE_BYTES:]
    return _cipher().decrypt(nonce, encrypted, _bound_to(community_id)).decode()


def _bound_to(community_id: int) -> bytes:
    return f"community:{community_id}".encode()


@functools.cache
def _cipher() -> AESGCM:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"colloquy:webhooks:signing-secrets")
    return AESGCM(derived.derive(settings.SECRET_KEY.encode()))
