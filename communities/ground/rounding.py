"""Times rounded to the hour or the day, so that they identify nobody (rule 7.8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db.models import TextChoices


class Rounding(TextChoices):
    """The precision of times about an anonymous response: an hour, or a day on the strictest projects."""

    HOUR = "hour"
    DAY = "day"


_STEP = {Rounding.HOUR: timedelta(hours=1), Rounding.DAY: timedelta(days=1)}


def length(rounding: str | None) -> timedelta:
    """Return the length of the hour or day; zero without rounding."""
    return timedelta() if rounding is None else _STEP[Rounding(rounding)]


def down(at: datetime, rounding: str | None) -> datetime:
    """The start of the hour or day in UTC; the same moment without rounding."""
    if rounding is None:
        return at
    hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return hour.replace(hour=0) if rounding == Rounding.DAY else hour


def after(at: datetime, rounding: str | None) -> datetime:
    """The end of the hour or day in UTC that a moment is in; the same moment without rounding."""
    return down(at, rounding) + length(rounding)


def up(at: datetime, rounding: str | None) -> datetime:
    """The end of the hour or day in UTC; the same moment without rounding, or if it is a full hour or day."""
    if rounding is None:
        return at
    start = down(at, rounding)
    return start if start == at else start + _STEP[Rounding(rounding)]
