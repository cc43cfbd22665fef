"""When a delivery is tried next, and when no more (decisions 10.6)."""

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
MOST_ATTEMPTS = len(WAITS) + 1
MOST_JITTER = 0.1  # of a wait, added to it, so that what failed together does not come back together
LONGEST_RETRY_AFTER = timedelta(hours=24)
_SECONDS = re.compile("[0-9]{1,18}")


def wait_after(attempts: int, *, jitter: float, retry_after: timedelta | None = None) -> timedelta | None:
    """How long to wait after so many attempts (from 1); None where that was the last.

    `jitter` is 0 to 1, how much of the most jitter is added. `retry_after` is what the endpoint asked for;
    it counts where it is longer.
    """
    if attempts >= MOST_ATTEMPTS:
        return None
    planned = WAITS[attempts - 1]
    return max(planned + planned * (jitter * MOST_JITTER), retry_after or timedelta())


def read_retry_after(header: str | None, *, at: datetime) -> timedelta | None:
    """How long an endpoint asks to be left alone, at most 24 hours; None where it does not.

    The header is a number of seconds or an HTTP date, which is compared with `at`. What is neither, or lies
    in the past, asks for nothing.
    """
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        asked = float(text)
    else:
        moment = parse_http_date_safe(text)
        if moment is None:
            return None
        asked = moment - at.astimezone(UTC).timestamp()
    if asked <= 0:
        return None
    return timedelta(seconds=min(asked, LONGEST_RETRY_AFTER.total_seconds()))
