"""What an attempt makes of a delivery and its webhook, with a real endpoint that answers over HTTP."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import OLD_SECRET, SECRET, sent, told, told_often, tried_until_over, webhook
from tests.webhooks.telling import NOON
from webhooks import retries
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.services import deliveries, sealing, sending, webhooks
from webhooks.services.early import Early, reminders

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 1, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


def state(delivery: Delivery) -> tuple[Any, ...]:
    delivery.refresh_from_db()
    return delivery.status, delivery.attempt_count, delivery.due_at, delivery.response_status


def test_what_is_sent_is_the_stored_body_byte_for_byte_with_its_signature(receiver: Receiver) -> None:
    to = webhook(receiver.url("/hook?from=colloquy"))
    delivery = told(data={"name": "Zoë ✓", "empty": None})

    sent(to)

    [heard] = receiver.heard()
    assert heard.path == "/hook?from=colloquy"
    assert heard.body == delivery.event.body
    assert heard.headers["content-type"] == "application/json"
    assert heard.headers["webhook-id"] == str(delivery.event_id)
    assert Verifier(SECRET).verify(heard.body, dict(heard.headers)) == heard.event


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_delivered(receiver: Receiver, status: int) -> None:
    body = "" if status == 204 else "Thank you."
    to = webhook(receiver.script("/", Scripted(status=status, body=body)))
    delivery = told()

    sent(to, at=NOW)

    assert state(delivery) == ("delivered", 1, None, status)
    assert (delivery.response_body, delivery.error, delivery.last_attempt_at) == (body, None, NOW)


@pytest.mark.parametrize("status", [301, 307, 400, 404, 429, 500, 503])
def test_any_other_answer_is_a_failure_that_is_tried_again(receiver: Receiver, status: int) -> None:
    elsewhere = {"Location": receiver.url("/elsewhere")}
    to = webhook(receiver.script("/", Scripted(status=status, headers=elsewhere, body="No.\0" + "x" * 2000)))
    delivery = told()

    sent(to, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + timedelta(seconds=5), status)
    assert delivery.response_body is not None
    assert len(delivery.response_body) <= 1000
    assert [heard.path for heard in receiver.heard()] == ["/"]


def test_an_endpoint_that_is_not_there_is_told_in_a_sentence(receiver: Receiver) -> None:
    to = webhook("http://127.0.0.1:1999/")
    delivery = told()

    sent(to, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + timedelta(seconds=5), None)
    assert delivery.response_body is None
    assert delivery.error is not None
    assert delivery.error.endswith(".")


def test_a_success_after_a_failure_says_nothing_of_the_failure(receiver: Receiver) -> None:
    to = webhook("http://127.0.0.1:1999/")
    delivery = told()
    sent(to, at=NOW)
    Webhook.objects.update(url=receiver.url())

    sent(to, at=NOW + timedelta(seconds=5))

    assert state(delivery) == ("delivered", 2, None, 200)
    assert delivery.error is None


def test_ten_attempts_are_made_by_the_schedule_and_then_no_more(receiver: Receiver) -> None:
    webhook(receiver.script("/", Scripted(status=500)))
    delivery = told()

    waits = tried_until_over(delivery, at=NOW)

    assert waits == list(retries.WAITS)
    assert state(delivery) == ("abandoned", 10, None, 500)
    assert len({(heard.headers["webhook-id"], heard.body) for heard in receiver.heard()}) == 1


def test_jitter_adds_up_to_a_tenth(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 1.0)
    to = webhook(receiver.script("/", Scripted(status=500)))
    delivery = told()

    sent(to, at=NOW)

    assert state(delivery)[2] == NOW + timedelta(seconds=5.5)


@pytest.mark.parametrize("status", [400, 429, 503])
@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(seconds=120)),
        ("1", timedelta(seconds=5)),
        ("Sun, 01 Feb 2026 10:30:00 GMT", timedelta(hours=1)),
        ("999999", timedelta(hours=24)),
        ("soon", timedelta(seconds=5)),
    ],
)
def test_a_longer_retry_after_is_honoured(
    receiver: Receiver, status: int, header: str, wait: timedelta
) -> None:
    to = webhook(receiver.script("/", Scripted(status=status, headers={"Retry-After": header})))
    delivery = told()

    sent(to, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + wait, status)


def test_a_410_ends_the_delivery_and_switches_the_webhook_off(receiver: Receiver) -> None:
    to = webhook(receiver.script("/", Scripted(status=410)))
    told_often(to, 2, lane=1)

    sent(to, at=NOW)

    to.refresh_from_db()
    assert (to.is_active, to.disabled_reason, to.updated_at) == (False, "gone", NOW)
    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["abandoned", "pending"]
    assert len(receiver.heard()) == 1


def test_failures_are_counted_from_the_next_full_hour_until_a_success(receiver: Receiver) -> None:
    to = webhook(receiver.script("/", Scripted(status=500), Scripted(status=500), Scripted()))
    told()

    sent(to, at=NOW)
    to.refresh_from_db()
    first = to.failing_since
    sent(to, at=NOW + timedelta(hours=3))
    to.refresh_from_db()
    second = to.failing_since
    sent(to, at=NOW + timedelta(hours=6))
    to.refresh_from_db()

    assert (first, second) == (datetime(2026, 2, 1, 10, tzinfo=UTC),) * 2
    assert to.failing_since is None
    assert to.is_active


@pytest.mark.parametrize(
    ("failing_for", "is_active"), [(timedelta(days=5, seconds=-1), True), (timedelta(days=5), False)]
)
def test_five_days_of_failures_switch_a_webhook_off(
    receiver: Receiver, failing_for: timedelta, is_active: bool
) -> None:
    to = webhook(receiver.script("/", Scripted(status=500)), failing_since=NOW - failing_for)
    delivery = told()

    sent(to, at=NOW)

    to.refresh_from_db()
    assert (to.is_active, to.disabled_reason) == (is_active, None if is_active else "failing")
    assert state(delivery)[:2] == ("failed", 1)


def test_a_webhook_that_its_owner_switched_off_is_not_said_to_be_off_by_itself(receiver: Receiver) -> None:
    to = webhook(
        receiver.script("/", Scripted(status=410)), is_active=False, failing_since=NOW - timedelta(days=9)
    )
    ping = webhooks.ping(community_id=to.community_id, webhook_id=to.pk, at=NOW)

    sent(to, at=NOW)

    to.refresh_from_db()
    assert (to.is_active, to.disabled_reason, to.updated_at) == (False, None, NOON)
    assert state(ping)[:2] == ("abandoned", 1)


def test_what_is_due_waits_while_a_webhook_is_off_and_goes_when_it_is_on_again(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    delivery = told()
    webhooks.change(community_id=to.community_id, webhook_id=to.pk, fields={"is_active": False}, at=NOW)

    sent(to, at=NOW)
    while_off = state(delivery)
    webhooks.change(community_id=to.community_id, webhook_id=to.pk, fields={"is_active": True}, at=NOW)
    sent(to, at=NOW)

    assert while_off[:2] == ("pending", 0)
    assert state(delivery)[:2] == ("delivered", 1)


def test_a_ping_and_a_redelivery_reach_a_webhook_that_is_off(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    first = told()
    sent(to, at=NOW)
    Webhook.objects.update(is_active=False)
    webhooks.ping(community_id=to.community_id, webhook_id=to.pk, at=NOW)
    deliveries.redeliver(community_id=to.community_id, delivery_id=first.pk, at=NOW)

    sent(to, at=NOW)

    types = [heard.event["type"] for heard in receiver.heard()]
    assert types[0] == EventType.RESPONSE_SUBMITTED
    assert sorted(types[1:]) == [EventType.RESPONSE_SUBMITTED, EventType.WEBHOOK_PING]
    assert {heard.headers["webhook-id"] for heard in receiver.heard()} == {
        str(event) for event in Event.objects.values_list("pk", flat=True)
    }


def test_nothing_is_sent_to_a_deleted_webhook_however_much_it_was_asked_for(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    told()
    ping = webhooks.ping(community_id=to.community_id, webhook_id=to.pk, at=NOW)
    webhooks.remove(community_id=to.community_id, webhook_id=to.pk, at=NOW)

    sent(to)
    sending.drain(webhook_id=to.pk, lane=ping.lane, now=lambda: NOW)

    assert receiver.heard() == []


def test_an_event_whose_body_is_forgotten_is_never_sent(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    delivery = told()
    Event.objects.update(body=None)

    sent(to)
    sending.drain(webhook_id=to.pk, lane=delivery.lane, now=lambda: NOW)

    assert receiver.heard() == []
    assert state(delivery)[:2] == ("pending", 0)


def test_nothing_is_sent_before_it_is_due(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    Delivery.objects.filter(pk=told().pk).update(due_at=NOW)

    sent(to, at=NOW - timedelta(seconds=1))
    before = receiver.heard()
    sent(to, at=NOW)

    assert before == []
    assert len(receiver.heard()) == 1


def test_both_secrets_sign_while_one_replaces_the_other(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    to.sealed_previous_secret = sealing.seal(OLD_SECRET, community_id=to.community_id)
    to.previous_secret_expires_at = datetime(2999, 1, 1, tzinfo=UTC)
    to.save()
    told()

    sent(to)

    [heard] = receiver.heard()
    assert len(heard.headers["webhook-signature"].split(" ")) == 2
    for secret in (SECRET, OLD_SECRET):
        assert Verifier(secret).verify(heard.body, dict(heard.headers)) == heard.event


def test_a_secret_that_cannot_be_read_is_a_failed_attempt_and_told_to_the_log(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    to = webhook(receiver.url())
    Webhook.objects.update(sealed_secret=b"sealed with a key of long ago")
    delivery = told()

    sent(to, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + timedelta(seconds=5), None)
    assert delivery.error == sending.OUR_FAULT
    assert "webhooks.fault" in caplog.text
    assert receiver.heard() == []


def test_each_attempt_is_a_line_in_the_log_without_body_address_or_secret(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    to = webhook(receiver.url("/hook?token=hush"))
    delivery = told(data={"answer": "my diary"})

    with caplog.at_level("INFO", logger="colloquy.webhooks"):
        sent(to, at=NOW)

    [line] = [record.getMessage() for record in caplog.records if record.name == "colloquy.webhooks"]
    assert all(str(each) in line for each in (to.pk, delivery.pk, delivery.event_id, "delivered", 200))
    assert not any(each in line for each in ("hush", "diary", "whsec_"))


def test_a_delivery_that_is_gone_when_its_answer_comes_is_no_error(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.url())
    told()
    monkeypatch.setattr(sending, "_tell", lambda *_: None)
    post = sending._Turn._post

    def post_while_it_is_deleted(*args: Any) -> Any:
        answer = post(*args)
        Delivery.objects.all().delete()
        return answer

    monkeypatch.setattr(sending._Turn, "_post", post_while_it_is_deleted)

    sent(to, at=NOW)

    assert len(receiver.heard()) == 1


def test_an_unknown_webhook_or_early_delivery_is_nothing_to_do() -> None:
    reminders.add(404, 0, Early(uuid.uuid4(), 0), wait=timedelta())

    sending.drain(webhook_id=404, lane=0)

    assert sending.wake_due(at=NOW) == 0
