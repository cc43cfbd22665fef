"""Surveys and polls: state, settings, delivery and rewards."""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import datetime
from typing import Self

from django.conf import settings
from django.contrib.postgres.functions import RandomUUID
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Lower, Now
from django.db.models.lookups import Contains

from communities.ground import word_matches


def new_slug() -> str:
    """The unguessable part of a project's web address: 72 random bits."""
    return secrets.token_urlsafe(9)


def new_short_code() -> str:
    """The end of a short address, in letters and digits that nobody confuses: 34 random bits."""
    return "".join(secrets.choice(SHORT_CODE_SIGNS) for _ in range(7))


SHORT_CODE_SIGNS = "23456789abcdefghjkmnpqrstuvwxyz"
# PostgreSQL would read names with these characters as addresses, numbers or paths, and not find their words.
_SIGNS = "._-/@:'+"
_NAME_WITHOUT_SIGNS = Func(F("name"), Value(_SIGNS), Value(" " * len(_SIGNS)), function="translate")
_WORDS_OF_NAME = SearchVector(_NAME_WITHOUT_SIGNS, config="simple")
_WORD = re.compile(r"[^\W_]+")
MAX_DAYS_KEPT = 3_650
# The fields of the group `settings`, which copies have and history compares.
SETTINGS = (
    "privacy_mode",
    "max_completes_per_user",
    "change_poll",
    "poll_results_mode",
    "reveal_results",
    "share_results",
    "lock_graded_answers",
    "hidden_fields",
    "consent",
    "max_completes",
    "quotas",
    "max_begun_per_minute",
    "advance_on_choice",
    "review",
    "end",
    "ends",
    "keep_responses_days",
    "mail_copy",
    "indexed",
)
_PLAIN_WORD = re.compile(r"[A-Za-z]+|[0-9]+")


class ProjectQuerySet(models.QuerySet["Project"]):
    def in_community(self, community_id: int) -> Self:
        """Projects of one community. Every API read starts here, so no key sees another community's work."""
        return self.filter(community_id=community_id)

    def live_at(self, at: datetime) -> Self:
        """Projects that accept responses at a time, even if the scheduler has not run since they opened."""
        begun = Q(status=Project.Status.ACTIVE) | Q(opens_at__lte=at)
        return self.filter(begun).exclude(closes_at__lte=at)

    def named(self, words: str) -> Self:
        """Projects whose name has all of these words, or words that begin with them; case is ignored.

        The matches are looked up at once, if they are few. For frequent words, the list is read in its order,
        and each name is checked. Splitting a name into words costs 10 µs, so only names that contain the
        words somewhere are split.
        """
        terms = _WORD.findall(words)
        if not terms:
            return self.none()
        query = SearchQuery(" & ".join(f"'{term}':*" for term in terms), config="simple", search_type="raw")
        has_words = Q(words=query)
        # Words that PostgreSQL never splits appear unchanged in the name. It may split other words.
        for term in filter(_PLAIN_WORD.fullmatch, terms):
            has_words = Q(Contains(Lower("name"), term.lower())) & has_words
        named = self.alias(words=_WORDS_OF_NAME)
        return word_matches.narrow(named, has_words=has_words, newest=("-created_at", "-pk"))

    def due_to_change(self, *, at: datetime) -> Self:
        """Projects whose scheduled opening or closing is due."""
        return self.filter(Q(opens_at__lte=at) | Q(closes_at__lte=at))


class _Present(models.Manager.from_queryset(ProjectQuerySet)):  # type: ignore[misc]
    """All projects except deleted ones that can still be restored."""

    def get_queryset(self) -> ProjectQuerySet:
        projects: ProjectQuerySet = super().get_queryset()
        return projects.filter(deleted_at__isnull=True)


