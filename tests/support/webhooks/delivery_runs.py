"""Webhooks with a real secret, and their deliveries sent by the real dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.support.webhooks.outbox import create_webhook, emit_event, get_community
from webhooks.models import Delivery, Webhook
from webhooks.services import dispatch, sealed_secrets

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
OLD_SECRET = "whsec_" + "ZmVkY2JhWllYV1ZVVFNSUVBPTk1MS0pJSEdGRURDQkE="


def webhook_to(url: str, **fields: Any) -> Webhook:
    community = get_community()
    sealed = sealed_secrets.seal(SECRET, community_id=community.pk)
    return create_webhook(community, url=url, sealed_secret=sealed, **fields)


def emit_delivery(**fields: Any) -> Delivery:
    """The delivery of a new event to the only webhook."""
    return emit_event(**fields).deliveries.get()


def emit_many(webhook: Webhook, count: int, *, partition: int | None = None) -> None:
    """New events, spread over the webhook's partitions or all in one."""
    for number in range(count):
        emit_event(data={"number": number})
    if partition is not None:
        Delivery.objects.filter(webhook=webhook).update(partition=partition)


def drain_all(webhook: Webhook, *, at: datetime | None = None) -> None:
    """Send the due deliveries of every partition. With `at`, the clock stands still."""
    now = timezone.now if at is None else lambda: at
    for partition in range(Delivery.PARTITIONS):
        dispatch.drain(webhook_id=webhook.pk, partition=partition, now=now)


def delivered_after_drain(webhook: Webhook) -> int:
    """Send the due deliveries. Returns the number of deliveries that have succeeded so far."""
    drain_all(webhook)
    return Delivery.objects.filter(webhook=webhook, status="delivered").count()


def drain_until_over(delivery: Delivery, *, at: datetime) -> list[timedelta]:
    """Attempt a delivery whenever it is due, until it is over. Returns the wait before each retry."""
    waits: list[timedelta] = []
    while True:
        drain_all(delivery.webhook, at=at)
        delivery.refresh_from_db()
        if delivery.due_at is None:
            return waits
        waits.append(delivery.due_at - at)
        at = delivery.due_at


def before_each_post(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let the dispatcher call `act` before each post."""
    post = dispatch._Run._post

    def act_and_post(*args: Any) -> Any:
        act()
        return post(*args)

    monkeypatch.setattr(dispatch._Run, "_post", act_and_post)
