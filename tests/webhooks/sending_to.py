"""Webhooks with a real secret, and deliveries that are sent by real turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from tests.webhooks import telling
from webhooks.models import Delivery, Webhook
from webhooks.services import sealing, sending

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
OLD_SECRET = "whsec_" + "ZmVkY2JhWllYV1ZVVFNSUVBPTk1MS0pJSEdGRURDQkE="
SECONDS_TO_WAIT = 60.0


def webhook(url: str, **fields: Any) -> Webhook:
    of = telling.community()
    sealed = sealing.seal(SECRET, community_id=of.pk)
    return telling.webhook(of, url=url, sealed_secret=sealed, **fields)


def told(**fields: Any) -> Delivery:
    """An event for the only webhook."""
    return telling.tell(**fields).deliveries.get()


def told_often(to: Webhook, count: int, *, lane: int | None = None) -> None:
    """So many events, spread over the lanes or all in one."""
    for number in range(count):
        telling.tell(data={"number": number})
    if lane is not None:
        Delivery.objects.filter(webhook=to).update(lane=lane)


def sent(to: Webhook, *, at: datetime | None = None) -> None:
    """Whatever is due in any lane is tried, by a clock that stands still where `at` is given."""
    now = timezone.now if at is None else lambda: at
    for lane in range(Delivery.LANES):
        sending.drain(webhook_id=to.pk, lane=lane, now=now)


def try_for(to: Webhook, *, delivered: int) -> bool:
    """Whether so many are delivered, once whatever is due was tried."""
    sent(to)
    return Delivery.objects.filter(webhook=to, status="delivered").count() == delivered


def tried_until_over(delivery: Delivery, *, at: datetime) -> list[timedelta]:
    """Try as soon as it is due, again and again; how long was waited each time."""
    waits: list[timedelta] = []
    while True:
        sent(delivery.webhook, at=at)
        delivery.refresh_from_db()
        if delivery.due_at is None:
            return waits
        waits.append(delivery.due_at - at)
        at = delivery.due_at


def wait_until(is_so: Callable[[], object], *, seconds: float = SECONDS_TO_WAIT) -> None:
    """Look again and again until something holds; fails when it does not in time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "It did not come about in time."
        time.sleep(0.02)