class Project(models.Model):
    class Type(models.TextChoices):
        CONVO = "convo", "survey"
        POLL = "poll"

    class Status(models.TextChoices):
        ACTIVE = "active"
        INACTIVE = "inactive"

    class PrivacyMode(models.TextChoices):
        TRANSPARENT = "transparent"
        SEMI_PRIVATE = "semi-private"
        ANONYMOUS = "anonymous"

    class PollResultsMode(models.TextChoices):
        PUBLIC = "public"
        VOTERS_ONLY = "voters_only"
        HIDDEN = "hidden"

    class Participation(models.TextChoices):
        PRIVATE = "private"
        OPEN_WEB = "open_web"

    class ResponseChannel(models.TextChoices):
        CHAT = "chat"
        WEB = "web"

    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    slug = models.CharField(max_length=16, unique=True, default=new_slug, editable=False)
    name = models.CharField(max_length=200)
    type = models.CharField(max_length=5, choices=Type)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField(
        db_default=Now(),
        editable=False,
        help_text="When its settings, state or script last changed. The database keeps it.",
    )
    is_cloneable = models.BooleanField(
        default=True, help_text="Whether other communities may clone this project."
    )
    revision = models.PositiveIntegerField(default=0, help_text="Counts the writes of the script.")
    block_count = models.PositiveIntegerField(
        default=0, help_text="Number of blocks in the script without its outro."
    )
    question_count = models.PositiveIntegerField(default=0)

    family = models.UUIDField(
        default=uuid.uuid4,
        db_default=RandomUUID(),
        editable=False,
        db_index=True,
        help_text="The same for a project and the copies that its own community made of it.",
    )

    # State. `opens_at` is set only while an opening is pending, `closes_at` only while live or pending.
    status = models.CharField(max_length=8, choices=Status, default=Status.INACTIVE)
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True, help_text="When the project was last opened.")

    # Deleted by staff: hidden at once, and deleted for good after the time for restoring.
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        db_index=False,
    )

    # Settings.
    privacy_mode = models.CharField(max_length=12, choices=PrivacyMode, default=PrivacyMode.TRANSPARENT)
    rounds_times_to_day = models.BooleanField(
        default=False, help_text="“More anonymous”: submission times are rounded to the day, not the hour."
    )
    max_completes_per_user = models.PositiveIntegerField(null=True, blank=True)
    change_poll = models.BooleanField(null=True, blank=True)
    poll_results_mode = models.CharField(  # noqa: DJ001 (null in the API too)
        max_length=11, choices=PollResultsMode, null=True, blank=True
    )
    reveal_results = models.BooleanField(null=True, blank=True)
    share_results = models.BooleanField(default=False)
    lock_graded_answers = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Respondents cannot change an answer after the page has shown whether the answer is right.",
    )
    hidden_fields = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="Fields that a web address may send along. Anonymous projects list their values.",
    )
    consent = models.TextField(  # noqa: DJ001 (null in the API too)
        null=True,
        blank=True,
        help_text="The text that respondents agree to before their first answer is stored.",
    )
    max_completes = models.PositiveIntegerField(null=True, blank=True)
    quotas = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="Limits of the completed responses that satisfy an expression.",
    )
    max_begun_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Conversations that begin in a minute before browsers do a proof of work; null for the "
        "limit of the installation.",
    )
    advance_on_choice = models.BooleanField(
        default=True,
        db_default=True,
        help_text="On pages, a click or tap on a single choice shows the next question.",
    )
    review = models.BooleanField(
        default=False, db_default=False, help_text="Pages show the respondent all answers before the end."
    )
    end = models.JSONField(
        null=True, blank=True, help_text="The button after the last question: `label`, `url` and `redirect`."
    )
    ends = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="Other ends. Respondents get the first end whose expression is true.",
    )
    keep_responses_days = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Responses are deleted after this number of days."
    )
    mail_copy = models.BooleanField(
        default=False,
        db_default=False,
        help_text="At the end, pages offer respondents a copy of their answers by mail.",
    )
    indexed = models.BooleanField(
        default=False, db_default=False, help_text="Search engines may list the page of a public project."
    )
    results_token = models.UUIDField(
        unique=True,
        default=uuid.uuid4,
        db_default=RandomUUID(),
        editable=False,
        help_text="The secret part of the address of the shared results page.",
    )

    short_code = models.CharField(  # noqa: DJ001 (unique, so empty is null)
        max_length=8, unique=True, null=True, editable=False, help_text="The last part of the short address."
    )

    generation = models.JSONField(
        null=True,
        blank=True,
        help_text="How the script was generated from an intent: status, generator and error.",
    )

    # Groups of fields with the values of the caller. Values that the code needs for decisions have columns of
    # their own.
    delivery = models.JSONField(null=True, blank=True)
    rewards = models.JSONField(null=True, blank=True)
    presentation = models.JSONField(null=True, blank=True)
    participation = models.CharField(max_length=8, choices=Participation, default=Participation.PRIVATE)
    response_channel = models.CharField(max_length=4, choices=ResponseChannel, default=ResponseChannel.WEB)
    was_open_to_web = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The project has been live at a time when everybody with the address could answer.",
    )

    scoring_enabled = models.BooleanField(default=False)
    script_is_scored = models.BooleanField(
        default=False, help_text="The script was written while scoring was on, so its scores count."
    )

    # Set by `lookup.with_details`.
    completion_count: int
    response_count: int
    listed_count: int

    objects = _Present()
    with_deleted = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(max_completes_per_user__isnull=True) | Q(max_completes_per_user__gte=1),
                name="project_allows_at_least_one_complete",
            ),
            models.CheckConstraint(
                condition=Q(max_completes__isnull=True) | Q(max_completes__gte=1),
                name="project_has_room_for_a_complete",
            ),
            models.CheckConstraint(
                condition=Q(max_begun_per_minute__isnull=True) | Q(max_begun_per_minute__gte=1),
                name="project_lets_one_begin_in_a_minute",
            ),
            models.CheckConstraint(
                condition=Q(keep_responses_days__isnull=True)
                | Q(keep_responses_days__range=(1, MAX_DAYS_KEPT)),
                name="project_keeps_responses_for_1_to_3650_days",
            ),
            models.CheckConstraint(
                condition=~Q(status="active", opens_at__isnull=False),
                name="project_waits_to_open_only_while_inactive",
            ),
            models.CheckConstraint(
                condition=Q(closes_at__isnull=True) | Q(status="active") | Q(opens_at__isnull=False),
                name="project_waits_to_close_only_while_live_or_pending",
            ),
        ]
        indexes = [
            models.Index(fields=["community", "-created_at", "-id"], name="project_newest_in_community"),
            models.Index(fields=["community", "updated_at"], name="project_by_change"),
            models.Index(fields=["community", "id"], name="project_by_id"),
            # For lists of staff: each filter and each order finds its first rows without reading others. This
            # index contains the names too, so that a search reads no rows until it has found a page.
            models.Index(
                "community",
                Lower("name"),
                "id",
                include=["name"],
                condition=Q(deleted_at__isnull=True),
                name="project_by_name_and_words",
            ),
            models.Index(fields=["community", "type", "-created_at", "-id"], name="project_newest_of_type"),
            models.Index(
                fields=["community", "author", "-created_at", "-id"], name="project_newest_by_author"
            ),
            models.Index(
                fields=["community", "-created_at", "-id"],
                condition=Q(status="active") | Q(opens_at__isnull=False),
                name="project_newest_active",
            ),
            models.Index(
                fields=["community", "-created_at", "-id"],
                condition=Q(status="inactive", opens_at__isnull=True),
                name="project_newest_inactive",
            ),
            GinIndex(_WORDS_OF_NAME, name="project_by_words"),
            models.Index(
                fields=["deleted_at"], condition=Q(deleted_at__isnull=False), name="project_deleted"
            ),
            models.Index(
                fields=["deleted_by"], condition=Q(deleted_by__isnull=False), name="project_deleted_by"
            ),
            models.Index(
                fields=["opens_at"], condition=Q(opens_at__isnull=False), name="project_due_to_open"
            ),
            models.Index(
                fields=["closes_at"], condition=Q(closes_at__isnull=False), name="project_due_to_close"
            ),
            models.Index(
                fields=["id"],
                condition=Q(keep_responses_days__isnull=False),
                name="project_forgets",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"

    @property
    def is_public(self) -> bool:
        """Whether everybody with the address may answer on the web."""
        return self.participation == self.Participation.OPEN_WEB

    def is_live_at(self, at: datetime) -> bool:
        """Whether the project accepts responses at a time, even if the scheduler has not run yet
        (rule 2.9).
        """
        return self.has_begun_at(at) and (self.closes_at is None or self.closes_at > at)

    def has_begun_at(self, at: datetime) -> bool:
        """Whether the project is live, or was live until a scheduled closing that the scheduler has not
        processed yet.
        """
        return self.status == self.Status.ACTIVE or (self.opens_at is not None and self.opens_at <= at)

    def was_opened_by(self, at: datetime) -> bool:
        """Whether the project has ever been open until a time; a project that was not is not closed
        either.
        """
        return self.opened_at is not None or self.has_begun_at(at)

    def is_public_at(self, at: datetime) -> bool:
        """Whether everybody with the address may answer, or could while the project was open."""
        return self.is_public and (self.was_open_to_web or self.has_begun_at(at))

    def is_pending_at(self, at: datetime) -> bool:
        """Whether the project has a scheduled opening that is still in the future."""
        return self.opens_at is not None and self.opens_at > at

    @property
    def is_private(self) -> bool:
        """Whether only members of the community may answer."""
        return self.participation == self.Participation.PRIVATE

    @property
    def is_poll(self) -> bool:
        return self.type == self.Type.POLL

    @property
    def uses_xp(self) -> bool:
        """Whether the project gives XP on completion, or on a poll with the vote (`rewards.use_xp`)."""
        return bool((self.rewards or {}).get("use_xp"))

    @property
    def gives_at_end(self) -> bool:
        """Whether members get a reward of the project for its end, or for their vote."""
        rewards = self.rewards or {}
        return any(map(rewards.get, ("use_xp", "achievement_enabled", "discord_role_id")))

    @property
    def is_anonymous(self) -> bool:
        return self.privacy_mode == self.PrivacyMode.ANONYMOUS
