"""Admins of a community create, edit, test and delete its webhooks in the admin. Others see none."""

from __future__ import annotations

import html
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from communities.models import Community
from tests.factories import ProjectFactory, StaffFactory
from tests.support.staff import client_of, signed_in
from tests.support.webhooks.outbox import (
    create_delivery,
    create_webhook,
    get_community,
    record_attempt,
    unsaved_event,
)
from webhooks.admin.webhooks import WebhookAdmin
from webhooks.models import Delivery, Webhook
from webhooks.services import housekeeping, webhooks

pytestmark = pytest.mark.django_db
URL = "https://example.com/colloquy"
ALL_EVENTS = {"name": "Shop", "url": URL, "which": "all", "is_active": "on", "ticket": "first"}


@pytest.fixture
def community() -> Community:
    return get_community()


@pytest.fixture
def admin(community: Community) -> Client:
    return client_of(community)


def address(page: str, *args: object) -> str:
    return reverse(f"admin:webhooks_webhook_{page}", args=args)


def shown(client: Client, url: str, *, status: int = 200) -> str:
    response = client.get(url)
    assert response.status_code == status, response.content.decode()[:500]
    return html.unescape(response.content.decode())


def test_a_created_webhook_shows_its_secret_once_and_nowhere_else(admin: Client) -> None:
    response = admin.post(address("add"), ALL_EVENTS)

    webhook = Webhook.objects.get()
    secret = webhooks.signing_secrets(webhook, at=timezone.now())[0]
    assert secret in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    for url in (address("changelist"), address("change", webhook.pk), address("edit", webhook.pk)):
        assert secret not in shown(admin, url)
    assert secret not in str(dict(admin.session))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": "http://10.0.0.1/"}, "must begin with https://"),
        ({"url": "ftp://example.com"}, "must begin with https://"),
        ({"url": ""}, "This field is required"),
        ({"which": "some"}, "Choose at least one event"),
    ],
)
def test_a_wrong_field_is_told_and_nothing_is_created(
    admin: Client, settings: LazySettings, changes: dict[str, str], message: str
) -> None:
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = False

    response = admin.post(address("add"), {**ALL_EVENTS, **changes})

    assert message in html.unescape(response.content.decode())
    assert "Shop" in response.content.decode()  # what was typed is kept
    assert not Webhook.objects.exists()


def test_an_edit_saves_only_what_was_changed(admin: Client, community: Community) -> None:
    webhook = create_webhook(community, name="Shop", url=URL, events=["*"])
    page = {
        "name": "Shop",
        "url": URL,
        "which": "some",
        "events": ["project.closed"],
        "is_active": "on",
        "ticket": "first",
    }

    admin.post(address("edit", webhook.pk), page)

    webhook.refresh_from_db()
    assert (webhook.events, webhook.name, webhook.is_active) == (["project.closed"], "Shop", True)


def test_a_ping_leads_to_its_delivery(admin: Client, community: Community) -> None:
    webhook = create_webhook(community, is_active=False)

    response = admin.post(address("ping", webhook.pk))

    delivery = Delivery.objects.get()
    assert response["Location"] == reverse("admin:webhooks_delivery_change", args=[delivery.pk])
    assert "The message is on its way" in shown(admin, response["Location"])


def test_a_new_secret_asks_first(admin: Client, community: Community) -> None:
    admin.post(address("add"), ALL_EVENTS)
    webhook = Webhook.objects.get()
    before = webhook.secret_prefix

    assert "For 24 hours" in shown(admin, address("rotate", webhook.pk))
    admin.post(address("rotate", webhook.pk), {"ticket": "second"})

    webhook.refresh_from_db()
    assert webhook.secret_prefix != before or len(webhooks.signing_secrets(webhook, at=timezone.now())) == 2


def test_a_form_that_is_sent_twice_makes_one_webhook_and_one_secret(admin: Client) -> None:
    first, again = (admin.post(address("add"), ALL_EVENTS) for _ in range(2))
    webhook = Webhook.objects.get()
    rotated, reloaded = (admin.post(address("rotate", webhook.pk), {"ticket": "second"}) for _ in range(2))

    assert [each.status_code for each in (first, again, rotated, reloaded)] == [200, 302, 200, 302]
    assert "was sent before" in shown(admin, reloaded["Location"])
    secret = webhooks.signing_secrets(Webhook.objects.get(), at=timezone.now())[0]
    assert secret in rotated.content.decode()


def test_a_webhook_deleted_over_the_api_does_not_come_back_without_its_secret(
    admin: Client, community: Community
) -> None:
    webhook = create_webhook(community)
    webhooks.remove(actor=None, community_id=community.pk, webhook_id=webhook.pk, at=timezone.now())

    response = admin.post(address("restore", webhook.pk), follow=True)

    assert "cannot be brought back" in response.content.decode()
    assert Webhook.objects.get().deleted_at is not None


def test_a_deleted_webhook_comes_back_with_undo(admin: Client) -> None:
    admin.post(address("add"), ALL_EVENTS)
    webhook = Webhook.objects.get()
    secrets = webhooks.signing_secrets(webhook, at=timezone.now())

    after = admin.post(address("delete", webhook.pk), follow=True).content.decode()
    assert "Shop" not in shown(admin, address("changelist"))
    assert address("restore", webhook.pk) in after
    admin.post(address("restore", webhook.pk))

    webhook.refresh_from_db()
    assert webhook.is_active
    assert webhooks.signing_secrets(webhook, at=timezone.now()) == secrets
    assert "Shop" in shown(admin, address("changelist"))


