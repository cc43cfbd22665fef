"""The schedule of retries (rule 9.18)."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import try_each
from webhooks import retries

DAY = timedelta(hours=24)
WAITS = st.timedeltas(min_value=timedelta(), max_value=DAY)


@try_each(
    ("attempts", "wait"),
    [
        (1, timedelta(seconds=5)),
        (2, timedelta(minutes=5)),
        (3, timedelta(minutes=30)),
        (4, timedelta(hours=2)),
        (5, timedelta(hours=5)),
        (6, timedelta(hours=10)),
        (7, timedelta(hours=14)),
        (8, timedelta(hours=20)),
        (9, timedelta(hours=24)),
        (10, None),
        (11, None),
    ],
)
def test_the_schedule(attempts: int, wait: timedelta | None) -> None:
    assert retries.wait_after(attempts, jitter=0) == wait


@given(attempts=st.integers(1, 9), jitter=st.floats(0, 1), retry_after=st.none() | WAITS)
def test_a_wait_is_the_planned_one_plus_a_tenth_at_most_or_the_requested_one(
    attempts: int, jitter: float, retry_after: timedelta | None
) -> None:
    planned = retries.WAITS[attempts - 1]

    wait = retries.wait_after(attempts, jitter=jitter, retry_after=retry_after)

    requested = retry_after or timedelta()
    assert wait is not None
    assert max(planned, requested) <= wait <= max(planned * 1.1, requested)


def test_a_shorter_retry_after_has_no_effect() -> None:
    wait = retries.wait_after(2, jitter=0, retry_after=timedelta(seconds=1))

    assert wait == timedelta(minutes=5)


def test_a_longer_retry_after_is_honoured() -> None:
    wait = retries.wait_after(1, jitter=1, retry_after=timedelta(hours=3))

    assert wait == timedelta(hours=3)


def test_retry_after_never_adds_an_attempt() -> None:
    assert retries.wait_after(10, jitter=0, retry_after=timedelta(seconds=5)) is None
