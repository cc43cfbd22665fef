"""The parts of the home page about webhooks: failing webhooks, and messages that were given up.

Pings are left out, because they are tests: the sender sees the result on the webhook's page.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from communities.ground.actors import Actor
from communities.ground.words import plural
from communities.staff.home import Attention, add_attention
from webhooks.events import EventType
from webhooks.models import Delivery, Webhook

RECENTLY = timedelta(days=7)
ROUNDED_BY = timedelta(days=1)  # Times of anonymous responses are rounded by at most this time.
MOST_COUNTED = 100


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


def _fails(webhook: Webhook, events: QuerySet[Delivery]) -> bool:
    """Whether one of these deliveries has failed since the webhook's last success."""
    assert webhook.failing_since is not None
    failed = events.filter(
        webhook=webhook,
        status__in=(Delivery.Status.FAILED, Delivery.Status.ABANDONED),
        last_attempt_at__gte=webhook.failing_since - ROUNDED_BY,
    )
    return failed.exists()
