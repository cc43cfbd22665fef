"""A dead endpoint takes few threads, so that it holds nobody else back."""

from __future__ import annotations

import pytest

from tests.webhooks.processes import running
from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import told_often, wait_until, webhook
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db(transaction=True)
EVENTS = 500
SECONDS_UNTIL_A_TIMEOUT = 14
WORKER = ("manage.py", "worker", "--only", "webhooks")


@pytest.mark.usefixtures("redis")
def test_a_healthy_endpoint_gets_all_while_a_dead_one_still_holds_its_first(receiver: Receiver) -> None:
    webhook(receiver.script("/dead", Scripted(hangs=True)))
    healthy = webhook(receiver.url("/healthy"))
    told_often(healthy, EVENTS)

    with running(*WORKER, WEBHOOKS_THREADS="8"):
        heard = receiver.wait_for(EVENTS, "/healthy", seconds=120)
        hanging = receiver.heard("/dead")
        wait_until(lambda: Delivery.objects.filter(webhook=healthy, status="delivered").count() == EVENTS)

    assert len({each.headers["webhook-id"] for each in heard}) == len(heard) == EVENTS
    first = [each for each in hanging if each.at < hanging[0].at + SECONDS_UNTIL_A_TIMEOUT]
    assert 1 <= len(first) <= Delivery.LANES
