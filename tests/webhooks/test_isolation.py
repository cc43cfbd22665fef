"""A dead endpoint occupies few threads, so that others are not delayed."""

from __future__ import annotations

import pytest

from tests.support.concurrency import wait_until
from tests.support.processes import python_process
from tests.support.webhooks.delivery_runs import emit_many, webhook_to
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks.models import Delivery

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]
EVENTS = 500
SECONDS_UNTIL_A_TIMEOUT = 14
WORKER = ("manage.py", "worker", "--only", "webhooks")


@pytest.mark.usefixtures("redis")
def test_a_healthy_endpoint_receives_everything_while_a_dead_one_hangs(receiver: Receiver) -> None:
    webhook_to(receiver.script("/dead", ScriptedResponse(hangs=True)))
    healthy = webhook_to(receiver.url("/healthy"))
    emit_many(healthy, EVENTS)

    with python_process(*WORKER, WEBHOOKS_THREADS="32"):
        requests = receiver.wait_for(EVENTS, "/healthy", seconds=120)
        hanging = receiver.requests("/dead")
        wait_until(lambda: Delivery.objects.filter(webhook=healthy, status="delivered").count() == EVENTS)

    assert len({request.headers["webhook-id"] for request in requests}) == len(requests) == EVENTS
    first = [request for request in hanging if request.at < hanging[0].at + SECONDS_UNTIL_A_TIMEOUT]
    assert 1 <= len(first) <= Delivery.PARTITIONS
