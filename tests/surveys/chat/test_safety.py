"""The permissions of buttons, and interactions that are late, repeated or from another person."""

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from communities.chat_platform.references import Op
from communities.models import Member
from surveys.chat import moves
from surveys.models import Answer, Conversation, UnsentAnswer
from surveys.services.people import service as people
from surveys.services.projects import opening
from tests.support.chat.agent import signed
from tests.support.dumps import dump

pytestmark = pytest.mark.django_db

FIRST = {"name": "a", "type": "single_punch", "prompt": "First?", "options": [{"value": "x"}, {"value": "y"}]}
SECOND = {**FIRST, "name": "b", "prompt": "Second?"}


def values():
    return list(Answer.objects.order_by("block__position").values_list("value", flat=True))


def post(body, headers, path="/chat/interactions"):
    return Client().post(path, body, content_type="application/json", headers=headers)


def test_a_ping_is_answered(chat):
    """Rule 12.14."""
    body = json.dumps({"type": 1, "id": "1", "application_id": "1"}).encode()

    response = post(body, signed(chat.platform, body))
    assert (response.status_code, response.json()) == (200, {"type": 1})
    assert response["Content-Type"] == "application/json"


@pytest.mark.parametrize("case", ["none", "flipped", "other body", "old", "future", "short", "letters"])
def test_what_the_platform_did_not_sign_is_refused(chat, case):
    body = json.dumps({"type": 1}).encode()
    now = chat.platform.world.clock()
    ages = {"old": now - 301, "future": now + 310}
    headers = signed(chat.platform, body, at=ages.get(case))
    signature = headers["X-Signature-Ed25519"]
    match case:
        case "none":
            headers = {}
        case "flipped":
            last = "0" if signature[-1] != "0" else "1"
            headers["X-Signature-Ed25519"] = signature[:-1] + last
        case "other body":
            body = b'{"type":1}'
        case "short":
            headers["X-Signature-Ed25519"] = signature[:-2]
        case "letters":
            headers["X-Signature-Timestamp"] += "x"

    assert post(body, headers).status_code == 401


def test_without_a_platform_there_is_no_such_address(db, settings):
    settings.CHAT = None
    assert post(b"{}", {}).status_code == 404


def test_a_click_on_somebody_elses_message_does_nothing(chat):
    chat.open(FIRST, SECOND)
    marit, ola = chat.agent("Marit"), chat.agent("Ola")
    marit.press("Answer", message=chat.message())

    ola.press("x", message=marit.screen)
    assert values() == []
    assert "somebody else" in ola.text


def test_a_made_up_button_does_nothing(chat):
    chat.open(FIRST)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    genuine = marit.button("x")["custom_id"]
    other = "A" if genuine[-5] != "A" else "B"
    changed = genuine[:-5] + other + genuine[-4:]  # the last sign alone may stand for nothing
    for custom_id in ("c1.AAAA", "p1." + "A" * 71, "x", "c1.ä", changed):
        marit.press_button({"custom_id": custom_id})
        assert "too old" in marit.text
    assert values() == []


def test_a_made_up_value_of_a_menu_is_no_option():
    click: Any = SimpleNamespace(
        reference=SimpleNamespace(block_id=1, op=Op.MENU, arg=0),
        interaction=SimpleNamespace(values=["²", "x", "-1", ""]),
    )

    assert moves._raw(click, "multi_punch") == {"block_id": 1, "option_ids": []}


def test_a_click_that_comes_twice_moves_once(chat):
    chat.open(FIRST, SECOND)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.press("x")
    status, reply = marit.again()
    assert (status, reply["type"]) == (200, 7)
    assert "Second?" in json.dumps(reply)
    assert values() == ["x"]


def test_a_vote_delivered_again_does_not_undo_a_later_one(chat):
    poll = {"type": "poll", "settings": {"change_poll": True, "poll_results_mode": "public"}}
    chat.open(FIRST, **poll)
    marit = chat.agent()
    marit.press("x", message=chat.message())
    first = marit.last

    marit.press("y", message=chat.message())
    marit.last = first
    marit.again()
    assert values() == ["y"]


