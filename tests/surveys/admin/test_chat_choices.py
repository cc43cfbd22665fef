"""Roles and channels of the chat platform are chosen by name on the tabs of a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from communities.models import Member
from communities.services.chat import guilds
from config.environment import chat_of
from surveys.models import Project, PublicMessage
from surveys.services.projects import service as projects
from tests.support.chat.community import ChatCommunity
from tests.support.chat.server import Platform
from tests.support.chat.world import ADMINISTRATOR, VOICE
from tests.support.staff import Staff, text_of

pytestmark = pytest.mark.django_db
QUESTION = {"type": "single_punch", "prompt": "Tea?", "options": [{"value": "Yes"}]}


@pytest.fixture
def chat(settings: Any, redis: Any, db: None) -> Iterator[ChatCommunity]:
    with Platform(per_channel=1000) as platform:
        settings.CHAT = chat_of(platform.environment())
        platform.world.add_role("Moderator", position=20, permissions=ADMINISTRATOR)
        platform.world.add_channel("voices", type=VOICE)
        yield ChatCommunity(platform)


@pytest.fixture
def staff(chat: ChatCommunity) -> Staff:
    return Staff("admin", community=chat.community)


def _tab(staff: Staff, project: Project, name: str) -> str:
    path = f"/admin/surveys/project/{project.pk}/{name}/"
    return str(staff.client.get(path).content.decode())


def _save(staff: Staff, project: Project, tab: str, **values: Any) -> Any:
    """Send the tab's form with some values changed, as a browser would."""
    path = f"/admin/surveys/project/{project.pk}/{tab}/"
    page = staff.client.get(path)
    form = page.context["form"]
    data: dict[str, Any] = {}
    for bound in form:
        data[bound.html_initial_name] = bound.initial if bound.initial is not None else ""
        data[bound.html_name] = bound.initial if bound.initial is not None else ""
    data = {name: value for name, value in data.items() if value not in (False, [])}
    return staff.client.post(path, {**data, **values})


def test_the_channel_and_roles_have_names(chat: ChatCommunity, staff: Staff) -> None:
    page = _tab(staff, chat.create(QUESTION), "delivery")

    assert f'<option value="{chat.channel.id}" selected>#surveys</option>' in page
    assert "voices" not in page
    for name in ("Helper", "Moderator", "Colloquy"):
        assert name in page
    assert "A message is posted to a channel of the community’s server, and people answer there." in page


def test_what_is_chosen_is_saved(chat: ChatCommunity, staff: Staff) -> None:
    project = chat.create(QUESTION)

    assert _save(staff, project, "rewards", discord_role_id=chat.helper.id).status_code == 302
    assert _save(staff, project, "delivery", required_role_ids=[chat.helper.id]).status_code == 302

    project.refresh_from_db()
    assert (project.rewards or {})["discord_role_id"] == chat.helper.id
    assert (project.delivery or {})["audience"]["required_role_ids"] == [chat.helper.id]
    assert (project.delivery or {})["invitation"]["post_channel_id"] == chat.channel.id


def test_a_post_that_was_deleted_is_posted_again_from_the_page(chat: ChatCommunity, staff: Staff) -> None:
    project = chat.open(QUESTION)
    assert "Post again" not in _tab(staff, project, "share")
    PublicMessage.objects.update(is_deleted=True, message_id="", posted_at=None)

    page = _tab(staff, project, "share")
    assert "The post was deleted in the chat" in page
    answer = staff.client.post(f"/admin/surveys/project/{project.pk}/share/post-again/")

    assert answer.status_code == 302
    chat.work()
    assert len(chat.channel.messages) == 2
    assert "Post again" not in _tab(staff, project, "share")


def test_admins_choose_whom_a_post_notifies(chat: ChatCommunity, staff: Staff) -> None:
    project = chat.create(QUESTION)

    assert _save(staff, project, "delivery", ping_role_ids=[chat.helper.id]).status_code == 302

    project.refresh_from_db()
    assert (project.delivery or {})["invitation"]["ping_role_ids"] == [chat.helper.id]
    Member.objects.filter(user_id=staff.user.pk).update(access=Member.Access.CREATOR)
    Project.objects.update(author_id=staff.user.pk)
    assert "Roles to notify" not in _tab(staff, project, "delivery")


