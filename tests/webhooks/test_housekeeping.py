"""What was sent is forgotten after 30 days, and what was deleted goes, while others go on."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from tests.webhooks.telling import (
    NOON,
    at_once,
    comes_out,
    community,
    held_by_another,
    tell,
    tried,
    webhook,
)
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.rounding import Rounding
from webhooks.sender import Answer
from webhooks.services import housekeeping
from webhooks.services.housekeeping import BODIES_LIVE, forget_bodies, remove_deleted

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
parallel = pytest.mark.django_db(transaction=True)


# --- Bodies -----------------------------------------------------------------------------------------


def test_after_30_days_what_was_sent_and_answered_is_forgotten_and_the_outcome_stays() -> None:
    webhook()
    tried(tell(person_id=5), status="delivered", response_status=200, response_body="Thanks for red.")
    told, answered = Event.objects.values().get(), Delivery.objects.values().get()

    assert forget_bodies(at=NOON + BODIES_LIVE - timedelta(seconds=1)) == 0
    assert forget_bodies(at=NOON + BODIES_LIVE) == 1

    assert Event.objects.values().get() == {**told, "body": None}
    assert Delivery.objects.values().get() == {**answered, "response_body": None}


def test_what_was_counted_of_an_anonymous_project_is_forgotten_once_nothing_of_it_is_due() -> None:
    webhook()
    counted = tell(type=EventType.ANALYSIS_COMPLETED, rounded_to=Rounding.HOUR)
    others = [tell(type=EventType.ANALYSIS_COMPLETED), tell(rounded_to=Rounding.HOUR)]

    assert forget_bodies(at=NOON) == 0
    for event in (counted, *others):
        tried(event, status="delivered")

    assert forget_bodies(at=NOON) == 1
    assert Event.objects.get(body=None) == counted


def test_why_there_was_no_answer_is_kept() -> None:
    webhook()
    tried(tell(), status="abandoned", error="The connection was refused.")

    forget_bodies(at=NOON + BODIES_LIVE)

    assert Delivery.objects.get().error == "The connection was refused."


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_what_is_still_due_is_abandoned_with_its_body(status: str) -> None:
    webhook()
    tell()
    Delivery.objects.update(status=status, due_at=NOON + timedelta(days=31))

    forget_bodies(at=NOON + BODIES_LIVE)

    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.due_at, delivery.attempt_count) == ("abandoned", None, 0)


def test_a_redelivery_of_yesterday_goes_with_its_event() -> None:
    hook = webhook()
    event = tell()
    tried(event, status="delivered", response_body="ok")
    lately = NOON + timedelta(days=29)
    Delivery.objects.create(
        webhook=hook, event=event, lane=0, even_if_off=True, due_at=lately, created_at=lately
    )

    forget_bodies(at=NOON + BODIES_LIVE)

    left = Delivery.objects.order_by("created_at").values_list("status", "due_at", "response_body")
    assert list(left) == [("delivered", None, None), ("abandoned", None, None)]


def test_what_happened_later_is_left_alone() -> None:
    webhook()
    tell(at=NOON + timedelta(seconds=1))
    before = (Event.objects.values().get(), Delivery.objects.values().get())

    forget_bodies(at=NOON + BODIES_LIVE)

    assert (Event.objects.values().get(), Delivery.objects.values().get()) == before


def test_more_than_a_batch_is_forgotten_whole_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    webhook()
    for _ in range(5):
        tell()

    assert forget_bodies(at=NOON + BODIES_LIVE) == 5
    assert forget_bodies(at=NOON + BODIES_LIVE) == 0
    assert not Event.objects.filter(body__isnull=False).exists()
    assert not Delivery.objects.filter(due_at__isnull=False).exists()


@parallel
def test_an_event_that_somebody_holds_is_left_for_the_next_run() -> None:
    webhook()
    event, _ = tell(), tell()

    with held_by_another("webhooks_event", event.pk):
        assert forget_bodies(at=NOON + BODIES_LIVE) == 1

    assert forget_bodies(at=NOON + BODIES_LIVE) == 1


@parallel
def test_an_attempt_that_is_under_way_leaves_nothing_behind() -> None:
    webhook()
    tell()
    delivery = Delivery.objects.select_related("event").get()
    later = NOON + timedelta(days=40)

    at_once(
        lambda: forget_bodies(at=NOON + BODIES_LIVE),
        lambda: comes_out(delivery, Answer(500, "An echo.", None), at=later),
    )

    after = Delivery.objects.get()
    assert (after.status, after.due_at, after.response_body) == ("abandoned", None, None)


@parallel
def test_two_who_forget_at_once_forget_each_event_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 3)
    webhook()
    for _ in range(12):
        tell()

    counts = at_once(*[partial(forget_bodies, at=NOON + BODIES_LIVE)] * 3)

    assert sum(counts) + forget_bodies(at=NOON + BODIES_LIVE) == 12


# --- Deleted webhooks -------------------------------------------------------------------------------


def delete(hook: Webhook) -> None:
    Webhook.objects.filter(pk=hook.pk).update(deleted_at=NOON, is_active=False)


def test_an_hour_after_a_webhook_was_deleted_it_is_gone_with_all_that_it_was_told() -> None:
    gone, kept = webhook(events=["project.created"]), webhook(events=["project.opened"])
    tell(EventType.PROJECT_CREATED)
    tell(EventType.PROJECT_OPENED)
    delete(gone)

    assert remove_deleted(at=NOON + HOUR - timedelta(seconds=1)) == 0
    assert remove_deleted(at=NOON + HOUR) == 1

    assert Webhook.objects.get() == kept
    assert Delivery.objects.get().webhook_id == kept.pk
    assert Event.objects.get().type == "project.opened"


def test_an_event_that_others_were_told_stays() -> None:
    gone, kept = webhook(), webhook()
    tell()
    delete(gone)

    remove_deleted(at=NOON + HOUR)

    assert Event.objects.get().deliveries.get().webhook_id == kept.pk


def test_an_event_told_to_two_that_are_deleted_goes_with_the_second() -> None:
    hooks = webhook(), webhook()
    tell()
    for hook in hooks:
        delete(hook)

    assert remove_deleted(at=NOON + HOUR) == 2

    assert not Event.objects.exists()


def test_a_webhook_that_was_told_much_goes_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 2)
    hook = webhook()
    for _ in range(5):
        tell()
    delete(hook)

    assert remove_deleted(at=NOON + HOUR) == 1
    assert remove_deleted(at=NOON + HOUR) == 0

    assert [model.objects.count() for model in (Webhook, Event, Delivery)] == [0, 0, 0]


@parallel
@pytest.mark.parametrize("table", ["webhooks_event", "webhooks_delivery"])
def test_a_webhook_some_of_whose_rows_are_held_waits_for_the_next_run(table: str) -> None:
    hook = webhook()
    event = tell()
    tell()
    delete(hook)

    with held_by_another(table, event.pk if table == "webhooks_event" else event.deliveries.get().pk):
        assert remove_deleted(at=NOON + HOUR) == 0
        assert Delivery.objects.get().event_id == event.pk

    assert remove_deleted(at=NOON + HOUR) == 1
    assert not Event.objects.exists()


@parallel
def test_everything_at_once_waits_for_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "AT_ONCE", 3)
    monkeypatch.setattr(housekeeping, "SETTLED_AT_ONCE", 4)
    gone = [webhook(), webhook()]
    kept = webhook(community(2))
    for n in range(20):
        tell(rounded_to=Rounding.HOUR if n % 2 else None)
        tell(of=kept.community, rounded_to=Rounding.DAY if n % 2 else None)
    for hook in gone:
        delete(hook)
    later = NOON + timedelta(days=40)
    moves = [partial(move, at=later) for move in (forget_bodies, remove_deleted, housekeeping.settle)]

    results = at_once(*moves, *moves, *moves)
    for move in moves:
        move()

    assert [each for each in results if isinstance(each, Exception)] == []
    assert [move() for move in moves] == [0, 0, 0]
    assert Webhook.objects.get() == kept
    assert (Event.objects.count(), Delivery.objects.count()) == (20, 20)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"abandoned"}
    assert set(Event.objects.values_list("body", "is_settled")) == {(None, True)}
