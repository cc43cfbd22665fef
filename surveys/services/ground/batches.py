"""One change of many rows, each in its own transaction: for periodic tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection
from django.db.models import QuerySet

from communities.ground.faults import log_fault

log = structlog.get_logger("colloquy.batches")


def change_each(
    rows: QuerySet[Any], change: Callable[[Any], bool], *, most: int, fault: str, key_name: str | None = None
) -> int:
    """Run `change` for the primary key of each of these ordered rows, until it has returned true `most`
    times.

    Returns how often `change` returned true; such a row is then no longer among `rows`. A fault at one row is
    logged as the event `fault`, and the row does not take the place of others. Raises the fault if the
    connection to the database is lost or the task's time is over. The log has the key if it has a `key_name`
    there.
    """
    changed = 0
    left: list[Any] = []
    while changed < most:
        remaining = rows.exclude(pk__in=left) if left else rows
        keys = list(remaining.values_list("pk", flat=True)[:most])
        for key in keys:
            try:
                is_changed = change(key)
            except SoftTimeLimitExceeded:
                raise
            except Exception as error:
                is_changed = False
                log_fault(log, fault, error, **({key_name: key} if key_name else {}))
                if not connection.is_usable():
                    raise
            if is_changed:
                changed += 1
            else:
                left.append(key)
        if len(keys) < most:
            break
    return changed
