"""The bot's presence in a community's server, and its permissions there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.utils import timezone

from communities.chat_platform.client import RateLimited, Unreachable
from communities.ground.audit_actions import Action
from communities.models import AuditEntry, ChatInstallation, Community
from communities.services.chat import guilds, installations
from communities.services.tenants.settings import get_settings
from config.celery import INTERVALS
from tests.factories import CommunityFactory
from tests.support.chat.world import MANAGE_ROLES, SEND, VIEW
from tests.support.mails import subjects

pytestmark = pytest.mark.django_db
Status = ChatInstallation.Status


def _check(chat: Any, **later: float) -> ChatInstallation:
    found = installations.check(community_id=chat.community.pk, at=timezone.now() + timedelta(**later))
    assert found is not None
    return found


def test_a_check_finds_the_bot_and_registers_its_commands_once(chat: Any) -> None:
    row = _check(chat)
    again = _check(chat)

    assert (row.status, row.problems) == (Status.CONNECTED, [])
    assert [each["name"] for each in chat.platform.world.commands] == ["surveys", "me", "leaderboard"]
    assert len(chat.platform.sent("PUT", "/commands$")) == 1
    assert row.commands == again.commands != ""
    assert installations.is_connected(community_id=chat.community.pk)
    assert Action.CHAT_CONNECTED in AuditEntry.objects.values_list("action", flat=True)


def test_without_a_leaderboard_there_is_no_command_for_it(chat: Any) -> None:
    stored = get_settings(community_id=chat.community.pk)
    stored.use_leader_board = False
    stored.save()

    _check(chat)

    assert [each["name"] for each in chat.platform.world.commands] == ["surveys", "me"]


def test_a_community_whose_server_has_no_bot_was_never_connected(platform: Any, db: Any) -> None:
    community: Community = CommunityFactory.create()

    assert installations.check(community_id=community.pk, at=timezone.now()) is None
    assert not installations.is_connected(community_id=community.pk)
    assert not AuditEntry.objects.exists()


def test_a_removed_bot_is_noticed_told_and_found_again(chat: Any) -> None:
    EmailAddress.objects.create(user=chat.admin.user, email="ada@example.org", verified=True, primary=True)
    chat.platform.world.has_bot = False

    row = _check(chat)
    _check(chat)

    assert (row.status, row.removed_at is None) == (Status.REMOVED, False)
    assert not installations.is_connected(community_id=chat.community.pk)
    assert guilds.stored(community_id=chat.community.pk) is None
    assert subjects("ada@example.org") == ["The bot is not in the server of Chess Club any more"]
    chat.platform.world.has_bot = True
    assert _check(chat).status == Status.CONNECTED
    actions = AuditEntry.objects.order_by("happened_at").values_list("action", flat=True)
    assert [each for each in actions if each.startswith("chat.")] == [
        Action.CHAT_CONNECTED,
        Action.CHAT_REMOVED,
        Action.CHAT_CONNECTED,
    ]


def test_what_the_bot_lacks_is_said_with_what_to_do(chat: Any) -> None:
    world = chat.platform.world
    world.bot_role.permissions &= ~MANAGE_ROLES
    world.roles[world.guild_id].permissions &= ~SEND
    world.bot_role.permissions &= ~SEND

    row = _check(chat)

    assert row.problems == ["manage_roles", "no_channel"]
    assert all(each.endswith(".") for each in installations.problems_in_words(row))


def test_a_bot_below_all_roles_can_give_none(chat: Any) -> None:
    chat.platform.world.bot_role.position = 1

    assert _check(chat).problems == ["lowest_role"]


def test_refused_commands_are_a_problem_and_tried_again(chat: Any) -> None:
    ChatInstallation.objects.update(commands="")
    chat.platform.scripted = [("PUT .*commands", (403, {"code": 50001, "message": "Missing Access"}, {}))]

    assert _check(chat).problems == ["commands"]
    assert _check(chat).problems == []


def test_each_connection_is_checked_about_every_hour(chat: Any) -> None:
    asked = len(chat.platform.requests)
    soon, later = timezone.now() + timedelta(minutes=50), timezone.now() + timedelta(minutes=61)

    assert installations.check_due(at=soon) == 0
    assert len(chat.platform.requests) == asked
    assert installations.check_due(at=later) == 1
    assert installations.check_due(at=later) == 0


def test_a_check_that_fails_is_made_again_soon(chat: Any) -> None:
    chat.platform.is_down = True
    at = timezone.now() + timedelta(hours=2)

    installations.check_due(at=at)

    row = ChatInstallation.objects.get()
    assert (row.status, row.check_at) == (Status.CONNECTED, at + timedelta(minutes=1))
    with pytest.raises(Unreachable):
        _check(chat)


def test_a_check_waits_as_long_as_the_platform_asks(chat: Any) -> None:
    chat.platform.scripted = [("GET /guilds", (429, {"retry_after": 300.0, "global": False}, {}))]
    at = timezone.now() + timedelta(hours=2)

    installations.check_due(at=at)

    assert ChatInstallation.objects.get().check_at == at + timedelta(minutes=5)
    chat.platform.scripted = [("GET /guilds", (429, {"retry_after": 1.0, "global": False}, {}))]
    with pytest.raises(RateLimited):
        _check(chat)


def test_servers_are_compared_with_communities_every_day(chat: Any) -> None:
    at = timezone.now()

    assert installations.reconcile(at=at) == 0
    chat.platform.world.has_bot = False
    assert installations.reconcile(at=at) == 1
    assert ChatInstallation.objects.get().check_at == at


def test_a_bot_that_was_added_without_our_knowing_is_found(chat: Any) -> None:
    ChatInstallation.objects.all().delete()

    assert installations.reconcile(at=timezone.now()) == 1


def test_the_address_to_add_the_bot_names_the_server_and_what_it_needs(chat: Any) -> None:
    address = urlsplit(installations.install_url(community_id=chat.community.pk))

    query = {name: value for name, [value] in parse_qs(address.query).items()}
    assert f"{address.scheme}://{address.netloc}{address.path}" == "https://discord.com/oauth2/authorize"
    assert (query["guild_id"], query["disable_guild_select"]) == (str(chat.community.pk), "true")
    assert query["scope"] == "bot applications.commands"
    assert int(query["permissions"]) & (VIEW | SEND | MANAGE_ROLES) == VIEW | SEND | MANAGE_ROLES


def test_without_an_application_nobody_is_connected(chat: Any, settings: Any) -> None:
    settings.CHAT = None

    assert not installations.is_configured()
    assert not installations.is_connected(community_id=chat.community.pk)
    assert installations.check_due(at=timezone.now() + timedelta(days=1)) == 0
    assert installations.reconcile(at=timezone.now()) == 0


def test_connections_that_are_due_are_checked_in_batches_the_longest_due_first(
    chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installations, "AT_ONCE", 3)
    at = timezone.now()
    ChatInstallation.objects.update(check_at=at + timedelta(days=1))
    made = [
        ChatInstallation.objects.create(
            community=CommunityFactory.create(), status="connected", check_at=at - timedelta(minutes=n)
        )
        for n in range(5)
    ]
    oldest_first = [str(row.pk) for row in reversed(made)]
    before = len(chat.platform.requests)

    counts = [installations.check_due(at=at) for _ in range(3)]

    asked = [path.removeprefix("/guilds/") for _, path, _ in chat.platform.requests[before:]]
    assert (counts, asked) == ([3, 2, 0], oldest_first)


def test_a_server_that_another_run_checks_is_left_to_it(chat: Any) -> None:
    at = timezone.now() + timedelta(hours=2)

    assert installations._claim_due(at) == chat.community.pk
    assert installations._claim_due(at) is None


def test_two_thousand_servers_are_checked_within_the_hour() -> None:
    runs = 3600 / INTERVALS[installations.CHECK]

    assert runs * installations.AT_ONCE >= 2 * 2000
