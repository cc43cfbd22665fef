"""Encryption of data that the database must store but nobody may read there: tokens, mails, secrets of
factors.

The keys are derived from SECRET_KEY, one key for each purpose. Sealed data is bound to its row, so a row that
was copied elsewhere cannot be decrypted. Data for searches is stored as a keyed hash.
"""

from __future__ import annotations

import functools
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_NONCE_BYTES = 12


class Unreadable(Exception):
    """The data cannot be decrypted: SECRET_KEY has changed since it was sealed, or the data belongs to
    another row.
    """


def seal(text: str, *, purpose: str, row: object) -> bytes:
    """Encrypt a text for one purpose and one row."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher(purpose).encrypt(nonce, text.encode(), str(row).encode())


def unseal(sealed: bytes | memoryview, *, purpose: str, row: object) -> str:
    """Decrypt a text. Raises Unreadable."""
    content = bytes(sealed)  # The database returns a view of its buffer.
    nonce, encrypted = content[:_NONCE_BYTES], content[_NONCE_BYTES:]
    try:
        return _cipher(purpose).decrypt(nonce, encrypted, str(row).encode()).decode()
    except (InvalidTag, ValueError) as error:
        raise Unreadable from error


def keyed_hash(text: str, *, purpose: str) -> str:
    """A hash in hexadecimal digits, which nobody can compute or look up without SECRET_KEY."""
    return hmac.digest(_hash_key(purpose), text.encode(), "sha256").hex()


@functools.lru_cache(maxsize=16)
def _cipher(purpose: str) -> AESGCM:
    return AESGCM(_derived(f"colloquy:sealed:{purpose}"))


@functools.lru_cache(maxsize=16)
def _hash_key(purpose: str) -> bytes:
    return _derived(f"colloquy:hashed:{purpose}")


def _derived(info: str) -> bytes:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=info.encode())
    return derived.derive(settings.SECRET_KEY.encode())
