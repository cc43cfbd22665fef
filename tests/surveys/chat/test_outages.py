"""While the platform is down, slow, or without our bot, nothing is lost and nothing is done twice."""

import json
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from communities.chat_platform import client
from communities.ground.errors import Conflict
from communities.models import AuditEntry, ChatInstallation, ChatTask, Member
from communities.services.chat import guilds, installations, outbox
from communities.services.people import platform_members
from surveys.chat import moves
from surveys.models import Project
from surveys.services import public_messages
from surveys.services.projects import opening, removal, schedule
from surveys.services.projects import service as projects
from surveys.services.scripts import editing
from tests.factories import IdentityFactory
from tests.support.chat.agent import labels_of, text_of
from tests.support.chat.server import Answer
from tests.support.moments import NOON
from xp.models import RoleGrant

pytestmark = [pytest.mark.long, pytest.mark.django_db]

QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}
LIMITED = (429, {"message": "Wait.", "retry_after": 0.3, "global": False}, {"Retry-After": "1", "Via": "1.1"})


def task(kind="surveys.send_public_message"):
    return ChatTask.objects.get(kind=kind)


def test_an_invitation_is_posted_once_the_platform_is_back(chat):
    chat.platform.is_down = True
    chat.open(QUESTION)
    assert (task().status, task().error) == ("failed", "The chat platform cannot be reached.")

    chat.platform.is_down = False
    chat.work()
    assert labels_of(chat.message()) == ["Answer"]
    assert task().status == "delivered"


def test_a_task_whose_worker_died_is_taken_up_when_its_lease_ends(chat):
    chat.platform.is_down = True
    chat.open(QUESTION)
    chat.platform.is_down = False
    now = timezone.now()
    outbox._claim(ChatTask.objects.all(), now)

    chat.work()
    assert chat.channel.messages == {}
    ChatTask.objects.update(due_at=now)
    chat.work()
    assert len(chat.channel.messages) == 1


def test_a_rate_limit_is_obeyed_and_does_not_count_as_a_failure(chat):
    chat.platform.scripted.append(("POST /channels", LIMITED))
    chat.open(QUESTION)
    waiting = task()
    assert (waiting.status, waiting.attempt_count) == ("pending", 0)
    assert waiting.due_at > waiting.last_attempt_at + timedelta(seconds=0.25)

    before = len(chat.platform.requests)
    with pytest.raises(client.RateLimited):
        client.request("POST", f"/channels/{chat.channel.id}/messages", json={"content": "x"})
    assert len(chat.platform.requests) == before


def test_a_wrong_token_stops_all_requests_of_the_bot(chat):
    chat.platform.scripted.append(("GET /guilds", (401, {"code": 0, "message": "401: Unauthorized"}, {})))
    with pytest.raises(client.Unauthorized):
        client.request("GET", f"/guilds/{chat.community.pk}")

    before = len(chat.platform.requests)
    with pytest.raises(client.Unreachable):
        client.request("GET", f"/channels/{chat.channel.id}")
    assert len(chat.platform.requests) == before


def test_what_the_bot_may_not_do_waits_with_the_reason_and_is_tried_again_by_hand(chat):
    chat.platform.is_down = True
    chat.open(QUESTION)
    chat.platform.is_down = False
    deny = {"id": chat.platform.world.guild_id, "type": 0, "allow": "0", "deny": str(1 << 11)}
    chat.channel.overwrites.append(deny)
    chat.platform.world.bot_role.permissions &= ~(1 << 11)
    ChatInstallation.objects.update(snapshot_at=timezone.now() - timedelta(hours=1))
    chat.work()
    assert (task().status, "Send Messages" in task().error) == ("blocked", True)

    chat.channel.overwrites.clear()
    chat.platform.world.bot_role.permissions |= 1 << 11
    ChatInstallation.objects.update(snapshot_at=timezone.now() - guilds.AGAIN * 2)
    outbox.try_again(actor=chat.actor, task_id=task().pk, at=timezone.now())
    chat.work()
    assert labels_of(chat.message()) == ["Answer"]


