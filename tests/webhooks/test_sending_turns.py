"""Who sends what: one worker at a time in a lane, nothing twice, nothing forgotten, nobody held up."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.webhooks.processes import running
from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import sent, told_often, try_for, wait_until, webhook
from tests.webhooks.telling import NOON, at_once
from webhooks.models import Delivery, Webhook
from webhooks.services import lanes, sending, webhooks
from webhooks.services.outbox import DELIVER

pytestmark = pytest.mark.django_db(transaction=True)
NOW = NOON + timedelta(hours=20)
Wakes = list[dict[str, Any]]


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> Wakes:
    """What sending asks to be woken for, in place of waking."""
    wakes: Wakes = []
    monkeypatch.setattr(sending, "wake", lambda task, **kwargs: wakes.append({"task": task, **kwargs}))
    return wakes


def statuses() -> Counter[str]:
    return Counter(Delivery.objects.values_list("status", flat=True))


@contextmanager
def held_elsewhere(hold: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Another thread, with a connection of its own, holds a lock."""
    is_held, may_end = threading.Event(), threading.Event()

    def keep() -> None:
        with hold():
            is_held.set()
            may_end.wait()
        connection.close()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        assert is_held.wait(30)
        yield
    finally:
        may_end.set()
        thread.join()


def before_each_post(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    post = sending._Turn._post

    def act_and_post(*args: Any) -> Any:
        act()
        return post(*args)

    monkeypatch.setattr(sending._Turn, "_post", act_and_post)


def test_a_turn_costs_a_statement_for_each_delivery_and_four_for_all(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    told_often(to, 10, lane=2)

    with CaptureQueriesContext(connection) as statements:
        sending.drain(webhook_id=to.pk, lane=2)

    assert statuses() == {"delivered": 10}
    assert len(statements) == 14


def test_more_than_a_batch_is_sent_in_one_turn_over_one_connection(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.url())
    told_often(to, 45, lane=0)

    sending.drain(webhook_id=to.pk, lane=0)

    assert statuses() == {"delivered": 45}
    assert len({heard.headers["webhook-id"] for heard in receiver.heard()}) == 45
    assert receiver.connections == 1


def test_what_has_waited_longest_goes_first(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    told_often(to, 5, lane=0)
    ids = list(Delivery.objects.values_list("pk", "event_id"))
    for minutes, (pk, _) in enumerate(ids):
        Delivery.objects.filter(pk=pk).update(due_at=NOON - timedelta(minutes=minutes))

    sending.drain(webhook_id=to.pk, lane=0)

    order = [heard.headers["webhook-id"] for heard in receiver.heard()]
    assert order == [str(event_id) for _, event_id in reversed(ids)]


def test_workers_at_one_time_send_each_event_once(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    told_often(to, 60)

    at_once(*[lambda: sent(to)] * 6)
    sent(to)

    assert Counter(heard.headers["webhook-id"] for heard in receiver.heard()).most_common(1)[0][1] == 1
    assert statuses() == {"delivered": 60}


def test_whoever_is_woken_while_another_holds_the_lane_may_go_without_a_word(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.url())
    told_often(to, 1, lane=0)
    unlock = lanes._unlock
    left: list[Any] = []

    def unlock_when_another_has_come_and_gone(name: str) -> None:
        if not left:  # everything has been read by now
            told_often(to, 1, lane=0)
            left.extend(at_once(lambda: sending.drain(webhook_id=to.pk, lane=0)))
            left.append(len(receiver.heard()))
        unlock(name)

    monkeypatch.setattr(lanes, "_unlock", unlock_when_another_has_come_and_gone)

    sending.drain(webhook_id=to.pk, lane=0)

    assert left == [None, 1]
    assert statuses() == {"delivered": 2}


def test_the_lane_of_a_worker_that_is_killed_in_mid_attempt_is_free_at_once(receiver: Receiver) -> None:
    to = webhook(receiver.script("/", Scripted(hangs=True), Scripted()))
    told_often(to, 2, lane=0)
    code = (
        "import django; django.setup(); from webhooks.services import sending;"
        f"sending.drain(webhook_id={to.pk}, lane=0)"
    )

    with running("-c", code) as process:
        receiver.wait_for(1)
        sending.drain(webhook_id=to.pk, lane=0)
        while_it_lives = statuses()
        process.kill()
        process.wait()
        wait_until(lambda: try_for(to, delivered=2))

    assert while_it_lives == {"pending": 2}
    assert len(receiver.heard()) == 3
    assert set(Delivery.objects.values_list("attempt_count", flat=True)) == {1}


def test_a_connection_to_the_database_that_breaks_frees_the_lane_and_is_not_used_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.url())
    told_often(to, 1, lane=0)

    def work() -> None:
        connection.ensure_connection()
        broken = connection.connection
        before_each_post(monkeypatch, broken.close)
        with pytest.raises(Exception, match="closed"):
            sending.drain(webhook_id=to.pk, lane=0)
        monkeypatch.undo()
        assert connection.connection is None

    [failure] = at_once(work)
    wait_until(lambda: try_for(to, delivered=1))

    assert failure is None


def test_a_failing_webhook_is_tried_by_one_worker_whatever_the_lane(receiver: Receiver) -> None:
    to = webhook(receiver.url(), failing_since=NOON)
    told_often(to, 4)

    with held_elsewhere(lambda: lanes.hold_failing(to.pk)):
        sent(to)
        while_another_is_at_it = statuses()
    sent(to)

    assert while_another_is_at_it == {"pending": 4}
    assert statuses() == {"delivered": 4}


def test_failing_webhooks_leave_threads_to_others(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "_share", threading.BoundedSemaphore(1))
    failing, healthy = (
        webhook(receiver.url("/failing"), failing_since=NOON),
        webhook(receiver.url("/healthy")),
    )
    told_often(healthy, 1)

    with lanes.hold_share():
        sent(failing)
        sent(healthy)

    assert [heard.path for heard in receiver.heard()] == ["/healthy"]


def test_after_a_failure_the_next_one_is_tried_by_the_rules_for_failing_ones(
    receiver: Receiver, woken: Wakes
) -> None:
    to = webhook(receiver.script("/", Scripted(status=500)))
    told_often(to, 2, lane=0)

    with held_elsewhere(lambda: lanes.hold_failing(to.pk)):
        sending.drain(webhook_id=to.pk, lane=0, now=lambda: NOW)

    assert statuses() == {"failed": 1, "pending": 1}
    assert woken == []


def test_a_turn_that_lasts_too_long_is_gone_on_with_later(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, woken: Wakes
) -> None:
    monkeypatch.setattr(sending, "SECONDS_OF_A_TURN", 0)
    to = webhook(receiver.script("/", Scripted(status=500)))
    told_often(to, 2, lane=3)

    sending.drain(webhook_id=to.pk, lane=3, now=lambda: NOW)

    assert statuses() == {"failed": 1, "pending": 1}
    assert woken == [{"task": DELIVER, "webhook_id": to.pk, "lane": 3}]


def test_a_worker_that_is_told_to_stop_ends_after_the_attempt_that_it_is_in(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.url())
    told_often(to, 3, lane=0)
    with monkeypatch.context() as stopping:
        stopping.setattr(sending, "_told_to_stop", threading.Event())
        before_each_post(stopping, sending.stop)

        sending.drain(webhook_id=to.pk, lane=0)
        sending.drain(webhook_id=to.pk, lane=0)

    assert statuses() == {"delivered": 1, "pending": 2}
    assert at_once(lambda: sending.drain(webhook_id=to.pk, lane=0)) == [None]
    assert statuses() == {"delivered": 3}


@pytest.mark.parametrize("how", ["deleted", "off", "elsewhere"])
def test_a_change_in_the_middle_of_a_turn_is_seen_soon(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(sending, "SECONDS_OF_A_BATCH", -1)
    to = webhook(receiver.url("/"))
    told_often(to, 30, lane=0)
    of: dict[str, Any] = {"community_id": to.community_id, "webhook_id": to.pk, "at": NOON}
    changes: dict[str, Callable[[], object]] = {
        "deleted": lambda: webhooks.remove(**of),
        "off": lambda: webhooks.change(**of, fields={"is_active": False}),
        "elsewhere": lambda: webhooks.change(**of, fields={"url": receiver.url("/elsewhere")}),
    }
    before_each_post(monkeypatch, changes[how])

    sending.drain(webhook_id=to.pk, lane=0)

    expected = ["/", *["/elsewhere"] * 29] if how == "elsewhere" else ["/"]
    assert [heard.path for heard in receiver.heard()] == expected


def test_every_lane_in_which_something_is_due_is_woken_and_no_other(woken: Wakes) -> None:
    to, off, pinged, gone, later = (webhook("https://example.com/") for _ in range(5))
    told_often(to, 8)
    due = set(Delivery.objects.filter(webhook=to).values_list("webhook_id", "lane"))
    Webhook.objects.filter(pk__in=[off.pk, pinged.pk, gone.pk]).update(is_active=False)
    ping = webhooks.ping(community_id=pinged.community_id, webhook_id=pinged.pk, at=NOON)
    Webhook.objects.filter(pk=gone.pk).update(deleted_at=NOON)
    Delivery.objects.filter(webhook=later).update(due_at=NOW + timedelta(seconds=1))

    count = sending.wake_due(at=NOW)

    expected = due | {(pinged.pk, ping.lane)}
    assert {(wake["webhook_id"], wake["lane"]) for wake in woken} == expected
    assert count == len(woken) == len(expected)


def test_looking_for_what_is_due_is_one_statement_however_much_there_is(woken: Wakes) -> None:
    to = webhook("https://example.com/")
    told_often(to, 20)

    with CaptureQueriesContext(connection) as statements:
        sending.wake_due(at=NOW)

    assert len(statements) == 1


def test_a_slow_endpoint_gives_its_thread_back_though_it_answers(
    receiver: Receiver, woken: Wakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SECONDS_OF_A_TURN", 0)
    monkeypatch.setattr(sending, "SECONDS_OF_A_BATCH", 0)
    to = webhook(receiver.url())
    told_often(to, 5, lane=0)

    sending.drain(webhook_id=to.pk, lane=0, now=lambda: NOW)

    assert len(receiver.heard()) == 1
    assert [(wake["webhook_id"], wake["lane"]) for wake in woken] == [(to.pk, 0)]


def test_a_turn_with_a_share_leaves_it_to_the_sweep_who_is_next(
    receiver: Receiver, woken: Wakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SECONDS_OF_A_TURN", 0)
    monkeypatch.setattr(sending, "SECONDS_OF_A_BATCH", 0)
    to = webhook(receiver.url())
    told_often(to, 5, lane=0)
    lanes.note_pace(to.pk, seconds=lanes.SECONDS_OF_SLOW + 1)

    sending.drain(webhook_id=to.pk, lane=0, now=lambda: NOW)

    assert len(receiver.heard()) == 1
    assert woken == []


def test_slow_endpoints_leave_threads_to_the_others(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "_share", threading.BoundedSemaphore(1))
    slow, quick = webhook(receiver.url("/slow")), webhook(receiver.url("/quick"))
    told_often(quick, 4)  # and the slow one, which listens too
    lanes.note_pace(slow.pk, seconds=lanes.SECONDS_OF_SLOW + 1)

    with lanes.hold_share():
        sent(slow)
        sent(quick)

    heard = [each.path for each in receiver.heard()]
    assert heard == ["/quick"] * 4
    sent(slow)
    assert not lanes.is_slow(slow.pk)
    assert len(receiver.heard()) == 8
