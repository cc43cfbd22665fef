"""The schedule of retries: when a delivery is attempted next, and when it is given up (rule 9.18)."""

from __future__ import annotations

from datetime import timedelta

# The waits after the first attempt, after the second, and so on.
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
# At most this part of a wait is added to the wait, so that deliveries that failed together are not retried
# together.
MAX_JITTER = 0.1


def wait_after(attempts: int, *, jitter: float, retry_after: timedelta | None = None) -> timedelta | None:
    """How long to wait after this many attempts (from 1); None if there is no further attempt.

    `jitter` is 0 to 1, the share of `MAX_JITTER` to add. `retry_after` is the wait that the endpoint
    requested; it applies if it is longer.
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    planned = WAITS[attempts - 1]
    return max(planned + planned * (jitter * MAX_JITTER), retry_after or timedelta())
