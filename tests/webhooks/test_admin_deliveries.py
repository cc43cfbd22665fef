"""Deliveries and events in the admin: requests, responses, and sending again."""

from __future__ import annotations

import html
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from communities.ground.rounding import Rounding
from communities.models import Community
from tests.factories import StaffFactory
from tests.support.staff import client_of, signed_in
from tests.support.webhooks.outbox import (
    MID_HOUR,
    create_webhook,
    emit_event,
    get_community,
    record_attempt,
)
from webhooks.api.examples import ATTEMPTS
from webhooks.events import EventType
from webhooks.models import Delivery, Event
from webhooks.services import deliveries

pytestmark = pytest.mark.django_db
RANGE = {"since": f"{MID_HOUR - timedelta(days=1):%Y-%m-%dT%H:%M}"}


@pytest.fixture
def community() -> Community:
    return get_community()


@pytest.fixture
def admin(community: Community) -> Client:
    return client_of(community)


def shown(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def list_address(query: str = "") -> str:
    return reverse("admin:webhooks_delivery_changelist") + query


def address(delivery: Delivery, page: str = "change") -> str:
    return reverse(f"admin:webhooks_delivery_{page}", args=[delivery.pk])


def delivery_with(status: str, type: EventType = EventType.RESPONSE_SUBMITTED, **fields: object) -> Delivery:
    """A delivery of the first community's webhook in this state."""
    event = emit_event(type, {"answer": "Tea"})
    if status == "pending":
        return Delivery.objects.get(event=event)
    values = {"status": status, "response_status": 500, "last_attempt_at": MID_HOUR, **fields}
    return record_attempt(event, **values)


def test_a_delivery_shows_what_was_sent_and_what_was_answered(admin: Client, community: Community) -> None:
    create_webhook(community)
    delivery = delivery_with("failed", response_body="<b>Broken</b>", attempts=ATTEMPTS)

    page = admin.get(address(delivery)).content.decode()

    assert "Tea" in page
    assert "&lt;b&gt;Broken" in page
    assert "Failed, will be tried again" in page
    assert "&lt;time" not in page
    assert page.index("Answered 503 (84 ms)") < page.index("The endpoint could not be reached. (12 ms)")


def test_the_part_that_is_polled_stops_once_there_is_an_answer(admin: Client, community: Community) -> None:
    create_webhook(community)
    waiting, done = delivery_with("pending"), delivery_with("delivered", response_status=204)

    assert "hx-get" in shown(admin, address(waiting, "progress"))
    assert "hx-get" not in shown(admin, address(done, "progress"))


def test_deliveries_are_filtered_by_state_and_webhook(admin: Client, community: Community) -> None:
    first = create_webhook(community, name="First")
    delivery_with("failed", EventType.PROJECT_OPENED)
    create_webhook(community, name="Second")
    delivery_with_two = emit_event(EventType.PROJECT_CLOSED, {})

    assert "A project opened" in shown(admin, list_address("?status=failed"))
    assert "A project closed" not in shown(admin, list_address("?status=failed"))
    rows = shown(admin, list_address(f"?webhook={first.pk}")).count('class="row-title"')
    assert rows == 2
    assert Delivery.objects.filter(event=delivery_with_two).count() == 2


def test_a_delivery_is_sent_again(admin: Client, community: Community) -> None:
    create_webhook(community)
    delivery = delivery_with("abandoned")

    response = admin.post(address(delivery, "redeliver"))

    again = Delivery.objects.exclude(pk=delivery.pk).get()
    assert response["Location"] == address(again)
    assert (again.event_id, again.even_if_off) == (delivery.event_id, True)


def test_a_range_is_sent_again_oldest_first(admin: Client, community: Community) -> None:
    webhook = create_webhook(community)
    failed, abandoned, delivered = (delivery_with(each) for each in ("failed", "abandoned", "delivered"))
    send_again = reverse("admin:webhooks_webhook_redeliver", args=[webhook.pk])

    page = admin.post(send_again, RANGE, follow=True).content.decode()

    assert "2 messages will be sent again" in page
    failed.refresh_from_db()
    assert failed.even_if_off
    assert failed.due_at is not None
    assert failed.due_at <= timezone.now() + deliveries.PACE
    new = Delivery.objects.exclude(pk__in=[failed.pk, abandoned.pk, delivered.pk])
    assert [each.event_id for each in new] == [abandoned.event_id]


def test_an_event_is_sent_again_once_however_often_it_was_given_up_or_asked_for(
    admin: Client, community: Community
) -> None:
    webhook = create_webhook(community)
    first = delivery_with("abandoned")
    Delivery.objects.create(
        webhook=webhook,
        event=first.event,
        partition=first.partition,
        status="abandoned",
        attempt_count=8,
        created_at=first.created_at,
    )
    send_again = reverse("admin:webhooks_webhook_redeliver", args=[webhook.pk])

    pages = [admin.post(send_again, RANGE, follow=True).content.decode() for _ in range(2)]

    assert "1 message will be sent again" in pages[0]
    assert "No message of this time can be sent again" in pages[1]
    assert Delivery.objects.filter(status="pending").count() == 1


def test_an_event_that_waits_for_another_attempt_since_is_attempted_now(
    admin: Client, community: Community
) -> None:
    webhook = create_webhook(community)
    given_up = delivery_with("abandoned")
    waiting = Delivery.objects.create(
        webhook=webhook,
        event=given_up.event,
        partition=given_up.partition,
        status="failed",
        attempt_count=1,
        due_at=timezone.now() + timedelta(hours=1),
        created_at=timezone.now(),
    )
    until = given_up.created_at + timedelta(minutes=1)
    send_again = reverse("admin:webhooks_webhook_redeliver", args=[webhook.pk])

    admin.post(send_again, {**RANGE, "until": f"{until:%Y-%m-%dT%H:%M}"})

    assert Delivery.objects.count() == 2
    waiting.refresh_from_db()
    assert waiting.even_if_off
    assert waiting.due_at is not None
    assert waiting.due_at <= timezone.now()


@pytest.mark.parametrize(
    ("limits", "is_sent"),
    [((2, 2), True), ((1, 9), False), ((9, 1), False)],  # of events, and of deliveries
)
def test_a_range_may_hold_so_many_messages(
    admin: Client,
    community: Community,
    monkeypatch: pytest.MonkeyPatch,
    limits: tuple[int, int],
    is_sent: bool,
) -> None:
    webhook = create_webhook(community)
    for _ in range(2):
        delivery_with("abandoned")
    for name, limit in zip(("MAX_REDELIVERED", "MAX_READ"), limits, strict=True):
        monkeypatch.setattr(deliveries, name, limit)
    send_again = reverse("admin:webhooks_webhook_redeliver", args=[webhook.pk])

    page = admin.post(send_again, RANGE, follow=True).content.decode()

    assert ("2 messages will be sent again" in page) == is_sent
    assert ("Choose a shorter time" in page) == (not is_sent)
    assert Delivery.objects.count() == (4 if is_sent else 2)


def test_what_has_arrived_meanwhile_is_left_out(admin: Client, community: Community) -> None:
    webhook = create_webhook(community)
    given_up = delivery_with("abandoned")
    Delivery.objects.create(
        webhook=webhook,
        event=given_up.event,
        partition=given_up.partition,
        status="delivered",
        attempt_count=1,
        created_at=given_up.created_at,
    )
    send_again = reverse("admin:webhooks_webhook_redeliver", args=[webhook.pk])

    page = admin.post(send_again, RANGE, follow=True).content.decode()

    assert "No message of this time can be sent again" in page


def test_a_range_about_anonymous_responses_writes_no_exact_time(admin: Client, community: Community) -> None:
    webhook = create_webhook(community)
    event = emit_event(rounded_to=Rounding.HOUR)
    record_attempt(event, status="abandoned", response_status=500, last_attempt_at=MID_HOUR)
    send_again = reverse("admin:webhooks_webhook_redeliver", args=[webhook.pk])

    admin.post(send_again, RANGE)

    again = Delivery.objects.get(event=event, status="pending")
    assert (again.created_at.minute, again.created_at.second) == (0, 0)
    assert not again.is_settled


def test_events_are_for_superusers_and_show_no_body(community: Community) -> None:
    create_webhook(community)
    emit_event(data={"answer": "A confidential answer."})
    events = reverse("admin:webhooks_event_changelist")

    page = shown(signed_in(StaffFactory.create()), events)

    assert "response.submitted" in page
    assert str(Event.objects.get().pk) in page
    assert "confidential" not in page
    assert client_of(community).get(events).status_code == 403
