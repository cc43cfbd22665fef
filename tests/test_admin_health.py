"""The admin's page about the health of the installation."""

import pytest
from django.test import Client
from django.urls import reverse

from config import admin as health_page
from config import health
from tests.factories import MemberFactory, StaffFactory

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

    assert [check.is_good for check in checks] == [False, False, False]
    assert checks[0].text == "takes no writes"
