"""Mails that wait or were sent, addresses that refuse mails, and the number of mails to unconfirmed
addresses.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from communities.models.community import Community
from communities.models.user import User


class Mail(models.Model):
    """A mail to send: a row that the worker sends after the commit, and retries after a failure.

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
    address_hash = models.CharField(
        max_length=32,
        blank=True,
        db_default="",
        help_text="A keyed hash of the address, by which mails of a community to it are counted.",
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
            models.Index(
                fields=["community", "kind", "created_at"],
                condition=~Q(address_hash=""),
                name="mail_of_community_by_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"Mail {self.pk}"


class MailRefusal(models.Model):
    """An address that gets no more mails of a community, also if another member has it later (rule 7.32).

    The address itself is not stored, and the refusal outlives the erasure of the member who had the address.
    """

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    address_hash = models.CharField(max_length=32, help_text="A keyed hash of the address.")
    refused_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["community", "address_hash"], name="mails_are_refused_once"),
        ]

    def __str__(self) -> str:
        return f"Refusal {self.pk} of the mails of community {self.community_id}"


class MailSum(models.Model):
    """The number of mails that a community has written to unconfirmed addresses on one day of UTC."""

    community = models.ForeignKey(Community, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    mails = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["community", "day"], name="mails_of_a_day_are_counted_once"),
        ]

    def __str__(self) -> str:
        return f"Mails of community {self.community_id} on {self.day} ({self.pk})"
