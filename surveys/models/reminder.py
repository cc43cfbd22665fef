"""Reminders of personal links that staff have planned."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from surveys.models.project import Project


class Reminder(models.Model):
    """A reminder to members who were mailed a link and have not begun, sent once at its time.

    Without a subject it has the suggested text. It ends when it was sent, or when it failed with an `error`.
    The person who planned it must still own the project then.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    planned_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    due_at = models.DateTimeField()
    subject = models.CharField(max_length=150, blank=True, db_default="")
    text = models.TextField(blank=True, db_default="")
    ended_at = models.DateTimeField(null=True, blank=True)
    mails = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(ended_at__isnull=True), name="reminder_due"),
            models.Index(fields=["ended_at"], condition=~Q(error=""), name="reminder_failed"),
        ]

    def __str__(self) -> str:
        return f"Reminder {self.pk} of project {self.project_id}"
