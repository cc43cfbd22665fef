"""The effect of an attempt on a delivery and its webhook, with a real HTTP endpoint (rules 9.17 and 9.20)."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from tests.support.webhooks.delivery_runs import (
    OLD_SECRET,
    SECRET,
    drain_all,
    drain_until_over,
    emit_delivery,
    emit_many,
    webhook_to,
)
from tests.support.webhooks.outbox import MID_HOUR
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks import retries
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.services import deliveries, dispatch, sealed_secrets, webhooks
from webhooks.services.precise_retries import PreciseRetry, schedule

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 1, 9, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def without_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)


def state(delivery: Delivery) -> tuple[Any, ...]:
    delivery.refresh_from_db()
    return delivery.status, delivery.attempt_count, delivery.due_at, delivery.response_status


def test_the_stored_body_is_sent_byte_for_byte_with_its_signature(receiver: Receiver) -> None:
    """Rule 9.8."""
    webhook = webhook_to(receiver.url("/hook?from=colloquy"))
    delivery = emit_delivery(data={"name": "Zoë ✓", "empty": None})

    drain_all(webhook)

    [request] = receiver.requests()
    assert request.path == "/hook?from=colloquy"
    assert request.body == delivery.event.body
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == str(delivery.event_id)
    assert Verifier(SECRET).verify(request.body, dict(request.headers)) == request.event


def test_each_attempt_sends_the_same_bytes(receiver: Receiver) -> None:
    """Rule 9.8."""
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=503), ScriptedResponse(status=200)))
    delivery = emit_delivery(data={"name": "Zoë ✓"})

    drain_all(webhook, at=NOW)
    drain_all(webhook, at=NOW + timedelta(seconds=5))

    assert [request.body for request in receiver.requests()] == [delivery.event.body] * 2


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_2xx_is_delivered(receiver: Receiver, status: int) -> None:
    body = "" if status == 204 else "Thank you."
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=status, body=body)))
    delivery = emit_delivery()

    drain_all(webhook, at=NOW)

    assert state(delivery) == ("delivered", 1, None, status)
    assert (delivery.response_body, delivery.error, delivery.last_attempt_at) == (body, None, NOW)


@pytest.mark.parametrize("status", [301, 307, 400, 404, 429, 500, 503])
def test_any_other_status_is_a_failure_that_is_retried(receiver: Receiver, status: int) -> None:
    elsewhere = {"Location": receiver.url("/elsewhere")}
    webhook = webhook_to(
        receiver.script("/", ScriptedResponse(status=status, headers=elsewhere, body="No.\0" + "x" * 2000))
    )
    delivery = emit_delivery()

    drain_all(webhook, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + timedelta(seconds=5), status)
    assert delivery.response_body is not None
    assert len(delivery.response_body) <= 1000
    assert [request.path for request in receiver.requests()] == ["/"]


def test_an_unreachable_endpoint_is_reported_in_a_sentence(receiver: Receiver) -> None:
    webhook = webhook_to("http://127.0.0.1:1999/")
    delivery = emit_delivery()

    drain_all(webhook, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + timedelta(seconds=5), None)
    assert delivery.response_body is None
    assert delivery.error is not None
    assert delivery.error.endswith(".")


def test_a_success_clears_the_error_of_an_earlier_failure(receiver: Receiver) -> None:
    webhook = webhook_to("http://127.0.0.1:1999/")
    delivery = emit_delivery()
    drain_all(webhook, at=NOW)
    Webhook.objects.update(url=receiver.url())

    drain_all(webhook, at=NOW + timedelta(seconds=5))

    assert state(delivery) == ("delivered", 2, None, 200)
    assert delivery.error is None


def test_a_delivery_is_abandoned_after_ten_attempts(receiver: Receiver) -> None:
    webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    delivery = emit_delivery()

    waits = drain_until_over(delivery, at=NOW)

    assert waits == list(retries.WAITS)
    assert state(delivery) == ("abandoned", 10, None, 500)
    assert len({(request.headers["webhook-id"], request.body) for request in receiver.requests()}) == 1


def test_jitter_adds_up_to_a_tenth(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 1.0)
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    delivery = emit_delivery()

    drain_all(webhook, at=NOW)

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
    webhook = webhook_to(
        receiver.script("/", ScriptedResponse(status=status, headers={"Retry-After": header}))
    )
    delivery = emit_delivery()

    drain_all(webhook, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + wait, status)


def test_a_410_abandons_the_delivery_and_disables_the_webhook(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=410)))
    emit_many(webhook, 2, partition=1)

    drain_all(webhook, at=NOW)

    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason, webhook.updated_at) == (False, "gone", NOW)
    assert sorted(Delivery.objects.values_list("status", flat=True)) == ["abandoned", "pending"]
    assert len(receiver.requests()) == 1


def test_failures_are_told_from_the_hour_in_which_they_began_until_a_success(receiver: Receiver) -> None:
    webhook = webhook_to(
        receiver.script("/", ScriptedResponse(status=500), ScriptedResponse(status=500), ScriptedResponse())
    )
    emit_delivery()

    drain_all(webhook, at=NOW)
    webhook.refresh_from_db()
    first = webhook.failing_since
    drain_all(webhook, at=NOW + timedelta(hours=3))
    webhook.refresh_from_db()
    second = webhook.failing_since
    drain_all(webhook, at=NOW + timedelta(hours=6))
    webhook.refresh_from_db()

    assert (first, second) == (datetime(2026, 2, 1, 9, tzinfo=UTC),) * 2
    assert webhook.failing_since is None
    assert webhook.is_active


@pytest.mark.parametrize(
    ("since", "at", "is_active"),
    [
        (datetime(2026, 1, 27, 9, tzinfo=UTC), datetime(2026, 2, 1, 9, 59, 59, tzinfo=UTC), True),
        (datetime(2026, 1, 27, 9, tzinfo=UTC), datetime(2026, 2, 1, 10, tzinfo=UTC), False),
        # It may have begun to fail at any time of that day, if an anonymous project rounds to the day.
        (datetime(2026, 1, 27, tzinfo=UTC), datetime(2026, 2, 1, 23, 59, 59, tzinfo=UTC), True),
        (datetime(2026, 1, 27, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC), False),
    ],
)
def test_five_days_of_failures_disable_a_webhook(
    receiver: Receiver, since: datetime, at: datetime, is_active: bool
) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)), failing_since=since)
    delivery = emit_delivery()

    drain_all(webhook, at=at)

    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason) == (is_active, None if is_active else "failing")
    assert state(delivery)[:2] == ("failed", 1)


def test_a_webhook_that_its_owner_switched_off_gets_no_disabled_reason(receiver: Receiver) -> None:
    webhook = webhook_to(
        receiver.script("/", ScriptedResponse(status=410)),
        is_active=False,
        failing_since=NOW - timedelta(days=9),
    )
    ping = webhooks.ping(actor=None, community_id=webhook.community_id, webhook_id=webhook.pk, at=NOW)

    drain_all(webhook, at=NOW)

    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason, webhook.updated_at) == (False, None, MID_HOUR)
    assert state(ping)[:2] == ("abandoned", 1)


def test_due_deliveries_wait_while_a_webhook_is_off(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    delivery = emit_delivery()
    webhooks.change(
        actor=None,
        community_id=webhook.community_id,
        webhook_id=webhook.pk,
        fields={"is_active": False},
        at=NOW,
    )

    drain_all(webhook, at=NOW)
    while_off = state(delivery)
    webhooks.change(
        actor=None,
        community_id=webhook.community_id,
        webhook_id=webhook.pk,
        fields={"is_active": True},
        at=NOW,
    )
    drain_all(webhook, at=NOW)

    assert while_off[:2] == ("pending", 0)
    assert state(delivery)[:2] == ("delivered", 1)


def test_a_ping_and_a_redelivery_reach_a_webhook_that_is_off(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    first = emit_delivery()
    drain_all(webhook, at=NOW)
    Webhook.objects.update(is_active=False)
    webhooks.ping(actor=None, community_id=webhook.community_id, webhook_id=webhook.pk, at=NOW)
    deliveries.redeliver(actor=None, community_id=webhook.community_id, delivery_id=first.pk, at=NOW)

    drain_all(webhook, at=NOW)

    types = [request.event["type"] for request in receiver.requests()]
    assert types[0] == EventType.RESPONSE_SUBMITTED
    assert sorted(types[1:]) == [EventType.RESPONSE_SUBMITTED, EventType.WEBHOOK_PING]
    assert {request.headers["webhook-id"] for request in receiver.requests()} == {
        str(event) for event in Event.objects.values_list("pk", flat=True)
    }


def test_nothing_is_sent_to_a_deleted_webhook_even_by_hand(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    emit_delivery()
    ping = webhooks.ping(actor=None, community_id=webhook.community_id, webhook_id=webhook.pk, at=NOW)
    webhooks.remove(actor=None, community_id=webhook.community_id, webhook_id=webhook.pk, at=NOW)

    drain_all(webhook)
    dispatch.drain(webhook_id=webhook.pk, partition=ping.partition, now=lambda: NOW)

    assert receiver.requests() == []


def test_an_event_whose_body_was_deleted_is_never_sent(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    delivery = emit_delivery()
    Event.objects.update(body=None)

    drain_all(webhook)
    dispatch.drain(webhook_id=webhook.pk, partition=delivery.partition, now=lambda: NOW)

    assert receiver.requests() == []
    assert state(delivery)[:2] == ("pending", 0)


def test_nothing_is_sent_before_it_is_due(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    Delivery.objects.filter(pk=emit_delivery().pk).update(due_at=NOW)

    drain_all(webhook, at=NOW - timedelta(seconds=1))
    before = receiver.requests()
    drain_all(webhook, at=NOW)

    assert before == []
    assert len(receiver.requests()) == 1


def test_both_secrets_sign_during_a_rotation(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    webhook.sealed_previous_secret = sealed_secrets.seal(OLD_SECRET, community_id=webhook.community_id)
    webhook.previous_secret_expires_at = datetime(2999, 1, 1, tzinfo=UTC)
    webhook.save()
    emit_delivery()

    drain_all(webhook)

    [request] = receiver.requests()
    assert len(request.headers["webhook-signature"].split(" ")) == 2
    for secret in (SECRET, OLD_SECRET):
        assert Verifier(secret).verify(request.body, dict(request.headers)) == request.event


def test_a_secret_that_cannot_be_decrypted_is_a_failed_attempt_and_logged(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = webhook_to(receiver.url())
    Webhook.objects.update(sealed_secret=b"sealed with an earlier key")
    delivery = emit_delivery()

    drain_all(webhook, at=NOW)

    assert state(delivery) == ("failed", 1, NOW + timedelta(seconds=5), None)
    assert delivery.error == dispatch.INTERNAL_ERROR
    assert "webhooks.fault" in caplog.text
    assert receiver.requests() == []


def test_each_attempt_is_logged_without_body_url_or_secret(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = webhook_to(receiver.url("/hook?token=hush"))
    delivery = emit_delivery(data={"answer": "my diary"})

    with caplog.at_level("INFO", logger="colloquy.webhooks"):
        drain_all(webhook, at=NOW)

    [line] = [record.getMessage() for record in caplog.records if record.name == "colloquy.webhooks"]
    assert all(str(text) in line for text in (webhook.pk, delivery.pk, delivery.event_id, "delivered", 200))
    assert not any(text in line for text in ("hush", "diary", "whsec_"))


def test_a_delivery_that_is_deleted_during_its_attempt_causes_no_error(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.url())
    emit_delivery()
    monkeypatch.setattr(dispatch, "_log_attempt", lambda *_: None)
    post = dispatch._Run._post

    def delete_during_post(*args: Any) -> Any:
        response = post(*args)
        Delivery.objects.all().delete()
        return response

    monkeypatch.setattr(dispatch._Run, "_post", delete_during_post)

    drain_all(webhook, at=NOW)

    assert len(receiver.requests()) == 1


def test_an_unknown_webhook_or_retry_is_ignored() -> None:
    schedule.add(404, 0, PreciseRetry(uuid.uuid4(), 0), wait=timedelta())

    dispatch.drain(webhook_id=404, partition=0)

    assert dispatch.wake_due(at=NOW) == 0
