"""Webhooks in the account area: for admins of the community alone, each secret shown once."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from communities.models import AuditEntry, Community, IdempotentRequest
from tests.factories import CommunityFactory, DeliveryFactory, MemberFactory, WebhookFactory
from tests.support.accounts import Person
from tests.support.staff import hidden, text_of
from webhooks.api.examples import ATTEMPTS
from webhooks.models import Delivery, Webhook
from webhooks.services import webhooks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

URL = "https://example.com/colloquy"
SECRET = re.compile(r"whsec_[\w+/]{43}=")


@pytest.fixture
def club() -> Community:
    community: Community = CommunityFactory.create(name="Harbour Chess Club")
    return community


def address(community: Community, name: str = "account_webhook_new") -> str:
    return f"{reverse(name)}?community={community.pk}"


def make(person: Person, **values: Any) -> Any:
    path = address(person.community)
    form = {"name": "Shop", "url": URL, "which": "all", "is_active": "on", **values}
    form.setdefault("ticket", hidden(person.client.get(path), "ticket"))
    return person.client.post(path, form)


def secret_in(response: Any) -> str:
    found = set(SECRET.findall(html.unescape(response.content.decode())))
    assert len(found) == 1, found
    return found.pop()


# --- Making and changing ------------------------------------------------------------------------------


def test_a_new_webhook_shows_its_secret_once_and_nowhere_else(club: Community) -> None:
    grace = Person("admin", club)

    answer = make(grace, which="some", events=["response.submitted", "project.closed"])

    webhook, secret = Webhook.objects.get(), secret_in(answer)
    assert (webhook.community_id, webhook.name, webhook.url) == (club.pk, "Shop", URL)
    assert set(webhook.events) == {"response.submitted", "project.closed"}
    assert webhooks.signing_secrets(webhook, at=timezone.now()) == [secret]
    assert answer["Cache-Control"] == "no-store"
    later = [grace.client.get(address(club, "account_webhooks")), grace.get("account_webhook", webhook.pk)]
    assert not any(secret in html.unescape(page.content.decode()) for page in later)
    rows = [*Webhook.objects.values(), *AuditEntry.objects.values(), *IdempotentRequest.objects.values()]
    assert secret not in str([rows, [each.get_decoded() for each in Session.objects.all()]])


def test_a_form_that_is_sent_twice_makes_one_webhook(club: Community) -> None:
    grace = Person("admin", club)
    ticket = hidden(grace.client.get(address(club)), "ticket")
    make(grace, ticket=ticket)

    again = make(grace, ticket=ticket)

    assert again["Location"] == address(club, "account_webhooks")
    assert Webhook.objects.count() == 1
    assert "was sent before" in text_of(grace.client.get(again["Location"]))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"url": "https://10.0.0.1/"}, "Address (URL):"),
        ({"which": "some"}, "Events: Choose at least one event."),
        ({"which": "all", "events": ["response.submitted"]}, "Which events: You ticked single events."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_made(club: Community, values: dict[str, str], words: str) -> None:
    answer = make(Person("admin", club), **values)

    assert answer.status_code == 422
    assert words in text_of(answer)
    assert not Webhook.objects.exists()


def test_editing_changes_only_what_was_changed(club: Community) -> None:
    grace = Person("admin", club)
    webhook: Webhook = WebhookFactory.create(community=club, name="Shop", url=URL)
    Webhook.objects.filter(pk=webhook.pk).update(name="Shop")

    answer = grace.post(
        "account_webhook_edit", webhook.pk, name="Our shop", url=URL, which="all", is_active="on"
    )

    webhook.refresh_from_db()
    assert answer["Location"] == reverse("account_webhook", args=[webhook.pk])
    assert (webhook.name, webhook.url, webhook.events, webhook.is_active) == ("Our shop", URL, ["*"], True)
    (entry,) = AuditEntry.objects.all()
    assert (entry.action, entry.after) == ("webhook.updated", {"name": "Our shop"})


def test_a_webhook_is_switched_off_and_on(club: Community) -> None:
    grace = Person("admin", club)
    webhook: Webhook = WebhookFactory.create(community=club)
    states = []

    for to in ("off", "off", "on"):
        grace.post("account_webhook_switch", webhook.pk, to=to)
        webhook.refresh_from_db()
        states.append(webhook.is_active)

    assert states == [False, False, True]
    assert "The webhook is on." in text_of(grace.get("account_webhook", webhook.pk))


def test_a_new_secret_is_shown_once_and_the_earlier_one_signs_too(club: Community) -> None:
    grace = Person("admin", club)
    first = secret_in(make(grace))
    webhook = Webhook.objects.get()
    ticket = hidden(grace.get("account_webhook_rotate", webhook.pk), "ticket")

    second = secret_in(grace.post("account_webhook_rotate", webhook.pk, ticket=ticket))
    again = grace.post("account_webhook_rotate", webhook.pk, ticket=ticket)

    webhook.refresh_from_db()
    assert webhooks.signing_secrets(webhook, at=timezone.now()) == [second, first]
    assert again.status_code == 302
    assert "The earlier secret signs until" in text_of(grace.get("account_webhook", webhook.pk))


def test_a_deleted_webhook_can_be_brought_back_for_ten_minutes(club: Community) -> None:
    grace = Person("admin", club)
    webhook: Webhook = WebhookFactory.create(community=club, name="Shop")

    gone = grace.post("account_webhook_delete", webhook.pk)
    offered = text_of(grace.client.get(gone["Location"]))
    back = grace.post("account_webhook_restore", webhook.pk)

    assert "The webhook “Shop” is deleted. It can be brought back for ten minutes. Undo" in offered
    assert back["Location"] == reverse("account_webhook", args=[webhook.pk])
    webhook.refresh_from_db()
    assert (webhook.deleted_at, webhook.is_active) == (None, True)


# --- Deliveries ---------------------------------------------------------------------------------------


def test_a_ping_leads_to_its_delivery(club: Community) -> None:
    grace = Person("admin", club)
    webhook: Webhook = WebhookFactory.create(community=club)

    answer = grace.post("account_webhook_ping", webhook.pk)

    delivery = Delivery.objects.get()
    assert answer["Location"] == reverse("account_delivery", args=[delivery.pk])
    page = text_of(grace.client.get(answer["Location"]))
    assert "A test message that you sent" in page
    assert "The message is on its way." in page


def test_a_delivery_shows_what_was_sent_and_answered(club: Community) -> None:
    grace = Person("admin", club)
    delivery: Delivery = DeliveryFactory.create(
        webhook__community=club,
        event__body='{"type":"webhook.ping","data":{"n":1}}',
        status="delivered",
        due_at=None,
        attempt_count=1,
        response_status=202,
        response_body="<b>thanks</b>",
        attempts=ATTEMPTS,
    )

    source = grace.get("account_delivery", delivery.pk).content.decode()

    assert "&lt;b&gt;thanks&lt;/b&gt;" in source
    assert "&#34;n&#34;: 1" in source
    assert "202" in source
    assert "on its way" not in source
    assert source.index("Answered 503") < source.index("The endpoint could not be reached.")
    assert "84 ms" in source


def test_an_event_is_sent_again_as_another_delivery(club: Community) -> None:
    grace = Person("admin", club)
    delivery: Delivery = DeliveryFactory.create(
        webhook__community=club, status="abandoned", due_at=None, attempt_count=10
    )

    answer = grace.post("account_delivery_again", delivery.pk)

    again = Delivery.objects.exclude(pk=delivery.pk).get()
    assert (again.event_id, again.status) == (delivery.event_id, "pending")
    assert answer["Location"] == reverse("account_delivery", args=[again.pk])


def test_the_log_is_filtered_and_turned_page_by_page(
    club: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.pages.deliveries.PAGE_LENGTH", 2)
    grace = Person("admin", club)
    webhook: Webhook = WebhookFactory.create(community=club)
    failed = {"status": "abandoned", "due_at": None, "attempt_count": 10}
    for kind, fields in (
        ("project.opened", {}),
        ("project.closed", failed),
        ("response.submitted", failed),
        ("response.submitted", failed),
        ("project.closed", {}),
    ):
        DeliveryFactory.create(webhook=webhook, event__type=kind, **fields)

    def rows(query: str) -> tuple[list[str], str]:
        page = grace.client.get(reverse("account_deliveries", args=[webhook.pk]) + query).content.decode()
        older = re.search(r'href="(\?[^"]+)">Older', page)
        return re.findall(r"<b>([^<]+)</b>", page), html.unescape(older[1]) if older else ""

    first, more = rows("?status=abandoned")
    second, end = rows(more)
    closed, _ = rows("?status=abandoned&event=project.closed")
    unknown, _ = rows("?status=lost&before=nothing")

    assert sorted([*first, *second]) == ["A project closed", *["Somebody submitted a response"] * 2]
    assert (len(first), end) == (2, "")
    assert closed == ["A project closed"]
    assert len(unknown) == 2


def test_the_list_tells_state_and_last_delivery(club: Community) -> None:
    grace = Person("admin", club)
    working: Webhook = WebhookFactory.create(community=club, name="Working")
    WebhookFactory.create(community=club, name="Quiet", is_active=False)
    WebhookFactory.create(name="Of another community")
    DeliveryFactory.create(webhook=working)
    later = {"status": "delivered", "due_at": None, "attempt_count": 1}
    DeliveryFactory.create(webhook=working, event__created_at=timezone.now(), **later)

    page = text_of(grace.client.get(address(club, "account_webhooks")))

    assert re.search(r"Working .* Last delivery .*: Delivered On", page)
    assert re.search(r"Quiet .* Nothing was sent to it yet. Off", page)
    assert "Of another community" not in page


# --- Who may ------------------------------------------------------------------------------------------

ASK = ("account_webhook_new", "account_webhook_edit", "account_webhook_rotate", "account_webhook_delete")


def call(person: Person, name: str, method: str, delivery: Delivery) -> Any:
    if name == "account_webhook_new":
        path = address(delivery.webhook.community)
    else:
        is_delivery = name.startswith("account_delivery")
        path = reverse(name, args=[delivery.pk if is_delivery else delivery.webhook_id])
    values = {"name": "Mine", "url": URL, "which": "all", "ticket": "a-ticket", "to": "off"}
    return getattr(person.client, method)(path, values if method == "post" else None)


def everything() -> str:
    return str(
        [list(Webhook.objects.order_by("pk").values()), list(Delivery.objects.order_by("pk").values())]
    )


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize("name", ASK)
def test_whoever_has_not_just_shown_who_they_are_does_so_first(
    club: Community, name: str, method: str
) -> None:
    delivery: Delivery = DeliveryFactory.create(webhook__community=club)
    before = everything()

    answer = call(Person("admin", club, is_fresh=False), name, method, delivery)

    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert everything() == before


def test_others_read_who_can_make_one(club: Community) -> None:
    Person("admin", club, name="Ada")
    MemberFactory.create(community=club, access="admin", left_at=timezone.now())

    page = text_of(Person("creator", club).client.get(address(club, "account_webhooks")))

    assert "Webhooks of Harbour Chess Club are made by its admins." in page
    assert "That is Ada." in page


def test_the_section_is_for_creators_and_admins(club: Community) -> None:
    link = f'href="{reverse("account_webhooks")}"'
    shown = {
        access: link in Person(access, club).get("account").content.decode()
        for access in ("none", "member", "creator", "admin")
    }

    assert shown == {"none": False, "member": False, "creator": True, "admin": True}
