"""The `Retry-After` header of a response (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from django.utils.http import parse_http_date_safe

MAX_RETRY_AFTER = timedelta(hours=24)
_SECONDS = re.compile("[0-9]{1,18}")


def read_retry_after(header: str | None, *, at: datetime) -> timedelta | None:
    """Return the time that the server asks us to wait, at most 24 hours; None if it asks for no wait.

    The header is a whole number of seconds, or an HTTP date that is compared with `at`. Any other text, zero,
    and a moment in the past mean no wait.
    """
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        moment = parse_http_date_safe(text)
        if moment is None:
            return None
        seconds = moment - at.astimezone(UTC).timestamp()
    if seconds <= 0:
        return None
    return timedelta(seconds=min(seconds, MAX_RETRY_AFTER.total_seconds()))
