"""Workers: one at a time sends a partition, nothing is sent twice or lost, no endpoint delays others.

Rule 9.21.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from communities.ground.slots import Slots
from tests.support.concurrency import held_elsewhere, run_together, wait_until
from tests.support.processes import python_process
from tests.support.webhooks.delivery_runs import (
    SECRET,
    before_each_post,
    delivered_after_drain,
    drain_all,
    emit_many,
    webhook_to,
)
from tests.support.webhooks.outbox import MID_HOUR, create_webhook, emit_event, get_community
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks.models import Delivery, Webhook
from webhooks.services import dispatch, locks, sealed_secrets, slow_endpoints, webhooks
from webhooks.services.outbox import DELIVER

pytestmark = pytest.mark.django_db(transaction=True)
NOW = MID_HOUR + timedelta(hours=20)
Wakes = list[dict[str, Any]]


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> Wakes:
    """The task wakes that the dispatcher requests. They are recorded and not sent."""
    wakes: Wakes = []
    monkeypatch.setattr(dispatch, "wake", lambda task, **kwargs: wakes.append({"task": task, **kwargs}))
    return wakes


def statuses() -> Counter[str]:
    return Counter(Delivery.objects.values_list("status", flat=True))


def test_a_run_takes_one_statement_for_each_delivery_and_four_more(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 10, partition=2)

    with CaptureQueriesContext(connection) as statements:
        dispatch.drain(webhook_id=webhook.pk, partition=2)

    assert statuses() == {"delivered": 10}
    assert len(statements) == 14


def test_several_batches_are_sent_in_one_run_over_one_connection(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 45, partition=0)

    dispatch.drain(webhook_id=webhook.pk, partition=0)

    assert statuses() == {"delivered": 45}
    assert len({request.headers["webhook-id"] for request in receiver.requests()}) == 45
    assert receiver.connections == 1


def test_the_delivery_that_has_been_due_longest_is_sent_first(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 5, partition=0)
    ids = list(Delivery.objects.values_list("pk", "event_id"))
    for minutes, (pk, _) in enumerate(ids):
        Delivery.objects.filter(pk=pk).update(due_at=MID_HOUR - timedelta(minutes=minutes))

    dispatch.drain(webhook_id=webhook.pk, partition=0)

    order = [request.headers["webhook-id"] for request in receiver.requests()]
    assert order == [str(event_id) for _, event_id in reversed(ids)]


def test_concurrent_workers_send_each_event_once(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 60)

    run_together(*[lambda: drain_all(webhook)] * 6)
    drain_all(webhook)

    assert Counter(request.headers["webhook-id"] for request in receiver.requests()).most_common(1)[0][1] == 1
    assert statuses() == {"delivered": 60}


def test_a_delivery_written_while_the_partition_is_locked_is_not_forgotten(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 1, partition=0)
    unlock = locks._unlock
    results: list[Any] = []

    def unlock_after_another_worker(name: str) -> None:
        if not results:  # the first worker has read everything
            emit_many(webhook, 1, partition=0)
            results.extend(run_together(lambda: dispatch.drain(webhook_id=webhook.pk, partition=0)))
            results.append(len(receiver.requests()))
        unlock(name)

    monkeypatch.setattr(locks, "_unlock", unlock_after_another_worker)

    dispatch.drain(webhook_id=webhook.pk, partition=0)

    assert results == [None, 1]
    assert statuses() == {"delivered": 2}


@pytest.mark.long
def test_the_partition_of_a_killed_worker_is_free_at_once(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(hangs=True), ScriptedResponse()))
    emit_many(webhook, 2, partition=0)
    code = (
        "import django; django.setup(); from webhooks.services import dispatch;"
        f"dispatch.drain(webhook_id={webhook.pk}, partition=0)"
    )

    with python_process("-c", code) as process:
        receiver.wait_for(1)
        dispatch.drain(webhook_id=webhook.pk, partition=0)
        while_it_ran = statuses()
        process.kill()
        process.wait()
        wait_until(lambda: delivered_after_drain(webhook) == 2)

    assert while_it_ran == {"pending": 2}
    assert len(receiver.requests()) == 3
    assert set(Delivery.objects.values_list("attempt_count", flat=True)) == {1}


def test_a_broken_database_connection_frees_the_partition_and_is_replaced(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 1, partition=0)

    def work() -> None:
        connection.ensure_connection()
        broken = connection.connection
        before_each_post(monkeypatch, broken.close)
        with pytest.raises(Exception, match="closed"):
            dispatch.drain(webhook_id=webhook.pk, partition=0)
        monkeypatch.undo()
        assert connection.connection is None

    [failure] = run_together(work)
    wait_until(lambda: delivered_after_drain(webhook) == 1)

    assert failure is None


def test_a_failing_webhook_is_tried_by_one_worker_in_all_partitions(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url(), failing_since=MID_HOUR)
    emit_many(webhook, 4)

    with held_elsewhere(lambda: locks.failing_webhook_lock(webhook.pk)):
        drain_all(webhook)
        while_locked = statuses()
    drain_all(webhook)

    assert while_locked == {"pending": 4}
    assert statuses() == {"delivered": 4}


def test_failing_webhooks_leave_threads_to_others(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_endpoints, "_slow_threads", Slots(1))
    failing, healthy = (
        webhook_to(receiver.url("/failing"), failing_since=MID_HOUR),
        webhook_to(receiver.url("/healthy")),
    )
    emit_many(healthy, 1)

    with slow_endpoints.thread_for_slow_endpoints(-1):
        drain_all(failing)
        drain_all(healthy)

    assert [request.path for request in receiver.requests()] == ["/healthy"]


def test_after_a_failure_the_next_attempt_follows_the_rules_for_failing_webhooks(
    receiver: Receiver, woken: Wakes
) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    emit_many(webhook, 2, partition=0)

    with held_elsewhere(lambda: locks.failing_webhook_lock(webhook.pk)):
        dispatch.drain(webhook_id=webhook.pk, partition=0, now=lambda: NOW)

    assert statuses() == {"failed": 1, "pending": 1}
    assert woken == []


def test_a_run_that_takes_too_long_is_continued_later(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, woken: Wakes
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_OF_A_RUN", 0)
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    emit_many(webhook, 2, partition=3)

    dispatch.drain(webhook_id=webhook.pk, partition=3, now=lambda: NOW)

    assert statuses() == {"failed": 1, "pending": 1}
    assert woken == [{"task": DELIVER, "webhook_id": webhook.pk, "partition": 3}]


def test_a_worker_that_is_stopping_ends_after_its_current_attempt(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 3, partition=0)
    with monkeypatch.context() as stopping:
        stopping.setattr(dispatch, "_is_stopping", threading.Event())
        before_each_post(stopping, dispatch.stop)

        dispatch.drain(webhook_id=webhook.pk, partition=0)
        dispatch.drain(webhook_id=webhook.pk, partition=0)

    assert statuses() == {"delivered": 1, "pending": 2}
    assert run_together(lambda: dispatch.drain(webhook_id=webhook.pk, partition=0)) == [None]
    assert statuses() == {"delivered": 3}


@pytest.mark.parametrize("change", ["deleted", "off", "elsewhere"])
def test_a_change_of_the_webhook_during_a_run_takes_effect_soon(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_OF_A_BATCH", -1)
    webhook = webhook_to(receiver.url("/"))
    emit_many(webhook, 30, partition=0)
    target: dict[str, Any] = {"community_id": webhook.community_id, "webhook_id": webhook.pk, "at": MID_HOUR}
    changes: dict[str, Callable[[], object]] = {
        "deleted": lambda: webhooks.remove(actor=None, **target),
        "off": lambda: webhooks.change(actor=None, **target, fields={"is_active": False}),
        "elsewhere": lambda: webhooks.change(
            actor=None, **target, fields={"url": receiver.url("/elsewhere")}
        ),
    }
    before_each_post(monkeypatch, changes[change])

    dispatch.drain(webhook_id=webhook.pk, partition=0)

    expected = ["/", *["/elsewhere"] * 29] if change == "elsewhere" else ["/"]
    assert [request.path for request in receiver.requests()] == expected


def test_exactly_the_partitions_with_due_deliveries_are_woken(woken: Wakes) -> None:
    webhook, off, pinged, deleted, later = (webhook_to("https://example.com/") for _ in range(5))
    emit_many(webhook, 8)
    due = set(Delivery.objects.filter(webhook=webhook).values_list("webhook_id", "partition"))
    Webhook.objects.filter(pk__in=[off.pk, pinged.pk, deleted.pk]).update(is_active=False)
    ping = webhooks.ping(actor=None, community_id=pinged.community_id, webhook_id=pinged.pk, at=MID_HOUR)
    Webhook.objects.filter(pk=deleted.pk).update(deleted_at=MID_HOUR)
    Delivery.objects.filter(webhook=later).update(due_at=NOW + timedelta(seconds=1))

    count = dispatch.wake_due(at=NOW)

    expected = due | {(pinged.pk, ping.partition)}
    assert {(wake["webhook_id"], wake["partition"]) for wake in woken} == expected
    assert count == len(woken) == len(expected)


def test_communities_take_turns(woken: Wakes) -> None:
    crowded, alone = get_community(1), get_community(2)
    for community, count in ((crowded, 5), (alone, 1)):
        for _ in range(count):
            create_webhook(community)
        emit_event(community=community)
        Delivery.objects.filter(webhook__community=community).update(partition=0)
    woken.clear()

    dispatch.wake_due(at=NOW)

    community_of = dict(Webhook.objects.values_list("pk", "community_id"))
    assert {community_of[each["webhook_id"]] for each in woken[:2]} == {1, 2}
    assert len(woken) == 6


def test_a_community_leaves_threads_to_others(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_endpoints, "_threads", Slots(2))
    own, sealed = webhook_to(receiver.url("/own")), sealed_secrets.seal(SECRET, community_id=2)
    other = create_webhook(get_community(2), url=receiver.url("/other"), sealed_secret=sealed)
    emit_many(own, 1)
    emit_event(community=other.community)

    with slow_endpoints.thread_for(own.community_id):
        drain_all(own)
        drain_all(other)

    assert [request.path for request in receiver.requests()] == ["/other"]
    drain_all(own)
    assert [request.path for request in receiver.requests()] == ["/other", "/own"]


def test_finding_due_partitions_takes_one_statement(woken: Wakes) -> None:
    webhook = webhook_to("https://example.com/")
    emit_many(webhook, 20)

    with CaptureQueriesContext(connection) as statements:
        dispatch.wake_due(at=NOW)

    assert len(statements) == 1


def test_a_run_with_a_slow_endpoint_gives_its_thread_back(
    receiver: Receiver, woken: Wakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_OF_A_RUN", 0)
    monkeypatch.setattr(dispatch, "SECONDS_OF_A_BATCH", 0)
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 5, partition=0)

    dispatch.drain(webhook_id=webhook.pk, partition=0, now=lambda: NOW)

    assert len(receiver.requests()) == 1
    assert [(wake["webhook_id"], wake["partition"]) for wake in woken] == [(webhook.pk, 0)]


def test_a_slow_run_leaves_the_next_one_to_the_sweep(
    receiver: Receiver, woken: Wakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "SECONDS_OF_A_RUN", 0)
    monkeypatch.setattr(dispatch, "SECONDS_OF_A_BATCH", 0)
    webhook = webhook_to(receiver.url())
    emit_many(webhook, 5, partition=0)
    slow_endpoints.note_duration(webhook.pk, seconds=slow_endpoints.SLOW_SECONDS + 1)

    dispatch.drain(webhook_id=webhook.pk, partition=0, now=lambda: NOW)

    assert len(receiver.requests()) == 1
    assert woken == []


def test_slow_endpoints_leave_threads_to_the_others(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_endpoints, "_slow_threads", Slots(1))
    slow, quick = (
        webhook_to(receiver.url("/slow")),
        webhook_to(receiver.url("/quick")),
    )
    emit_many(quick, 4)  # which the slow webhook receives too
    slow_endpoints.note_duration(slow.pk, seconds=slow_endpoints.SLOW_SECONDS + 1)

    with slow_endpoints.thread_for_slow_endpoints(-1):
        drain_all(slow)
        drain_all(quick)

    request = [each.path for each in receiver.requests()]
    assert request == ["/quick"] * 4
    drain_all(slow)
    assert not slow_endpoints.is_slow(slow.pk)
    assert len(receiver.requests()) == 8
