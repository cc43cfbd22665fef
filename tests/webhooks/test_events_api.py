"""The list of events: all emitted events in the form of deliveries, also those without a webhook.

Rule 9.11.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from communities.ground.rounding import Rounding
from tests.support.caller import TEXT, Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.webhooks.outbox import emit_event
from tests.support.webhooks.registration import register_webhook
from webhooks.events import EventType
from webhooks.models import Delivery, Event
from webhooks.services.housekeeping import BODY_LIFETIME, delete_bodies

pytestmark = pytest.mark.django_db

NOW = timezone.now().replace(microsecond=0) - timedelta(hours=2)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def caller() -> Caller:
    return Caller()


def page(caller: Caller, query: str = "") -> dict[str, Any]:
    response = caller.get(f"/events{query}")
    assert response.status_code == 200, response.content
    return response.json()


def ids(caller: Caller, query: str = "") -> list[str]:
    return [each["id"] for each in page(caller, query)["data"]]


def emit_at(caller: Caller, *offsets: int, type: EventType = EventType.PROJECT_OPENED) -> list[str]:
    """Write events at these minutes after `NOW`. Returns their ids."""
    events = [emit_event(type, community=caller.community, at=NOW + n * MINUTE) for n in offsets]
    return [str(event.pk) for event in events]


def test_what_happens_is_listed_though_no_webhook_listens(caller: Caller) -> None:
    project = caller.make_open(TEXT)

    opened, created = page(caller)["data"]

    assert [created["type"], opened["type"]] == ["project.created", "project.opened"]
    assert opened["data"]["project"]["id"] == created["data"]["project"]["id"] == project["id"]
    assert not Delivery.objects.exists()


def test_an_event_is_listed_as_it_is_delivered(caller: Caller) -> None:
    register_webhook(caller)
    event = emit_event(data={"text": "Où?"}, community=caller.community, at=NOW)

    [listed] = page(caller)["data"]

    assert listed == orjson.loads(event.body or "")
    assert list(listed) == ["id", "type", "timestamp", "api_version", "community_id", "data"]
    assert listed["id"] == str(event.pk)
    assert listed["data"] == {"text": "Où?"}


def test_events_are_listed_newest_first_page_by_page(
    caller: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    in_order = emit_at(caller, 1, 2, 3, 4, 5)[::-1]

    first = page(caller, "?per_page=2")
    with django_assert_num_queries(3):  # the event of `after`, the sizes of the rows, the rows
        second = page(caller, f"?per_page=2&after={in_order[1]}")
    last = page(caller, f"?per_page=2&after={in_order[3]}")

    assert [[each["id"] for each in each_page["data"]] for each_page in (first, second, last)] == [
        in_order[:2],
        in_order[2:4],
        in_order[4:],
    ]
    assert [each_page["pagination"] for each_page in (first, second, last)] == [
        {"per_page": 2, "has_more": True},
        {"per_page": 2, "has_more": True},
        {"per_page": 2, "has_more": False},
    ]


def test_a_page_of_long_events_ends_early_and_none_is_lost(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_order = emit_at(caller, 1, 2, 3)[::-1]
    [longest] = {len(event.body or "") for event in Event.objects.all()}
    monkeypatch.setattr("communities.ground.statements.MAX_PAGE_BYTES", longest + 1)

    first = page(caller)
    rest = page(caller, f"?after={first['data'][-1]['id']}")

    assert [each["id"] for each in first["data"] + rest["data"]] == in_order
    assert [each["pagination"]["has_more"] for each in (first, rest)] == [True, False]


def test_events_are_listed_oldest_first_if_asked(caller: Caller) -> None:
    in_order = emit_at(caller, 3, 1, 2)
    in_order = [in_order[1], in_order[2], in_order[0]]

    assert ids(caller, "?order=asc") == in_order
    assert ids(caller, "?order=desc") == ids(caller) == in_order[::-1]
    assert ids(caller, f"?order=asc&after={in_order[0]}") == in_order[1:]
    assert ids(caller, f"?order=asc&after={in_order[2]}") == []


def test_a_reader_who_polls_oldest_first_gets_each_event_once(caller: Caller) -> None:
    emitted = emit_at(caller, *[1] * 5)
    seen: list[str] = []
    since = NOW.strftime("%Y-%m-%dT%H:%M:%SZ")
    query = f"since={since}"

    for round in range(4):
        while True:
            read = page(caller, f"?order=asc&per_page=2&{query}")
            seen += [each["id"] for each in read["data"]]
            query = f"after={seen[-1]}"
            if not read["pagination"]["has_more"]:
                break
        emitted += emit_at(caller, round + 2, round + 2, round + 2)

    seen += ids(caller, f"?order=asc&{query}")
    assert len(seen) == len(set(seen))
    assert set(seen) == set(emitted)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_page_in_either_order_is_read_from_an_index_alone(caller: Caller, order: str) -> None:
    emitted = emit_at(caller, *range(30))

    with CaptureQueriesContext(connection) as queries:
        page(caller, f"?per_page=2&after={emitted[15]}&order={order}")

    listing = queries.captured_queries[-1]["sql"]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {listing}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "event_newest_of_community" in plan
    assert "Sort" not in plan
    assert "created_at" in plan.split("Index Cond")[1].split("\n")[0]


def test_events_are_filtered_by_time(caller: Caller) -> None:
    first, second, third = emit_at(caller, 1, 2, 3)
    moment = (NOW + 2 * MINUTE).strftime("%Y-%m-%dT%H:%M:%SZ")
    just_after = (NOW + 2 * MINUTE + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

    assert ids(caller, f"?since={moment}") == [third, second]
    assert ids(caller, f"?since={just_after}") == [third]
    assert ids(caller, f"?until={moment}") == [first]
    assert ids(caller, f"?until={just_after}") == [second, first]
    assert ids(caller, f"?since={moment}&until={just_after}") == [second]


def test_events_of_the_last_30_days_are_listed_and_no_older_ones(caller: Caller) -> None:
    now = timezone.now()
    register_webhook(caller)
    young = emit_event(community=caller.community, at=now - BODY_LIFETIME + timedelta(minutes=10))
    old = emit_event(community=caller.community, at=now - BODY_LIFETIME)

    assert ids(caller) == [str(young.pk)]
    assert faults(caller.get(f"/events?after={old.pk}")) == {("after", "not_found")}
    delete_bodies(at=now)
    assert ids(caller) == [str(young.pk)]


@pytest.mark.parametrize("rounding", list(Rounding))
def test_events_about_anonymous_responses_have_no_exact_time(caller: Caller, rounding: Rounding) -> None:
    at = NOW.replace(minute=30)
    later, earlier = (
        emit_event(community=caller.community, at=at, rounded_to=each) for each in (None, rounding)
    )

    listed = page(caller)["data"]

    assert [each["id"] for each in listed] == [str(later.pk), str(earlier.pk)]
    assert listed[1]["timestamp"].endswith("T00:00:00Z" if rounding == Rounding.DAY else ":00:00Z")


def test_counts_of_anonymous_projects_are_withheld_once_they_are_deleted(caller: Caller) -> None:
    event = emit_event(
        EventType.ANALYSIS_COMPLETED, {"n": 3}, community=caller.community, at=NOW, rounded_to=Rounding.HOUR
    )
    before = page(caller)["data"]

    delete_bodies(at=NOW)

    assert Event.objects.get().body is None
    assert page(caller)["data"] == [{**orjson.loads(event.body or ""), "data": None}]
    assert page(caller)["data"] == [{**each, "data": None} for each in before]


def test_a_community_lists_its_own_events(caller: Caller) -> None:
    [theirs] = emit_at(Caller(), 1)
    [own] = emit_at(caller, 1)

    assert ids(caller) == [own]
    assert refusal(caller.get(f"/events?after={theirs}")) == (400, "invalid_request")


@try_each(
    ("query", "violation"),
    [
        ("type=project.exploded", ("type", "invalid_choice")),
        ("type=*", ("type", "invalid_choice")),
        ("since=yesterday", ("since", "invalid")),
        ("until=2026-01-31T10:00:00", ("until", "invalid")),
        ("after=0190a5d2-7c1e-7b3a-9f00-2f6b1c9d8e7a", ("after", "not_found")),
        ("after=17", ("after", "invalid")),
        ("order=asc&after=0190a5d2-7c1e-7b3a-9f00-2f6b1c9d8e7a", ("after", "not_found")),
        ("order=oldest", ("order", "invalid_choice")),
        ("page=2", ("page", "not_allowed")),
        ("per_page=0", ("per_page", "too_small")),
        ("per_page=101", ("per_page", "too_large")),
    ],
)
def test_invalid_query_parameters_are_refused(caller: Caller, query: str, violation: tuple[str, str]) -> None:
    response = caller.get(f"/events?{query}")

    assert refusal(response) == (400, "invalid_request")
    assert faults(response) == {violation}
