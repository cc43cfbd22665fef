"""Erasures of members whose event is not written yet."""

from __future__ import annotations

import uuid

from django.db import models


class SealedErasure(models.Model):
    """The erasure of a member whose event is written at `due_at`. Only an earlier version makes such rows."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    community_id = models.BigIntegerField()
    due_at = models.DateTimeField()
    sealed = models.BinaryField()

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="sealed_erasure_due")]

    def __str__(self) -> str:
        return f"Erasure {self.pk}"
