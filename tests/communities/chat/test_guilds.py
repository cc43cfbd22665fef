"""Which roles and channels of a server a community may use."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from communities.chat_platform import permissions
from communities.models import ChatInstallation
from communities.services.chat import guilds
from tests.support.chat.world import (
    ADMINISTRATOR,
    FORUM,
    MANAGE_ROLES,
    MANAGE_THREADS,
    SEND,
    THREADS,
    VIEW,
    VOICE,
    Channel,
)

pytestmark = pytest.mark.django_db


def _guild(chat: Any) -> guilds.Guild:
    return guilds.refresh(community_id=chat.community.pk, at=timezone.now())


def test_a_harmless_role_below_the_bots_can_be_given(chat: Any) -> None:
    assert _guild(chat).grant_fault(chat.helper.id) == ""


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"position": 50}, "is above the bot’s own highest role"),
        ({"position": 51}, "is above the bot’s own highest role"),
        ({"managed": True}, "belongs to an integration"),
        ({"permissions": ADMINISTRATOR}, "would let people administrate the server"),
        ({"permissions": 1 << 2}, "would let people ban members"),
        ({"permissions": 1 << 17}, "would let people mention everyone"),
        ({"permissions": 1 << 40}, "would let people time members out"),
    ],
)
def test_other_roles_cannot_and_the_reason_is_told(chat: Any, fields: Any, words: str) -> None:
    role = chat.platform.world.add_role("Other", **{"position": 5, **fields})

    assert _guild(chat).grant_fault(role.id).startswith(words)


def test_everyone_and_unknown_roles_are_no_roles_to_give(chat: Any) -> None:
    guild = _guild(chat)

    for role_id in (chat.platform.world.guild_id, "123", ""):
        assert guild.grant_fault(role_id).startswith("is no role of this server")


def test_a_bot_without_the_permission_gives_no_role(chat: Any) -> None:
    chat.platform.world.bot_role.permissions &= ~MANAGE_ROLES

    assert "Manage Roles" in _guild(chat).grant_fault(chat.helper.id)


def test_a_channel_of_this_server_in_which_the_bot_may_write_takes_posts(chat: Any) -> None:
    assert _guild(chat).post_fault(chat.channel.id) == ""


def test_channels_of_others_and_without_text_take_none(chat: Any) -> None:
    world = chat.platform.world
    foreign = world.add_channel("elsewhere", guild_id="200000000000000002")
    voice = world.add_channel("voice", type=VOICE)
    guild = _guild(chat)

    assert guild.post_fault(foreign.id).startswith("is no channel of this server")
    assert guild.post_fault(voice.id) == "is no text channel"


def test_overwrites_of_a_channel_decide(chat: Any) -> None:
    world = chat.platform.world
    everyone, bots = world.guild_id, world.bot_role.id

    def post_fault(*overwrites: tuple[str, int, int]) -> str:
        rows = [{"id": target, "allow": str(a), "deny": str(d), "type": 0} for target, a, d in overwrites]
        channel: Channel = world.add_channel("quiet", overwrites=rows)
        return _guild(chat).post_fault(channel.id)

    assert "Send Messages" in post_fault((everyone, 0, SEND))
    assert post_fault((everyone, 0, SEND | VIEW), (bots, SEND | VIEW, 0)) == ""
    assert "Send Messages" in post_fault((bots, SEND, 0), (world.bot.id, 0, SEND))


def _look_up(chat: Any, channel_id: str) -> guilds.Channel | None:
    return guilds.look_up(community_id=chat.community.pk, channel_id=channel_id, at=timezone.now())


def test_threads_are_found_one_by_one_and_only_of_this_server(chat: Any) -> None:
    world = chat.platform.world
    thread = world.add_thread("a thread", parent=chat.channel)
    foreign = world.add_channel("elsewhere", guild_id="200000000000000002")

    assert _look_up(chat, thread.id) is not None
    assert _look_up(chat, foreign.id) is None
    assert _look_up(chat, "1") is None
    guild = _guild(chat)
    assert guild.post_fault(thread.id) == ""
    assert guild.no_channels == {foreign.id, "1"}


@pytest.mark.parametrize("kind", [10, 11, 12])
@pytest.mark.parametrize(
    ("fields", "denied", "granted", "words"),
    [
        ({}, 0, 0, ""),
        ({}, SEND, 0, ""),  # to write in threads is a permission of its own
        ({}, THREADS, 0, "lacks Send Messages in Threads"),
        ({"is_archived": True}, 0, 0, ""),
        ({"is_locked": True}, 0, 0, "is a locked thread"),
        ({"is_locked": True}, 0, MANAGE_THREADS, ""),
    ],
)
def test_the_channel_of_a_thread_decides_who_may_write_there(
    chat: Any, kind: int, fields: Any, denied: int, granted: int, words: str
) -> None:
    world = chat.platform.world
    rows = [{"id": world.bot_role.id, "type": 0, "allow": str(granted), "deny": str(denied)}]
    forum = world.add_channel("ideas", type=FORUM, overwrites=rows)
    thread = world.add_thread("An idea", parent=forum, type=kind, **fields)
    _look_up(chat, thread.id)

    fault = _guild(chat).post_fault(thread.id)

    assert words in fault
    assert bool(fault) == bool(words)


def test_a_forum_takes_no_messages_but_its_posts_do(chat: Any) -> None:
    forum = chat.platform.world.add_channel("ideas", type=FORUM)

    assert _guild(chat).post_fault(forum.id).startswith("is a forum: write a post there")


def test_a_thread_whose_channel_is_hidden_from_the_bot_takes_none(chat: Any) -> None:
    world = chat.platform.world
    parent = world.add_channel("gone")
    thread = world.add_thread("a thread", parent=parent)
    _look_up(chat, thread.id)
    del world.channels[parent.id]

    assert _guild(chat).post_fault(thread.id) == "is a thread of a channel that the bot cannot see"


def test_what_was_looked_up_is_kept_up_to_a_limit(chat: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guilds, "MOST_LOOKED_UP", 2)
    threads = [chat.platform.world.add_thread(name, parent=chat.channel) for name in "abc"]

    for thread in threads:
        _look_up(chat, thread.id)

    assert set(ChatInstallation.objects.get().looked_up) == {each.id for each in threads[1:]}


def test_an_administrator_may_do_everything() -> None:
    allowed = permissions.of_member(
        guild_id="1", roles={"1": 0, "2": ADMINISTRATOR}, role_ids=["2"], overwrites=[], member_id="9"
    )

    assert allowed == permissions.EVERYTHING


def test_the_bot_is_invited_with_what_it_needs_and_nothing_else() -> None:
    assert permissions.WANTED == 275146689536 | permissions.ATTACH_FILES
