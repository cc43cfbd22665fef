"""Detects a SECRET_KEY that differs from the key with which the data was written.

With another key, respondents are not recognised and can answer twice, and webhook secrets cannot be read. The
database has a fingerprint of the right key, from the first `migrate` or the first process to start.
"""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings
from django.utils import timezone

from config.models import KeyFingerprint

WRONG = (
    "SECRET_KEY is not the key that this database was written with: set the right key, or, if it has been "
    "changed on purpose, run `python manage.py accept_secret_key` once (see config/README.md)."
)


def fingerprint() -> str:
    """The fingerprint of this process's SECRET_KEY."""
    return hmac.new(settings.SECRET_KEY.encode(), b"colloquy:fingerprint", hashlib.sha256).hexdigest()


def is_right() -> bool:
    """Return whether this process has the key of the database, or the database has recorded no key."""
    recorded = KeyFingerprint.objects.values_list("fingerprint", flat=True).first()
    return recorded is None or hmac.compare_digest(recorded, fingerprint())


def record() -> None:
    """Record the key of this process, unless the database has recorded a key."""
    KeyFingerprint.objects.bulk_create([_row()], ignore_conflicts=True)


def replace() -> None:
    """Record the key of this process instead of any other."""
    KeyFingerprint.objects.bulk_create(
        [_row()],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["fingerprint", "recorded_at"],
    )


def _row() -> KeyFingerprint:
    return KeyFingerprint(fingerprint=fingerprint(), recorded_at=timezone.now())
