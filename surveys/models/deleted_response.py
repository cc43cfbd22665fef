"""The remains of a deleted response, for readers who copy responses elsewhere."""

from __future__ import annotations

from django.db import models


class DeletedResponse(models.Model):
    """A response that was deleted, alone or with its project, and that the feed may have returned before.

    There are no foreign keys: the row outlives the response, and its project. `changed_in` is as in
    `Conversation`; on anonymous projects it is settled at `due_at`, the end of the hour or day.
    """

    response_id = models.UUIDField(primary_key=True)
    community_id = models.BigIntegerField()
    project_id = models.BigIntegerField()
    changed_in = models.BigIntegerField()
    due_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["project_id", "changed_in", "response_id"], name="deletion_of_project"),
            models.Index(fields=["community_id", "changed_in", "response_id"], name="deletion_of_community"),
            models.Index(fields=["due_at"], name="deletion_due"),
        ]

    def __str__(self) -> str:
        return f"Deleted response {self.response_id}"
