"""Users: people, whether or not they ever sign in."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import Q

from communities.key_versions import AccessQuerySet


def unnamed() -> str:
    """Return a user name for somebody who never signs in with it."""
    return f"u-{uuid.uuid4().hex}"


class Users(UserManager.from_queryset(AccessQuerySet)["User"]):  # type: ignore[misc]
    """Django's manager of users, whose changes of access are announced."""

    use_in_migrations = False


class User(AbstractUser):
    """A person, across communities: staff, members, and respondents with an id of an API caller's own."""

    decides_access: ClassVar = frozenset({"is_active"})
    path_to_community: ClassVar = "memberships__community_id"
    first_name = None  # type: ignore[assignment]
    last_name = None  # type: ignore[assignment]
    username = models.CharField(max_length=150, unique=True, default=unnamed)
    name = models.CharField("display name", max_length=200, blank=True)
    browsers_forgotten_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Browsers remembered before are asked for a code again.",
    )

    objects: ClassVar = Users()

    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta(AbstractUser.Meta):
        indexes = [
            # Most respondents have no name.
            GinIndex(
                SearchVector("name", config="simple"), condition=~Q(name=""), name="user_by_words_of_name"
            ),
            models.Index(fields=["-id"], condition=Q(is_staff=True), name="user_newest_staff"),
            models.Index(fields=["-id"], condition=Q(is_active=False), name="user_newest_inactive"),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.username} ({self.pk})"

    def get_full_name(self) -> str:
        return self.name or self.username

    def get_short_name(self) -> str:
        return self.get_full_name()