def test_a_copy_of_an_earlier_message_moves_nothing(chat):
    chat.open(FIRST, SECOND)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    stale = json.loads(json.dumps(marit.screen))

    marit.press("x")
    marit.press("y", message=stale)
    assert values() == ["x"]
    assert "further on already" in json.dumps(stale)


def test_a_message_that_was_lost_is_taken_up_again(chat):
    chat.open(FIRST, SECOND)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("x")

    marit.reload()
    marit.press("Answer", message=chat.message())
    assert "Welcome back" in marit.text
    assert "Second?" in marit.text
    marit.press("Back")
    assert "First?" in marit.text
    marit.press("y")
    marit.press("y")
    assert values() == ["y", "y"]
    assert Conversation.objects.count() == 1


def test_a_survey_that_closes_keeps_what_was_said(chat):
    project = chat.open(FIRST, SECOND)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("x")

    chat.close(project)
    marit.press("y")
    assert "closed" in marit.text
    assert values() == ["x"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pending": True}, "accept the rules"),
        ({"timed_out_until": (timezone.now() + timedelta(hours=1)).isoformat()}, "timed out"),
        ({"is_bot": True}, "in the server"),
    ],
)
def test_people_whom_the_server_keeps_out_cannot_answer(chat, fields, words):
    chat.open(FIRST)
    marit = chat.agent(**fields)

    marit.press("Answer", message=chat.message())
    assert words in marit.text
    assert Conversation.objects.count() == 0


def test_roles_decide_by_what_the_platform_says_now(chat):
    project = chat.create(FIRST)
    project.delivery["audience"]["required_role_ids"] = [chat.helper.id]
    project.save()
    opening.open_project(actor=chat.actor, project_id=project.pk, at=timezone.now())
    chat.work()
    marit = chat.agent()
    assert "<@&" not in chat.message()["content"]

    marit.press("Answer", message=chat.message())
    assert "certain roles" in marit.text
    marit.person.roles.append(chat.helper.id)
    marit.press("Answer", message=chat.message())
    assert "First?" in marit.text


def test_a_message_of_another_server_reaches_nothing(chat):
    chat.open(FIRST)
    other = chat.platform.world.add_channel("elsewhere", guild_id="100000000000000099")
    marit = chat.agent()
    copied = {**chat.message(), "channel_id": other.id}

    marit.press("Answer", message=copied)
    assert "not there any more" in marit.text
    assert Conversation.objects.count() == 0


def test_nothing_anonymous_names_who_answered(chat, caplog):
    chat.open(
        FIRST, {"type": "open_text", "name": "why", "prompt": "Why?"}, settings={"privacy_mode": "anonymous"}
    )
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    assert "Anonymous" in marit.text
    marit.press("y")
    marit.press("Write answer")
    marit.write("a secret of mine")
    chat.work()

    conversation = Conversation.objects.get()
    stored = dump()
    assert conversation.completed_at is not None
    assert (conversation.user_id, conversation.platform_id, conversation.respondent) == (None, None, None)
    interaction = json.loads(marit.last[0])
    for forbidden in (interaction["id"], interaction["token"]):
        assert forbidden not in stored
    assert str(conversation.pk) not in json.dumps(chat.platform.requests)
    assert str(conversation.pk) not in json.dumps(marit.screen)
    for words in ("a secret of mine", marit.person.id):
        assert words not in caplog.text


def test_somebody_very_fast_is_asked_to_wait(chat):
    chat.open(FIRST)
    marit = chat.agent()

    for _ in range(31):
        marit.press("Answer", message=chat.message())
    assert "very fast" in marit.text


def test_what_was_not_sent_goes_with_an_erased_person(chat):
    several = {**FIRST, "type": "multi_punch"}
    chat.open(several)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("x")
    assert UnsentAnswer.objects.count() == 1

    member = Member.objects.exclude(pk=chat.admin.pk).get()
    people.erase(actor=chat.actor, member_id=member.pk, at=timezone.now())
    assert UnsentAnswer.objects.count() == 0
