"""Receives webhooks: checks that a request comes from Colloquy, and reads its event."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping

from colloquy_client.types import WebhookEvent

TOLERANCE = 300  # In seconds, between the clocks and for the way.


class InvalidSignature(ValueError):
    """A request that must not be believed."""


def verify(body: bytes, headers: Mapping[str, str], secret: str, *, at: float | None = None) -> WebhookEvent:
    """Return the event in the body of a request, exactly as received.

    Raises `InvalidSignature` if no signature fits the secret, or the request is over five minutes old.
    The same event may arrive again: recognise it by its `id`.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    stamp, signatures = sent.get("webhook-timestamp", ""), sent.get("webhook-signature", "")
    signed = b".".join([sent.get("webhook-id", "").encode(), stamp.encode(), body])
    key = base64.b64decode(secret.removeprefix("whsec_"))
    wanted = b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
    if not any(hmac.compare_digest(each.encode(), wanted) for each in signatures.split(" ")):
        raise InvalidSignature("The webhook has no signature of this secret.")
    if abs((time.time() if at is None else at) - int(stamp)) > TOLERANCE:
        raise InvalidSignature("The webhook was signed more than five minutes ago, or the clocks differ.")
    event: WebhookEvent = json.loads(body)
    return event
