"""The pages about the connection with the chat platform: in the admin and in the account area."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.chat_platform import pacing
from communities.models import ChatInstallation, ChatTask, Community
from communities.services.chat import outbox
from tests.factories import CommunityFactory, CommunitySettingsFactory
from tests.support.accounts import Person
from tests.support.staff import Staff, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
PAGE = "communities_chatinstallation_change"


class Doors:
    """The same page in the admin and in the account area, for an admin of a community."""

    def __init__(self, community: Community, door: str) -> None:
        self.community, self.door = community, door
        self.staff = Staff("admin", community=community) if door == "admin" else None
        self.person = Person("admin", community) if door == "account" else None

    def page(self) -> str:
        if self.staff:
            return text_of(self.staff.get(PAGE, self.community.pk))
        assert self.person is not None
        return text_of(self.person.client.get(f"/account/chat/?community={self.community.pk}"))

    def check(self) -> str:
        if self.staff:
            name = "communities_chatinstallation_check"
            return text_of(self.staff.post(name, self.community.pk, follow=True))
        return self._post("/account/chat/check/")

    def again(self, task_id: int) -> str:
        if self.staff:
            name = "communities_chatinstallation_again"
            return text_of(self.staff.post(name, self.community.pk, task_id, follow=True))
        return self._post(f"/account/chat/again/{task_id}/")

    def _post(self, path: str) -> str:
        assert self.person is not None
        return text_of(self.person.client.post(path, {"community": self.community.pk}, follow=True))


@pytest.fixture
def door() -> str:
    """The admin, where a test does not say both: one service answers on both pages."""
    return "admin"


BOTH = pytest.mark.parametrize("door", ["admin", "account"])


def _later(chat: Any) -> None:
    ChatInstallation.objects.update(checked_at=timezone.now() - timedelta(hours=1))


@BOTH
def test_a_connected_community_reads_that_all_is_well(chat: Any, door: str) -> None:
    page = Doors(chat.community, door).page()

    assert "Connected" in page
    assert "/leaderboard" in page
    assert "Check again" in page
    assert "Add the bot to your server" not in page


def test_a_community_without_the_bot_finds_how_to_add_it(platform: Any, door: str) -> None:
    community = CommunityFactory.create()
    CommunitySettingsFactory.create(community=community)
    doors = Doors(community, door)

    assert "Not connected" in doors.page()
    assert "Add the bot to your server" in doors.page()
    assert "the bot is not in your server" in doors.check()
    assert not ChatInstallation.objects.exists()


@BOTH
def test_a_check_by_hand_connects(chat: Any, door: str) -> None:
    ChatInstallation.objects.all().delete()

    page = Doors(chat.community, door).check()

    assert "the bot is in your server and has all that it needs" in page
    assert ChatInstallation.objects.get().status == "connected"


def test_what_the_bot_lacks_stands_with_what_to_do(chat: Any, door: str) -> None:
    chat.platform.world.bot_role.permissions = 1 << 10
    _later(chat)

    page = Doors(chat.community, door).check()

    assert "lacks something" in page
    assert "Allow “Manage Roles” in the settings of the bot’s role." in page
    assert "Add the bot to your server" in page


def test_a_removed_bot_is_said(chat: Any, door: str) -> None:
    chat.platform.world.has_bot = False
    _later(chat)

    page = Doors(chat.community, door).check()

    assert "Removed" in page
    assert "The bot is not in your server any more." in page


def test_a_platform_that_is_down_changes_nothing(chat: Any, door: str) -> None:
    chat.platform.is_down = True
    _later(chat)

    page = Doors(chat.community, door).check()

    assert "could not be asked just now" in page
    assert ChatInstallation.objects.get().status == "connected"


def test_two_checks_in_a_row_ask_once(chat: Any, door: str) -> None:
    asked = len(chat.platform.requests)

    Doors(chat.community, door).check()

    assert len(chat.platform.requests) == asked


def test_failed_work_is_listed_with_the_reason_and_tried_again(chat: Any, door: str) -> None:
    task_id = outbox.put(community_id=chat.community.pk, kind="xp.grant_role", subject="0", at=timezone.now())
    outbox.put(
        community_id=chat.community.pk, kind="surveys.send_public_message", subject="0", at=timezone.now()
    )
    ChatTask.objects.filter(pk=task_id).update(status="abandoned", due_at=None, error="The role is gone.")
    doors = Doors(chat.community, door)

    page = doors.page()
    assert "Role that somebody earned" in page
    assert "The role is gone." in page
    assert "Message of a project" in page
    assert page.count("Try again") in (1, 2, 3)  # the button, and the heading of its column
    assert "It is tried again now." in doors.again(task_id)
    assert ChatTask.objects.get(pk=task_id).status == "pending"


@BOTH
def test_work_of_other_communities_is_absent(chat: Any, door: str) -> None:
    other = CommunityFactory.create()
    task_id = outbox.put(community_id=other.pk, kind="xp.grant_role", subject="0", at=timezone.now())
    ChatTask.objects.update(status="abandoned", due_at=None, error="A secret of others.")
    doors = Doors(chat.community, door)

    assert "A secret of others." not in doors.page()
    assert ("We cannot find this page." if door == "admin" else "There is no such task.") in doors.again(
        task_id
    )
    assert ChatTask.objects.get().status == "abandoned"


def test_an_installation_without_an_application_says_so(door: str, db: Any) -> None:
    community = CommunityFactory.create()
    CommunitySettingsFactory.create(community=community)

    page = Doors(community, door).page()

    assert "This installation has no application on Discord yet." in page
    assert "Check again" not in page


@pytest.mark.parametrize("access", ["member", "creator"])
def test_in_the_account_area_others_read_who_can(chat: Any, access: str) -> None:
    person = Person(access, chat.community)

    page = person.client.get(f"/account/chat/?community={chat.community.pk}")
    check = person.client.post("/account/chat/check/", {"community": chat.community.pk})

    assert "Ada" in text_of(page)
    assert (page.status_code, check.status_code) == (200, 403)


def test_the_section_is_offered_where_there_is_a_platform(chat: Any, settings: Any) -> None:
    person = Person("admin", chat.community)
    assert "/account/chat/" in person.client.get("/account/keys/").content.decode()

    settings.CHAT = None
    assert "/account/chat/" not in person.client.get("/account/keys/").content.decode()


def test_the_home_page_asks_to_look(chat: Any) -> None:
    staff = Staff("admin", community=chat.community)
    assert "The bot" not in text_of(staff.get("index"))

    ChatInstallation.objects.update(problems=["no_channel"])
    outbox.put(community_id=chat.community.pk, kind="xp.grant_role", subject="0", at=timezone.now())
    ChatTask.objects.update(status="abandoned", due_at=None, last_attempt_at=timezone.now())
    page = text_of(staff.get("index"))
    assert "The bot lacks something in your server on Discord." in page
    assert "1 thing could not be done on Discord this week, or not yet." in page
    ChatTask.objects.update(status="failed", due_at=timezone.now())
    assert "1 thing could not be done on Discord this week, or not yet." in text_of(staff.get("index"))

    ChatInstallation.objects.update(status="removed")
    assert "The bot was removed from your server on Discord." in text_of(staff.get("index"))


def test_a_check_by_hand_does_not_open_the_circuit(chat: Any, door: str) -> None:
    pacing.open_circuit()
    _later(chat)

    assert "refused the bot’s token" in Doors(chat.community, door).check()
