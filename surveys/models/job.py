"""Base model of background jobs, which a worker takes under a lease after the request."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Job(models.Model):
    """A job is pending until a worker takes it, running under a lease, and finally completed or failed.

    `attempt` counts the leases: a worker stores its result only if `attempt` has not changed since it took
    the job. `deaths` decides when to give up (`surveys.services.ground.jobs`).
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        COMPLETED = "completed"
        FAILED = "failed"

    COMMUNITY = "project__community_id"  # the way from a job to the community that it is for
    UNFINISHED = Q(status__in=[Status.PENDING, Status.RUNNING])

    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    attempt = models.PositiveSmallIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(
        default=0, help_text="Leases in a row that expired without progress."
    )
    leased_until = models.DateTimeField(null=True, blank=True)
    credits_used = models.PositiveIntegerField(
        default=0, help_text="Credits that were charged before the work."
    )
    generated_by = models.CharField(max_length=16, null=True, blank=True)  # noqa: DJ001
    error = models.TextField(null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_finished(self) -> bool:
        return self.status in (self.Status.COMPLETED, self.Status.FAILED)