def test_a_bot_that_was_removed_is_noticed_and_told(chat):
    chat.platform.world.has_bot = False
    installations.check_quietly(community_id=chat.community.pk, at=timezone.now())

    assert not installations.is_connected(community_id=chat.community.pk)
    assert AuditEntry.objects.filter(action="chat.removed").count() == 1
    with pytest.raises(Conflict, match="not connected with the chat platform"):
        chat.open(QUESTION)

    chat.platform.world.has_bot = True
    installations.check_quietly(community_id=chat.community.pk, at=timezone.now())
    chat.open(QUESTION)
    assert labels_of(chat.message()) == ["Answer"]


def test_without_a_platform_a_chat_project_cannot_open(chat, settings):
    made = chat.create(QUESTION)
    settings.CHAT = None
    with pytest.raises(Conflict, match="No chat platform is connected"):
        opening.open_project(actor=chat.actor, project_id=made.pk, at=timezone.now())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda world: setattr(world.bot_role, "permissions", 1 << 10), "manage_roles"),
        (lambda world: setattr(world.bot_role, "position", 0), "lowest_role"),
        (lambda world: world.channels.clear(), "no_channel"),
    ],
)
def test_what_the_bot_lacks_is_said(chat, change, problem):
    change(chat.platform.world)
    row = installations.check(community_id=chat.community.pk, at=timezone.now())

    assert row is not None
    assert problem in row.problems
    assert set(row.problems) <= set(installations.PROBLEMS)


def test_the_bot_is_added_by_a_link_and_connects_by_an_event(chat):
    url = installations.install_url(community_id=chat.community.pk)
    assert f"guild_id={chat.community.pk}" in url
    assert "scope=bot+applications.commands" in url


def test_a_member_who_left_the_server_gets_no_role(chat):
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("x")
    del chat.platform.world.people[marit.person.id]

    chat.work()
    assert RoleGrant.objects.get().state == "skipped"


def test_a_timed_text_goes_on_by_itself_or_by_its_button(chat):
    pause = {"after": "pause", "pause": 2}
    chat.open({"type": "content_block", "name": "hello", "prompt": "Hello.", "continue": pause}, QUESTION)
    marit, ola = chat.agent("Marit"), chat.agent("Ola")
    marit.press("Answer", message=chat.message())
    ola.press("Answer", message=chat.message())
    assert "Hello." in marit.text
    ola.press("Okay")

    chat.work(at=timezone.now() + timedelta(seconds=1))
    assert "Hello." in marit.text
    ChatTask.objects.filter(kind="surveys.advance_in_chat").update(due_at=timezone.now())
    chat.work()
    assert "First?" in marit.text
    marit.press("x")
    ola.press("x")
    assert "Thank you" in ola.text
    assert not ChatTask.objects.filter(payload__isnull=False).exists()


def test_a_timed_text_waits_for_its_button_once_the_platform_allows_no_change(chat):
    pause = {"after": "pause", "pause": 2}
    chat.open({"type": "content_block", "name": "hello", "prompt": "Hello.", "continue": pause}, QUESTION)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    for token in chat.platform.world.tokens.values():
        token.expires_at = 0

    ChatTask.objects.filter(kind="surveys.advance_in_chat").update(due_at=timezone.now())
    chat.work()
    assert "Hello." in marit.text
    marit.press("Okay")
    assert "First?" in marit.text


def test_a_member_who_leaves_the_server_has_left_and_comes_back_with_the_next_click(chat):
    chat.open(QUESTION)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    member = Member.objects.exclude(pk=chat.admin.pk).get()
    person = chat.platform.world.people.pop(marit.person.id)

    Member.objects.filter(pk=member.pk).update(roles_told_at=timezone.now() - timedelta(hours=2))
    platform_members.refresh_old(at=timezone.now())
    member.refresh_from_db()
    assert (member.left_at is not None, member.left_server) == (True, True)

    chat.platform.world.people[person.id] = person
    marit.person.nick = "Marit e4"
    marit.press("Answer", message=chat.message())
    member.refresh_from_db()
    assert (member.left_at, member.nick) == (None, "Marit e4")


