"""Mails that wait to be sent, and those that were."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from communities.models.community import Community
from communities.models.user import User


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
