"""The time during which staff can undo a deletion in the admin."""

from __future__ import annotations

from datetime import timedelta

UNDO_PERIOD = timedelta(minutes=10)
