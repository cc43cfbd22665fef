"""The job of a model that somebody waits for: a script, a changed script, or an answer about results."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from surveys.models.job import Job
from surveys.models.project import Project


class Generation(Job):
    """One request to a model. The row is deleted once the result is delivered, or 10 minutes after the end.

    `project` is null while the request waits. The project is created together with its script, or without one
    when the wait is over, and is set here only then. `claim` is the hashed idempotency key, so that a retry
    waits for the same work and pays once. `fingerprint` is the hash of that request. For work whose progress
    somebody sees in the admin it identifies the project instead (`services/draft_generation`), and
    `requested_by` is that user.
    """

    COMMUNITY = "community_id"

    class Kind(models.TextChoices):
        SCRIPT = "script"
        REVISION = "revision"
        QUESTION = "question"

    kind = models.CharField(max_length=8, choices=Kind, default=Kind.SCRIPT, db_default=Kind.SCRIPT)
    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+")
    project = models.OneToOneField(Project, models.SET_NULL, null=True, blank=True, related_name="+")
    claim = models.CharField(max_length=64, null=True, blank=True, unique=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    request = models.JSONField(help_text="The request to the provider. Its form depends on the kind.")
    draft = models.JSONField(null=True, blank=True, help_text="The result. Its form depends on the kind.")

    retry_after = models.PositiveIntegerField(
        null=True, blank=True, help_text="Seconds after which another attempt may succeed, if the job failed."
    )

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="generation_by_age")]

    def __str__(self) -> str:
        return f"Generation {self.pk}"
