"""Responses that the admin will delete."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from surveys.models.project import Project


class ResponseDeletion(models.Model):
    """A response that will be deleted at a time, unless that is undone before.

    There is no foreign key to the response, because anonymous responses are rewritten as whole rows, and the
    interface may delete one at once. On anonymous projects the time is a full hour.
    """

    response_id = models.UUIDField(primary_key=True)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    deletes_at = models.DateTimeField()
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    requested_under = models.CharField(
        max_length=8,
        blank=True,
        db_default="",
        help_text="The pseudonym of the person who requested the deletion, if this person was erased.",
    )

    class Meta:
        indexes = [models.Index(fields=["deletes_at"], name="response_deletion_due")]

    def __str__(self) -> str:
        return f"Deletion of response {self.response_id}"
