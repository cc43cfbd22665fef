"""Members: users in a community."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Now

from communities.ground.key_versions import AccessQuerySet
from communities.models.community import Community
from communities.models.user import User

# The time of joining as a sort key, in which nulls are last and can be compared.
JOINED_LAST = Func(F("joined_at"), template="coalesce(%(expressions)s, 'infinity'::timestamptz)")


class Member(models.Model):
    """A user's membership in a community."""

    class Access(models.TextChoices):
        ADMIN = "admin"
        CREATOR = "creator"
        MEMBER = "member"

    decides_access: ClassVar = frozenset({"community", "user", "access", "left_at"})
    path_to_community: ClassVar = "community_id"

    community = models.ForeignKey(Community, models.CASCADE, related_name="members")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    access = models.CharField(max_length=8, choices=Access, default=Access.MEMBER)
    nick = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    avatar_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    joined_at = models.DateTimeField(null=True, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(
        db_default=Now(),
        editable=False,
        help_text="When something last changed that the interface returns, but for what members earn. The "
        "database keeps it.",
    )
    role_ids = ArrayField(
        models.CharField(max_length=20),
        null=True,
        blank=True,
        help_text="Roles on the chat platform at the last update. Null: never received.",
    )
    roles_told_at = models.DateTimeField(null=True, blank=True)
    roles_asked_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When the worker last asked the platform for the roles.",
    )
    left_server = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="`left_at` was set because the chat platform no longer listed this member.",
    )
    email = models.EmailField(
        blank=True,
        db_default="",
        help_text="Where staff write to this member. Nobody can sign in with this address.",
    )
    attributes = models.JSONField(
        default=dict,
        db_default=Value({}, models.JSONField()),
        blank=True,
        help_text="Facts that staff wrote down, which personal links send along as fields of a project.",
    )
    mail_refused_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When this member unsubscribed at an address that their account had confirmed.",
    )

    objects = AccessQuerySet["Member"].as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["community", "user"], name="member_of_a_community_once"),
        ]
        indexes = [
            models.Index(
                fields=["community", "id"], condition=Q(left_at__isnull=False), name="member_who_left"
            ),
            models.Index(fields=["community", "-id"], name="member_newest"),
            models.Index(fields=["community", "updated_at"], name="member_by_change"),
            models.Index("community", JOINED_LAST, "id", name="member_by_joining"),
            models.Index(fields=["community", "access", "-id"], name="member_newest_by_access"),
            GinIndex(SearchVector("nick", config="simple"), name="member_by_words_of_nick"),
            models.Index(
                fields=["roles_told_at"],
                condition=Q(left_at__isnull=True, roles_told_at__isnull=False),
                name="member_by_age_of_roles",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_access_display()} {self.pk} of community {self.community_id}"

    @property
    def removed_at(self) -> datetime | None:
        """Return when staff ended this membership; None if it has not ended, or if the chat platform ended
        it.
        """
        return None if self.left_server else self.left_at

    @property
    def belongs(self) -> bool:
        """Whether this person has not left the community."""
        return self.left_at is None

    @property
    def is_admin(self) -> bool:
        """Whether this person is an admin and has not left."""
        return self.access == self.Access.ADMIN and self.belongs