def test_after_ten_minutes_there_is_no_undo_and_no_secret(admin: Client) -> None:
    admin.post(address("add"), ALL_EVENTS)
    webhook = Webhook.objects.get()
    admin.post(address("delete", webhook.pk))
    Webhook.objects.update(deleted_at=timezone.now() - timedelta(minutes=10))
    housekeeping.remove_deleted(at=timezone.now())

    response = admin.post(address("restore", webhook.pk), follow=True)

    assert "cannot be brought back" in response.content.decode()
    webhook.refresh_from_db()
    assert webhook.deleted_at is not None
    assert bytes(webhook.sealed_secret) == b""


def test_superusers_see_the_webhooks_of_each_community() -> None:
    client = signed_in(StaffFactory.create())
    webhooks_of_both = [create_webhook(get_community(number), name=f"W{number}") for number in (1, 2)]

    for webhook in webhooks_of_both:
        assert str(webhook.name) in shown(client, address("change", webhook.pk))
        listed = shown(client, address("changelist"))  # of the community of the page before
        assert f"/{webhook.pk}/change/" in listed


def test_a_name_is_never_markup(admin: Client, community: Community) -> None:
    webhook = create_webhook(community, name="<script>alert(1)</script>")

    for url in (address("changelist"), address("change", webhook.pk), address("delete", webhook.pk)):
        assert "<script>alert" not in admin.get(url).content.decode()


@pytest.mark.parametrize(("type", "needs_attention"), [("response.submitted", True), ("webhook.ping", False)])
def test_a_failing_webhook_needs_attention_unless_only_pings_failed(
    admin: Client, community: Community, type: str, needs_attention: bool
) -> None:
    now = timezone.now()
    webhook = create_webhook(community, name="Shop", failing_since=now)
    event = unsaved_event(type=type, created_at=now)
    create_delivery(webhook, event, created_at=now)
    record_attempt(event, status="abandoned", last_attempt_at=now)

    home = shown(admin, reverse("admin:index"))

    assert ("The webhook Shop fails." in home) is needs_attention
    assert (address("change", webhook.pk) in home) is needs_attention
    assert ("1 message to webhooks could not be delivered this week." in home) is needs_attention


@pytest.mark.parametrize("page", ["edit", "ping", "rotate", "delete"])
def test_a_webhook_that_a_colleague_deletes_at_this_moment_is_absent(
    admin: Client, community: Community, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = create_webhook()
    opened = WebhookAdmin.open_row

    def opened_and_then_deleted(self: WebhookAdmin, *args: Any) -> Any:
        found = opened(self, *args)
        Webhook.objects.all().delete()
        return found

    monkeypatch.setattr(WebhookAdmin, "open_row", opened_and_then_deleted)

    answer = admin.post(address(page, webhook.pk), ALL_EVENTS | {"name": "Other"})

    assert answer.status_code == 404


ONLY = {**ALL_EVENTS, "about": "some"}


# --- Which projects ----------------------------------------------------------------------------------


def projects_of(community: Community, *names: str) -> list[str]:
    made = [ProjectFactory.create(community=community, name=name) for name in names]
    return [str(each.pk) for each in made]


@pytest.mark.parametrize("about", [{}, {"about": "all"}])
def test_a_webhook_hears_of_all_projects_unless_some_are_chosen(
    admin: Client, community: Community, about: dict[str, str]
) -> None:
    projects_of(community, "Club")

    admin.post(address("add"), {**ALL_EVENTS, **about})

    assert Webhook.objects.get().project_ids is None


def test_a_colleague_s_choice_of_projects_stays(admin: Client, community: Community) -> None:
    club, shop = projects_of(community, "Club", "Shop")
    webhook = create_webhook(community, url=URL, events=["*"], project_ids=[int(club)])
    sent = {"which": "all", "about": "some", "url": URL, "is_active": "on", "projects": [club]}

    admin.post(address("edit", webhook.pk), {**sent, "name": "New"})
    webhook.refresh_from_db()
    assert (webhook.name, webhook.project_ids) == ("New", [int(club)])
    admin.post(address("edit", webhook.pk), {**sent, "name": "New", "projects": [club, shop]})
    webhook.refresh_from_db()
    assert webhook.project_ids == [int(club), int(shop)]
    admin.post(address("edit", webhook.pk), {**sent, "name": "New", "about": "all", "projects": []})
    webhook.refresh_from_db()

    assert webhook.project_ids is None


def test_a_deleted_project_is_offered_no_more_and_stays_until_the_choice_changes(
    admin: Client, community: Community
) -> None:
    (club,) = projects_of(community, "Club")
    webhook = create_webhook(community, url=URL, events=["*"], project_ids=[int(club), 1])
    sent = {"which": "all", "about": "some", "url": URL, "is_active": "on", "projects": [club], "name": "New"}

    admin.post(address("edit", webhook.pk), sent)

    webhook.refresh_from_db()
    assert (webhook.name, webhook.project_ids) == ("New", [int(club), 1])


def test_the_newest_projects_are_offered_and_those_that_are_chosen(
    admin: Client, community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.forms.MOST_OFFERED", 2)
    oldest, *_ = projects_of(community, "First", "Second", "Third", "Fourth")
    webhook = create_webhook(community, url=URL, project_ids=[int(oldest)])

    new, edit = shown(admin, address("add")), shown(admin, address("edit", webhook.pk))

    assert "The newest 2. The API takes any project." in new
    assert [name in new for name in ("First", "Second", "Third", "Fourth")] == [False, False, True, True]
    assert [name in edit for name in ("First", "Second", "Third", "Fourth")] == [True, False, True, True]
