"""Housekeeping deletes bodies after 30 days and removes deleted webhooks, also while workers are busy."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from pytest_django import Settings

from communities.ground.rounding import Rounding
from tests.support.concurrency import row_locked_elsewhere, run_together
from tests.support.webhooks.outbox import (
    MID_HOUR,
    create_webhook,
    emit_event,
    get_community,
    record_attempt,
    write_outcome,
)
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.sender import EndpointResponse
from webhooks.services import housekeeping
from webhooks.services.housekeeping import (
    BODY_LIFETIME,
    delete_bodies,
    remove_deleted,
    settle_anonymous_deliveries,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
parallel = pytest.mark.django_db(transaction=True)


# --- Bodies -----------------------------------------------------------------------------------------


def test_after_30_days_bodies_and_responses_are_deleted_and_the_outcome_stays() -> None:
    create_webhook()
    record_attempt(
        emit_event(person_id=5), status="delivered", response_status=200, response_body="Thanks for red."
    )
    event, delivery = Event.objects.values().get(), Delivery.objects.values().get()

    assert delete_bodies(at=MID_HOUR + BODY_LIFETIME - timedelta(seconds=1)) == 0
    assert delete_bodies(at=MID_HOUR + BODY_LIFETIME) == 1

    assert Event.objects.values().get() == {**event, "body": None}
    assert Delivery.objects.values().get() == {**delivery, "response_body": None}


def test_counts_of_an_anonymous_project_are_deleted_once_they_are_delivered() -> None:
    create_webhook()
    counted = emit_event(type=EventType.ANALYSIS_COMPLETED, rounded_to=Rounding.HOUR)
    others = [emit_event(type=EventType.ANALYSIS_COMPLETED), emit_event(rounded_to=Rounding.HOUR)]

    assert delete_bodies(at=MID_HOUR) == 0
    for event in (counted, *others):
        record_attempt(event, status="delivered")

    assert delete_bodies(at=MID_HOUR) == 1
    assert Event.objects.get(body=None) == counted


@pytest.mark.parametrize("type", [EventType.RESPONSE_SUBMITTED, EventType.ANALYSIS_COMPLETED])
@pytest.mark.parametrize("rounding", [None, Rounding.HOUR])
def test_an_event_that_nobody_listened_to_is_deleted_after_30_days(
    type: EventType, rounding: Rounding | None
) -> None:
    event = emit_event(type=type, rounded_to=rounding)
    last = event.created_at + BODY_LIFETIME

    delete_bodies(at=last - timedelta(seconds=1))
    assert Event.objects.get() == event
    delete_bodies(at=last)

    assert not Event.objects.exists()


def test_counts_of_an_anonymous_project_that_nobody_listens_to_are_deleted_at_once() -> None:
    counted = emit_event(type=EventType.ANALYSIS_FAILED, rounded_to=Rounding.HOUR)
    emit_event(type=EventType.ANALYSIS_FAILED)

    assert delete_bodies(at=MID_HOUR) == 1

    assert Event.objects.get(body=None) == counted


def test_errors_are_kept() -> None:
    create_webhook()
    record_attempt(emit_event(), status="abandoned", error="The connection was refused.")

    delete_bodies(at=MID_HOUR + BODY_LIFETIME)

    assert Delivery.objects.get().error == "The connection was refused."


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_due_deliveries_are_abandoned_with_their_body(status: str) -> None:
    create_webhook()
    emit_event()
    Delivery.objects.update(status=status, due_at=MID_HOUR + timedelta(days=31))

    delete_bodies(at=MID_HOUR + BODY_LIFETIME)

    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.due_at, delivery.attempt_count) == ("abandoned", None, 0)


def test_a_redelivery_of_yesterday_goes_with_its_event() -> None:
    webhook = create_webhook()
    event = emit_event()
    record_attempt(event, status="delivered", response_body="ok")
    lately = MID_HOUR + timedelta(days=29)
    Delivery.objects.create(
        webhook=webhook, event=event, partition=0, even_if_off=True, due_at=lately, created_at=lately
    )

    delete_bodies(at=MID_HOUR + BODY_LIFETIME)

    left = Delivery.objects.order_by("created_at").values_list("status", "due_at", "response_body")
    assert list(left) == [("delivered", None, None), ("abandoned", None, None)]


def test_a_younger_event_is_left_alone() -> None:
    create_webhook()
    emit_event(at=MID_HOUR + timedelta(seconds=1))
    before = (Event.objects.values().get(), Delivery.objects.values().get())

    delete_bodies(at=MID_HOUR + BODY_LIFETIME)

    assert (Event.objects.values().get(), Delivery.objects.values().get()) == before


def test_several_batches_are_deleted_completely_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 2)
    create_webhook()
    for _ in range(5):
        emit_event()

    assert delete_bodies(at=MID_HOUR + BODY_LIFETIME) == 5
    assert delete_bodies(at=MID_HOUR + BODY_LIFETIME) == 0
    assert not Event.objects.filter(body__isnull=False).exists()
    assert not Delivery.objects.filter(due_at__isnull=False).exists()


@parallel
def test_a_locked_event_is_left_for_the_next_run() -> None:
    create_webhook()
    event, _ = emit_event(), emit_event()

    with row_locked_elsewhere("webhooks_event", event.pk):
        assert delete_bodies(at=MID_HOUR + BODY_LIFETIME) == 1

    assert delete_bodies(at=MID_HOUR + BODY_LIFETIME) == 1


@parallel
def test_an_attempt_under_way_leaves_no_response_behind() -> None:
    create_webhook()
    emit_event()
    delivery = Delivery.objects.select_related("event").get()
    later = MID_HOUR + timedelta(days=40)

    run_together(
        lambda: delete_bodies(at=MID_HOUR + BODY_LIFETIME),
        lambda: write_outcome(delivery, EndpointResponse(500, "An echo.", None), at=later),
    )

    after = Delivery.objects.get()
    assert (after.status, after.due_at, after.response_body) == ("abandoned", None, None)


@parallel
def test_concurrent_runs_delete_each_body_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 3)
    create_webhook()
    for _ in range(12):
        emit_event()

    counts = run_together(*[partial(delete_bodies, at=MID_HOUR + BODY_LIFETIME)] * 3)

    assert sum(counts) + delete_bodies(at=MID_HOUR + BODY_LIFETIME) == 12


# --- Deleted webhooks -------------------------------------------------------------------------------


def delete(webhook: Webhook) -> None:
    Webhook.objects.filter(pk=webhook.pk).update(deleted_at=MID_HOUR, is_active=False)


def test_a_deleted_webhook_is_removed_after_an_hour_with_its_deliveries() -> None:
    deleted, remaining = create_webhook(events=["project.created"]), create_webhook(events=["project.opened"])
    emit_event(EventType.PROJECT_CREATED)
    emit_event(EventType.PROJECT_OPENED)
    delete(deleted)

    assert remove_deleted(at=MID_HOUR + HOUR - timedelta(seconds=1)) == 0
    assert remove_deleted(at=MID_HOUR + HOUR) == 1

    assert Webhook.objects.get() == remaining
    assert Delivery.objects.get().webhook_id == remaining.pk
    assert Event.objects.count() == 2


@pytest.mark.parametrize(
    ("age", "remaining"), [(BODY_LIFETIME - timedelta(seconds=1), 1), (BODY_LIFETIME, 0)]
)
def test_an_old_event_is_removed_with_the_last_webhook_that_received_it(
    age: timedelta, remaining: int
) -> None:
    webhook = create_webhook()
    emit_event(at=MID_HOUR + HOUR - age)
    delete(webhook)

    assert remove_deleted(at=MID_HOUR + HOUR) == 1

    assert Event.objects.count() == remaining


def test_an_event_that_other_webhooks_received_stays() -> None:
    deleted, remaining = create_webhook(), create_webhook()
    emit_event()
    delete(deleted)

    remove_deleted(at=MID_HOUR + HOUR)

    assert Event.objects.get().deliveries.get().webhook_id == remaining.pk


def test_an_event_of_two_deleted_webhooks_is_removed_with_the_second() -> None:
    webhooks = create_webhook(), create_webhook()
    emit_event()
    for webhook in webhooks:
        delete(webhook)

    assert remove_deleted(at=MID_HOUR + BODY_LIFETIME) == 2

    assert not Event.objects.exists()


def test_a_webhook_with_many_deliveries_is_removed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 2)
    webhook = create_webhook()
    for _ in range(5):
        emit_event()
    delete(webhook)

    assert remove_deleted(at=MID_HOUR + BODY_LIFETIME) == 1
    assert remove_deleted(at=MID_HOUR + BODY_LIFETIME) == 0

    assert [model.objects.count() for model in (Webhook, Event, Delivery)] == [0, 0, 0]


@parallel
@pytest.mark.parametrize("table", ["webhooks_event", "webhooks_delivery"])
def test_a_webhook_with_locked_rows_is_left_for_the_next_run(table: str) -> None:
    webhook = create_webhook()
    event = emit_event()
    emit_event()
    delete(webhook)

    with row_locked_elsewhere(table, event.pk if table == "webhooks_event" else event.deliveries.get().pk):
        assert remove_deleted(at=MID_HOUR + BODY_LIFETIME) == 0
        assert Delivery.objects.get().event_id == event.pk

    assert remove_deleted(at=MID_HOUR + BODY_LIFETIME) == 1
    assert not Event.objects.exists()


@parallel
def test_concurrent_housekeeping_never_deadlocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 3)
    monkeypatch.setattr(housekeeping, "SETTLED_BATCH_SIZE", 4)
    deleted = [create_webhook(), create_webhook()]
    remaining = create_webhook(get_community(2))
    for n in range(20):
        emit_event(rounded_to=Rounding.HOUR if n % 2 else None)
        emit_event(community=remaining.community, rounded_to=Rounding.DAY if n % 2 else None)
    for webhook in deleted:
        delete(webhook)
    later = MID_HOUR + timedelta(days=40)
    services = (delete_bodies, remove_deleted, settle_anonymous_deliveries)
    calls = [partial(service, at=later) for service in services]

    results = run_together(*calls, *calls, *calls)
    for call in calls:
        call()

    assert [each for each in results if isinstance(each, Exception)] == []
    assert [call() for call in calls] == [0, 0, 0]
    assert Webhook.objects.get() == remaining
    assert (Event.objects.count(), Delivery.objects.count()) == (20, 20)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"abandoned"}
    assert set(Event.objects.values_list("body", "is_settled")) == {(None, True)}


# --- Old events -------------------------------------------------------------------------------------


def test_old_events_are_removed_with_their_deliveries(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 12.571."""
    monkeypatch.setattr(housekeeping, "BATCH_SIZE", 2)
    settings.EVENT_DAYS = 31
    create_webhook()
    old = [emit_event(type=type) for type in (EventType.RESPONSE_SUBMITTED, EventType.PROJECT_CLOSED) * 3]
    later = emit_event()
    for event in (*old, later):
        record_attempt(event, status="delivered")
    Event.objects.filter(pk=later.pk).update(created_at=MID_HOUR + timedelta(minutes=1))
    over = MID_HOUR + timedelta(days=31)
    with_bodies = housekeeping.remove_old(at=over)
    delete_bodies(at=over + timedelta(hours=1))

    removed = [housekeeping.remove_old(at=over) for _ in range(2)]

    assert (with_bodies, removed) == (0, [6, 0])
    assert Event.objects.get().pk == Delivery.objects.get().event_id == later.pk
