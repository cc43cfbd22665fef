"""Times rounded to the hour or the day (rule 7.8)."""

from datetime import UTC, datetime, timedelta, timezone

from communities.ground import rounding
from communities.ground.rounding import Rounding
from tests.support.cases import try_each

HOUR = datetime(2026, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 31, tzinfo=UTC)
AN_INSTANT = timedelta(microseconds=1)


@try_each(
    ("at", "step", "down", "up"),
    [
        (HOUR, Rounding.HOUR, HOUR, HOUR),
        (HOUR + AN_INSTANT, Rounding.HOUR, HOUR, HOUR + timedelta(hours=1)),
        (HOUR, Rounding.DAY, MIDNIGHT, MIDNIGHT + timedelta(days=1)),
        (MIDNIGHT, Rounding.DAY, MIDNIGHT, MIDNIGHT),
        (HOUR + AN_INSTANT, None, HOUR + AN_INSTANT, HOUR + AN_INSTANT),
    ],
)
def test_times_are_rounded_in_both_directions(
    at: datetime, step: Rounding | None, down: datetime, up: datetime
) -> None:
    assert (rounding.down(at, step), rounding.up(at, step)) == (down, up)


def test_days_are_those_of_utc() -> None:
    early = datetime(2026, 2, 1, 1, tzinfo=timezone(timedelta(hours=2)))

    assert rounding.down(early, Rounding.DAY) == MIDNIGHT
