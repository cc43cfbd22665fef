"""The rewards of members: the XP ledger, the standing computed from it, achievements and roles.

Rows refer to projects by id and name, without a foreign key. This app must not depend on `surveys`, and what
a member earned outlives the project.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Standing(models.Model):
    """A member's totals. A member without a row has earned nothing yet.

    `xp_total` equals the balance after the member's newest entry. `xp_in_month` belongs to the calendar month
    (UTC) that begins on `month`; in any other month it counts as 0.
    """

    member = models.OneToOneField(
        "communities.Member", models.CASCADE, primary_key=True, related_name="+", db_index=False
    )
    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+", db_index=False)
    xp_total = models.BigIntegerField("XP in total", default=0)
    month = models.DateField(null=True, blank=True)
    xp_in_month = models.BigIntegerField("XP in the month", default=0)
    participation = models.PositiveIntegerField(default=0, help_text="Surveys and polls completed.")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(xp_total__gte=0), name="standing_is_never_below_zero"),
        ]
        indexes = [
            models.Index(fields=["community", "-xp_total", "member"], name="standing_by_xp"),
            models.Index(fields=["community", "month", "-xp_in_month", "member"], name="standing_by_month"),
        ]

    def __str__(self) -> str:
        return f"Standing of member {self.member_id}"


class XpEntry(models.Model):
    """One change of a member's XP (rule 8.1). A database trigger refuses updates and deletes.

    The trigger allows one change: when the giver is erased, a pseudonym replaces their id (rule 7.20).

    `delta` is the actual change: a deduction stops at a balance of 0. A second trigger checks that
    `balance_after` equals the previous balance plus `delta`.
    """

    class SourceKind(models.TextChoices):
        OPENING_BALANCE = "opening_balance"
        UNKNOWN = "unknown"
        SURVEY_COMPLETION = "survey_completion"
        ACTION_BLOCK = "action_block"
        POLL_VOTE = "poll_vote"
        POLL_UNWIND = "poll_unwind"
        RECALCULATE = "recalculate"
        ADMIN_MANUAL = "admin_manual"
        RESET = "reset"

    member = models.ForeignKey("communities.Member", models.PROTECT, related_name="+", db_index=False)
    delta = models.BigIntegerField()
    balance_after = models.BigIntegerField()
    source_kind = models.CharField(max_length=17, choices=SourceKind)
    source_ref = models.BigIntegerField(null=True, blank=True, help_text="The project's id.")
    session_number = models.PositiveIntegerField(null=True, blank=True)
    # The database has no constraint, because entries outlive a user who was merged into another user. Read
    # the actor by `select_related`, which gives None if the user is gone.
    actor = models.ForeignKey(
        "communities.User",
        models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        db_constraint=False,
        db_index=False,
        help_text="The user who gave or took the XP by hand.",
    )
    actor_pseudonym = models.CharField(
        max_length=8,
        blank=True,
        db_default="",
        help_text="The pseudonym of an erased giver, as in the audit trail.",
    )
    survey_name = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    note = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "XP entry"
        verbose_name_plural = "XP entries"
        constraints = [
            models.CheckConstraint(condition=Q(balance_after__gte=0), name="xp_entry_leaves_no_debt"),
        ]
        indexes = [
            models.Index(fields=["member", "-id"], name="xp_entry_newest_of_member"),
            models.Index(fields=["actor"], condition=Q(actor__isnull=False), name="xp_entry_of_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.delta:+} XP for member {self.member_id} ({self.pk})"


def default_name(number: int) -> str:
    """The name of an achievement that nobody has described."""
    return f"Achievement {number}"


class Achievement(models.Model):
    """The name, picture and role of one achievement of a community.

    `number` is the achievement's id in the API. A project that grants its own achievement creates the row. A
    script that grants a number reserves it with a default name. Staff edit these rows, and add others.
    """

    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+", db_index=False)
    number = models.PositiveBigIntegerField()
    name = models.CharField(max_length=200)
    image_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    role_id = models.CharField(  # noqa: DJ001
        max_length=64,
        null=True,
        blank=True,
        help_text="Role on the chat platform that members get with the achievement.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["community", "number"], name="achievement_has_its_number_in_the_community"
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="achievement_numbers_begin_at_1"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.number})"

    @property
    def is_described(self) -> bool:
        return self.name != default_name(self.number)


class EarnedAchievement(models.Model):
    """An achievement of a member, with its name and picture at that time. A member earns each number once."""

    member = models.ForeignKey("communities.Member", models.CASCADE, related_name="+", db_index=False)
    # The member's community.
    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+", db_index=False)
    number = models.PositiveBigIntegerField()
    name = models.CharField(max_length=200)
    image_url = models.URLField(max_length=2048, null=True, blank=True)  # noqa: DJ001
    project_id = models.BigIntegerField(
        null=True, blank=True, help_text="The project in which the member earned the achievement."
    )
    awarded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["member", "number"], name="achievement_is_earned_once"),
        ]
        indexes = [
            models.Index(fields=["community", "number", "-id"], name="achievement_earned_newest"),
            models.Index(fields=["member", "-awarded_at", "-number"], name="achievement_newest_of_member"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of member {self.member_id} ({self.pk})"


class RoleGrant(models.Model):
    """A role for a member on the chat platform. It waits until it is granted there."""

    member = models.ForeignKey("communities.Member", models.CASCADE, related_name="+", db_index=False)
    # The member's community.
    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+", db_index=False)
    role_id = models.CharField(max_length=64)
    project_id = models.BigIntegerField(
        null=True, blank=True, help_text="The project in which the member earned the role."
    )
    project_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    carried_out_at = models.DateTimeField(null=True, blank=True, help_text="Empty: the grant waits.")
    is_asked_for = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="The request is in the outbox of the chat platform.",
    )
    refusal = models.CharField(
        max_length=300, blank=True, db_default="", help_text="Why the platform could not grant the role yet."
    )
    skipped_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="When the grant was skipped, because the member was not in the server.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["member", "role_id"],
                condition=Q(carried_out_at__isnull=True),
                name="role_waits_once_for_a_member",
            ),
        ]
        indexes = [
            models.Index(fields=["member", "role_id"], name="role_grants_of_member"),
            models.Index(fields=["community", "-id"], name="role_grant_newest"),
            models.Index(
                fields=["community", "-id"],
                condition=Q(carried_out_at__isnull=True),
                name="role_grant_waiting_newest",
            ),
            models.Index(
                fields=["id"],
                condition=Q(carried_out_at__isnull=True, is_asked_for=False),
                name="role_grant_to_ask_for",
            ),
        ]

    def __str__(self) -> str:
        return f"Role {self.role_id} for member {self.member_id} ({self.pk})"

    @property
    def is_waiting(self) -> bool:
        return self.carried_out_at is None

    @property
    def state(self) -> str:
        """The state in a word: `granted`, `skipped`, `refused` or `waiting`."""
        if self.carried_out_at is not None:
            return "granted"
        if self.skipped_at is not None:
            return "skipped"
        return "refused" if self.refusal else "waiting"
