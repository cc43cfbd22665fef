"""The times and days that clients may send: from 1970 to 9999 (rule 1.5)."""

from __future__ import annotations

from datetime import UTC, date, datetime

from django.core.exceptions import ValidationError

FIRST_YEAR = 1970
FIRST_DAY = date(FIRST_YEAR, 1, 1)
# The last day in a form is later than any day of ours. No time zone moves this day past 9999.
LAST_DAY = date(2999, 12, 31)
DAYS_REVERSED = "The last day must not be before the first day."


def is_possible(moment: datetime) -> bool:
    """Whether the year of this time is between 1970 and 9999 in UTC."""
    try:
        return moment.astimezone(UTC).year >= FIRST_YEAR
    except OverflowError:  # The time is before the year 1 or after 9999.
        return False


def check_moment(moment: datetime) -> None:
    """Refuse a time outside of 1970 to 9999 in a form."""
    if not is_possible(moment):
        raise ValidationError(f"Choose a time between the years {FIRST_YEAR} and 9999.")


def check_day(day: date) -> None:
    """Refuse days before 1970 and after 2999 in a form."""
    if not FIRST_DAY <= day <= LAST_DAY:
        raise ValidationError(f"Choose a day between the years {FIRST_YEAR} and {LAST_DAY.year}.")
