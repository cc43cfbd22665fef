"""The `Retry-After` header, as a number of seconds or as a date."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime

from hypothesis import given
from hypothesis import strategies as st

from communities.ground.retry_after import read_retry_after
from tests.support.cases import try_each
from tests.support.moments import NOON

DAY = timedelta(hours=24)


@try_each(
    ("header", "wait"),
    [
        ("120", timedelta(minutes=2)),
        (" 120 ", timedelta(minutes=2)),
        ("86400", DAY),
        ("86401", DAY),
        ("9" * 18, DAY),
        ("Sat, 31 Jan 2026 12:01:00 GMT", timedelta(minutes=1)),
        ("Saturday, 31-Jan-26 12:01:00 GMT", timedelta(minutes=1)),
        ("Sat Jan 31 12:01:00 2026", timedelta(minutes=1)),
        ("Sun, 01 Feb 2026 12:00:01 GMT", DAY),
        ("Fri, 31 Dec 9999 23:59:59 GMT", DAY),
        ("Sat, 31 Jan 2026 12:00:00 GMT", None),
        ("Sat, 31 Jan 2026 11:59:59 GMT", None),
        ("0", None),
        (None, None),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("1e9", None),
        ("٥", None),
        ("9" * 5_000, None),
        ("soon", None),
        ("Sat, 31 Feb 2026 12:01:00 GMT", None),
        ("2026-01-31T12:01:00Z", None),
    ],
)
def test_retry_after_values(header: str | None, wait: timedelta | None) -> None:
    assert read_retry_after(header, at=NOON) == wait


@given(st.text())
def test_any_header_is_parsed_without_an_error(header: str) -> None:
    wait = read_retry_after(header, at=NOON)

    assert wait is None or timedelta() < wait <= DAY


@given(st.integers(1, 86_400))
def test_seconds_and_dates_mean_the_same(seconds: int) -> None:
    date = format_datetime(NOON + timedelta(seconds=seconds), usegmt=True)

    assert read_retry_after(date, at=NOON) == read_retry_after(str(seconds), at=NOON)
