"""Posts in threads and forum posts, and requests about ids that the server did not list."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from django import forms
from django.utils import timezone

from communities.ground.errors import InvalidRequest, Unavailable
from communities.models import ChatInstallation, ChatTask
from communities.services.chat import guilds
from communities.staff.chat_choices import offer_channel
from surveys.models import PublicMessage
from surveys.services.projects import opening, removal, server_rules
from surveys.services.projects import service as projects
from tests.support.chat.agent import labels_of, text_of
from tests.support.chat.world import FORUM

pytestmark = pytest.mark.django_db

QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}
POLL = {"type": "poll", "settings": {"poll_results_mode": "public"}}
CHANNEL = "delivery.invitation.post_channel_id"


def _name(chat: Any, project: Any, **fields: Any) -> None:
    """Change a project as views do."""
    server_rules.look(community_id=chat.community.pk, fields=fields, at=timezone.now())
    projects.update_project(actor=chat.actor, project_id=project.pk, fields=fields, at=timezone.now())


def _in(channel_id: str) -> dict[str, Any]:
    return {"delivery": {"invitation": {"post_channel_id": channel_id}}}


@pytest.mark.parametrize("kind", [10, 11, 12, FORUM])
def test_an_invitation_is_posted_in_a_thread_or_a_post_of_a_forum(chat: Any, kind: int) -> None:
    world = chat.platform.world
    parent = world.add_channel("ideas", type=FORUM) if kind == FORUM else chat.channel
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    thread = world.add_thread("An idea", parent=parent, type=11 if kind == FORUM else kind)

    chat.open(QUESTION, invitation={"post_channel_id": thread.id})

    assert labels_of(chat.message(thread)) == ["Answer"]


def test_a_message_in_an_archived_thread_is_changed_and_closed_and_its_project_deleted(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel)
    poll = chat.open(QUESTION, invitation={"post_channel_id": thread.id}, **POLL)
    for has_voted in (True, False):
        thread.is_archived = True
        if has_voted:
            chat.agent().press("x", message=chat.message(thread))
            chat.work()
            assert "1 vote" in text_of(chat.message(thread))
        else:
            chat.close(poll)
            assert labels_of(chat.message(thread)) == []

    thread.is_archived = True
    removal.delete_project(actor=chat.actor, project_id=poll.pk, at=timezone.now())
    chat.work()
    assert thread.messages == {}


def test_an_archived_thread_is_opened_by_a_new_message(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel, is_archived=True)

    chat.open(QUESTION, invitation={"post_channel_id": thread.id})

    assert (len(thread.messages), thread.is_archived) == (1, False)
    assert chat.platform.sent("PATCH", r"^/channels/\d+$") == []


def test_a_locked_thread_is_refused_with_the_reason(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel, is_locked=True)

    with pytest.raises(InvalidRequest, match="is a locked thread: unlock it") as refusal:
        chat.open(QUESTION, invitation={"post_channel_id": thread.id})

    assert refusal.value.violations[0]["field"] == CHANNEL


def test_a_thread_that_was_locked_later_waits_until_it_is_unlocked(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel)
    project = chat.create(QUESTION, invitation={"post_channel_id": thread.id})
    server_rules.look_to_open(
        community_id=chat.community.pk, project_id=project.pk, fields={}, at=timezone.now()
    )
    thread.is_locked = True
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()
    task = ChatTask.objects.get()
    assert (task.status, task.error) == (
        "blocked",
        "The channel is a locked thread: unlock it, or let the bot manage threads.",
    )


def test_a_thread_that_was_deleted_takes_no_message(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel)
    project = chat.open(QUESTION, invitation={"post_channel_id": thread.id})
    del chat.platform.world.channels[thread.id]
    chat.close(project)

    assert PublicMessage.objects.get().is_deleted


def test_a_thread_is_asked_for_once_whatever_is_changed(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel)
    project = chat.create(QUESTION)

    for message in ("One", "Two", "Three"):
        fields = _in(thread.id)
        fields["delivery"]["invitation"]["message"] = message
        _name(chat, project, **fields)

    assert len(chat.platform.sent("GET", f"^/channels/{thread.id}$")) == 1
    project.refresh_from_db()
    assert project.delivery["invitation"]["post_channel_id"] == thread.id


def test_a_role_and_a_channel_that_are_newer_than_the_last_look_are_found(chat: Any) -> None:
    project = chat.create(QUESTION)
    world = chat.platform.world
    role, channel = world.add_role("New", position=3), world.add_channel("new")

    _name(chat, project, rewards={"discord_role_id": role.id}, **_in(channel.id))

    project.refresh_from_db()
    assert project.rewards["discord_role_id"] == role.id
    assert project.delivery["invitation"]["post_channel_id"] == channel.id


def test_unknown_ids_are_refused_after_one_question_each(chat: Any) -> None:
    project = chat.create(QUESTION)
    asked = len(chat.platform.requests)

    for _ in range(3):
        with pytest.raises(InvalidRequest, match="is no channel of this server"):
            _name(chat, project, **_in("123456789012345678"))
    assert len(chat.platform.requests) - asked == 1


def test_random_ids_cause_few_requests(chat: Any) -> None:
    project, draw = chat.create(QUESTION), random.Random(7)
    asked = len(chat.platform.requests)

    for _ in range(60):
        rewards = {"discord_role_id": str(draw.randrange(10**17, 10**18))}
        with pytest.raises(InvalidRequest, match="no role of this server"):
            _name(chat, project, rewards=rewards, **_in(str(draw.randrange(10**17, 10**18))))

    assert len(chat.platform.requests) - asked <= guilds.LOOK_UPS * 3
    assert len(ChatInstallation.objects.get().looked_up) <= guilds.LOOK_UPS


def test_a_thread_is_not_called_unknown_while_the_platform_cannot_be_asked(chat: Any) -> None:
    thread = chat.platform.world.add_thread("a thread", parent=chat.channel)
    project = chat.create(QUESTION)
    chat.platform.is_down = True

    _name(chat, project, **_in(thread.id))
    with pytest.raises(Unavailable):
        chat.reopen(project)

    chat.platform.is_down = False
    chat.reopen(project)
    assert len(thread.messages) == 1


def test_what_was_no_channel_is_asked_for_again_after_a_while(chat: Any) -> None:
    project = chat.create(QUESTION)
    thread = chat.platform.world.channels.pop(
        chat.platform.world.add_thread("a thread", parent=chat.channel).id
    )
    with pytest.raises(InvalidRequest):
        _name(chat, project, **_in(thread.id))
    chat.platform.world.channels[thread.id] = thread
    at = timezone.now() + guilds.LOOKED_UP_AGAIN + timedelta(seconds=1)

    server_rules.look(community_id=chat.community.pk, fields=_in(thread.id), at=at)

    projects.update_project(actor=chat.actor, project_id=project.pk, fields=_in(thread.id), at=at)


@pytest.mark.parametrize(
    "fields",
    [
        {"delivery": "x"},
        {"delivery": {"invitation": []}},
        {"delivery": {"invitation": {"post_channel_id": {}}, "audience": {"required_role_ids": 7}}},
        {"rewards": {"discord_role_id": ["../../users"]}},
        {"delivery": {"invitation": {"post_channel_id": "../users/@me"}}},
    ],
)
def test_fields_of_any_shape_are_looked_at(chat: Any, fields: dict[str, Any]) -> None:
    asked = len(chat.platform.requests)

    server_rules.look(community_id=chat.community.pk, fields=fields, at=timezone.now())

    assert len(chat.platform.requests) == asked


def _form(chat: Any, channel_id: str) -> forms.Form:
    """A form with the menu of channels, as the Delivery page has it."""

    class Delivery(forms.Form):
        post_channel_id = forms.CharField(required=False)

    form = Delivery(initial={"post_channel_id": channel_id})
    guild = guilds.stored(community_id=chat.community.pk)
    offer_channel(form, "post_channel_id", guild, nothing="None yet")
    return form


def test_staff_see_the_thread_that_was_chosen_by_its_name(chat: Any) -> None:
    thread = chat.platform.world.add_thread("An idea", parent=chat.channel, is_locked=True)
    guilds.look_up(community_id=chat.community.pk, channel_id=thread.id, at=timezone.now())

    drawn = str(_form(chat, thread.id))

    assert "#surveys › An idea: is a locked thread" in drawn
    assert 'name="post_channel_id_thread"' in drawn


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("", "7"),
        ("https://discord.com/channels/100000000000000001/123456789012345678", "123456789012345678"),
        ("https://discord.com/channels/1/123456789012345678/99", "123456789012345678"),
        (" 123456789012345678 ", "123456789012345678"),
        ("an idea", "an idea"),
    ],
)
def test_a_thread_is_chosen_by_its_link(chat: Any, pasted: str, expected: str) -> None:
    widget = _form(chat, "").fields["post_channel_id"].widget
    data = {"post_channel_id": "7", "post_channel_id_thread": pasted}

    assert widget.value_from_datadict(data, {}, "post_channel_id") == expected
