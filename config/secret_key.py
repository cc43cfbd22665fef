"""Detects a SECRET_KEY that differs from the key with which the data was written, and changes the key.

With another key, respondents are not recognised and can answer twice, and webhook secrets cannot be read. The
database has a fingerprint of the right key, from the first `migrate` or the first process to start. A key of
SECRET_KEY_FALLBACKS is right too, until `manage.py reseal` has sealed all data with SECRET_KEY.
"""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings
from django.utils import timezone

from communities.ground import sealing
from communities.ground.sealing import Seal
from config.models import KeyFingerprint

WRONG = (
    "SECRET_KEY is not the key that this database was written with: set the right key, or, if it has been "
    "changed on purpose, put the earlier key into SECRET_KEY_FALLBACKS, or run "
    "`python manage.py accept_secret_key` once if that key is lost (see config/README.md)."
)
_ROOT = Seal("colloquy:sealed:root of hashes", b"")


def fingerprint(key: str | None = None) -> str:
    """The fingerprint of a key; of this process's SECRET_KEY by default."""
    key = settings.SECRET_KEY if key is None else key
    return hmac.new(key.encode(), b"colloquy:fingerprint", hashlib.sha256).hexdigest()


def is_right() -> bool:
    """Return whether this process has the key of the database, or the database has recorded no key.

    The key may be one of SECRET_KEY_FALLBACKS.
    """
    row = KeyFingerprint.objects.only("fingerprint").first()
    return row is None or _key_of(row) is not None


def is_current() -> bool:
    """Return whether SECRET_KEY itself, and not a key of SECRET_KEY_FALLBACKS, is the database's key."""
    row = KeyFingerprint.objects.only("fingerprint").first()
    return row is None or _key_of(row) == settings.SECRET_KEY


def record() -> None:
    """Record the key of this process, unless the database has recorded a key."""
    KeyFingerprint.objects.bulk_create([_row()], ignore_conflicts=True)


def replace() -> None:
    """Record the key of this process instead of any other. Hashes that were made before fit nothing now."""
    _replace(_row())


def move() -> None:
    """Record SECRET_KEY instead of a key of SECRET_KEY_FALLBACKS, and keep the hashes as they are.

    Raises Unreadable if the earlier key is not in SECRET_KEY_FALLBACKS.
    """
    row = _row()
    row.sealed_hash_root = sealing.encrypt(hash_root(), seal=_ROOT)
    _replace(row)


def hash_root() -> bytes:
    """The root of the keys of this database's hashes. Raises Unreadable with a wrong SECRET_KEY."""
    row = KeyFingerprint.objects.first()
    if row is not None and row.sealed_hash_root is not None:
        return sealing.decrypt(row.sealed_hash_root, seal=_ROOT)
    key = settings.SECRET_KEY if row is None else _key_of(row)
    if key is None:
        raise sealing.Unreadable(WRONG)
    return sealing.root_of(key.encode())


def _key_of(row: KeyFingerprint) -> str | None:
    """The key whose fingerprint is recorded, if this process has that key."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return next((key for key in keys if hmac.compare_digest(row.fingerprint, fingerprint(key))), None)


def _replace(row: KeyFingerprint) -> None:
    KeyFingerprint.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["fingerprint", "sealed_hash_root", "recorded_at"],
    )


def _row() -> KeyFingerprint:
    return KeyFingerprint(fingerprint=fingerprint(), recorded_at=timezone.now())
