"""Rewards of members in chat, and the commands that show them."""

import pytest
from django.utils import timezone

from communities.ground.errors import InvalidRequest
from communities.models import ChatTask, CommunitySettings, Member
from communities.services.chat import guilds, installations
from surveys.services import public_messages
from surveys.services.projects import opening
from tests.factories import ProjectFactory
from tests.support.chat.community import ChatCommunity
from xp.models import RoleGrant, Standing
from xp.services import roles

pytestmark = pytest.mark.django_db

QUESTION = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}]}


def answer(chat, agent):
    agent.press("Answer", message=chat.message())
    agent.press("x")


def test_a_role_is_granted_once_it_is_earned(chat):
    """Rule 8.14."""
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id, "use_xp": True})
    marit = chat.agent()

    answer(chat, marit)
    assert "You have earned 10 XP." in marit.text
    assert "Level 0, 90 XP to level 1" in marit.text
    chat.work()
    assert marit.person.roles == [chat.helper.id]
    assert [grant.state for grant in RoleGrant.objects.all()] == ["granted"]
    assert Standing.objects.get().xp_total == 10


def test_a_role_that_waits_since_before_is_granted_on_connecting(chat):
    chat.open(QUESTION)
    marit = chat.agent()
    answer(chat, marit)
    member = Member.objects.exclude(pk=chat.admin.pk).get()
    roles.grant(
        member_id=member.pk, role_id=chat.helper.id, project_id=None, project_name="Before", at=timezone.now()
    )
    chat.work()
    assert marit.person.roles == [chat.helper.id]


@pytest.mark.parametrize("case", ["dangerous", "above", "managed", "everyone", "unknown"])
def test_roles_that_must_not_be_given_are_refused_with_the_reason(chat, case):
    world = chat.platform.world
    cases = {
        "dangerous": (lambda: world.add_role("Admins", position=5, permissions=1 << 3).id, "administrate"),
        "above": (lambda: world.add_role("Owners", position=90).id, "above the bot"),
        "managed": (lambda: world.add_role("Other bot", position=3, managed=True).id, "integration"),
        "everyone": (lambda: world.guild_id, "no role of this server"),
        "unknown": (lambda: "123456789012345678", "no role of this server"),
    }
    make, words = cases[case]
    role_id = make()
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    with pytest.raises(InvalidRequest) as refusal:
        chat.open(QUESTION, rewards={"discord_role_id": role_id})

    assert [each["field"] for each in refusal.value.violations] == ["rewards.discord_role_id"]
    assert words in refusal.value.message


def test_a_role_that_became_powerful_is_not_granted(chat):
    chat.open(QUESTION, rewards={"discord_role_id": chat.helper.id})
    chat.helper.permissions = 1 << 3
    marit = chat.agent()
    answer(chat, marit)
    guilds.refresh(community_id=chat.community.pk, at=timezone.now())
    chat.work()

    assert marit.person.roles == []
    grant = RoleGrant.objects.get()
    assert (grant.state, "administrate" in grant.refusal) == ("refused", True)
    assert ChatTask.objects.get(kind="xp.grant_role").status == "abandoned"


def test_the_channel_must_be_of_the_communitys_server(chat):
    other = chat.platform.world.add_channel("elsewhere", guild_id="100000000000000099")
    with pytest.raises(InvalidRequest) as refusal:
        chat.open(QUESTION, invitation={"post_channel_id": other.id})

    assert refusal.value.violations[0]["field"] == "delivery.invitation.post_channel_id"
    assert chat.platform.sent("POST", "/messages") == []


def test_the_commands_tell_what_can_be_answered_and_what_was_earned(chat):
    chat.open(QUESTION, rewards={"use_xp": True}, name="Club evening")
    marit = chat.agent("Marit")

    marit.command("surveys", chat.channel)
    assert "**Club evening**\nSurvey · new for you" in marit.text
    marit.press("Club evening")
    assert "First?" in marit.text
    marit.press("x")
    marit.command("me", chat.channel)
    assert "**Level 0** · 10 XP" in marit.text
    assert "completed: **1**" in marit.text
    marit.command("leaderboard", chat.channel, period="month")
    assert "🥇 **Marit** (you) · 10 XP" in marit.text


def test_the_leaderboard_is_offered_where_it_is_switched_on(platform, db):
    chat = ChatCommunity(platform)
    assert [each["name"] for each in platform.world.commands] == ["surveys", "me", "leaderboard"]
    CommunitySettings.objects.update(use_leader_board=False)
    installations.check(community_id=chat.community.pk, at=timezone.now())
    assert [each["name"] for each in platform.world.commands] == ["surveys", "me"]


def test_a_project_on_the_web_is_invited_to_with_a_link(chat):
    made = chat.create(QUESTION)
    fields = {"delivery": {"audience": {"response_channel": "web"}}}
    opening.open_project(actor=chat.actor, project_id=made.pk, fields=fields, at=timezone.now())
    chat.work()

    button = chat.message()["components"][0]["components"][0]
    assert (button["style"], button["url"].endswith(f"/s/{made.slug}")) == (5, True)


def test_a_project_in_the_chat_sends_web_visitors_there(chat, client):
    project = chat.open(QUESTION)

    page = client.get(f"/s/{project.slug}").content.decode()
    assert "This survey is in the chat." in page
    assert f"https://discord.com/channels/{chat.community.pk}/{chat.channel.id}/" in page


def test_a_project_without_a_channel_posts_nothing(chat):
    made = ProjectFactory.create(community=chat.community)
    public_messages.ask(made, at=made.created_at)
    assert ChatTask.objects.count() == 0
