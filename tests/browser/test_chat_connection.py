"""The pages about the connection with the chat platform, in a real browser."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from communities.models import ChatInstallation, ChatTask
from communities.services.chat import installations, outbox
from config.environment import chat_of
from tests.factories import MemberFactory
from tests.support.accounts import Person
from tests.support.browser.sizes import DESK, PHONE
from tests.support.chat.community import ChatCommunity
from tests.support.chat.server import Platform
from tests.support.chat.world import ADMINISTRATOR
from tests.support.staff import Staff
from xp.models import RoleGrant

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages


def _picture(page: Page, name: str) -> None:
    if PICTURES:
        for size, which in ((DESK, "desk"), (PHONE, "phone")):
            page.set_viewport_size(size)
            page.screenshot(path=Path(PICTURES) / f"{name}-{which}.png", full_page=True)
        page.set_viewport_size(DESK)


@pytest.fixture
def chat(settings: Any, db: None, redis: Any) -> Iterator[ChatCommunity]:
    with Platform(per_channel=1000) as platform:
        settings.CHAT = chat_of(platform.environment())
        platform.world.add_channel("announcements", type=5)
        platform.world.add_role("Moderator", position=20, permissions=ADMINISTRATOR)
        platform.world.add_role("Owner", position=60)
        yield ChatCommunity(platform)


def _fill(chat: ChatCommunity) -> None:
    """Some work that was done, and some that was given up."""
    member = MemberFactory.create(community=chat.community, nick="Marit")
    grant = RoleGrant.objects.create(
        member=member,
        community=chat.community,
        role_id=chat.helper.id,
        project_name="Club evening",
        refusal="This role is above the bot’s own highest role.",
        is_asked_for=True,
        created_at=timezone.now(),
    )
    project = chat.open({"type": "single_punch", "prompt": "Tea?", "options": [{"value": "Yes"}]})
    assert project.name == "Club evening"
    task_id = outbox.put(
        community_id=chat.community.pk, kind="xp.grant_role", subject=str(grant.pk), at=timezone.now()
    )
    ChatTask.objects.filter(pk=task_id).update(
        status="abandoned", due_at=None, error=grant.refusal, last_attempt_at=timezone.now()
    )
    installations.check(community_id=chat.community.pk, at=timezone.now())


def _open(windows: Any, client: Any, path: str) -> Page:
    page: Page = windows.open()
    name = django_settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": windows.address}])
    page.goto(path)
    return page


@pytest.mark.parametrize("door", ["admin", "account"])
def test_an_admin_sees_how_the_connection_stands_and_acts_on_it(
    windows: Any, chat: ChatCommunity, check_every_look: Callable[[Page], None], door: str
) -> None:
    _fill(chat)
    if door == "admin":
        client = Staff("admin", community=chat.community).client
        path = reverse("admin:communities_chatinstallation_change", args=[chat.community.pk])
    else:
        client, path = Person("admin", chat.community).client, "/account/chat/"
    page = _open(windows, client, path)
    check_every_look(page)
    _picture(page, f"chat-{door}")

    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("It is tried again now.")).to_be_visible()

    ChatInstallation.objects.update(
        problems=["manage_roles", "no_channel"], checked_at=timezone.now().replace(year=2025)
    )
    page.goto(path)
    check_every_look(page)
    _picture(page, f"chat-{door}-lacking")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("has all that it needs")).to_be_visible()

    ChatInstallation.objects.all().delete()
    page.goto(path)
    check_every_look(page)
    _picture(page, f"chat-{door}-new")
    add = page.get_by_role("link", name="Add the bot to your server")
    assert f"guild_id={chat.community.pk}" in (add.get_attribute("href") or "")


def test_roles_to_grant_say_why_not(
    windows: Any, chat: ChatCommunity, check_every_look: Callable[[Page], None]
) -> None:
    _fill(chat)
    staff = Staff("admin", community=chat.community)
    page = _open(windows, staff.client, reverse("admin:xp_rolegrant_changelist"))
    check_every_look(page)
    _picture(page, "roles")

    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("The role is asked for again.")).to_be_visible()
