"""Users, communities, members, API keys, stored responses of idempotent requests, and the audit trail."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
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


class Community(models.Model):
    """A tenant. Its id is the chat server's snowflake."""

    class Platform(models.TextChoices):
        CHAT = "chat"

    class TierName(models.TextChoices):
        BASIC = "basic"
        PREMIUM = "premium"
        VIP = "vip", "VIP"
        CUSTOM = "custom"

    decides_access: ClassVar = frozenset({"tier"})
    path_to_community: ClassVar = "pk"

    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=200)
    platform = models.CharField(max_length=8, choices=Platform, default=Platform.CHAT)
    tier = models.CharField(max_length=8, choices=TierName, default=TierName.BASIC)
    bot_credits = models.PositiveIntegerField(default=0, help_text="Credits left for AI features.")
    locale = models.CharField(max_length=35, null=True, blank=True)  # noqa: DJ001 (null is part of the interface)
    icon_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    created_date = models.DateTimeField(null=True, blank=True)
    total_project_count = models.PositiveIntegerField(default=0, help_text="All projects ever created.")
    active_project_count = models.PositiveIntegerField(default=0, help_text="Projects live or pending.")
    topics = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    user_setup = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")

    objects = AccessQuerySet["Community"].as_manager()

    class Meta:
        verbose_name_plural = "communities"
        indexes = [GinIndex(SearchVector("name", config="simple"), name="community_by_words_of_name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"


class CommunitySettings(models.Model):
    class AnonymousMode(models.TextChoices):
        YES = "yes"
        NO = "no"
        MORE_ANONYMOUS = "more_anonymous"

    class ThankYouType(models.TextChoices):
        DEFAULT = "default"
        FORM_STANDARD = "form_standard"
        CUSTOM = "custom"

    DEFAULT_TIME_ZONE: ClassVar = "UTC"

    community = models.OneToOneField(Community, models.CASCADE, primary_key=True, related_name="settings")
    time_zone = models.CharField(
        max_length=64,
        default=DEFAULT_TIME_ZONE,
        db_default=DEFAULT_TIME_ZONE,
        help_text="IANA name, such as Europe/Oslo. Staff enter and read times in it.",
    )
    locale = models.CharField(max_length=35, null=True, blank=True)  # noqa: DJ001
    default_anonymous_mode = models.CharField(  # noqa: DJ001
        max_length=16, choices=AnonymousMode, null=True, blank=True, default=AnonymousMode.NO
    )
    use_xp = models.BooleanField(null=True, blank=True, default=True)
    xp_name = models.CharField(max_length=50, null=True, blank=True, default="XP")  # noqa: DJ001
    xp_per_question = models.PositiveIntegerField(null=True, blank=True, default=10)
    use_leader_board = models.BooleanField(null=True, blank=True, default=True)
    thank_you_type = models.CharField(  # noqa: DJ001
        max_length=16, choices=ThankYouType, null=True, blank=True, default=ThankYouType.DEFAULT
    )
    thank_you_custom_message = models.TextField(max_length=4000, null=True, blank=True)  # noqa: DJ001
    thank_you_custom_label = models.CharField(max_length=80, null=True, blank=True)  # noqa: DJ001
    allow_sign_up = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Anybody may make an account and become a member, without an invitation.",
    )

    class Meta:
        verbose_name_plural = "community settings"

    def __str__(self) -> str:
        return f"Settings of community {self.community_id}"

    # If nothing is chosen, the default of a new community applies.

    @property
    def gives_xp(self) -> bool:
        return self.use_xp is not False

    @property
    def has_leaderboard(self) -> bool:
        return self.use_leader_board is not False

    @property
    def xp_for_a_question(self) -> int:
        return 10 if self.xp_per_question is None else self.xp_per_question

    @property
    def name_of_xp(self) -> str:
        return self.xp_name or "XP"


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
    role_ids = ArrayField(
        models.CharField(max_length=20),
        null=True,
        blank=True,
        help_text="Roles on the chat platform, as it last told; null: never told.",
    )
    roles_told_at = models.DateTimeField(null=True, blank=True)
    roles_asked_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When the worker last asked for them."
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
        help_text="Where staff write to this member. Proves nothing: nobody signs in with it.",
    )
    mail_refused_at = models.DateTimeField(
        null=True, blank=True, help_text="When this member unsubscribed from the community's mails."
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
    def belongs(self) -> bool:
        """Whether this person has not left the community."""
        return self.left_at is None


class Identity(models.Model):
    """An account that a platform knows a user by. Its id is unique within the platform only.

    `community` is set if the id is unique within that community only: the `external_id` of a respondent
    (provider `web`).
    """

    class Provider(models.TextChoices):
        CHAT = "chat"
        VIDEO = "video"
        STREAMING = "streaming"
        GAME_STORE = "game_store"
        MEMBERSHIP = "membership"
        WEB = "web"

    user = models.ForeignKey(User, models.CASCADE, related_name="identities")
    provider = models.CharField(max_length=10, choices=Provider)
    platform_id = models.CharField(max_length=128)
    community = models.ForeignKey(Community, models.CASCADE, null=True, blank=True, related_name="+")
    name = models.CharField(max_length=200, blank=True, db_default="", help_text="As the platform shows it.")
    proven_at = models.DateTimeField(
        null=True, blank=True, help_text="When the user last signed in with it; null: never."
    )

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "platform_id", "community"],
                nulls_distinct=False,
                name="identity_names_one_user",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} identity {self.pk}"


