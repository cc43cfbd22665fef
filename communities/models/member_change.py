"""Members with a change that has not been announced yet."""

from __future__ import annotations

from django.db import models


class MemberChange(models.Model):
    """A member who has changed, until the event of the change is written (`services.member_changes`).

    The database writes the row in the transaction of the change, for changes by any writer. There is no
    foreign key, because it would lock the member once more.
    """

    member_id = models.BigIntegerField(primary_key=True)
    community_id = models.BigIntegerField()
    due_at = models.DateTimeField(
        help_text="The end of the hour or day, if the change belongs to anonymous answers."
    )

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="member_change_due")]

    def __str__(self) -> str:
        return f"Change of member {self.member_id}"