def test_a_message_moves_with_the_channel_of_its_invitation(chat):
    project = chat.open(QUESTION)
    other = chat.platform.world.add_channel("elsewhere")
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    fields = {"delivery": {"invitation": {"post_channel_id": other.id}}}
    projects.update_project(actor=chat.actor, project_id=project.pk, fields=fields, at=timezone.now())

    chat.work()
    assert chat.channel.messages == {}
    assert labels_of(chat.message(other)) == ["Answer"]


def test_a_channel_that_changes_while_a_project_closes_leaves_no_open_message(chat):
    project = chat.open(QUESTION)
    other = chat.platform.world.add_channel("elsewhere")
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    opening.close_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    fields = {"delivery": {"invitation": {"post_channel_id": other.id}}}
    projects.update_project(actor=chat.actor, project_id=project.pk, fields=fields, at=timezone.now())

    chat.work()
    assert labels_of(chat.message()) == []
    assert other.messages == {}


def test_a_project_that_is_deleted_before_the_platform_heard_of_its_closing_leaves_no_open_message(chat):
    project = chat.open(QUESTION)
    chat.platform.is_down = True
    chat.close(project)
    removal.delete_for_now(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.platform.is_down = False

    chat.work()
    assert labels_of(chat.message()) == []
    removal.delete_overdue(at=timezone.now() + timedelta(minutes=11))
    ChatTask.objects.filter(kind="surveys.remove_public_message").update(due_at=timezone.now())
    chat.work()
    assert chat.channel.messages == {}


def test_a_channel_that_is_lost_is_not_asked_for_again_and_again(chat):
    poll = {"type": "poll", "settings": {"poll_results_mode": "public"}}
    project = chat.open(QUESTION, **poll)
    posted = chat.message()
    refusal: Answer = (403, {"code": 50001, "message": "Missing Access"}, {})
    chat.platform.scripted += [("PATCH /channels", refusal)] * 9
    chat.agent().press("x", message=posted)

    for _ in range(5):
        chat.work()
    assert len(chat.platform.sent("PATCH", "/messages/")) == 1
    chat.platform.scripted.clear()
    projects.update_project(
        actor=chat.actor, project_id=project.pk, fields={"name": "Anew"}, at=timezone.now()
    )
    chat.work()
    assert "1 vote" in text_of(chat.message())


def test_timed_texts_in_a_row_all_go_on_by_themselves(chat):
    pause = {"after": "pause", "pause": 2}
    texts = [
        {"type": "content_block", "name": name, "prompt": f"Text {name}.", "continue": pause} for name in "ab"
    ]
    chat.open(*texts, {**QUESTION, "name": "c"})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    for _ in range(2):
        ChatTask.objects.filter(kind="surveys.advance_in_chat", due_at__isnull=False).update(
            due_at=timezone.now()
        )
        chat.work()
    assert "First?" in marit.text


def test_a_ranking_that_loses_an_item_goes_on(chat):
    items = [{"value": each} for each in "abc"]
    project = chat.open({"name": "r", "type": "ranking", "prompt": "Order?", "options": items})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("b")
    marit.press("a")
    opening.close_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    block = project.blocks.get(name="r")
    kept = [{"id": each.pk, "value": each.value} for each in block.options.exclude(value="b")]
    editing.patch_block(
        actor=chat.actor,
        project_id=project.pk,
        block_id=block.pk,
        body={"options": [*kept, {"value": "d"}]},
        at=timezone.now(),
    )
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()

    marit.press("Answer", message=chat.message())
    for each in "cd":
        marit.press(each)
    marit.press("Submit")
    assert "Thank you" in marit.text


def test_a_role_that_is_named_twice_is_notified_once(chat):
    project = chat.create(QUESTION)
    roles = {"delivery": {"invitation": {"ping_role_ids": [chat.helper.id] * 2}}}
    opening.open_project(actor=chat.actor, project_id=project.pk, fields=roles, at=timezone.now())
    chat.work()

    assert chat.message()["allowed_mentions"] == {"roles": [chat.helper.id]}


def test_what_happened_while_the_bot_was_away_is_caught_up(chat):
    closes, opens = chat.open(QUESTION), chat.create(QUESTION)
    posted = chat.message()
    chat.platform.world.has_bot = False
    installations.check_quietly(community_id=chat.community.pk, at=timezone.now())
    chat.close(closes)
    Project.objects.filter(pk=opens.pk).update(opens_at=timezone.now() - timedelta(seconds=1))
    schedule.open_and_close_due(at=timezone.now())
    chat.work()
    assert labels_of(posted) == ["Answer"]

    chat.platform.world.has_bot = True
    installations.check_quietly(community_id=chat.community.pk, at=timezone.now())
    chat.work()
    assert labels_of(posted) == []
    assert labels_of(chat.message()) == ["Answer"]
    assert len(chat.channel.messages) == 2


def test_a_person_with_two_accounts_gets_the_role_and_stays(chat):
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    member = Member.objects.exclude(pk=chat.admin.pk).get()
    mine = member.user.identities.get()
    IdentityFactory.create(user=member.user, community=member.community, proven_at=NOON)
    mine.pk = None
    member.user.identities.filter(platform_id=marit.person.id).delete()
    mine.save()

    marit.press("x")
    chat.work()
    member.refresh_from_db()
    assert (marit.person.roles, member.left_at) == ([chat.helper.id], None)


def test_a_role_that_was_refused_is_tried_again_when_it_is_earned_again(chat):
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    chat.helper.position = 90
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("x")
    chat.work()
    assert [grant.state for grant in RoleGrant.objects.all()] == ["refused"]

    chat.helper.position = 5
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    marit.press("Answer", message=chat.message())
    marit.press("x")
    chat.work()
    assert marit.person.roles == [chat.helper.id]


def test_the_picture_shows_nothing_that_the_text_must_not(chat):
    poll = {"type": "poll", "settings": {"poll_results_mode": "voters_only", "reveal_results": True}}
    project = chat.open(QUESTION, **poll)
    chat.agent().press("x", message=chat.message())
    chat.close(project)

    assert chat.platform.files == []


def test_anonymous_votes_are_shown_once_an_hour(chat):
    settings = {"poll_results_mode": "public", "privacy_mode": "anonymous"}
    chat.open(QUESTION, type="poll", settings=settings)
    done = [task.last_attempt_at for task in ChatTask.objects.all()]
    chat.agent().press("x", message=chat.message())

    half_past = timezone.now().replace(minute=30)
    assert public_messages.ask_for_outdated(at=half_past) == 0
    assert [task.last_attempt_at for task in ChatTask.objects.all()] == done
    assert public_messages.ask_for_outdated(at=half_past.replace(minute=0)) == 1


def test_a_long_text_never_hides_the_question_of_a_poll(chat):
    texts = [{"type": "content_block", "name": each, "prompt": each * 3500} for each in "ab"]
    chat.open(*texts, {**QUESTION, "name": "c"}, type="poll")

    assert "First?" in text_of(chat.message())


def test_a_project_that_went_over_to_the_web_is_answered_there(chat):
    project = chat.open(QUESTION, {**QUESTION, "name": "b"})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    message = json.loads(json.dumps(chat.message()))
    chat.close(project)
    web = {"delivery": {"audience": {"response_channel": "web"}}}
    opening.open_project(actor=chat.actor, project_id=project.pk, fields=web, at=timezone.now())

    marit.press("x")
    assert "on the web now" in marit.text
    marit.press("Answer", message=message)
    assert marit.button("Answer")["url"].endswith(f"/s/{project.slug}")


def test_a_lost_database_connection_is_no_failed_interaction(chat, monkeypatch):
    chat.open(QUESTION)
    lost = OperationalError("the connection is gone")
    monkeypatch.setattr(moves, "perform", lambda click: (_ for _ in ()).throw(lost))
    marit = chat.agent()

    marit.press("Answer", message=chat.message())
    assert "press that again" in marit.text
