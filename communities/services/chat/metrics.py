"""Figures about the tasks for the chat platform, for the metrics of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from communities.models import ChatTask


@dataclass(frozen=True, slots=True)
class ChatMetrics:
    """The state of the outbox: tasks by status, how many are due, and how long the first has been due."""

    tasks: Mapping[str, int]
    due: int
    oldest_due_seconds: float


def outbox(*, at: datetime) -> ChatMetrics:
    """Counts all rows; finished rows are deleted after a month."""
    by_status = ChatTask.objects.values_list("status").annotate(count=Count("pk")).order_by()
    due = ChatTask.objects.filter(due_at__lte=at).aggregate(count=Count("pk"), first=Min("due_at"))
    return ChatMetrics(
        tasks={status.value: 0 for status in ChatTask.Status} | dict(by_status),
        due=due["count"],
        oldest_due_seconds=(at - due["first"]).total_seconds() if due["first"] else 0.0,
    )