def test_a_role_that_is_chosen_and_gone_stays_and_says_so(chat: ChatCommunity, staff: Staff) -> None:
    project = chat.create(QUESTION, rewards={"discord_role_id": chat.helper.id})
    rewards = {**(project.rewards or {}), "discord_role_id": "123456789012345678"}
    audience = {**(project.delivery or {})["audience"], "required_role_ids": ["987654321098765432"]}
    delivery = {**(project.delivery or {}), "audience": audience}
    Project.objects.filter(pk=project.pk).update(rewards=rewards, delivery=delivery)

    assert "123456789012345678, which is not in your server" in _tab(staff, project, "rewards")
    assert "987654321098765432, which is no role of your server any more" in _tab(staff, project, "delivery")
    assert _save(staff, project, "delivery", message="Hello").status_code == 302


def test_a_forged_choice_is_refused_at_its_field(chat: ChatCommunity, staff: Staff) -> None:
    project = chat.create(QUESTION)
    moderator = next(role for role in chat.platform.world.roles.values() if role.name == "Moderator")

    answer = _save(staff, project, "rewards", discord_role_id=moderator.id)

    assert "would let people administrate the server" in text_of(answer)
    project.refresh_from_db()
    assert not (project.rewards or {}).get("discord_role_id")


def test_without_a_server_the_fields_take_ids(chat: ChatCommunity, staff: Staff, settings: Any) -> None:
    project = chat.create(QUESTION)
    settings.CHAT = None

    assert "The ids of roles on Discord, one a line" in _tab(staff, project, "delivery")
    assert "The id of a role of the chat." in _tab(staff, project, "rewards")
    assert "once this installation has an application on Discord" in _tab(staff, project, "delivery")


def test_the_channel_is_chosen_where_it_is_opened(chat: ChatCommunity, staff: Staff) -> None:
    project = chat.create(QUESTION, invitation={"post_channel_id": None})
    page = staff.client.get(f"/admin/surveys/project/{project.pk}/open/")
    assert page.context["is_possible"]

    refused = _save(staff, project, "open")
    assert "Channel of the invitation is required if" in text_of(refused)
    opened = _save(staff, project, "open", post_channel_id=chat.channel.id)

    assert opened.status_code == 302
    share = staff.client.get(opened["Location"]).content.decode()
    assert "It is posted to the chat in a moment." in share
    assert "<strong>#surveys</strong>, and people answer there." in share
    assert "Members of the community\n" not in share
    assert "Members sign in to answer" not in share
    project.refresh_from_db()
    assert project.is_live_at(timezone.now())


def test_what_keeps_it_from_opening_leads_to_the_tab_where_it_can_be_mended(
    chat: ChatCommunity, staff: Staff
) -> None:
    project = chat.create(QUESTION, rewards={"discord_role_id": chat.helper.id})
    del chat.platform.world.roles[chat.helper.id]
    chat.platform.world.channels.pop(chat.channel.id)
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())

    page = staff.client.get(f"/admin/surveys/project/{project.pk}/open/")

    [hindrance] = page.context["hindrances"]
    assert hindrance.text == "This role is no role of this server that people can be given."
    assert (hindrance.link, hindrance.address) == (
        "Rewards",
        f"/admin/surveys/project/{project.pk}/rewards/",
    )


def test_a_script_that_does_not_fit_the_chat_is_named_with_the_way_there(
    chat: ChatCommunity, staff: Staff
) -> None:
    long = {**QUESTION, "options": [{"value": f"Evening {n}"} for n in range(30)]}
    fields = {"name": "Club evening", "type": "convo"}
    project = projects.create_project(
        actor=chat.actor, fields=fields, script={"blocks": [long]}, at=timezone.now()
    ).project

    page = _save(staff, project, "delivery", response_channel="chat")

    told = text_of(page)
    assert "Block 1 of the script: The list of options must hold at most 25" in told
    assert f'href="/admin/surveys/project/{project.pk}/script/"' in page.content.decode()


def test_further_questions_that_privacy_forbids_are_called_as_in_the_editor(
    chat: ChatCommunity, staff: Staff
) -> None:
    written = {"name": "why", "type": "open_text", "prompt": "Why?", "follow_ups": 1}
    project = projects.create_project(
        actor=chat.actor,
        fields={"name": "Club evening", "type": "convo", "privacy_mode": "transparent"},
        script={"blocks": [written]},
        at=timezone.now(),
    ).project

    told = text_of(_save(staff, project, "delivery", privacy_mode="anonymous"))

    assert "Block 1 of the script: “Further questions” is not allowed on an anonymous project" in told
