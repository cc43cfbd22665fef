"""The parts of the home page about webhooks: failing webhooks, and messages that were given up.

Pings are left out, because they are tests: the sender sees the result on the webhook's page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from communities.ground.actors import Actor
from communities.ground.words import plural
from communities.staff.failures import MOST_OF_ONE_KIND, Failure, add_failures
from communities.staff.home import Attention, add_attention
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook
from webhooks.words import EVENT_MEANINGS

RECENTLY = timedelta(days=7)
ROUNDED_BY = timedelta(days=1)  # Times of anonymous responses are rounded by at most this time.
MOST_COUNTED = 100
MOST_WEBHOOKS = 100  # whose messages the list of failed work shows


@add_attention
def failing_webhooks(request: HttpRequest, actor: Actor) -> Sequence[Attention]:
    """Webhooks that fail or were switched off by the service, and messages that were given up recently."""
    if not actor.is_admin:
        return []
    own = list(Webhook.objects.in_community(actor.community_id))
    recent = Delivery.objects.filter(created_at__gte=timezone.now() - RECENTLY)
    events = recent.exclude(event__type=EventType.WEBHOOK_PING)
    attentions = [
        Attention(
            f"The webhook {each.name or each.url} "
            + ("fails." if each.is_active else f"was switched off: {each.get_disabled_reason_display()}."),
            reverse("admin:webhooks_webhook_change", args=[each.pk]),
        )
        for each in own
        if each.disabled_reason or (each.failing_since and _fails(each, events))
    ]
    abandoned = events.filter(webhook__in=own, status=Delivery.Status.ABANDONED)
    if count := abandoned[:MOST_COUNTED].count():
        number = f"{count} or more messages" if count == MOST_COUNTED else plural(count, "message")
        address = f"{reverse('admin:webhooks_delivery_changelist')}?status=abandoned"
        attentions.append(Attention(f"{number} to webhooks could not be delivered this week.", address))
    return attentions


@add_failures
def undelivered(community_id: int | None, since: datetime) -> Iterator[Failure]:
    """Webhooks that fail now, and messages that were given up; for all communities those of such webhooks."""
    webhooks = Webhook.objects.filter(deleted_at__isnull=True)
    if community_id is None:
        webhooks = webhooks.filter(Q(failing_since__isnull=False) | Q(disabled_reason__isnull=False))
    else:
        webhooks = webhooks.in_community(community_id)
    given_up = Delivery.objects.filter(status=Delivery.Status.ABANDONED, created_at__gte=since)
    for webhook in webhooks[:MOST_WEBHOOKS]:
        if webhook.is_active and webhook.failing_since is not None:
            yield Failure(
                kind="Webhook",
                what=f"Messages to {webhook.name or webhook.url}",
                reason="The latest ones failed. Colloquy tries them again by itself.",
                at=max(webhook.failing_since, webhook.created_at),
                community_id=webhook.community_id,
                address=reverse("admin:webhooks_webhook_change", args=[webhook.pk]),
            )
        own = given_up.filter(webhook=webhook).exclude(event__type=EventType.WEBHOOK_PING)
        rows = own.select_related("event").defer("event__body", "response_body", "attempts")
        for row in rows.order_by("-created_at")[:MOST_OF_ONE_KIND]:
            yield Failure(
                kind="Webhook",
                what=f"{EVENT_MEANINGS[EventType(row.event.type)]}, to {webhook.name or webhook.url}",
                reason=f"Answer {row.response_status}" if row.response_status else row.error or "",
                at=row.last_attempt_at or row.created_at,
                community_id=webhook.community_id,
                address=reverse("admin:webhooks_delivery_change", args=[row.pk]),
                again=reverse("admin:webhooks_delivery_redeliver", args=[row.pk]),
            )


def _fails(webhook: Webhook, events: QuerySet[Delivery]) -> bool:
    """Whether one of these deliveries has failed since the webhook's last success."""
    assert webhook.failing_since is not None
    failed = events.filter(
        webhook=webhook,
        status__in=(Delivery.Status.FAILED, Delivery.Status.ABANDONED),
        last_attempt_at__gte=webhook.failing_since - ROUNDED_BY,
    )
    return failed.exists()
