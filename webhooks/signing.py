"""Signatures by the Standard Webhooks scheme (decisions 10.4): over id, time and the very bytes sent."""

from __future__ import annotations

import base64
import secrets as chance
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from standardwebhooks import Webhook

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
PREFIX_LENGTH = 10  # characters of a secret that may be shown again


def new_secret() -> str:
    """`whsec_` and 32 random bytes in base64."""
    return SECRET_PREFIX + base64.b64encode(chance.token_bytes(SECRET_BYTES)).decode()


def headers(secrets: Sequence[str], *, event_id: uuid.UUID, body: str, at: datetime) -> dict[str, str]:
    """What an attempt at `at` sends beside the body: one signature for each secret.

    A receiver takes the first that fits, so both secrets work while one replaces the other.
    """
    moment = at.astimezone(UTC)  # the package takes every time for UTC
    signatures = [Webhook(secret).sign(str(event_id), moment, body) for secret in secrets]
    return {
        "content-type": "application/json",
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
