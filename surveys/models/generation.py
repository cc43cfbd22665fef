"""The job that writes a script from an intent."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from surveys.models.job import Job
from surveys.models.project import Project


class Generation(Job):
    """One request for a script. The row is deleted once the result is delivered, or 10 minutes after the end.

    `project` is null while the request waits. The project is created together with its script, or without one
    when the wait is over, and is set here only then. `claim` is the hashed idempotency key, so that a retry
    waits for the same work and pays once. `fingerprint` is the hash of that request. For a script that is
    written into a user's draft it identifies the project instead (`services/draft_generation`), and
    `requested_by` is the user of that draft.
    """

    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+")
    project = models.OneToOneField(Project, models.SET_NULL, null=True, blank=True, related_name="+")
    claim = models.CharField(max_length=64, null=True, blank=True, unique=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    request = models.JSONField(help_text="The request: a surveys.ai.provider.ScriptRequest.")
    draft = models.JSONField(null=True, blank=True, help_text="The result: a ScriptDraft.")

    retry_after = models.PositiveIntegerField(
        null=True, blank=True, help_text="If it failed: seconds after which another attempt may succeed."
    )

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="generation_by_age")]

    def __str__(self) -> str:
        return f"Generation {self.pk}"
