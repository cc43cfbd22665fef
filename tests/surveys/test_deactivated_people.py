"""Somebody who is deactivated answers on no channel (rule 6.5)."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from django.utils import timezone

from communities.models import Member, User
from surveys.chat import commands
from surveys.models import Answer, Conversation, PersonalLink
from surveys.services.conversations import admission, moves, removal, unsent_answers
from surveys.services.conversations import service as conversations
from surveys.services.conversations.admission import NotAdmitted
from surveys.services.links import mailing
from surveys.services.links.mailing import Choice, Who
from tests.factories import MemberFactory, UserFactory
from tests.support.accounts import sign_in
from tests.support.actors import actor
from tests.support.caller import TEXT, Caller, faults, refusal
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import arrive, link_for, path_of, private
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db
MODES = ["transparent", "anonymous"]
GAME = {"name": "game", "type": "single_punch", "prompt": "Game?", "options": [{"value": "Blitz"}]}


@pytest.fixture(autouse=True)
def in_no_hurry(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def deactivate(member: Member) -> None:
    User.objects.filter(pk=member.user_id).update(is_active=False)


# --- Every function that begins or moves a conversation ----------------------------------------------

CHANGES_NOTHING = {"look", "get", "has_ended", "ask_platforms", "require_valid", "of"}
BY_STAFF = {"remove", "forget", "forget_left"}
BY_WORKER = {"expire"}
FUNCTIONS = [
    function
    for module in (conversations, moves, removal, unsent_answers)
    for name, function in vars(module).items()
    if inspect.isfunction(function)
    and function.__module__ == module.__name__
    and not name.startswith("_")
    and name not in CHANGES_NOTHING | BY_STAFF | BY_WORKER
    and {"conversation_id", "project_id"} & {*inspect.signature(function).parameters}
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_no_function_begins_or_moves_their_conversation(function: Any, mode: str) -> None:
    made = scenario.project(scenario.TEXT, scenario.TEXT, privacy_mode=mode)
    member = scenario.member()
    respondent = admission.member(community_id=1, member_id=str(member.pk))
    begun = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    assert begun.step is not None
    block_id = begun.step.block.id
    deactivate(member)
    values = {
        "project_id": made.pk,
        "respondent": admission.member(community_id=1, member_id=str(member.pk)),
        "conversation_id": begun.conversation.pk,
        "raw": {"block_id": block_id, "value": "So."},
        "block_id": block_id,
        "raws": [{"block_id": block_id, "value": "So."}],
        "option_id": 1,
        "option_ids": [1],
        "ranked": 0,
        "text": "So.",
        "step": 0,
        "at": LUNCHTIME,
    }
    wanted = inspect.signature(function).parameters

    with pytest.raises(NotAdmitted, match="deactivated"):
        function(**{name: value for name, value in values.items() if name in wanted})
    assert (Conversation.objects.count(), Answer.objects.count()) == (1, 0)


def test_the_walk_finds_the_functions() -> None:
    names = {function.__name__ for function in FUNCTIONS}

    assert names >= {"begin", "begin_with_move", "vote", "answer", "go_on", "back", "retract", "toggle"}


def test_a_user_merged_into_theirs_is_deactivated_with_them() -> None:
    made = scenario.project(scenario.TEXT, privacy_mode="anonymous")
    member = scenario.member()
    respondent = admission.member(community_id=1, member_id=str(member.pk))
    begun = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    kept = UserFactory.create(merged_ids=[member.user_id], is_active=False)
    Member.objects.filter(pk=member.pk).update(user=kept)
    User.objects.filter(pk=member.user_id).delete()

    with pytest.raises(NotAdmitted):
        scenario.say(begun, "So.")


# --- The API ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("participation", ["private", "open_web"])
@pytest.mark.parametrize("mode", MODES)
def test_the_api_begins_and_moves_none_of_their_conversations(participation: str, mode: str) -> None:
    caller = Caller()
    member = MemberFactory.create(community=caller.community)
    delivery = {"audience": {"participation": participation}}
    made = caller.make_open(TEXT, TEXT, delivery=delivery, settings={"privacy_mode": mode})
    path, body = f"/projects/{made['id']}/conversations", {"member_id": str(member.pk)}
    begun = caller.post(path, body).json()
    answer = {"block_id": begun["step"]["block"]["id"], "value": "So."}

    deactivate(member)
    answers = [
        caller.post(path, body),
        caller.post(f"/conversations/{begun['id']}/answers", answer),
        caller.post(f"/conversations/{begun['id']}/continue"),
        caller.post(f"/conversations/{begun['id']}/back"),
    ]

    assert {refusal(each) for each in answers} == {(403, "forbidden")}
    assert {each.json()["message"] for each in answers} == {admission.DEACTIVATED}
    assert caller.get(f"/conversations/{begun['id']}").status_code == 200  # staff may read it


def test_the_keys_they_made_answer_nothing() -> None:
    caller = Caller()
    made = caller.make_open(TEXT)
    User.objects.filter(pk=caller.user.pk).update(is_active=False)

    answer = caller.post(f"/projects/{made['id']}/conversations", {"external_id": "anybody"})

    assert answer.status_code == 401


def test_they_get_no_link_and_no_mail() -> None:
    caller = Caller()
    there, gone = (
        MemberFactory.create(community=caller.community, email=f"{n}@example.org") for n in range(2)
    )
    made = caller.make_open(TEXT)
    staff = actor("admin", user_id=caller.user.pk, community_id=caller.community.pk)
    deactivate(gone)

    one = caller.post(f"/projects/{made['id']}/links", {"member_id": str(gone.pk)})
    several = [{"member_id": str(each.pk)} for each in (there, gone)]
    many = caller.post(f"/projects/{made['id']}/links", {"links": several})
    everybody, at = Choice(Who.ALL), timezone.now()
    mailing.send(
        actor=staff, project_id=int(made["id"]), choice=everybody, subject="Hello", text="Please.", at=at
    )
    mailing.make_links(actor=staff, project_id=int(made["id"]), choice=everybody, at=at)

    assert refusal(one) == refusal(many) == (400, "invalid_request")
    assert faults(one) == {("member_id", "not_found")}
    assert faults(many) == {("links[1].member_id", "not_found")}
    assert gone.pk not in PersonalLink.objects.values_list("member_id", flat=True)
    assert there.pk in PersonalLink.objects.values_list("member_id", flat=True)


# --- The page -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_an_old_link_admits_them_no_more(mode: str) -> None:
    member = scenario.member()
    link = link_for(member, private(scenario.TEXT, scenario.TEXT, privacy_mode=mode))
    fresh, opened, answering = Visitor(link.project), arrive(link), arrive(link)
    answering.send(value="first")

    deactivate(member)
    fresh.response = fresh.client.get(path_of(link), follow=True)
    opened.send(value="second")
    answering.send(value="third")

    for visitor in (fresh, opened, answering):
        assert visitor.status == 403
        assert "deactivated" in visitor.response.content.decode()
    assert [answer.value for answer in Answer.objects.all()] == ["first"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("participation", ["private", "open_web"])
def test_what_they_began_signed_in_goes_no_further(mode: str, participation: str) -> None:
    member = scenario.member()
    made = scenario.project(scenario.TEXT, scenario.TEXT, participation=participation, privacy_mode=mode)
    visitor = Visitor(made)
    sign_in(visitor.client, member.user)
    visitor.look().send(value="first")

    deactivate(member)
    visitor.send(value="second")
    sent = visitor.status
    visitor.look()

    assert (sent, visitor.status) == (403, 403)
    assert "This account is deactivated." in visitor.page
    assert [answer.value for answer in Answer.objects.all()] == ["first"]


def test_a_session_of_theirs_opens_no_page() -> None:
    member = scenario.member()
    visitor = Visitor(private())
    sign_in(visitor.client, member.user)
    assert visitor.look().status == 200

    deactivate(member)

    assert visitor.look().status == 403
    assert visitor.client.get("/account/").status_code == 302


# --- Chat ---------------------------------------------------------------------------------------------


@pytest.fixture
def platform(settings, redis):
    from config.environment import chat_of  # noqa: PLC0415 - once Django is set up
    from tests.support.chat.server import Platform  # noqa: PLC0415 - once Django is set up

    with Platform(per_channel=1000) as platform:
        settings.CHAT = chat_of(platform.environment())
        yield platform
    assert platform.violations == []


@pytest.fixture
def chat(platform):
    from tests.support.chat.community import ChatCommunity  # noqa: PLC0415 - once Django is set up

    return ChatCommunity(platform)


@pytest.mark.parametrize("mode", MODES)
def test_in_chat_no_button_and_no_command_does_anything_for_them(chat: Any, mode: str) -> None:
    chat.open(GAME, TEXT | {"name": "why"}, settings={"privacy_mode": mode})
    survey = chat.message()
    chat.open({**GAME, "type": "nps", "options": None}, type="poll", name="Vote")
    poll = chat.message()
    marit, screens = chat.agent(), []
    marit.press("Answer", message=survey)
    running = marit.screen
    member = Member.objects.get(user__identities__platform_id=marit.person.id)
    before = Member.objects.filter(pk=member.pk).values().get()

    deactivate(member)
    for label, message in (("Answer", survey), ("9", poll), ("Blitz", running)):
        marit.press(label, message=message)
        screens.append(marit.text)
    for name in commands._COMMANDS:
        marit.command(name, chat.channel)
        screens.append(marit.text)

    assert len(screens) == 6
    assert set(screens) == {admission.DEACTIVATED}
    assert not Answer.objects.exists()
    assert Conversation.objects.count() == 1
    assert Member.objects.filter(pk=member.pk).values().get() == before
