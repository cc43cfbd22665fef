"""A script being made from an intent."""

from __future__ import annotations

from django.db import models

from surveys.models.job import Job
from surveys.models.project import Project


class Generation(Job):
    """One request for a script. It is gone once its project has the script, or its caller was refused.

    `project` stays null while the caller waits: what they get is made with the script, or not at all.
    `claim` is their idempotency key, hashed, so that a retry waits for the same work and pays once.
    """

    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+")
    project = models.OneToOneField(Project, models.SET_NULL, null=True, blank=True, related_name="+")
    claim = models.CharField(max_length=64, null=True, blank=True, unique=True)
    fingerprint = models.CharField(max_length=64, blank=True)
    request = models.JSONField(help_text="What was asked for: surveys.ai.provider.ScriptRequest.")
    draft = models.JSONField(null=True, blank=True, help_text="What came of it: ScriptDraft.")

    retry_after = models.PositiveIntegerField(
        null=True, blank=True, help_text="Seconds after which another try may help, where it failed."
    )

    class Meta:
        indexes = [models.Index(fields=["created_at"], name="generation_by_age")]

    def __str__(self) -> str:
        return f"Generation {self.pk}"
