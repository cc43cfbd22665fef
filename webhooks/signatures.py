"""Signatures by the Standard Webhooks scheme (rule 9.12), over event id, time and raw body."""

from __future__ import annotations

import base64
import secrets as randomness
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
PREFIX_LENGTH = 10  # At most this many characters of a secret may be shown again.


def new_secret() -> str:
    """A signing secret: `whsec_` and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode()


def headers(secrets: Sequence[str], *, event_id: uuid.UUID, body: str, at: datetime) -> dict[str, str]:
    """The headers of an attempt made at `at`, with one signature for each secret.

    A receiver accepts any matching signature, so both secrets work while one replaces the other.
    """
    at_utc = at.astimezone(UTC)  # The package reads every time as UTC.
    signatures = [Webhook(secret).sign(str(event_id), at_utc, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(at_utc.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
