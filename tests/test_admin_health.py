"""The admin's page about the health of the installation."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from communities.models import ChatTask, Mail
from config import admin as health_page
from config import health
from config.admin import Check
from tests.factories import CommunityFactory, MemberFactory, StaffFactory
from tests.support.moments import NOON
from tests.support.webhooks.outbox import create_delivery, create_webhook, unsaved_event

pytestmark = pytest.mark.django_db


def test_superusers_see_servers_workers_queues_and_what_is_off(client: Client) -> None:
    client.force_login(StaffFactory.create())

    page = client.get(reverse("admin:health")).content.decode()

    assert "The database" in page
    assert "no worker answers" in page  # tests start none
    assert "Webhooks" in page
    assert "Chat platform" in page


def test_others_do_not_find_the_page(client: Client) -> None:
    staff = StaffFactory.create(is_superuser=False)
    MemberFactory.create(user=staff, access="admin")
    client.force_login(staff)

    assert client.get(reverse("admin:health")).status_code == 404
    assert "Health" not in client.get(reverse("admin:index")).content.decode()


def test_a_server_that_is_down_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"database": "unwritable", "redis": "unavailable", "secret_key": "wrong"}
    monkeypatch.setattr(health, "states", lambda: states)

    checks = health_page.check_servers()

    assert [check.sign for check in checks] == ["bad", "bad", "bad"]
    assert checks[0].text == "takes no writes"


def fail_deliveries() -> None:
    now = timezone.now()
    webhook = create_webhook(failing_since=now)
    create_webhook(is_active=False, disabled_reason="gone")
    event = unsaved_event(created_at=now - timedelta(minutes=5))
    create_delivery(webhook, event, status="failed", attempt_count=1, due_at=now - timedelta(minutes=1))
    create_delivery(webhook, unsaved_event(), status="abandoned", attempt_count=10, due_at=None)


def fail_chat_tasks() -> None:
    community, now = CommunityFactory.create(), timezone.now()
    states: dict[str, dict[str, Any]] = {
        "failed": {"due_at": now - timedelta(minutes=5)},
        "blocked": {},
        "abandoned": {},
    }
    ChatTask.objects.bulk_create(
        ChatTask(community=community, kind="post", subject=status, status=status, created_at=now, **fields)
        for status, fields in states.items()
    )


def fail_mails() -> None:
    Mail.objects.create(kind="a", status="failed", created_at=NOON, due_at=NOON, sealed=b"sealed")
    Mail.objects.create(kind="a", status="abandoned", created_at=NOON, last_error="SMTPException: 451")


@pytest.mark.parametrize(
    ("check", "fail", "signs"),
    [
        (
            health_page.check_deliveries,
            fail_deliveries,
            ["pending", "pending", "pending", "bad", "bad", "bad"],
        ),
        (health_page.check_chat, fail_chat_tasks, ["pending", "pending", "pending", "bad", "bad"]),
        (health_page.check_mails, fail_mails, ["pending", "bad"]),
    ],
)
def test_what_could_not_be_sent_has_no_tick(
    check: Callable[[], Sequence[Check]], fail: Callable[[], None], signs: list[str]
) -> None:
    assert {each.sign for each in check()} == {"done"}

    fail()

    assert [each.sign for each in check()] == signs


def test_a_mail_to_a_reader_who_unsubscribed_did_not_fail() -> None:
    Mail.objects.create(
        kind="a", status="abandoned", created_at=NOON, last_error="The reader has unsubscribed."
    )

    assert {each.sign for each in health_page.check_mails()} == {"done"}


def test_a_connected_chat_platform_is_not_said_to_be_off(settings: Any, client: Client) -> None:
    client.force_login(StaffFactory.create())
    fail_chat_tasks()
    settings.CHAT = object()  # whatever it is

    page = client.get(reverse("admin:health")).content.decode()

    assert "not connected" not in page
    assert '<span class="state bad">1 task</span>' in page
