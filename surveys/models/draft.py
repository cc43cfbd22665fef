"""Unsaved scripts in the admin's editor."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models

from surveys.models.project import Project

MAX_FIRST_VERSION = 2**31


def first_version() -> int:
    """The version of a new draft: random, so that no tab mistakes it for an earlier draft."""
    return 1 + secrets.randbelow(MAX_FIRST_VERSION)


class ScriptDraft(models.Model):
    """The changes that one staff user has typed into the editor of one project and not saved yet.

    The JSON is stored as text, because the order of keys in `score_values` decides the names of a project's
    first buckets.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    blocks = models.TextField(help_text="The array of blocks as the editor sent it, as JSON.")
    revision = models.PositiveIntegerField(help_text="The revision of the script that the draft began with.")
    base = models.TextField(blank=True, help_text="The blocks at that revision as JSON; empty if unknown.")
    version = models.BigIntegerField(default=first_version, help_text="Grows whenever the draft is kept.")
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "project"], name="script_draft_once_for_a_user"),
        ]
        indexes = [models.Index(fields=["saved_at"], name="script_draft_by_age")]

    def __str__(self) -> str:
        return f"Draft {self.pk} of project {self.project_id}"
