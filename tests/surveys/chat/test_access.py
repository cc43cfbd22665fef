"""Tasks that were refused while the bot was absent or had no access are done once it has access again."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from communities.models import ChatInstallation, ChatTask
from communities.services.chat import access, checking, installations, overview
from surveys.models import PublicMessage
from surveys.services.projects import opening, removal
from tests.support.chat.agent import labels_of
from tests.support.chat.world import MANAGE_ROLES, SEND, VIEW
from xp.models import RoleGrant

pytestmark = pytest.mark.django_db

QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}
POLL = {"type": "poll", "settings": {"poll_results_mode": "public"}}


def _statuses() -> set[str]:
    return set(ChatTask.objects.values_list("status", flat=True))


def _come_back(chat: Any) -> None:
    """The bot is added again: the server has a role and commands of it as if it were new."""
    chat.platform.world.has_bot = True
    chat.platform.world.commands = []


def _tell(chat: Any) -> None:
    """The platform reports that the bot was added, and the worker runs the due tasks."""
    body = {
        "type": 1,
        "event": {"type": "APPLICATION_AUTHORIZED", "data": {"guild": {"id": str(chat.community.pk)}}},
    }
    raw = json.dumps(body).encode()
    timestamp = str(int(timezone.now().timestamp()))
    signature = chat.platform.world.key.sign(timestamp.encode() + raw).signature.hex()
    response = Client().post(
        "/chat/events",
        raw,
        content_type="application/json",
        headers={"X-Signature-Ed25519": signature, "X-Signature-Timestamp": timestamp},
    )
    assert response.status_code == 204
    assert installations.check_due(at=timezone.now()) == 1
    chat.work()


def _everything_meets_a_refusal(chat: Any) -> tuple[Any, Any, Any]:
    """A poll that closes, one that opens, and a role that is earned, all without our knowing of the bot."""
    closes = chat.open(QUESTION, **POLL)
    gives = chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    opens, marit = chat.create(QUESTION), chat.agent()
    marit.press("Answer", message=chat.message())
    chat.platform.world.has_bot = False
    marit.press("x")
    chat.close(closes)
    opening.open_project(actor=chat.actor, project_id=opens.pk, at=timezone.now())
    chat.work()
    return closes, gives, marit


def test_all_is_done_within_a_minute_after_the_bot_was_added_again(chat: Any) -> None:
    closed, _, marit = _everything_meets_a_refusal(chat)
    posted = chat.channel.messages[PublicMessage.objects.get(pk=closed.pk).message_id]
    assert ChatTask.objects.filter(status="blocked").count() == 3
    assert RoleGrant.objects.get().state == "refused"
    asked = len(chat.platform.requests)
    for _ in range(5):
        chat.work()
    assert len(chat.platform.requests) == asked
    assert labels_of(posted) == ["x"]

    _come_back(chat)
    _tell(chat)

    assert labels_of(posted) == []
    assert len(chat.channel.messages) == 3
    assert marit.person.roles == [chat.helper.id]
    assert [grant.state for grant in RoleGrant.objects.all()] == ["granted"]
    assert [each["name"] for each in chat.platform.world.commands] == ["surveys", "me", "leaderboard"]
    assert _statuses() == {"delivered"}


def test_an_event_helps_also_if_nobody_had_noticed_that_the_bot_was_away(chat: Any) -> None:
    """Rule 12.14."""
    _come_back(chat)

    _tell(chat)

    assert [each["name"] for each in chat.platform.world.commands] == ["surveys", "me", "leaderboard"]


def test_what_a_project_needs_that_closes_while_the_bot_is_away_is_not_forgotten(chat: Any) -> None:
    poll = chat.open(QUESTION, type="poll", settings={"poll_results_mode": "public", "reveal_results": True})
    chat.agent().press("x", message=chat.message())
    removed = chat.open({**QUESTION, "prompt": "Gone?"})
    gone = PublicMessage.objects.get(pk=removed.pk).message_id
    chat.platform.world.has_bot = False
    installations.check_quietly(community_id=chat.community.pk, at=timezone.now())
    asked = len(chat.platform.requests)
    chat.close(poll)
    chat.close(removed)
    removal.delete_for_now(actor=chat.actor, project_id=removed.pk, at=timezone.now())
    removal.delete_overdue(at=timezone.now() + timedelta(minutes=11))
    ChatTask.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
    chat.work()
    assert chat.platform.sent("POST", "/messages")[2:] == []

    _come_back(chat)
    _tell(chat)

    assert len(chat.platform.requests) > asked
    assert gone not in chat.channel.messages
    assert chat.message()["embeds"][0]["title"] == "Results: Club evening"
    assert _statuses() == {"delivered"}


def test_a_channel_that_is_closed_to_the_bot_is_tried_rarely_and_done_once_it_is_open(chat: Any) -> None:
    deny = {"id": chat.platform.world.bot_role.id, "type": 0, "allow": "0", "deny": str(SEND | VIEW)}
    poll = chat.open(QUESTION, **POLL)
    chat.channel.overwrites.append(deny)
    chat.agent().press("x", message=chat.message())
    for _ in range(5):
        chat.work()
        installations.check_quietly(community_id=chat.community.pk, at=timezone.now())
    assert len(chat.platform.sent("PATCH", "/messages/")) == 1
    check_at = ChatInstallation.objects.get().check_at
    assert check_at is not None
    assert timezone.now() < check_at < timezone.now() + access.SHORTEST_WAIT

    chat.channel.overwrites.clear()
    ChatInstallation.objects.update(checked_at=timezone.now() - timedelta(hours=1))
    checking.check_by_hand(community_id=chat.community.pk, at=timezone.now())
    for _ in range(100):  # the checks may have used up what edits may take of this second
        ChatTask.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
        chat.work()
        if len(chat.platform.sent("PATCH", "/messages/")) > 1:
            break
        time.sleep(0.1)
    assert "1 vote" in json.dumps(chat.channel.messages[PublicMessage.objects.get(pk=poll.pk).message_id])


def test_a_role_above_the_bots_own_is_granted_once_the_bots_is_dragged_up(chat: Any) -> None:
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    chat.platform.world.bot_role.position = 5
    ChatInstallation.objects.update(snapshot_at=timezone.now() - timedelta(minutes=2))
    marit.press("x")
    chat.work()
    grant = RoleGrant.objects.get()
    assert (grant.state, "drag the bot’s role" in grant.refusal) == ("refused", True)

    chat.platform.world.bot_role.position = 50
    later = timezone.now() + access.SHORTEST_WAIT
    assert installations.check_due(at=later) == 1
    ChatTask.objects.filter(due_at__isnull=False).update(due_at=timezone.now())
    chat.work()
    assert marit.person.roles == [chat.helper.id]
    grant.refresh_from_db()
    assert (grant.state, grant.refusal) == ("granted", "")


def test_many_blocked_roles_cost_no_request_each_while_the_bot_lacks_the_permission(chat: Any) -> None:
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    people = [chat.agent(name) for name in ("Marit", "Ola", "Kari", "Per")]
    for person in people:
        person.press("Answer", message=chat.message())
    chat.platform.world.bot_role.permissions &= ~MANAGE_ROLES
    ChatInstallation.objects.update(snapshot_at=timezone.now() - timedelta(minutes=2))
    for person in people:
        person.press("x")
    asked = len(chat.platform.requests)

    chat.work()

    assert ChatTask.objects.filter(kind="xp.grant_role", status="blocked").count() == len(people)
    assert len(chat.platform.requests) - asked == 3  # the server, its channels and the bot, once


def test_admins_read_that_it_waits_for_access(chat: Any) -> None:
    _everything_meets_a_refusal(chat)

    failed = overview.failed(community_id=chat.community.pk)
    assert {work.state[0] for work in failed} == {"Waits for access"}
    assert overview.failures(community_id=chat.community.pk, since=timezone.now() - timedelta(days=1)) == 3
    assert all(work.may_be_tried_again for work in failed)