class SourceToken(models.Model):
    """What lets us ask a platform about one identity, encrypted (`services.source_tokens`)."""

    identity = models.OneToOneField(Identity, models.CASCADE, primary_key=True, related_name="token")
    sealed = models.BinaryField()
    expires_at = models.DateTimeField(null=True, help_text="Of the access token; null: it does not expire.")
    refreshing_until = models.DateTimeField(
        null=True, help_text="Until then one process alone asks the platform for a new one."
    )

    def __str__(self) -> str:
        return f"Token of identity {self.identity_id}"


class VerifiedSource(models.Model):
    """A rule about accounts on other platforms, which projects may ask their respondents to meet.

    `target` is the platform's id of the channel, game, server, campaign or tier that the rule is about; empty
    where having an account is enough. A removed one keeps its id, and nobody meets it.
    """

    class Rule(models.TextChoices):
        HAS_ACCOUNT = "has_account"
        IN_SERVER = "in_server"
        SUBSCRIBES_TO = "subscribes_to"
        FOLLOWS = "follows"
        OWNS = "owns"
        SUPPORTS = "supports"
        HAS_TIER = "has_tier"

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    provider = models.CharField(max_length=10, choices=Identity.Provider)
    rule = models.CharField(max_length=13, choices=Rule)
    target = models.CharField(max_length=64, blank=True)
    label = models.CharField(max_length=200, help_text="What respondents read.")
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(rule="has_account", target="") | ~Q(rule="has_account") & ~Q(target=""),
                name="verified_source_has_a_target_if_its_rule_does",
            ),
            models.CheckConstraint(condition=~Q(provider="web"), name="verified_source_is_not_the_web"),
        ]
        indexes = [models.Index(fields=["community", "id"], name="verified_source_of_community")]

    def __str__(self) -> str:
        return f"{self.label} ({self.pk})"


class SourceCheck(models.Model):
    """What a platform last said about one identity and one rule."""

    pk = models.CompositePrimaryKey("source_id", "identity_id")
    source = models.ForeignKey(VerifiedSource, models.CASCADE, related_name="+", db_index=False)
    identity = models.ForeignKey(Identity, models.CASCADE, related_name="+")
    passes = models.BooleanField()
    checked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"Check of identity {self.identity_id} for source {self.source_id}"


class Invitation(models.Model):
    """A mail that lets its reader make an account, or use theirs, and be a member. Only its digest is stored.

    `member` is an existing member without an account, whom the reader turns out to be. Whoever signs up
    freely has a row too: with `accepted_by`, but without `accepted_at` until they confirm their address.
    """

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    member = models.ForeignKey(Member, models.CASCADE, null=True, blank=True, related_name="+")
    email = models.EmailField()
    name = models.CharField(max_length=200, blank=True)
    access = models.CharField(max_length=8, choices=Member.Access, default=Member.Access.MEMBER)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["community", "-id"], name="invitation_newest")]

    def __str__(self) -> str:
        return f"Invitation {self.pk} to community {self.community_id}"

    def is_open_at(self, at: datetime) -> bool:
        return self.revoked_at is None and self.accepted_at is None and self.expires_at > at


