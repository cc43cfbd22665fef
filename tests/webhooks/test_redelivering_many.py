"""Sending many deliveries again, their attempts, and webhooks of some projects (rules 9.4 and 9.22)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.ground.rounding import Rounding
from communities.models import AuditEntry
from tests.support.caller import TEXT, Caller, faults, refusal
from tests.support.moments import NOON
from tests.support.webhooks.delivery_runs import drain_all
from tests.support.webhooks.outbox import emit_event
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from tests.support.webhooks.registration import emit_delivery, register_webhook, row
from webhooks.events import EventType
from webhooks.models import Delivery
from webhooks.services.deliveries import PACE

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def webhook(caller: Caller) -> dict[str, Any]:
    return register_webhook(caller)


def delivery(caller: Caller, status: str, **fields: Any) -> Delivery:
    made = emit_delivery(caller.community, at=fields.pop("at", NOON))
    due_at = timezone.now() + 24 * HOUR if status in ("pending", "failed") else None
    attempt_count = 0 if status == "pending" else 1
    fields = {"status": status, "due_at": due_at, "attempt_count": attempt_count, **fields}
    Delivery.objects.filter(pk=made.pk).update(**fields)
    made.refresh_from_db()
    return made


def redeliver(caller: Caller, webhook: dict[str, Any], **body: Any) -> int:
    answer = caller.post(f"/webhooks/{webhook['id']}/redeliver", {"since": NOON.isoformat(), **body})
    assert answer.status_code == 202, answer.content
    assert set(answer.json()) == {"count"}
    return answer.json()["count"]


def test_what_did_not_arrive_is_sent_again_in_order_and_at_a_pace(caller, webhook):
    late = delivery(caller, "abandoned", at=NOON + 2 * HOUR)
    early = delivery(caller, "abandoned", at=NOON)
    delivery(caller, "delivered")
    before = timezone.now()

    assert redeliver(caller, webhook) == 2

    first, second = Delivery.objects.filter(status="pending").order_by("due_at")
    assert [first.event_id, second.event_id] == [early.event_id, late.event_id]
    assert first.due_at is not None
    assert second.due_at is not None
    assert first.due_at >= before.replace(microsecond=0)
    assert second.due_at - first.due_at == PACE
    assert AuditEntry.objects.filter(action="webhook.redelivered").count() == 1


@pytest.mark.django_db(transaction=True)
def test_events_about_different_objects_arrive_one_after_another(caller, receiver: Receiver):
    registered = register_webhook(caller, url=receiver.url("/hook"))
    failed = delivery(caller, "failed", at=NOON + HOUR, partition=1)
    first = delivery(caller, "abandoned", at=NOON, partition=3)
    last = delivery(caller, "abandoned", at=NOON + 2 * HOUR, partition=2)

    assert redeliver(caller, registered) == 3
    drain_all(row(registered), at=timezone.now() + HOUR)

    sent = [each.headers["webhook-id"] for each in receiver.requests("/hook")]
    assert sent == [str(each.event_id) for each in (first, failed, last)]


def test_a_failed_one_is_itself_attempted_now(caller, webhook):
    failed = delivery(caller, "failed")

    assert redeliver(caller, webhook) == 1

    assert Delivery.objects.count() == 1
    failed.refresh_from_db()
    assert failed.due_at is not None
    assert failed.due_at <= timezone.now()


def test_asking_twice_sends_nothing_twice(caller, webhook):
    delivery(caller, "abandoned")

    assert [redeliver(caller, webhook), redeliver(caller, webhook)] == [1, 0]


@pytest.mark.parametrize(("status", "count"), [("failed", 1), ("abandoned", 2), ("delivered", 3), (None, 3)])
def test_a_status_chooses(caller, webhook, status, count):
    for each, times in {"failed": 1, "abandoned": 2, "delivered": 3, "pending": 1}.items():
        for _ in range(times):
            delivery(caller, each)

    assert redeliver(caller, webhook, status=status) == count


def test_the_range_is_from_since_until_just_before_until(caller, webhook):
    for n in range(4):
        delivery(caller, "abandoned", at=NOON + n * HOUR)

    sent = redeliver(caller, webhook, since=(NOON + HOUR).isoformat(), until=(NOON + 3 * HOUR).isoformat())

    assert sent == 2


@pytest.mark.parametrize(
    ("rounded_to", "earlier", "count"),
    [
        (None, timedelta(minutes=20), 0),
        (Rounding.HOUR, timedelta(minutes=20), 1),
        (Rounding.HOUR, timedelta(hours=1), 0),
        (Rounding.DAY, timedelta(hours=12), 1),
        (Rounding.DAY, timedelta(hours=13), 0),
    ],
)
def test_rounded_times_count_as_any_of_their_hour_or_day(caller, webhook, rounded_to, earlier, count):
    since = NOON + timedelta(minutes=30)
    made = emit_delivery(caller.community, at=since - earlier, rounded_to=rounded_to)
    Delivery.objects.filter(pk=made.pk).update(status="abandoned", due_at=None, attempt_count=1)

    assert redeliver(caller, webhook, since=since.isoformat()) == count


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({}, "since"),
        ({"since": "yesterday"}, "since"),
        ({"since": NOON.isoformat(), "until": NOON.isoformat()}, "until"),
        ({"since": NOON.isoformat(), "status": "pending"}, "status"),
    ],
)
def test_faults_are_named(caller, webhook, body, fault):
    refused = caller.post(f"/webhooks/{webhook['id']}/redeliver", body)

    assert refused.status_code == 400
    assert {field for field, _ in faults(refused)} == {fault}


def test_a_webhook_of_others_is_not_found(caller, webhook):
    other = Caller()

    answer = other.post(f"/webhooks/{webhook['id']}/redeliver", {"since": NOON.isoformat()})

    assert refusal(answer) == (404, "not_found")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("earlier", ["abandoned", "failed"])
def test_a_redelivery_that_arrives_settles_the_original(caller, settings, receiver: Receiver, earlier):
    registered = register_webhook(caller, url=receiver.url("/hook"))
    original = delivery(caller, earlier)
    again = caller.post(f"/deliveries/{original.pk}/redeliver").json()

    drain_all(row(registered))

    settled = caller.get(f"/deliveries/{original.pk}").json()
    assert (settled["status"], settled["next_retry_at"]) == ("delivered", None)
    assert caller.get(f"/deliveries/{again['id']}").json()["status"] == "delivered"
    drain_all(row(registered), at=timezone.now() + 48 * HOUR)
    assert len(receiver.requests("/hook")) == 1


@pytest.mark.django_db(transaction=True)
def test_a_redelivery_that_fails_leaves_the_original(caller, receiver: Receiver):
    address = receiver.script("/hook", ScriptedResponse(503))
    registered = register_webhook(caller, url=address)
    original = delivery(caller, "abandoned")
    caller.post(f"/deliveries/{original.pk}/redeliver")

    drain_all(row(registered))

    assert caller.get(f"/deliveries/{original.pk}").json()["status"] == "abandoned"


@pytest.mark.django_db(transaction=True)
def test_each_attempt_is_kept_without_its_text(caller, receiver: Receiver):
    address = receiver.script("/hook", ScriptedResponse(503, body="Back soon."), ScriptedResponse(200))
    registered = register_webhook(caller, url=address)
    made = emit_delivery(caller.community, at=timezone.now())

    drain_all(row(registered))
    drain_all(row(registered), at=timezone.now() + HOUR)

    shown = caller.get(f"/deliveries/{made.pk}").json()
    assert [each["response_status"] for each in shown["attempts"]] == [503, 200]
    first, last = shown["attempts"]
    assert set(first) == {"attempted_at", "response_status", "error", "milliseconds"}
    assert last["attempted_at"] == shown["last_attempt_at"]
    assert isinstance(first["milliseconds"], int)
    assert "attempts" not in caller.get(f"/webhooks/{registered['id']}/deliveries").json()["data"][0]


@pytest.mark.django_db(transaction=True)
def test_attempts_about_anonymous_responses_tell_no_exact_time(caller, receiver: Receiver):
    registered = register_webhook(caller, url=receiver.url("/hook"))
    made = emit_delivery(caller.community, at=timezone.now(), rounded_to=Rounding.HOUR)

    drain_all(row(registered))

    [attempt] = caller.get(f"/deliveries/{made.pk}").json()["attempts"]
    assert attempt["attempted_at"][14:19] == "00:00"


def test_deliveries_are_filtered_by_time_and_paged_by_keyset(caller, webhook):
    made = [str(delivery(caller, "delivered", at=NOON + n * HOUR).pk) for n in range(5)]
    address = f"/webhooks/{webhook['id']}/deliveries"

    def listed(query: str) -> list[str]:
        return [each["id"] for each in caller.get(f"{address}?{query}").json()["data"]]

    since, until = (
        (NOON + HOUR).strftime("%Y-%m-%dT%H:%M:%SZ"),
        (NOON + 3 * HOUR).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    assert listed(f"since={since}&until={until}") == [made[2], made[1]]
    assert listed("per_page=2") == [made[4], made[3]]
    page = caller.get(f"{address}?per_page=2&after={made[3]}").json()
    assert [each["id"] for each in page["data"]] == [made[2], made[1]]
    assert page["pagination"] == {"per_page": 2, "has_more": True}
    assert listed(f"after={made[1]}") == [made[0]]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("after=x", "after"),
        ("after=0b9f6d0e-6f0a-4a53-9a0e-2d9c3f1f8b55", "after"),
        ("since=x", "since"),
        ("page=1&after=0b9f6d0e-6f0a-4a53-9a0e-2d9c3f1f8b55", "after"),
    ],
)
def test_faults_of_the_list_are_named(caller, webhook, query, field):
    refused = caller.get(f"/webhooks/{webhook['id']}/deliveries?{query}")

    assert refused.status_code == 400
    assert {each for each, _ in faults(refused)} == {field}


def test_a_webhook_of_some_projects_hears_of_them_alone(caller):
    web = {"delivery": {"audience": {"participation": "open_web"}}}
    ours, other = caller.make(TEXT, **web), caller.make(TEXT, **web)
    registered = register_webhook(caller, project_ids=[ours["id"]])
    assert registered["project_ids"] == [ours["id"]]

    for project in (ours, other):
        caller.post(f"/projects/{project['id']}/open")
        begun = caller.post(f"/projects/{project['id']}/conversations", {}).json()
        body = {"block_id": begun["step"]["block"]["id"], "value": "Yes."}
        caller.post(f"/conversations/{begun['id']}/answers", body)
    emit_event(EventType.MEMBER_ERASED, {"member_id": "7"}, community=caller.community, at=NOON)

    types = Delivery.objects.order_by("created_at").values_list("event__type", flat=True)
    assert sorted(types) == ["member.erased", "project.opened", "response.submitted"]
    bodies = [str(body) for body in Delivery.objects.values_list("event__body", flat=True)]
    assert not any(f'"project_id":"{other["id"]}"' in body for body in bodies)


def test_projects_are_changed_back_to_all(caller):
    project = caller.make(TEXT)
    registered = register_webhook(caller, project_ids=[project["id"]])

    changed = caller.patch(f"/webhooks/{registered['id']}", {"project_ids": None}).json()

    assert changed["project_ids"] is None


@pytest.mark.parametrize("ids", [["999999"], ["x"], [], [7], "7"])
def test_unknown_projects_are_refused_by_place(caller, ids):
    stranger = Caller().make(TEXT)
    ids = [stranger["id"]] if ids == ["999999"] else ids

    refused = caller.post("/webhooks", {"url": "https://example.com/", "events": ["*"], "project_ids": ids})

    assert refused.status_code == 400
    assert all(field.startswith("project_ids") for field, _ in faults(refused))
