"""The channels and roles that a project may name, also if the platform cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from communities.ground.errors import InvalidRequest, Unavailable
from communities.models import ChatInstallation
from communities.services.chat import guilds
from surveys.services.projects import opening, server_rules
from surveys.services.projects import service as projects

pytestmark = pytest.mark.django_db
QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}


def _look_to_open(chat: Any, project: Any) -> None:
    """Read the server, like views do before their transaction."""
    server_rules.look_to_open(
        community_id=chat.community.pk, project_id=project.pk, fields={}, at=timezone.now()
    )


def _grow_old() -> None:
    ChatInstallation.objects.update(snapshot_at=timezone.now() - timedelta(minutes=5))


def _change(chat: Any, project: Any, **fields: Any) -> None:
    server_rules.look(community_id=chat.community.pk, fields=fields, at=timezone.now())
    projects.update_project(actor=chat.actor, project_id=project.pk, fields=fields, at=timezone.now())


def test_a_role_that_is_new_on_the_platform_is_found_when_it_is_chosen(chat: Any) -> None:
    project = chat.create(QUESTION)
    role = chat.platform.world.add_role("New", position=3)
    _grow_old()

    _change(chat, project, rewards={"discord_role_id": role.id})

    project.refresh_from_db()
    assert project.rewards["discord_role_id"] == role.id


def test_while_the_platform_is_down_unknown_roles_are_accepted_in_changes(chat: Any) -> None:
    project = chat.create(QUESTION)
    chat.platform.is_down = True
    _grow_old()

    _change(chat, project, rewards={"discord_role_id": "123456789012345678"})

    project.refresh_from_db()
    assert project.rewards["discord_role_id"] == "123456789012345678"


def test_what_was_known_to_be_wrong_is_refused_also_then(chat: Any) -> None:
    role = chat.platform.world.add_role("Owner", position=90)
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    project = chat.create(QUESTION)
    chat.platform.is_down = True
    _grow_old()

    with pytest.raises(InvalidRequest, match="above the bot"):
        _change(chat, project, rewards={"discord_role_id": role.id})


def test_to_open_by_chat_the_platform_has_to_be_asked(chat: Any) -> None:
    project = chat.create(QUESTION)
    chat.platform.is_down = True
    _grow_old()
    _change(chat, project, rewards={"discord_role_id": "123456789012345678"})
    _look_to_open(chat, project)

    with pytest.raises(Unavailable) as refusal:
        opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    assert refusal.value.retry_after == 30

    chat.platform.is_down = False
    _look_to_open(chat, project)
    with pytest.raises(InvalidRequest, match="no role of this server"):
        opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())


def test_what_is_known_opens_while_the_platform_is_down(chat: Any) -> None:
    project = chat.create(QUESTION, rewards={"discord_role_id": chat.helper.id})
    chat.platform.is_down = True
    _grow_old()
    _look_to_open(chat, project)

    opened = opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())

    assert opened.is_live_at(timezone.now())


@pytest.mark.parametrize("role", ["Owner", "everyone", "unknown"])
def test_blocks_that_give_a_role_are_checked_on_opening(chat: Any, role: str) -> None:
    ids = {
        "Owner": chat.platform.world.add_role("Owner", position=90).id,
        "everyone": chat.platform.world.guild_id,
        "unknown": "123456789012345678",
    }
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    gift = {
        "type": "action_block",
        "name": "gift",
        "prompt": "For you.",
        "action_kind": "give_role",
        "action_config": {"role_id": ids[role]},
    }
    project = chat.create(QUESTION, gift)

    with pytest.raises(InvalidRequest) as refusal:
        opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())

    assert refusal.value.violations[0]["field"] == "script.blocks[1].action_config.role_id"


@pytest.mark.parametrize("path", ["audience.required_role_ids", "invitation.ping_role_ids"])
@pytest.mark.parametrize("is_connected", [True, False])
def test_the_role_of_everybody_neither_gates_nor_is_notified(
    chat: Any, path: str, is_connected: bool
) -> None:
    project = chat.create(QUESTION)
    if not is_connected:
        ChatInstallation.objects.all().delete()
    group, key = path.split(".")

    with pytest.raises(InvalidRequest, match="is the role @everyone") as refusal:
        _change(chat, project, delivery={group: {key: [chat.platform.world.guild_id]}})

    (violation,) = refusal.value.violations
    assert (violation["field"], violation["code"]) == (f"delivery.{path}[0]", "not_allowed")


def test_roles_to_notify_are_chosen_by_admins_alone(chat: Any) -> None:
    """Rule 6.44."""
    project = chat.create(QUESTION)
    creator = replace(chat.actor, role="creator")
    asked = {"delivery": {"invitation": {"ping_role_ids": [chat.helper.id]}}}
    at = timezone.now()
    writes: list[Callable[[], object]] = [
        lambda: projects.create_project(
            actor=creator, fields={"name": "N", "type": "convo", **asked}, script=None, at=at
        ),
        lambda: projects.update_project(actor=creator, project_id=project.pk, fields=asked, at=at),
        lambda: opening.open_project(actor=creator, project_id=project.pk, fields=asked, at=at),
    ]

    for write in writes:
        with pytest.raises(InvalidRequest) as refusal:
            write()
        (violation,) = refusal.value.violations
        assert (violation["field"], violation["code"]) == (
            "delivery.invitation.ping_role_ids",
            "not_allowed",
        )
    _change(chat, project, **asked)
    projects.update_project(actor=creator, project_id=project.pk, fields=asked, at=at)


def test_a_role_to_notify_must_be_one_of_the_server(chat: Any) -> None:
    project = chat.create(QUESTION)

    with pytest.raises(InvalidRequest, match="is no role of this community’s server"):
        _change(chat, project, delivery={"invitation": {"ping_role_ids": ["123456789012345678"]}})


def test_the_first_post_alone_notifies_and_only_roles_that_an_admin_listed(chat: Any) -> None:
    """Rule 6.44."""
    gated = chat.create(QUESTION)
    _change(chat, gated, delivery={"audience": {"required_role_ids": [chat.helper.id]}})
    chat.reopen(gated)
    assert (chat.message()["content"], chat.message()["allowed_mentions"]) == ("", {"parse": []})

    project = chat.open(QUESTION, invitation={"ping_role_ids": [chat.helper.id]})
    assert chat.message()["content"] == f"<@&{chat.helper.id}>"
    assert chat.message()["allowed_mentions"] == {"roles": [chat.helper.id]}
    other = chat.platform.world.add_channel("news")
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    _change(chat, project, delivery={"invitation": {"post_channel_id": other.id}})
    chat.work()
    assert chat.message(other)["allowed_mentions"] == {"parse": []}
