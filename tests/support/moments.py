"""The moments that tests pass in as the present."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
# Changed by rounding to the second, to the hour and to the day.
LUNCHTIME = datetime(2026, 1, 31, 12, 34, 56, 789000, tzinfo=UTC)
