"""Webhooks, events and deliveries: the transactional outbox."""

from __future__ import annotations

import uuid
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, Value

from communities.ground.rounding import Rounding
from webhooks.events import EventType


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def in_community(self, community_id: int) -> Self:
        """The webhooks of a community that are not deleted. Every read from outside starts here."""
        return self.filter(community_id=community_id, deleted_at__isnull=True)


class Webhook(models.Model):
    """A URL that receives a community's events.

    Deleting a webhook only marks it, so that transactions that write events never wait for the deletion.
    Housekeeping removes its rows later.
    """

    class DisabledReason(models.TextChoices):
        GONE = "gone", "the endpoint answered 410"
        FAILING = "failing", "nothing but failures for 5 days"

    community = models.ForeignKey("communities.Community", models.CASCADE, related_name="+")
    name = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 (the interface shows null)
    url = models.CharField("URL", max_length=2048)
    events = ArrayField(models.CharField(max_length=32), help_text="Types of events. `*` means all types.")
    project_ids = ArrayField(
        models.BigIntegerField(),
        null=True,
        blank=True,
        help_text="Only events about these projects or about no project are sent. Null: all events.",
    )
    sealed_secret = models.BinaryField(help_text="The signing secret, encrypted.")
    secret_prefix = models.CharField(max_length=10)
    sealed_previous_secret = models.BinaryField(null=True)
    previous_secret_expires_at = models.DateTimeField(null=True)
    is_active = models.BooleanField(default=True)
    disabled_reason = models.CharField(  # noqa: DJ001
        max_length=8,
        choices=DisabledReason,
        null=True,
        blank=True,
        help_text="Why the service switched the webhook off.",
    )
    failing_since = models.DateTimeField(
        null=True, blank=True, help_text="The hour or day of the first failure since the last success."
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)
    was_active = models.BooleanField(
        default=False, db_default=False, help_text="Whether the webhook was active when it was deleted."
    )

    objects = WebhookQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(sealed_previous_secret__isnull=True, previous_secret_expires_at__isnull=True)
                | Q(sealed_previous_secret__isnull=False, previous_secret_expires_at__isnull=False),
                name="webhook_previous_secret_ends",
            ),
            models.CheckConstraint(
                condition=Q(disabled_reason__isnull=True) | Q(is_active=False),
                name="webhook_disabled_is_not_active",
            ),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True) | Q(is_active=False),
                name="webhook_deleted_is_not_active",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.url} ({self.pk})"


class Event(models.Model):
    """A change, with the body that every attempt sends, byte for byte.

    Written in the transaction of the change, whether a webhook listens or not. `person_id` is the user that
    the body names, so that the name can be erased. It is no foreign key, because the event outlives the
    person.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The database has no constraint, because a constraint would make every answer lock the one row of its
    # community.
    community = models.ForeignKey(
        "communities.Community", models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    type = models.CharField(max_length=32, choices=EventType)
    body = models.TextField(null=True, help_text="JSON, never changed. Deleted after 30 days.")  # noqa: DJ001
    person_id = models.BigIntegerField(null=True, blank=True)
    rounding = models.CharField(  # noqa: DJ001
        max_length=4,
        choices=Rounding,
        null=True,
        blank=True,
        help_text="The precision of the event's times. Set only for events about anonymous responses.",
    )
    is_settled = models.BooleanField(
        default=True,
        help_text="False until a row about an anonymous response is rewritten to hide its write order.",
    )
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["created_at"], condition=Q(body__isnull=False), name="event_to_forget"),
            models.Index(fields=["created_at"], condition=Q(is_settled=False), name="event_to_settle"),
            models.Index(fields=["type", "-created_at", "-id"], name="event_newest_of_type"),
            models.Index(fields=["community", "-created_at", "-id"], name="event_newest_of_community"),
            models.Index(
                fields=["community", "person_id"],
                condition=Q(person_id__isnull=False),
                name="event_of_person",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} ({self.pk})"


class Delivery(models.Model):
    """One event for one webhook. `due_at` is the time of the next attempt; null after the last one.

    The deliveries of a webhook are spread over partitions, and one worker at a time sends a partition. A slow
    endpoint therefore occupies few workers, and events about one object, which share a partition, are sent
    in order. `even_if_off` marks deliveries that somebody requested: a ping or a redelivery.
    """

    PARTITIONS = 4  # Each webhook has this many partitions.

    class Status(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"
        ABANDONED = "abandoned"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="+", db_index=False)
    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    partition = models.PositiveSmallIntegerField()  # The number of the partition, 0 to 3.
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    attempt_count = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="When the next attempt is due; empty if there is none."
    )
    even_if_off = models.BooleanField(
        default=False,
        help_text="The delivery was requested (ping or redelivery) and is sent even if the webhook is off.",
    )
    response_status = models.PositiveSmallIntegerField(null=True, blank=True)
    response_body = models.TextField(null=True, blank=True)  # noqa: DJ001
    error = models.TextField(  # noqa: DJ001
        null=True, blank=True, help_text="Why the last attempt got no response."
    )
    attempts = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        help_text="Every attempt, oldest first: its time, the status of the response, and how long it took.",
    )
    is_settled = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    last_attempt_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["pending", "failed"], due_at__isnull=False)
                | Q(status__in=["delivered", "abandoned"], due_at__isnull=True),
                name="delivery_is_due_until_it_is_over",
            ),
            models.CheckConstraint(
                condition=~Q(status="pending") | Q(attempt_count=0), name="delivery_pending_is_untried"
            ),
        ]
        indexes = [
            models.Index(fields=["webhook", "-created_at", "-id"], name="delivery_newest_of_webhook"),
            models.Index(
                fields=["webhook", "partition", "due_at"],
                condition=Q(due_at__isnull=False),
                name="delivery_due_in_partition",
            ),
            models.Index(
                fields=["webhook", "partition"],
                condition=Q(due_at__isnull=False, even_if_off=True),
                name="delivery_asked_for_by_hand",
            ),
            models.Index(
                fields=["webhook", "status", "-created_at"],
                condition=~Q(status="delivered"),
                name="delivery_not_delivered",
            ),
            models.Index(fields=["created_at"], condition=Q(is_settled=False), name="delivery_to_settle"),
        ]

    def __str__(self) -> str:
        return f"Delivery {self.pk} to webhook {self.webhook_id}"

    @property
    def arrived_when_sent_again(self) -> bool:
        """Return whether the delivery counts as delivered because another delivery of its event arrived,
        after its own attempts failed.
        """
        is_refused = self.response_status is not None and not 200 <= self.response_status < 300
        return self.status == self.Status.DELIVERED and (is_refused or bool(self.error))
