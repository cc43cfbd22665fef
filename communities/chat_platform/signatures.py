"""The check that a request comes from the chat platform: Ed25519 over its timestamp and raw body."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

OLDEST = 300  # A timestamp may differ from our clock by at most this many seconds.
# A timestamp has only digits. Nothing else shows where the timestamp ends and the body begins.
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"[0-9a-fA-F]{128}")


def is_genuine(
    *, signature: str, timestamp: str, body: bytes, public_keys: Sequence[str], at: datetime
) -> bool:
    """Whether one of the platform's keys (hex) has recently signed this body.

    The platform sometimes sends wrong signatures on purpose, and expects them to be refused.
    """
    if not _SIGNATURE.fullmatch(signature) or not _TIMESTAMP.fullmatch(timestamp):
        return False
    if abs(int(timestamp) - at.timestamp()) > OLDEST:
        return False
    signed = timestamp.encode() + body
    return any(_verifies(key, signed, bytes.fromhex(signature)) for key in public_keys)


def _verifies(key: str, signed: bytes, signature: bytes) -> bool:
    try:
        VerifyKey(bytes.fromhex(key)).verify(signed, signature)
    except (BadSignatureError, ValueError):
        return False
    return True
