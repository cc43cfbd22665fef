"""Work that a worker does after the request, as a row: who finds it takes a lease, and does it once."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Job(models.Model):
    """Pending until a worker takes it, running under a lease, then completed or failed for good.

    `attempt` counts the leases. A worker that comes back from its work writes the end only where the attempt
    is still its own; `deaths` says when to give up (`surveys/services/jobs.py`).
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"

    UNFINISHED = Q(status__in=[Status.PENDING, Status.RUNNING])

    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(
        default=0, help_text="How many leases ran out one after the other, without anything done in them."
    )
    leased_until = models.DateTimeField(null=True, blank=True)
    credits_used = models.PositiveIntegerField(default=0, help_text="Taken before the work.")
    generated_by = models.CharField(max_length=16, null=True, blank=True)  # noqa: DJ001
    error = models.TextField(null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_finished(self) -> bool:
        return self.status in (self.Status.COMPLETED, self.Status.FAILED)
