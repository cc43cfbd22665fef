"""Stored responses of idempotent requests."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class IdempotentRequest(models.Model):
    """A write that was done once for an Idempotency-Key, with its response.

    `claim` and `fingerprint` are keyed hashes, so that an anonymous answer cannot be guessed from the table
    (rules 7.8 and 11.26). `expires_at` is a full hour for the same reason.
    """

    claim = models.CharField(
        primary_key=True, max_length=64, help_text="A digest of the API key and the Idempotency-Key."
    )
    fingerprint = models.CharField(max_length=64, help_text="A digest of the method, path and body.")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    headers = models.JSONField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__isnull=True) | Q(status__gte=200, status__lt=300),
                name="idempotent_request_keeps_successes_only",
            ),
        ]

    def __str__(self) -> str:
        return f"Idempotent request {self.claim[:8]}"
