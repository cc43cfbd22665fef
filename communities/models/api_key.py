"""API keys."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.db import models

from communities.ground.key_versions import AccessQuerySet
from communities.models.community import Community
from communities.models.user import User


class ApiKey(models.Model):
    """A community's API key.

    Only SHA-256 digests are stored; a rotated key keeps its old digest for a day.
    """

    class Restriction(models.TextChoices):
        CREATOR = "creator"

    class Mode(models.TextChoices):
        LIVE = "live"
        TEST = "test"

    class Scope(models.TextChoices):
        ALL = "all"
        READ = "read"
        CONVERSATIONS = "conversations"

    decides_access: ClassVar = frozenset(
        {
            *("community", "user", "restricted_to", "scope", "mode", "digest", "expires_at", "revoked_at"),
            *("previous_digest", "previous_expires_at"),
        }
    )
    path_to_community: ClassVar = "community_id"

    community = models.ForeignKey(Community, models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(
        User,
        models.CASCADE,
        related_name="+",
        help_text="The user who created the key. The key has the role of this user.",
    )
    name = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, null=True, blank=True)  # noqa: DJ001
    restricted_to = models.CharField(max_length=8, choices=Restriction, null=True, blank=True)  # noqa: DJ001
    scope = models.CharField(max_length=13, choices=Scope, default=Scope.ALL, db_default=Scope.ALL)
    mode = models.CharField(
        max_length=4,
        choices=Mode,
        default=Mode.LIVE,
        db_default=Mode.LIVE,
        help_text="A test key acts in the test side of its community.",
    )
    key_prefix = models.CharField(max_length=14)
    digest = models.CharField(max_length=64, unique=True)
    previous_digest = models.CharField(max_length=64, unique=True, null=True, blank=True)
    previous_expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    rotated_at = models.DateTimeField(null=True, blank=True)
    rotated_by = models.ForeignKey(
        User,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The user who was shown the present secret.",
    )

    objects = AccessQuerySet["ApiKey"].as_manager()

    def __str__(self) -> str:
        return f"{self.key_prefix}… ({self.pk})"

    def is_active_at(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)
