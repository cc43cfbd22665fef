"""Our copy of a picture whose address a user entered."""

from __future__ import annotations

import secrets
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5

from communities.models.community import Community


def random_name() -> str:
    """A name that nobody can guess."""
    return secrets.token_urlsafe(16)


class Picture(models.Model):
    """The picture at one address, for one community. Pages show our copy and never the address (rule 7.15).

    The row is written with the address; a worker fetches the copy (`services.pictures`). `name` is random and
    part of the address of the copy. Another copy gets another name, so browsers may cache each for ever.
    An uploaded picture has an address of this site, which ends with its name, and nothing is left to fetch.
    `due_at` is the time of the worker's next attempt: null if nothing is left to do. `leased_until` is the
    end of a worker's lease; if that worker dies, another takes over then.
    """

    path_to_community: ClassVar = "community_id"

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    address = models.TextField(help_text="The address that a person wrote.")
    name = models.CharField(max_length=32, unique=True)
    content = models.BinaryField(null=True, blank=True)
    content_type = models.CharField(max_length=10, blank=True, db_default="")
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    size = models.PositiveIntegerField(db_default=0, help_text="In bytes.")
    digest = models.CharField(max_length=64, blank=True, db_default="", help_text="SHA-256 of the copy.")
    problem = models.CharField(
        max_length=300, blank=True, db_default="", help_text="Why the last attempt failed, in a sentence."
    )
    attempt_count = models.PositiveSmallIntegerField(db_default=0)
    is_uploaded = models.BooleanField(default=False, db_default=False)
    wanted_at = models.DateTimeField(
        help_text="When the address was last written, or the upload was last found in use."
    )
    fetched_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "community", MD5("address"), name="picture_is_copied_once_in_a_community"
            ),
            models.CheckConstraint(
                condition=Q(content=None, width=None, height=None, fetched_at=None, size=0)
                | Q(
                    content__isnull=False,
                    width__gte=1,
                    height__gte=1,
                    fetched_at__isnull=False,
                    size__gte=1,
                    content_type__in=["image/jpeg", "image/png", "image/webp"],
                ),
                name="picture_is_whole_or_missing",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="picture_to_fetch"),
        ]

    def __str__(self) -> str:
        return f"Picture of community {self.community_id} ({self.pk})"
