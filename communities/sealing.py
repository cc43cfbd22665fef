"""Encryption of what the database must keep but nobody may read there: tokens, mails, secrets of factors.

The keys are derived from SECRET_KEY, one for each purpose. What is sealed is bound to its row, so that a row
that was copied elsewhere cannot be opened.
"""

from __future__ import annotations

import functools
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_NONCE_BYTES = 12


class Unreadable(Exception):
    """SECRET_KEY has changed since this was sealed, or it belongs to another row."""


def seal(text: str, *, purpose: str, row: object) -> bytes:
    """Encrypt a text for one purpose and one row."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher(purpose).encrypt(nonce, text.encode(), str(row).encode())


def unseal(sealed: bytes | memoryview, *, purpose: str, row: object) -> str:
    """Decrypt a text. Raises Unreadable."""
    content = bytes(sealed)  # the database returns a view of its buffer
    nonce, encrypted = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
    try:
        return _cipher(purpose).decrypt(nonce, encrypted, str(row).encode()).decode()
    except (InvalidTag, ValueError) as error:
        raise Unreadable from error


@functools.lru_cache(maxsize=16)
def _cipher(purpose: str) -> AESGCM:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"colloquy:sealed:{purpose}".encode())
    return AESGCM(derived.derive(settings.SECRET_KEY.encode()))
