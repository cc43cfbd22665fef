"""Write order and transaction ids in the outbox do not link an anonymous response to a person."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from communities.ground.rounding import Rounding, down
from surveys.services.conversations import gifts
from surveys.services.ground import anonymity
from tests.support.caller import Caller
from tests.support.concurrency import row_locked_elsewhere, run_together
from tests.support.database import fetch_all, truncate
from tests.support.surveys.participants import QUESTION, Talk, a_member, giving
from tests.support.webhooks.outbox import MID_HOUR, create_webhook, emit_event, record_attempt, write_outcome
from webhooks.models import Delivery, Event
from webhooks.sender import EndpointResponse
from webhooks.services import housekeeping
from webhooks.services.housekeeping import settle_anonymous_deliveries as settle

pytestmark = pytest.mark.django_db(transaction=True)

OF_PEOPLE = ("xp_xpentry", "xp_standing", "xp_earnedachievement", "communities_member")
EVENTS = "webhooks_event WHERE rounding IS NOT NULL"
DELIVERIES = "webhooks_delivery WHERE event_id IN (SELECT id FROM webhooks_event WHERE rounding IS NOT NULL)"
EXACT = "webhooks_event WHERE rounding IS NULL"
REWARDS = {"use_xp": True, "achievement_enabled": True}
HOUR = timedelta(hours=1)
NEXT_HOUR = MID_HOUR.replace(hour=13, minute=0, second=0)
MIDNIGHT = MID_HOUR.replace(hour=0, minute=0, second=0) + timedelta(days=1)


def answered_survey(people: int = 6) -> Caller:
    """Members have answered an anonymous survey with rewards, and a webhook received the events."""
    caller = Caller()
    create_webhook(caller.community)
    project = caller.make_open(
        QUESTION, giving(xp_amount=5), QUESTION, rewards=REWARDS, privacy_mode="anonymous"
    )
    for n in range(people):
        Talk(caller, project, member_id=a_member(caller, f"Person {n}")).through("red" if n % 2 else "green")
        caller.make(QUESTION)  # an event with an exact time between two responses
    return caller


def transactions(*tables: str) -> set[str]:
    """The transactions that wrote or locked these rows."""
    parts = (table.partition(" WHERE ") for table in tables)
    both = " UNION ".join(
        f"SELECT {by}::text FROM {name} WHERE {condition or 'TRUE'}"
        for name, _, condition in parts
        for by in ("xmin", "xmax")
    )
    return {row[0] for row in fetch_all(both)} - {"0"}


def contents() -> dict[str, list[dict[str, Any]]]:
    return {
        "Event": list(map(dict, Event.objects.order_by("pk").values())),
        "Delivery": list(map(dict, Delivery.objects.order_by("pk").values())),
    }


def anonymous(n: int = 1, *, rounding: Rounding = Rounding.HOUR, at: datetime = MID_HOUR) -> list[Event]:
    return [emit_event(at=at, rounded_to=rounding) for _ in range(n)]


def test_nothing_is_settled_before_its_hour_is_over() -> None:
    answered_survey(people=2)

    assert settle(at=timezone.now()) == 0
    assert not transactions(*OF_PEOPLE) & transactions(EVENTS, DELIVERIES)


def test_afterwards_no_transaction_links_people_to_responses() -> None:
    answered_survey()

    assert settle(at=timezone.now() + 2 * HOUR) == 12
    anonymity.settle(at=timezone.now() + 2 * HOUR)
    gifts.settle(at=timezone.now() + 2 * HOUR)

    assert Event.objects.filter(rounding="hour", is_settled=True).count() == 6
    assert len(transactions(EVENTS, DELIVERIES)) == 1
    assert not transactions(EVENTS, DELIVERIES) & transactions(*OF_PEOPLE, EXACT)


def test_afterwards_rows_are_ordered_by_random_id_and_apart_from_exact_times() -> None:
    truncate("webhooks_event", "webhooks_delivery")
    answered_survey(people=2)  # rows that fit one page: PostgreSQL fills gaps of earlier pages later

    settle(at=timezone.now() + 2 * HOUR)

    for table in (EVENTS, DELIVERIES):
        stored = [row[0] for row in fetch_all(f"SELECT id FROM {table} ORDER BY ctid")]
        assert stored == sorted(stored)
    places = [
        is_exact for (is_exact,) in fetch_all("SELECT rounding IS NULL FROM webhooks_event ORDER BY ctid")
    ]
    assert places == sorted(places, reverse=True)


def test_settling_does_not_change_the_content_of_rows() -> None:
    answered_survey()
    before = contents()

    settle(at=timezone.now() + 2 * HOUR)

    for row in (*before["Event"], *before["Delivery"]):
        row["is_settled"] = True
    assert contents() == before


def test_no_time_beside_a_response_is_exact() -> None:
    answered_survey()

    created = fetch_all(f"SELECT created_at FROM {EVENTS} UNION SELECT created_at FROM {DELIVERIES}")
    due = fetch_all(f"SELECT due_at FROM {DELIVERIES}")

    assert [at for (at,) in created + due if at != down(at, Rounding.HOUR)] == []


def test_rows_with_exact_times_are_left_alone() -> None:
    create_webhook()
    emit_event()
    before = transactions("webhooks_event", "webhooks_delivery")

    assert settle(at=MID_HOUR + timedelta(days=2)) == 0
    assert transactions("webhooks_event", "webhooks_delivery") == before


@pytest.mark.parametrize(
    ("rounding", "over"), [(Rounding.HOUR, NEXT_HOUR), (Rounding.DAY, MIDNIGHT)], ids=["hour", "day"]
)
def test_rows_are_settled_as_soon_as_the_hour_or_day_is_over(rounding: Rounding, over: datetime) -> None:
    create_webhook()
    anonymous(rounding=rounding)

    assert settle(at=over - timedelta(microseconds=1)) == 0
    assert settle(at=over) == 2
    assert settle(at=over) == 0


def test_a_delivery_is_settled_again_an_hour_after_each_attempt() -> None:
    create_webhook()
    [event] = anonymous()
    settle(at=NEXT_HOUR)

    record_attempt(
        event, status="failed", is_settled=False, last_attempt_at=NEXT_HOUR, due_at=NEXT_HOUR + HOUR
    )

    assert settle(at=NEXT_HOUR + HOUR - timedelta(seconds=1)) == 0
    assert settle(at=NEXT_HOUR + HOUR) == 1
    after = event.deliveries.get()
    assert (after.status, after.attempt_count, after.last_attempt_at) == ("failed", 1, NEXT_HOUR)


def test_a_delivery_settled_later_than_its_event_leaves_no_trace_of_the_attempt() -> None:
    create_webhook()
    events = anonymous(3)
    settle(at=NEXT_HOUR)
    for event in events:
        record_attempt(event, status="delivered", is_settled=False, last_attempt_at=NEXT_HOUR)
    attempts = transactions(DELIVERIES)

    settle(at=NEXT_HOUR + HOUR)

    assert not transactions(EVENTS, DELIVERIES) & attempts


@pytest.mark.parametrize(("limit", "most"), [("SETTLED_BATCH_SIZE", 4), ("SETTLED_BYTES", 1_000)])
def test_several_batches_are_settled_completely(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """Rule 12.920."""
    monkeypatch.setattr(housekeeping, limit, most)
    create_webhook()
    create_webhook()
    anonymous(6)
    Event.objects.update(body="x" * 500)

    assert settle(at=NEXT_HOUR) == 18
    assert len(transactions(EVENTS)) > 1
    assert settle(at=NEXT_HOUR) == 0


def test_locked_rows_are_left_for_the_next_run() -> None:
    create_webhook()
    first, _ = anonymous(2)

    with row_locked_elsewhere("webhooks_event", first.pk):
        assert settle(at=NEXT_HOUR) == 2
    with row_locked_elsewhere("webhooks_delivery", first.deliveries.get().pk):
        assert settle(at=NEXT_HOUR) == 1

    assert settle(at=NEXT_HOUR) == 1


def test_an_outcome_during_settling_is_written_by_the_second_statement() -> None:
    create_webhook()
    events = anonymous(200)
    deliveries = list(Delivery.objects.select_related("event"))

    run_together(
        lambda: settle(at=NEXT_HOUR),
        lambda: [write_outcome(each, EndpointResponse(204, "", None), at=NEXT_HOUR) for each in deliveries],
    )

    assert Delivery.objects.filter(status="delivered", attempt_count=1).count() == len(events)
    assert settle(at=NEXT_HOUR + HOUR) >= len(events)
    assert not Delivery.objects.filter(is_settled=False).exists()


def test_concurrent_runs_settle_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "SETTLED_BATCH_SIZE", 7)
    create_webhook()
    anonymous(40)
    before = contents()

    counts = run_together(*[partial(settle, at=NEXT_HOUR)] * 4)

    assert [each for each in counts if isinstance(each, Exception)] == []
    assert sum(counts) + settle(at=NEXT_HOUR) == 80
    for row in (*before["Event"], *before["Delivery"]):
        row["is_settled"] = True
    assert contents() == before
