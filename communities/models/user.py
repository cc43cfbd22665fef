"""Users: people, whether or not they ever sign in."""

from __future__ import annotations

import re
import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property

from communities.ground.key_versions import AccessQuerySet

_UNNAMED = re.compile("u-[0-9a-f]{32}")


def unnamed() -> str:
    """Return a user name for a person who never signs in with it."""
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
        help_text="Browsers that were remembered before this time are asked for a code.",
    )
    merged_ids = ArrayField(
        models.BigIntegerField(),
        null=True,
        editable=False,
        help_text="Ids of users who were merged into this user. Anonymous projects still know these ids.",
    )

    objects: ClassVar = Users()

    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta(AbstractUser.Meta):
        indexes = [
            # The index is partial, because most respondents have no name.
            GinIndex(
                SearchVector("name", config="simple"), condition=~Q(name=""), name="user_by_words_of_name"
            ),
            models.Index(fields=["-id"], condition=Q(is_staff=True), name="user_newest_staff"),
            models.Index(fields=["-id"], condition=Q(is_active=False), name="user_newest_inactive"),
            GinIndex(fields=["merged_ids"], condition=Q(merged_ids__isnull=False), name="user_by_merged_id"),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.username} ({self.pk})"

    @property
    def has_chosen_username(self) -> bool:
        """Whether a person chose the user name.

        Other user names are generated, and nobody signs in with them.
        """
        return not _UNNAMED.fullmatch(self.username)

    def get_full_name(self) -> str:
        """A name to show: the person's own, else the chosen user name, else the id."""
        return self.name or (self.username if self.has_chosen_username else f"User {self.pk}")

    def get_short_name(self) -> str:
        return self.get_full_name()

    @cached_property
    def may_enter_admin(self) -> bool:
        """Whether the person may enter the admin: staff of the site, creators and admins of any community,
        and members who were given access to a project.

        The content of the admin depends on their access in each community. The value is read once for each
        object.
        """
        if not self.is_active:
            return False
        works = ~Q(access="member") | Q(project_grants__isnull=False)
        return self.is_staff or self.memberships.filter(works, left_at=None).exists()

    def has_usable_password(self) -> bool:
        """Whether a password can be used to sign in.

        Django counts a blank one, which nobody can type, as usable.
        """
        return bool(self.password) and super().has_usable_password()