class Mail(models.Model):
    """A mail to send: a row that the worker sends after the commit, and tries again if that fails.

    `sealed` is the whole message, encrypted, because mails carry secret links; it is erased once the mail is
    sent or given up.
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        SENT = "sent"
        FAILED = "failed", "To be tried again"
        ABANDONED = "abandoned"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    community = models.ForeignKey(Community, models.CASCADE, null=True, blank=True, related_name="+")
    user = models.ForeignKey(User, models.CASCADE, null=True, blank=True, related_name="+")
    kind = models.CharField(
        max_length=40, help_text="The template, such as account/email/password_reset_key."
    )
    sealed = models.BinaryField(null=True)
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    attempt_count = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField(null=True, help_text="When it is sent next; null once it is over.")
    sent_at = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["pending", "failed"], due_at__isnull=False, sealed__isnull=False)
                | Q(status__in=["sent", "abandoned"], due_at__isnull=True, sealed__isnull=True),
                name="mail_is_kept_until_it_is_over",
            ),
        ]
        indexes = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="mail_due"),
            models.Index(fields=["created_at"], condition=Q(due_at__isnull=True), name="mail_over"),
        ]

    def __str__(self) -> str:
        return f"Mail {self.pk}"


class ApiKey(models.Model):
    """A community's API key. Only SHA-256 digests are stored; a rotated key keeps its old one for a day."""

    class Restriction(models.TextChoices):
        CREATOR = "creator"

    decides_access: ClassVar = frozenset(
        {
            *("community", "user", "restricted_to", "digest", "expires_at", "revoked_at"),
            *("previous_digest", "previous_expires_at"),
        }
    )
    path_to_community: ClassVar = "community_id"

    community = models.ForeignKey(Community, models.CASCADE, related_name="api_keys")
    user = models.ForeignKey(
        User, models.CASCADE, related_name="+", help_text="Who made it; its role follows theirs."
    )
    name = models.CharField(max_length=200)
    description = models.CharField(max_length=1000, null=True, blank=True)  # noqa: DJ001
    restricted_to = models.CharField(max_length=8, choices=Restriction, null=True, blank=True)  # noqa: DJ001
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
        User, models.SET_NULL, null=True, blank=True, related_name="+", help_text="Who got its last secret."
    )

    objects = AccessQuerySet["ApiKey"].as_manager()

    def __str__(self) -> str:
        return f"{self.key_prefix}… ({self.pk})"

    def is_active_at(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)


class IdempotentRequest(models.Model):
    """A write that was done once for an Idempotency-Key, with its response.

    `claim` and `fingerprint` are keyed hashes, so that an anonymous answer cannot be guessed from the table
    (decisions 8.8). `expires_at` is a full hour for the same reason.
    """

    claim = models.CharField(
        primary_key=True, max_length=64, help_text="Of the API key and the Idempotency-Key."
    )
    fingerprint = models.CharField(max_length=64, help_text="Of method, path and body.")
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


class AuditEntry(models.Model):
    """One change by an admin, an API key or the service itself, written in the transaction of the change.

    A database trigger refuses updates and deletes, with two exceptions: erasing a person removes their name
    and what refers to them, and entries are deleted when they are old enough. `before` and `after` hold the
    fields that changed, never an answer or a secret. Users, keys and objects are referred to without foreign
    keys, since entries outlive them.
    """

    class Source(models.TextChoices):
        API_KEY = "api_key", "API key"
        ADMIN = "admin", "Admin"
        SYSTEM = "system", "Colloquy"

    id = models.UUIDField(
        primary_key=True, help_text="Ordered by time, but random if `happened_at` is rounded."
    )
    community = models.ForeignKey(Community, models.PROTECT, related_name="+", db_index=False)
    happened_at = models.DateTimeField()
    source = models.CharField(max_length=7, choices=Source)
    actor_id = models.BigIntegerField(null=True, help_text="The user's id.")
    actor_name = models.CharField(max_length=200, blank=True, help_text="As it was then.")
    api_key_id = models.BigIntegerField("API key", null=True)
    key_prefix = models.CharField(max_length=14, blank=True)
    action = models.CharField(max_length=30)
    object_type = models.CharField(max_length=20)
    object_id = models.CharField(max_length=36, null=True)  # noqa: DJ001 (unknown is not empty)
    object_name = models.CharField(max_length=200, blank=True, help_text="As it was then.")
    project_id = models.BigIntegerField(null=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.CharField(max_length=64, null=True)  # noqa: DJ001
    words = models.GeneratedField(
        expression=SearchVector("actor_name", "key_prefix", "object_name", "object_id", config="simple"),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["community", "-happened_at", "-id"], name="audit_newest_in_community"),
            models.Index(
                fields=["project_id", "-happened_at", "-id"],
                condition=Q(project_id__isnull=False),
                name="audit_newest_of_project",
            ),
            models.Index(
                fields=["community", "action", "-happened_at", "-id"], name="audit_newest_of_action"
            ),
            models.Index(
                fields=["community", "actor_id", "-happened_at", "-id"],
                condition=Q(actor_id__isnull=False),
                name="audit_newest_of_actor",
            ),
            models.Index(
                fields=["community", "object_type", "object_id"],
                condition=Q(object_id__isnull=False),
                name="audit_entries_of_object",
            ),
            GinIndex(fields=["words"], name="audit_words"),
            BrinIndex(fields=["happened_at"], name="audit_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.action} ({self.pk})"
