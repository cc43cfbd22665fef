"""How exactly the times of an event and its deliveries may be kept (decisions 8.8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db.models import TextChoices


class Rounding(TextChoices):
    """What tells of an anonymous response has no exact time, on the strictest projects not even an hour."""

    HOUR = "hour"
    DAY = "day"


_STEP = {Rounding.HOUR: timedelta(hours=1), Rounding.DAY: timedelta(days=1)}


def down(at: datetime, rounding: str | None) -> datetime:
    """The begin of the hour or day, UTC; the moment itself where there is no rounding."""
    if rounding is None:
        return at
    hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return hour.replace(hour=0) if rounding == Rounding.DAY else hour


def up(at: datetime, rounding: str | None) -> datetime:
    """The end of the hour or day, UTC; a moment that is one already stays."""
    if rounding is None:
        return at
    begin = down(at, rounding)
    return begin if begin == at else begin + _STEP[Rounding(rounding)]
