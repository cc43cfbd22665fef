"""Respondents who leave at a further question after the last one (rules 10.76 and 10.77)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from communities.models import User
from surveys.models import Conversation, Project
from surveys.services.conversations import completions, further
from tests.support.ai.loopback import Loopback
from tests.support.caller import Caller
from tests.support.surveys import event_log
from tests.support.surveys.follow_ups import (
    CHANGE,
    COLOUR,
    QUESTION,
    SECOND,
    asks,
    caller_with_credits,
    leave,
    model,
    survey,
    write,
)
from tests.support.surveys.participants import Talk, a_member, deltas, giving

pytestmark = pytest.mark.django_db


@pytest.fixture
def anthropic(settings: Any) -> Iterator[Loopback]:
    with model(settings) as loopback:
        loopback.queue(asks(QUESTION), asks(SECOND))
        yield loopback


@pytest.fixture
def caller(anthropic: Loopback) -> Caller:
    caller = caller_with_credits()
    event_log.listener(caller.community.pk, "response.submitted", "response.updated")
    return caller


def left(caller: Caller, *blocks: dict[str, Any], is_asked: bool = True, **fields: Any) -> Talk:
    """A member has answered all blocks, and left while a further question is asked or written."""
    project_id = survey(caller, *(blocks or (COLOUR, CHANGE)), **{"rewards": {"use_xp": True}, **fields})
    talk = Talk(caller, {"id": project_id}, member_id=a_member(caller))
    while not talk.told["step"]["follow_up"]:
        talk.answer("The evenings")
    if is_asked:
        write(talk.told["id"])
        assert talk.go_on()["step"]["block"]["prompt"] == QUESTION
    leave(talk.told["id"])
    return talk


def skip_left() -> int:
    return further.skip_left(at=timezone.now())


def now(talk: Talk) -> Any:
    """The conversation as the interface tells it."""
    return talk.caller.get(talk.path).json()


def response(talk: Talk) -> Any:
    return talk.caller.get(f"/responses/{talk.told['id']}").json()


def earned(caller: Caller) -> list[tuple[str, int]]:
    (member,) = caller.community.members.filter(user__name="Ann")
    return deltas(caller, str(member.pk))


def submitted(caller: Caller) -> list[Any]:
    return [data["response"] for _, data in event_log.heard(caller.community.pk)]


@pytest.mark.parametrize("is_asked", [True, False])
def test_the_conversation_is_completed_once_as_by_a_skip(caller: Caller, is_asked: bool) -> None:
    talk = left(caller, is_asked=is_asked)

    counts = [skip_left() for _ in range(2)]

    told = response(talk)
    assert counts == [1, 0]
    assert (now(talk)["status"], now(talk)["step"]) == ("completed", None)
    assert told["answers"][1].get("follow_ups") == (
        [{"question": QUESTION, "answer": None}] if is_asked else None
    )
    assert submitted(caller) == [told]
    assert earned(caller) == [("survey_completion", 20)]
    assert Conversation.LAPSES not in Conversation.objects.get().state


@pytest.mark.parametrize(("minutes", "count"), [(29, 0), (31, 1)])
def test_a_respondent_has_half_an_hour(caller: Caller, minutes: int, count: int) -> None:
    talk = left(caller)
    leave(talk.told["id"], minutes=minutes)

    assert skip_left() == count


def test_an_answer_that_comes_too_late_is_refused_and_the_end_is_shown(caller: Caller) -> None:
    talk = left(caller)
    skip_left()

    late = caller.post(
        f"{talk.path}/answers", {"block_id": talk.block["id"], "value": "They end late", "follow_up": 1}
    )
    begun_again = caller.post(f"/projects/{talk.project['id']}/conversations", {})

    assert (late.status_code, late.json()["message"]) == (409, "This conversation is over.")
    assert begun_again.status_code == 201
    assert submitted(caller) == [response(talk)]


def test_a_question_that_follows_keeps_the_further_one_waiting(caller: Caller) -> None:
    talk = left(caller, CHANGE, COLOUR)

    assert skip_left() == 0
    assert now(talk)["step"]["block"]["prompt"] == QUESTION


def test_what_follows_is_reached_as_by_a_skip(caller: Caller) -> None:
    talk = left(caller, CHANGE, giving(xp_amount=50), rewards={})

    assert skip_left() == 1
    assert now(talk)["step"]["block"]["type"] == "action_block"
    assert earned(caller) == [("action_block", 50)]


def test_a_script_that_asks_more_by_now_keeps_the_conversation_open(caller: Caller) -> None:
    talk = left(caller)
    path = f"/projects/{talk.project['id']}"
    caller.post(f"{path}/close")
    blocks = caller.get(f"{path}/script").json()["blocks"]
    assert caller.put(f"{path}/script", {"blocks": [*blocks, COLOUR | {"name": "more"}]}).status_code == 200
    caller.post(f"{path}/open")

    assert [skip_left(), Conversation.LAPSES in Conversation.objects.get().state] == [0, False]
    assert now(talk)["step"]["block"]["prompt"] == QUESTION


def test_respondents_who_may_complete_no_more_stay_partial(caller: Caller) -> None:
    left(caller)
    conversation = Conversation.objects.get()
    Project.objects.update(max_completes_per_user=1)
    completions.complete(
        project_id=conversation.project_id, respondent=str(conversation.respondent), at_most=None, actions=[]
    )

    assert [skip_left(), Conversation.LAPSES in Conversation.objects.get().state] == [0, False]
    assert submitted(caller) == []


def test_a_deactivated_person_stays_partial(caller: Caller) -> None:
    left(caller)
    User.objects.filter(name="Ann").update(is_active=False)

    assert [skip_left(), Conversation.LAPSES in Conversation.objects.get().state] == [0, False]


def test_they_are_found_by_their_own_index(caller: Caller) -> None:
    left(caller)
    with connection.cursor() as cursor:
        # The tables of a test are small, and what is known about them is old: another way may cost as little.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    with CaptureQueriesContext(connection) as queries:
        skip_left()

    statement = queries[0]["sql"]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "conversation_that_lapses" in plan
