"""Encryption of data that the database must store but nobody may read there: tokens, mails, secrets of
factors, respondents of anonymous projects.

The keys are derived from SECRET_KEY, one key for each purpose. Sealed data is bound to its row, so a row that
was copied elsewhere cannot be decrypted. Values that a key of SECRET_KEY_FALLBACKS sealed stay readable,
until `manage.py reseal` has sealed them again.

Data for searches is stored as a keyed hash. A hash cannot be made again, because its text is not stored. So
keys of hashes are derived from a root that outlives a change of SECRET_KEY: the first key's root, which the
database keeps sealed with the present key (`config.secret_key`).
"""

from __future__ import annotations

import functools
import hmac
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from django.conf import settings
from django.db.models import Model

_NONCE_BYTES = 12
_root_loaders: list[Callable[[], bytes]] = []


class Unreadable(Exception):
    """The data cannot be decrypted: neither SECRET_KEY nor SECRET_KEY_FALLBACKS is the key that sealed it, or
    the data belongs to another row.
    """


@dataclass(frozen=True, slots=True)
class Seal:
    """The parts of a seal besides the key: its purpose, and the row that it is bound to."""

    info: str
    bound_to: bytes


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column with sealed data, for `manage.py reseal`. `seal_of` returns the seal of a row.

    `also` are columns that change with it. `path` leads to a hexadecimal text inside a column of JSON.
    """

    model: type[Model]
    name: str
    seal_of: Callable[[Any], Seal]
    also: Mapping[str, object] = field(default_factory=dict)
    path: str = ""


def seal(text: str, *, purpose: str, row: object) -> bytes:
    """Encrypt a text for one purpose and one row."""
    return encrypt(text.encode(), seal=seal_for(purpose=purpose, row=row))


def unseal(sealed: bytes | memoryview, *, purpose: str, row: object) -> str:
    """Decrypt a text. Raises Unreadable."""
    try:
        return decrypt(sealed, seal=seal_for(purpose=purpose, row=row)).decode()
    except ValueError as error:
        raise Unreadable from error


def seal_for(*, purpose: str, row: object) -> Seal:
    """The seal of `seal` and `unseal`."""
    return Seal(f"colloquy:sealed:{purpose}", str(row).encode())


def encrypt(plain: bytes, *, seal: Seal) -> bytes:
    """Encrypt bytes with SECRET_KEY."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher(secret_keys()[0], seal.info).encrypt(nonce, plain, seal.bound_to)


def decrypt(sealed: bytes | memoryview, *, seal: Seal) -> bytes:
    """Decrypt bytes with the first key that fits. Raises Unreadable."""
    return _opened(bytes(sealed), seal)[0]  # The database returns a view of its buffer.


def renewed(sealed: bytes | memoryview, *, seal: Seal) -> bytes | None:
    """The same data, sealed with SECRET_KEY; None if SECRET_KEY has sealed it. Raises Unreadable."""
    plain, key = _opened(bytes(sealed), seal)
    return None if key == secret_keys()[0] else encrypt(plain, seal=seal)


def keyed_hash(text: str, *, purpose: str) -> str:
    """A hash in hexadecimal digits, which nobody can compute or look up without SECRET_KEY."""
    return hmac.digest(hash_key(f"colloquy:hashed:{purpose}"), text.encode(), "sha256").hex()


def hash_key(info: str) -> bytes:
    """The key of hashes for one purpose. It stays the same when SECRET_KEY changes."""
    return derived(hash_root(), info)


def secret_keys() -> list[bytes]:
    """SECRET_KEY, and then the earlier keys of SECRET_KEY_FALLBACKS."""
    return [key.encode() for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def root_of(key: bytes) -> bytes:
    """The root of all keys that are derived from a secret: the first half of HKDF (RFC 5869, 2.2)."""
    return hmac.digest(bytes(SHA256.digest_size), key, "sha256")


@functools.lru_cache(maxsize=4096)
def derived(root: bytes, info: str, *, length: int = 32) -> bytes:
    """The key for one purpose: the second half of HKDF (RFC 5869, 2.3)."""
    return HKDFExpand(algorithm=SHA256(), length=length, info=info.encode()).derive(root)


@functools.cache
def hash_root() -> bytes:
    """The root of the keys of hashes, read once in each process. Raises the errors of the database."""
    return _root_loaders[-1]()


def load_hash_root_by(load: Callable[[], bytes]) -> None:
    """Have `hash_root` read the root by this function. It is called when the program starts."""
    _root_loaders.append(load)


def _opened(sealed: bytes, seal: Seal) -> tuple[bytes, bytes]:
    """The decrypted data, and the key that had sealed it."""
    nonce, encrypted = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    for key in secret_keys():
        try:
            return _cipher(key, seal.info).decrypt(nonce, encrypted, seal.bound_to), key
        except (InvalidTag, ValueError):
            continue
    raise Unreadable


@functools.lru_cache(maxsize=1024)
def _cipher(key: bytes, info: str) -> AESGCM:
    return AESGCM(derived(root_of(key), info))
