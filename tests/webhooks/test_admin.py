"""Staff see webhooks and what became of telling them, switch webhooks on and off, and read no body."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from communities.models import Community, User
from tests.webhooks.telling import NOON, community, tell, tried, webhook
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook
from webhooks.rounding import Rounding

pytestmark = pytest.mark.django_db

MODELS = [Webhook, Event, Delivery]
SECRET_WORDS = "I never told anybody."


@pytest.fixture
def staff(client: Client) -> Client:
    user = User.objects.create_superuser(username="staff", password=None, name="Marit")
    client.force_login(user)
    return client


def told(number: int = 1) -> Delivery:
    """A delivery in a community, tried once, about a response with words that are nobody's to read."""
    of = community(number)
    webhook(of)
    event = tell(of=of, data={"response": SECRET_WORDS}, rounded_to=Rounding.HOUR, person_id=77_117)
    return tried(
        event, status="failed", response_status=500, response_body=SECRET_WORDS, last_attempt_at=NOON
    )


def address(model: type[Model], page: str, *args: object) -> str:
    return reverse(f"admin:webhooks_{model.__name__.lower()}_{page}", args=args)


def listed(staff: Client, model: type[Model], **query: str) -> str:
    answer = staff.get(address(model, "changelist"), query)
    assert answer.status_code == 200
    return answer.content.decode()


def shown(staff: Client, row: Model) -> str:
    answer = staff.get(address(type(row), "change", row.pk))
    assert answer.status_code == 200
    return answer.content.decode()


def switch(staff: Client, action: str, *chosen: Webhook) -> str:
    answer = staff.post(
        address(Webhook, "changelist"),
        {"action": action, "_selected_action": [each.pk for each in chosen]},
        follow=True,
    )
    return answer.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_each_is_found_by_its_id_and_by_its_community(staff: Client, model: type[Model]) -> None:
    told(4_711)
    told(4_712)
    Community.objects.update(name="Harbour")  # in whose name no id is found
    row = model._default_manager.order_by("pk")[0]

    assert "1 result" in listed(staff, model, q="4711")
    assert "1 result" in listed(staff, model, q=str(row.pk))
    assert "0 results" in listed(staff, model, q="nowhere")
    assert str(row.pk) in shown(staff, row)


@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        (Event, "body__contains"),
        (Event, "body__regex"),
        (Event, "person_id"),
        (Event, "deliveries__response_body__contains"),
        (Delivery, "response_body__contains"),
        (Delivery, "event__body__contains"),
        (Webhook, "sealed_secret__gt"),
        (Webhook, "url__startswith"),
    ],
)
def test_what_is_not_shown_cannot_be_asked_for_by_a_filter(
    staff: Client, model: type[Model], lookup: str
) -> None:
    told()

    answer = staff.get(address(model, "changelist"), {lookup: "a"})

    assert answer.status_code == 400


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_list_says_where_its_rows_come_from(staff: Client, model: type[Model]) -> None:
    explanations = {Webhook: "over the interface", Event: "somebody listened", Delivery: "the last attempt"}

    assert explanations[model] in listed(staff, model)


@pytest.mark.parametrize("model", MODELS)
def test_nobody_reads_what_was_sent_or_answered_or_a_secret(staff: Client, model: type[Model]) -> None:
    told()
    row = model._default_manager.get()

    pages = [
        listed(staff, model),
        shown(staff, row),
        staff.get(address(model, "history", row.pk)).content.decode(),
    ]

    for text in pages:
        for secret in (SECRET_WORDS, "77117", "sealed", "body of"):
            assert secret not in text


@pytest.mark.parametrize("model", MODELS)
def test_what_the_machine_writes_is_not_edited(staff: Client, model: type[Model]) -> None:
    told()
    before = model._default_manager.values().get()

    answers = [
        staff.get(address(model, "add")),
        staff.post(address(model, "change", before["id"]), {"status": "delivered", "is_active": ""}),
        staff.post(address(model, "delete", before["id"]), {"post": "yes"}),
    ]
    staff.post(
        address(model, "changelist"),
        {"action": "delete_selected", "_selected_action": [before["id"]], "post": "yes"},
    )

    assert [answer.status_code for answer in answers] == [403] * 3
    assert model._default_manager.values().get() == before


