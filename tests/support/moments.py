"""The times that tests pass as the present time."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
# A time that changes if it is rounded to the second, the hour or the day.
LUNCHTIME = datetime(2026, 1, 31, 12, 34, 56, 789000, tzinfo=UTC)
