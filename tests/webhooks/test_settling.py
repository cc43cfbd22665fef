"""What the outbox's tables tell beside their columns joins no anonymous response to a person."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from surveys.services import anonymity
from tests.surveys.calling import Caller
from tests.surveys.earning import QUESTION, Talk, a_member, giving
from tests.webhooks.telling import NOON, at_once, comes_out, held_by_another, rows, tell, tried, webhook
from webhooks.models import Delivery, Event
from webhooks.rounding import Rounding, down
from webhooks.sender import Answer
from webhooks.services import housekeeping
from webhooks.services.housekeeping import settle

pytestmark = pytest.mark.django_db(transaction=True)

OF_PEOPLE = ("xp_xpentry", "xp_standing", "xp_earnedachievement", "communities_member")
EVENTS = "webhooks_event WHERE rounding IS NOT NULL"
DELIVERIES = "webhooks_delivery WHERE event_id IN (SELECT id FROM webhooks_event WHERE rounding IS NOT NULL)"
EXACT = "webhooks_event WHERE rounding IS NULL"
REWARDS = {"use_xp": True, "achievement_enabled": True}
HOUR = timedelta(hours=1)
NEXT_HOUR = NOON.replace(hour=13, minute=0, second=0)
MIDNIGHT = NOON.replace(hour=0, minute=0, second=0) + timedelta(days=1)


def answered(people: int = 6) -> Caller:
    """So many members have answered an anonymous survey that gives them something, as a webhook was told."""
    caller = Caller()
    webhook(caller.community)
    project = caller.make_open(
        QUESTION, giving(xp_amount=5), QUESTION, rewards=REWARDS, privacy_mode="anonymous"
    )
    for n in range(people):
        Talk(caller, project, member_id=a_member(caller, f"Person {n}")).through("red" if n % 2 else "green")
        caller.make(QUESTION)  # told with its exact time, between two responses
    return caller


def transactions(*tables: str) -> set[str]:
    """Who wrote these rows, and who locked them."""
    parts = (table.partition(" WHERE ") for table in tables)
    both = " UNION ".join(
        f"SELECT {by}::text FROM {name} WHERE {condition or 'TRUE'}"
        for name, _, condition in parts
        for by in ("xmin", "xmax")
    )
    return {row[0] for row in rows(both)} - {"0"}


def contents() -> dict[str, list[dict[str, Any]]]:
    return {
        "Event": list(map(dict, Event.objects.order_by("pk").values())),
        "Delivery": list(map(dict, Delivery.objects.order_by("pk").values())),
    }


def anonymous(n: int = 1, *, rounding: Rounding = Rounding.HOUR, at: datetime = NOON) -> list[Event]:
    return [tell(at=at, rounded_to=rounding) for _ in range(n)]


def test_before_its_hour_is_over_nothing_is_settled() -> None:
    answered(people=2)

    assert settle(at=timezone.now()) == 0
    assert transactions(*OF_PEOPLE) & transactions(EVENTS, DELIVERIES)


def test_afterwards_no_transaction_wrote_both_of_people_and_of_responses() -> None:
    answered()

    assert settle(at=timezone.now() + 2 * HOUR) == 12
    anonymity.settle(at=timezone.now() + 2 * HOUR)

    assert Event.objects.filter(rounding="hour", is_settled=True).count() == 6
    assert len(transactions(EVENTS, DELIVERIES)) == 1
    assert not transactions(EVENTS, DELIVERIES) & transactions(*OF_PEOPLE, EXACT)


def test_afterwards_rows_stand_in_the_order_of_their_random_ids_and_not_between_exact_times() -> None:
    answered()

    settle(at=timezone.now() + 2 * HOUR)

    for table in (EVENTS, DELIVERIES):
        stored = [row[0] for row in rows(f"SELECT id FROM {table} ORDER BY ctid")]
        assert stored == sorted(stored)
    places = [is_exact for (is_exact,) in rows("SELECT rounding IS NULL FROM webhooks_event ORDER BY ctid")]
    assert places == sorted(places, reverse=True)


def test_what_the_rows_say_is_the_same_afterwards() -> None:
    answered()
    before = contents()

    settle(at=timezone.now() + 2 * HOUR)

    for row in (*before["Event"], *before["Delivery"]):
        row["is_settled"] = True
    assert contents() == before


def test_no_time_beside_a_response_is_exact() -> None:
    answered()

    told = rows(f"SELECT created_at FROM {EVENTS} UNION SELECT created_at FROM {DELIVERIES}")
    due = rows(f"SELECT due_at FROM {DELIVERIES}")

    assert [at for (at,) in told + due if at != down(at, Rounding.HOUR)] == []


def test_what_has_exact_times_is_left_alone() -> None:
    webhook()
    tell()
    before = transactions("webhooks_event", "webhooks_delivery")

    assert settle(at=NOON + timedelta(days=2)) == 0
    assert transactions("webhooks_event", "webhooks_delivery") == before


@pytest.mark.parametrize(
    ("rounding", "over"), [(Rounding.HOUR, NEXT_HOUR), (Rounding.DAY, MIDNIGHT)], ids=["hour", "day"]
)
def test_it_is_done_as_soon_as_the_hour_or_the_day_is_over(rounding: Rounding, over: datetime) -> None:
    webhook()
    anonymous(rounding=rounding)

    assert settle(at=over - timedelta(microseconds=1)) == 0
    assert settle(at=over) == 2
    assert settle(at=over) == 0


def test_a_delivery_is_settled_again_an_hour_after_each_attempt() -> None:
    webhook()
    [event] = anonymous()
    settle(at=NEXT_HOUR)

    tried(event, status="failed", is_settled=False, last_attempt_at=NEXT_HOUR, due_at=NEXT_HOUR + HOUR)

    assert settle(at=NEXT_HOUR + HOUR - timedelta(seconds=1)) == 0
    assert settle(at=NEXT_HOUR + HOUR) == 1
    after = event.deliveries.get()
    assert (after.status, after.attempt_count, after.last_attempt_at) == ("failed", 1, NEXT_HOUR)


def test_a_delivery_settled_later_than_its_event_leaves_no_trace_of_the_attempt() -> None:
    webhook()
    events = anonymous(3)
    settle(at=NEXT_HOUR)
    for event in events:
        tried(event, status="delivered", is_settled=False, last_attempt_at=NEXT_HOUR)
    attempts = transactions(DELIVERIES)

    settle(at=NEXT_HOUR + HOUR)

    assert not transactions(EVENTS, DELIVERIES) & attempts


def test_more_than_a_batch_is_settled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "SETTLED_AT_ONCE", 4)
    webhook()
    webhook()
    anonymous(6)

    assert settle(at=NEXT_HOUR) == 18
    assert settle(at=NEXT_HOUR) == 0


def test_what_somebody_holds_is_left_for_the_next_run() -> None:
    webhook()
    first, _ = anonymous(2)

    with held_by_another("webhooks_event", first.pk):
        assert settle(at=NEXT_HOUR) == 2
    with held_by_another("webhooks_delivery", first.deliveries.get().pk):
        assert settle(at=NEXT_HOUR) == 1

    assert settle(at=NEXT_HOUR) == 1


def test_an_outcome_that_comes_meanwhile_is_written_at_the_second_look() -> None:
    webhook()
    events = anonymous(200)
    deliveries = list(Delivery.objects.select_related("event"))

    at_once(
        lambda: settle(at=NEXT_HOUR),
        lambda: [comes_out(each, Answer(204, "", None), at=NEXT_HOUR) for each in deliveries],
    )

    assert Delivery.objects.filter(status="delivered", attempt_count=1).count() == len(events)
    assert settle(at=NEXT_HOUR + HOUR) >= len(events)
    assert not Delivery.objects.filter(is_settled=False).exists()


def test_two_who_settle_at_once_write_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "SETTLED_AT_ONCE", 7)
    webhook()
    anonymous(40)
    before = contents()

    counts = at_once(*[partial(settle, at=NEXT_HOUR)] * 4)

    assert [each for each in counts if isinstance(each, Exception)] == []
    assert sum(counts) + settle(at=NEXT_HOUR) == 80
    for row in (*before["Event"], *before["Delivery"]):
        row["is_settled"] = True
    assert contents() == before
