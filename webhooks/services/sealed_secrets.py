"""Signing secrets as the database stores them: encrypted, and bound to their community.

The key is derived from SECRET_KEY. A copy of the database alone is not enough to sign, and a row that was
moved to another community cannot be decrypted there.
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
    """Encrypt a secret for one community."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher().encrypt(nonce, secret.encode(), _associated_data(community_id))


def unseal(sealed: bytes | memoryview, *, community_id: int) -> str:
    """Decrypt a secret. Raises InvalidTag if the key, the community or the bytes have changed."""
    content = bytes(sealed)  # The database returns a view of its buffer.
    nonce, encrypted = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
    return _cipher().decrypt(nonce, encrypted, _associated_data(community_id)).decode()


def _associated_data(community_id: int) -> bytes:
    return f"community:{community_id}".encode()


@functools.cache
def _cipher() -> AESGCM:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"colloquy:webhooks:signing-secrets")
    return AESGCM(derived.derive(settings.SECRET_KEY.encode()))
