"""Conversations with their answers, and the counts and awards that are stored beside them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from communities.models import Identity
from surveys.models.project import Project
from surveys.models.script import Block, Option


def outcome_of(completed_at: object, stored: str | None) -> str | None:
    """How a response ended: `completed`, `full` if a limit refused its end, `screened_out`, or None
    (rules 6.290 and 6.410).
    """
    if stored is not None:
        return stored.partition(":")[0]
    return None if completed_at is None else "completed"


class Conversation(models.Model):
    """One participant session. The API lists it as a Response once it has an answer or is completed.

    On anonymous projects `id` is random (UUID v4), `user`, `platform_id`, `respondent` and `session_number`
    stay null, and every time is rounded. On other projects `id` is time-ordered (UUID v7). `state` is the
    JSON form of `surveys.engine.walk.runner.State`.
    """

    class Provider(models.TextChoices):
        """The kind of account with which a respondent answered, or the import of the response."""

        CHAT = Identity.Provider.CHAT.value
        VIDEO = Identity.Provider.VIDEO.value
        STREAMING = Identity.Provider.STREAMING.value
        GAME_STORE = Identity.Provider.GAME_STORE.value
        MEMBERSHIP = Identity.Provider.MEMBERSHIP.value
        WEB = Identity.Provider.WEB.value
        IMPORT = "import"

    FULL, SCREENED_OUT = "full", "screened_out"  # beginnings of an `outcome`

    AT_REVIEW = "at_review"  # a key of `state`: it waits until the respondent sends the reviewed answers
    KEPT = "kept"  # a key of `state`: the answer rows of a response that was screened out
    LAPSES = "lapses"  # a key of `state`: a further question is open, and nothing else is

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="conversations", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    platform_id = models.CharField(max_length=128, null=True, blank=True)  # noqa: DJ001
    provider = models.CharField(max_length=10, choices=Provider, default=Provider.WEB)
    respondent = models.CharField(  # noqa: DJ001
        max_length=64,
        null=True,
        blank=True,
        help_text="Keyed hash of the respondent. Null: the respondent is unknown or anonymous.",
    )
    sealed_respondent = models.BinaryField(
        null=True,
        blank=True,
        help_text="The encrypted respondent of an anonymous project, until the end or a day without answers.",
    )
    session_number = models.PositiveIntegerField(null=True, blank=True)
    seed = models.BigIntegerField(help_text="Orders shuffled options in this conversation.")
    state = models.JSONField(default=dict)
    packed = models.BinaryField(
        default=b"", db_default=b"", blank=True, help_text="All answers, packed for counting."
    )
    is_listed = models.BooleanField(
        default=False, help_text="The conversation has an answer or is completed, and was not screened out."
    )
    is_suspected = models.BooleanField(
        default=False, db_default=False, help_text="A program may have answered (rule 6.246)."
    )
    outcome = models.CharField(  # noqa: DJ001
        max_length=48,
        null=True,
        blank=True,
        help_text="`full` or `full:<key of a quota>` if a limit refused its end, `screened_out` or "
        "`screened_out:<key of an end>` if it was screened out, else null (rules 6.290 and 6.410).",
    )
    is_settled = models.BooleanField(
        default=True,
        db_default=True,
        help_text="False until an anonymous row has been rewritten to hide its write order.",
    )
    changed_in = models.BigIntegerField(
        null=True,
        blank=True,
        help_text="Position of the last change in the feed: a transaction's number, 0 until settled.",
    )
    started_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, blank=True)

    # Set when one conversation is read: whether its user is deactivated.
    is_of_deactivated = False

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "respondent"],
                condition=Q(completed_at__isnull=True, respondent__isnull=False),
                name="conversation_open_once_for_a_respondent",
            ),
            models.CheckConstraint(
                condition=Q(completed_at__isnull=True)
                | Q(is_listed=True)
                | Q(outcome__startswith="screened_out"),
                name="conversation_completed_or_screened_out",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "id"], name="conversation_of_project"),  # for deleting a project
            models.Index(
                fields=["project", "respondent"],
                condition=Q(respondent__isnull=False),
                name="conversation_of_whom",
            ),
            models.Index(
                fields=["project", "completed_at"],
                condition=Q(completed_at__isnull=False),
                name="conversation_by_completion",
            ),
            # The next two list and count responses without reading the rows. `updated_at` changes with every
            # answer, so PostgreSQL writes all index entries of the row again each time. That costs 0.05 to
            # 0.1 ms of 3 ms of CPU for an answer, and 2.5 instead of 1.6 kB of WAL. Without it, the filter
            # reads a whole project: 0.3 s of CPU for a million responses.
            models.Index(
                fields=["project", "updated_at", "id"],
                include=["completed_at"],
                condition=Q(is_listed=True),
                name="response_by_change",
            ),
            models.Index(
                fields=["project", "provider", "id"],
                include=["completed_at"],
                condition=Q(is_listed=True),
                name="response_by_provider",
            ),
            models.Index(
                fields=["project", "changed_in", "id"],
                condition=Q(changed_in__gt=0),
                name="response_in_feed",
            ),
            models.Index(
                fields=["started_at"],
                condition=Q(sealed_respondent__isnull=False),
                name="conversation_to_forget",
            ),
            models.Index(fields=["started_at"], condition=Q(is_settled=False), name="conversation_to_settle"),
            models.Index(
                fields=["project"], condition=Q(completed_at__isnull=True), name="conversation_unfinished"
            ),
            models.Index(fields=["project", "id"], condition=Q(is_suspected=True), name="response_suspected"),
            models.Index(
                fields=["project", "outcome"],
                condition=Q(outcome__isnull=False),
                name="response_with_outcome",
            ),
            models.Index(
                fields=["updated_at"],
                condition=Q(completed_at__isnull=True, state__has_key="lapses"),
                name="conversation_that_lapses",
            ),
            models.Index(
                fields=["updated_at", "id"],
                condition=Q(completed_at__isnull=True, is_listed=False),
                name="conversation_unanswered",
            ),
        ]

    def __str__(self) -> str:
        return f"Conversation {self.pk}"

    @property
    def is_screened_out(self) -> bool:
        """Whether it ended at an end that screens out: it counts nowhere, and its answers have no rows."""
        return self.completed_at is not None and not self.is_listed

    @property
    def is_superseded(self) -> bool:
        """Whether a merge left it partial: the person whose it is now had an open conversation already."""
        return self.user_id is not None and self.respondent is None and self.completed_at is None

    @property
    def is_response(self) -> bool:
        """Whether staff may read it: it is listed, or was screened out."""
        return self.is_listed or self.is_screened_out


class Answer(models.Model):
    """One stored reply: a row for each chosen option or ranked item, one for every other answer.

    `value` is the value in the API (for a ranking, the rank). `number` is used to count and compare scale
    points, numeric answers and ranks.
    """

    pk = models.CompositePrimaryKey("conversation_id", "block_id", "ordinal")
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="answers", db_index=False)
    block = models.ForeignKey(Block, models.CASCADE, related_name="+", db_index=False)
    ordinal = models.PositiveSmallIntegerField()
    option = models.ForeignKey(Option, models.CASCADE, null=True, related_name="+", db_index=False)
    value = models.TextField()
    number = models.FloatField(null=True)

    class Meta:
        indexes = [
            # The first two allow index-only scans when answers are counted. The first has no floating-point
            # column, so that PostgreSQL can store equal keys once, which reduces its size to a fifth.
            models.Index(fields=["block", "option", "ordinal"], name="answer_by_block"),
            models.Index(
                fields=["block", "number"], condition=Q(option__isnull=True), name="answer_by_number"
            ),
            models.Index(fields=["option"], condition=Q(option__isnull=False), name="answer_by_option"),
        ]

    def __str__(self) -> str:
        return f"Answer {self.ordinal} to block {self.block_id} in {self.conversation_id}"


class Completion(models.Model):
    """How often a respondent completed a project, stored apart from their answers.

    `respondent` is a hash, keyed with a secret that is not in the database. The table has no times and no
    sequence (rules 7.5 and 7.6). `completions` is compared with the limit; `last_session` never decreases.

    On anonymous projects it is a hash of one completion, with one row for each (rule 7.10). A row of the
    respondent may exist too, for completions from before this was stored in this way.
    """

    pk = models.CompositePrimaryKey("project_id", "respondent")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    respondent = models.CharField(max_length=64)
    completions = models.PositiveIntegerField(default=0)
    last_session = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"Completions in project {self.project_id}"


class QuotaCount(models.Model):
    """How many completed responses satisfy the `where` of a quota. Without a row they are counted anew.

    `key` is a hash of the `where`, and of the community's language if that names it. The row is written under
    a lock of the project's places. While a worker counts, `filled` is the number of those up to the id
    `counted_to`, which is null once all are counted.
    """

    pk = models.CompositePrimaryKey("project_id", "key")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=32)
    filled = models.PositiveIntegerField()
    counted_to = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["project"], condition=Q(counted_to__isnull=False), name="quota_that_is_counted"
            )
        ]

    def __str__(self) -> str:
        return f"Responses of a quota of project {self.project_id}"


class ProofCount(models.Model):
    """How often the page of a project asked browsers for a proof of work on one day (UTC).

    `asked` counts first requests, `passed` proofs, and `refused` forms with a proof that is wrong, too late
    or used. The table says nothing about a person (rule 7.115).
    """

    pk = models.CompositePrimaryKey("project_id", "day")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    asked = models.PositiveIntegerField(default=0)
    passed = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"Proofs of project {self.project_id} on {self.day}"


class FiredAction(models.Model):
    """An action that has fired, so that it does not fire again (rules 8.11 and 8.12).

    `action` is `block:<id>`, or the project's `vote`, `xp`, `achievement` or `role`. `scope` is a keyed
    hash of the respondent or of one conversation; on anonymous projects a different one for each action. The
    table has no times (rules 7.5 and 7.6).
    """

    pk = models.CompositePrimaryKey("project_id", "action", "scope")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    action = models.CharField(max_length=32)
    scope = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.action} of project {self.project_id}, fired"


class SealedGifts(models.Model):
    """The effects of a move on an anonymous project for a person, until its hour is over
    (rules 7.10 and 7.11).

    The transaction of the answer writes the row, so its content is encrypted. `due_at` is the end of the hour
    or day. There are no foreign keys, because gifts are given even if the project was deleted meanwhile.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    community_id = models.BigIntegerField()
    project_id = models.BigIntegerField()
    due_at = models.DateTimeField()
    sealed = models.BinaryField()

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="sealed_gifts_due")]
        verbose_name_plural = "sealed gifts"

    def __str__(self) -> str:
        return f"Gifts of project {self.project_id}"


class Tally(models.Model):
    """A project's counts, as a sum over slots, so that votes on a busy poll do not wait for one row
    (rule 1.39).
    """

    SLOTS = 16

    pk = models.CompositePrimaryKey("project_id", "slot")
    project = models.ForeignKey(Project, models.CASCADE, related_name="tallies", db_index=False)
    slot = models.PositiveSmallIntegerField()
    answered = models.BigIntegerField(default=0, help_text="Answered blocks; may be negative in one slot.")
    completed = models.BigIntegerField(default=0)
    listed = models.BigIntegerField(default=0)
    changes = models.BigIntegerField(
        default=0, db_default=0, help_text="Grows with every change of the counted answers."
    )

    class Meta:
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"Tally slot {self.slot} of project {self.project_id}"
