"""Addresses that each admit one member to one project."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.db import models

from surveys.models.project import Project


class PersonalLink(models.Model):
    """A signed address for one member, valid for 30 days or until it is revoked (rule 6.4).

    On anonymous projects `used_at` stays null, so that no row connects the link to an answer's time.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    member = models.ForeignKey("communities.Member", models.CASCADE, related_name="+")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="Null: the person was erased.",
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True, help_text="When the link was first opened.")
    mailed_at = models.DateTimeField(null=True, blank=True)
    reminded_at = models.DateTimeField(null=True, blank=True)
    sealed_metadata = models.BinaryField(
        null=True, blank=True, help_text="Values of fields that the link sends along, encrypted."
    )

    class Meta:
        indexes = [models.Index(fields=["project", "-created_at", "-id"], name="link_newest_of_project")]

    def __str__(self) -> str:
        return f"Personal link {self.pk}"

    def is_valid_at(self, at: datetime) -> bool:
        return self.revoked_at is None and self.expires_at > at
