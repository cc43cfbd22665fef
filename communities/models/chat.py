"""A community's server on the chat platform, and the tasks there."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from communities.models.community import Community


class ChatInstallation(models.Model):
    """Our bot in the server of one community. The server's id is the community's.

    `snapshot` is the server as the platform last described it: name, roles, channels and the bot's own roles
    (`services.chat.guilds`). `looked_up` are channels that were looked up one by one, because the platform
    does not list threads with the server. `problems` are codes for the permissions and settings that the bot
    lacks.
    """

    class Status(models.TextChoices):
        CONNECTED = "connected"
        REMOVED = "removed"

    path_to_community: ClassVar = "community_id"

    community = models.OneToOneField(Community, models.CASCADE, primary_key=True, related_name="+")
    status = models.CharField(max_length=9, choices=Status)
    problems = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    snapshot = models.JSONField(null=True, blank=True)
    snapshot_at = models.DateTimeField(null=True, blank=True)
    looked_up = models.JSONField(
        default=dict, blank=True, help_text="Threads and new channels, by their ids."
    )
    commands = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        help_text="A digest of the commands that the platform has registered.",
    )
    connected_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    check_at = models.DateTimeField(
        null=True, blank=True, help_text="When the worker next checks the connection."
    )
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["check_at"], condition=Q(check_at__isnull=False), name="chat_installation_to_check"
            ),
        ]

    def __str__(self) -> str:
        return f"Chat of community {self.community_id}"


class ChatTask(models.Model):
    """A task that brings one object on the chat platform to its wanted state: the outbox.

    `kind` is the Celery task that does it, and `subject` identifies the object. A second request for the same
    task raises `wanted`; `done` is the value of `wanted` at the last success. A worker leases a row by moving
    `due_at` into the future, so that a row whose worker died is due again then. A blocked row waits without a
    due time, until the bot has the missing access (`services.chat.access`).
    """

    class Status(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"
        BLOCKED = "blocked"
        ABANDONED = "abandoned"

    path_to_community: ClassVar = "community_id"

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=80)
    payload = models.BinaryField(
        null=True, blank=True, help_text="Encrypted. Only values that no other row has."
    )
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    wanted = models.PositiveIntegerField(default=1)
    done = models.PositiveIntegerField(default=0)
    attempt_count = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True, db_default="")
    created_at = models.DateTimeField()
    last_attempt_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(null=True, blank=True)
    yields = models.BooleanField(
        default=False, db_default=False, help_text="The task waits until no task without this mark is due."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "subject"], name="chat_task_once_for_a_subject"),
            models.CheckConstraint(
                condition=Q(status__in=["delivered", "blocked", "abandoned"], due_at__isnull=True)
                | Q(status__in=["pending", "failed"], due_at__isnull=False),
                name="chat_task_is_due_until_it_is_over",
            ),
            models.CheckConstraint(condition=Q(done__lte=F("wanted")), name="chat_task_does_what_is_wanted"),
        ]
        indexes = [
            models.Index(
                fields=["yields", "due_at"], condition=Q(due_at__isnull=False), name="chat_task_due_in_order"
            ),
            models.Index(fields=["community"], condition=Q(status="blocked"), name="chat_task_blocked"),
            models.Index(fields=["community", "-id"], name="chat_task_newest"),
            models.Index(fields=["last_attempt_at"], condition=Q(due_at__isnull=True), name="chat_task_over"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} ({self.pk})"
