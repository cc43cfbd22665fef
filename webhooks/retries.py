"""The schedule of retries: when a delivery is attempted next, and when no more (decisions 10.6)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from django.utils.http import parse_http_date_safe

# After the first attempt, after the second, and so on.
WAITS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
MAX_ATTEMPTS = len(WAITS) + 1
MAX_JITTER = 0.1  # of a wait, added to it so that deliveries that failed together are not retried together
MAX_RETRY_AFTER = timedelta(hours=24)
_SECONDS = re.compile("[0-9]{1,18}")


def wait_after(attempts: int, *, jitter: float, retry_after: timedelta | None = None) -> timedelta | None:
    """How long to wait after this many attempts (from 1); None if there is no further attempt.

    `jitter` is 0 to 1, the share of `MAX_JITTER` to add. `retry_after` is the wait that the endpoint
    requested; it applies if it is longer.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    planned = WAITS[attempts - 1]
    return max(planned + planned * (jitter * MAX_JITTER), retry_after or timedelta())


def read_retry_after(header: str | None, *, at: datetime) -> timedelta | None:
    """The wait that an endpoint requests, at most 24 hours; None if it requests none.

    The header is a number of seconds, or an HTTP date that is compared with `at`. Anything else, and a date
    in the past, counts as no request.
    """
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        date = parse_http_date_safe(text)
        if date is None:
            return None
        seconds = date - at.astimezone(UTC).timestamp()
    if seconds <= 0:
        return None
    return timedelta(seconds=min(seconds, MAX_RETRY_AFTER.total_seconds()))
