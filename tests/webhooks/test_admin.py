"""The admin pages: staff see webhooks and deliveries and switch webhooks on and off, but read no body."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from communities.models import Community, User
from communities.rounding import Rounding
from tests.support.webhooks.outbox import MID_HOUR, create_webhook, emit_event, get_community, record_attempt
from webhooks.events import EventType
from webhooks.models import Delivery, Event, Webhook

pytestmark = pytest.mark.django_db

MODELS = [Webhook, Event, Delivery]
CONFIDENTIAL = "A confidential answer."


@pytest.fixture
def staff(client: Client) -> Client:
    user = User.objects.create_superuser(username="staff", password=None, name="Marit")
    client.force_login(user)
    return client


def failed_delivery(number: int = 1) -> Delivery:
    """A delivery in a community of its own, attempted once, whose body and response are confidential."""
    community = get_community(number)
    create_webhook(community)
    event = emit_event(
        community=community, data={"response": CONFIDENTIAL}, rounded_to=Rounding.HOUR, person_id=77_117
    )
    return record_attempt(
        event, status="failed", response_status=500, response_body=CONFIDENTIAL, last_attempt_at=MID_HOUR
    )


def address(model: type[Model], page: str, *args: object) -> str:
    return reverse(f"admin:webhooks_{model.__name__.lower()}_{page}", args=args)


def list_page(staff: Client, model: type[Model], **query: str) -> str:
    response = staff.get(address(model, "changelist"), query)
    assert response.status_code == 200
    return response.content.decode()


def change_page(staff: Client, row: Model) -> str:
    response = staff.get(address(type(row), "change", row.pk))
    assert response.status_code == 200
    return response.content.decode()


def switch(staff: Client, action: str, *selected: Webhook) -> str:
    response = staff.post(
        address(Webhook, "changelist"),
        {"action": action, "_selected_action": [webhook.pk for webhook in selected]},
        follow=True,
    )
    return response.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_search_finds_rows_by_id_and_by_community(staff: Client, model: type[Model]) -> None:
    failed_delivery(4_711)
    failed_delivery(4_712)
    Community.objects.update(name="Harbour")  # so that no search matches the name
    row = model._default_manager.order_by("pk")[0]

    assert "1 result" in list_page(staff, model, q="4711")
    assert "1 result" in list_page(staff, model, q=str(row.pk))
    assert "0 results" in list_page(staff, model, q="nowhere")
    assert str(row.pk) in change_page(staff, row)


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
def test_a_filter_on_a_hidden_field_is_refused(staff: Client, model: type[Model], lookup: str) -> None:
    failed_delivery()

    response = staff.get(address(model, "changelist"), {lookup: "a"})

    assert response.status_code == 400


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_list_explains_where_its_rows_come_from(staff: Client, model: type[Model]) -> None:
    explanations = {
        Webhook: "through the API",
        Event: "at least one webhook listened",
        Delivery: "the last attempt",
    }

    assert explanations[model] in list_page(staff, model)


@pytest.mark.parametrize("model", MODELS)
def test_no_page_shows_a_body_a_response_or_a_secret(staff: Client, model: type[Model]) -> None:
    failed_delivery()
    row = model._default_manager.get()

    pages = [
        list_page(staff, model),
        change_page(staff, row),
        staff.get(address(model, "history", row.pk)).content.decode(),
    ]

    for text in pages:
        for secret in (CONFIDENTIAL, "77117", "sealed", "body of"):
            assert secret not in text


@pytest.mark.parametrize("model", MODELS)
def test_rows_cannot_be_edited(staff: Client, model: type[Model]) -> None:
    failed_delivery()
    before = model._default_manager.values().get()

    responses = [
        staff.get(address(model, "add")),
        staff.post(address(model, "change", before["id"]), {"status": "delivered", "is_active": ""}),
        staff.post(address(model, "delete", before["id"]), {"post": "yes"}),
    ]
    staff.post(
        address(model, "changelist"),
        {"action": "delete_selected", "_selected_action": [before["id"]], "post": "yes"},
    )

    assert [response.status_code for response in responses] == [403] * 3
    assert model._default_manager.values().get() == before


def test_pages_link_to_related_rows(staff: Client) -> None:
    delivery = failed_delivery(1)
    failed_delivery(2)

    of_webhook = list_page(staff, Delivery, webhook__id__exact=str(delivery.webhook_id))
    of_event = list_page(staff, Delivery, event__id__exact=str(delivery.event_id))

    assert address(Webhook, "change", delivery.webhook_id) in of_webhook
    assert address(Event, "change", delivery.event_id) in of_event
    assert ["1 delivery" in text for text in (of_webhook, of_event)] == [True, True]
    assert f"webhook__id__exact={delivery.webhook_id}" in change_page(staff, delivery.webhook)
    assert f"event__id__exact={delivery.event_id}" in change_page(staff, delivery.event)


def test_deliveries_are_filtered_by_status_and_type(staff: Client) -> None:
    failed_delivery()
    emit_event(EventType.PROJECT_OPENED)

    assert "1 delivery" in list_page(staff, Delivery, status__exact="failed")
    assert "1 delivery" in list_page(staff, Delivery, event__type__exact="project.opened")
    assert "1 event" in list_page(staff, Event, type__exact="project.opened")
    assert "1 webhook" in list_page(staff, Webhook, is_active__exact="1")


def test_a_delivery_shows_why_it_failed(staff: Client) -> None:
    delivery = record_attempt(
        failed_delivery().event, status="failed", error="The name of the host is unknown."
    )

    assert "The name of the host is unknown." in change_page(staff, delivery)


def test_an_event_shows_whether_it_has_a_body(staff: Client) -> None:
    event = failed_delivery().event
    assert "icon-yes" in change_page(staff, event)

    Event.objects.update(body=None)

    assert "icon-no" in change_page(staff, event)


def test_deleted_webhooks_and_their_deliveries_are_hidden(staff: Client) -> None:
    delivery = failed_delivery()
    Webhook.objects.update(deleted_at=MID_HOUR, is_active=False)

    assert "0 webhooks" in list_page(staff, Webhook)
    assert "0 deliveries" in list_page(staff, Delivery)
    assert staff.get(address(Webhook, "change", delivery.webhook_id)).status_code == 302


def test_staff_switch_webhooks_off_and_on(staff: Client) -> None:
    first, second, other = create_webhook(), create_webhook(), create_webhook()

    off = switch(staff, "switch_off", first, second)
    assert list(Webhook.objects.filter(is_active=False).order_by("pk")) == [first, second]
    on = switch(staff, "switch_on", first, other)

    assert list(Webhook.objects.filter(is_active=False)) == [second]
    assert "Switched off: 2. Due deliveries wait." in off
    assert "Switched on: 1. Due deliveries are sent now." in on


def test_switching_a_webhook_on_resets_its_failures(staff: Client) -> None:
    webhook = create_webhook(is_active=False, disabled_reason="failing", failing_since=MID_HOUR)

    switch(staff, "switch_on", webhook)

    webhook.refresh_from_db()
    assert (webhook.is_active, webhook.disabled_reason, webhook.failing_since) == (True, None, None)


def test_switching_on_a_webhook_that_is_on_changes_nothing(staff: Client) -> None:
    webhook = create_webhook(failing_since=MID_HOUR)

    switch(staff, "switch_on", webhook)

    webhook.refresh_from_db()
    assert (webhook.failing_since, webhook.updated_at) == (MID_HOUR, MID_HOUR)


def test_switching_requires_the_change_permission(client: Client) -> None:
    webhook = create_webhook()
    viewer = User.objects.create_user(username="viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_webhook"))
    client.force_login(viewer)

    switch(client, "switch_off", webhook)

    assert "Switch off" not in list_page(client, Webhook)
    assert Webhook.objects.get().is_active


@pytest.mark.parametrize("model", MODELS)
def test_the_number_of_queries_of_a_list_does_not_grow_with_its_length(
    staff: Client, model: type[Model], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(1, 7):
        failed_delivery(number)

    with django_assert_max_num_queries(6):
        list_page(staff, model)
