"""Erasures of members whose event is not written yet."""

from __future__ import annotations

import uuid

from django.db import models


class SealedErasure(models.Model):
    """The erasure of a member in the middle of an anonymous project, until its event is written.

    The erasure's transaction writes the member's anonymous conversations too, so the member is encrypted.
    `due_at` is the end of the hour or day, when those conversations are settled.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    community_id = models.BigIntegerField()
    due_at = models.DateTimeField()
    sealed = models.BinaryField()

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="sealed_erasure_due")]

    def __str__(self) -> str:
        return f"Erasure {self.pk}"
