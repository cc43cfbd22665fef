"""One change of many projects, each in its own transaction: for tasks that update projects."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection

log = structlog.get_logger("colloquy.projects")


def change_each(project_ids: Iterable[int], change: Callable[[int], bool], *, fault: str) -> int:
    """Run `change` for each project, and return how often it returned true.

    A fault in one project is logged as the event `fault` and does not stop the others, unless the connection
    to the database is lost or the task's time is over.
    """
    changed = 0
    for project_id in project_ids:
        try:
            changed += change(project_id)
        except SoftTimeLimitExceeded:
            raise
        except Exception:
            log.exception(fault, project_id=project_id)
            if not connection.is_usable():
                raise
    return changed