def test_links_lead_from_each_to_the_others(staff: Client) -> None:
    delivery = told(1)
    told(2)

    of_webhook = listed(staff, Delivery, webhook__id__exact=str(delivery.webhook_id))
    of_event = listed(staff, Delivery, event__id__exact=str(delivery.event_id))

    assert address(Webhook, "change", delivery.webhook_id) in of_webhook
    assert address(Event, "change", delivery.event_id) in of_event
    assert ["1 delivery" in text for text in (of_webhook, of_event)] == [True, True]
    assert f"webhook__id__exact={delivery.webhook_id}" in shown(staff, delivery.webhook)
    assert f"event__id__exact={delivery.event_id}" in shown(staff, delivery.event)


def test_deliveries_are_filtered_by_status_and_type(staff: Client) -> None:
    told()
    tell(EventType.PROJECT_OPENED)

    assert "1 delivery" in listed(staff, Delivery, status__exact="failed")
    assert "1 delivery" in listed(staff, Delivery, event__type__exact="project.opened")
    assert "1 event" in listed(staff, Event, type__exact="project.opened")
    assert "1 webhook" in listed(staff, Webhook, is_active__exact="1")


def test_a_delivery_says_why_it_failed(staff: Client) -> None:
    delivery = tried(told().event, status="failed", error="The name of the host is unknown.")

    assert "The name of the host is unknown." in shown(staff, delivery)


def test_whether_a_body_is_kept_is_told(staff: Client) -> None:
    event = told().event
    assert "icon-yes" in shown(staff, event)

    Event.objects.update(body=None)

    assert "icon-no" in shown(staff, event)


def test_deleted_webhooks_and_their_deliveries_are_hidden(staff: Client) -> None:
    delivery = told()
    Webhook.objects.update(deleted_at=NOON, is_active=False)

    assert "0 webhooks" in listed(staff, Webhook)
    assert "0 deliveries" in listed(staff, Delivery)
    assert staff.get(address(Webhook, "change", delivery.webhook_id)).status_code == 302


def test_staff_switch_webhooks_off_and_on(staff: Client) -> None:
    first, second, other = webhook(), webhook(), webhook()

    off = switch(staff, "switch_off", first, second)
    assert list(Webhook.objects.filter(is_active=False).order_by("pk")) == [first, second]
    on = switch(staff, "switch_on", first, other)

    assert list(Webhook.objects.filter(is_active=False)) == [second]
    assert "Switched off: 2. What is due waits." in off
    assert "Switched on: 1. What is due is sent now." in on


def test_what_failed_before_counts_no_more_once_a_webhook_is_switched_on(staff: Client) -> None:
    hook = webhook(is_active=False, disabled_reason="failing", failing_since=NOON)

    switch(staff, "switch_on", hook)

    hook.refresh_from_db()
    assert (hook.is_active, hook.disabled_reason, hook.failing_since) == (True, None, None)


def test_a_webhook_that_is_on_stays_as_it_is_when_it_is_switched_on(staff: Client) -> None:
    hook = webhook(failing_since=NOON)

    switch(staff, "switch_on", hook)

    hook.refresh_from_db()
    assert (hook.failing_since, hook.updated_at) == (NOON, NOON)


def test_switching_needs_more_than_the_right_to_look(client: Client) -> None:
    hook = webhook()
    looker = User.objects.create_user(username="looker", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_webhook"))
    client.force_login(looker)

    switch(client, "switch_off", hook)

    assert "Switch off" not in listed(client, Webhook)
    assert Webhook.objects.get().is_active


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_however_long(
    staff: Client, model: type[Model], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(1, 7):
        told(number)

    with django_assert_max_num_queries(6):
        listed(staff, model)
