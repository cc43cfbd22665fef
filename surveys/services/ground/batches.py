"""One change of many rows, each in its own transaction: for periodic tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection

from communities.ground.faults import log_fault

Key = TypeVar("Key")
log = structlog.get_logger("colloquy.batches")


def change_each(
    keys: Iterable[Key], change: Callable[[Key], bool], *, fault: str, key_name: str | None = None
) -> int:
    """Run `change` for each key, and return how often it returned true.

    A fault at one key is logged as the event `fault` and does not stop the others, unless the connection to
    the database is lost or the task's time is over. The log has the key if it has a `key_name` there.
    """
    changed = 0
    for key in keys:
        try:
            changed += change(key)
        except SoftTimeLimitExceeded:
            raise
        except Exception as error:
            log_fault(log, fault, error, **({key_name: key} if key_name else {}))
            if not connection.is_usable():
                raise
    return changed
