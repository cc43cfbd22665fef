"""Further questions about short answers, over the interface (rules 10.60 to 10.69 and 10.73)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from communities.models import Community
from surveys import ai
from surveys.ai import spending
from surveys.engine.script import Block
from surveys.engine.walk import follow_ups
from surveys.models import Answer, Conversation
from surveys.services.ai_work import paying
from tests.support.ai.improvisation import data_in
from tests.support.ai.loopback import Loopback
from tests.support.caller import Caller
from tests.support.surveys.follow_ups import (
    CHANGE,
    COLOUR,
    QUESTION,
    SECOND,
    asks,
    caller_with_credits,
    model,
    run_out,
    survey,
    write,
)

pytestmark = pytest.mark.django_db


class Talk:
    """One conversation over the interface. `last` is the response to the last move."""

    def __init__(self, caller: Caller, project_id: str) -> None:
        self.caller, self.project_id = caller, project_id
        self.last: Any = caller.post(f"/projects/{project_id}/conversations", {"external_id": "ann"})
        self.id = self.last.json()["id"]
        self.block_id = self.last.json()["step"]["block"]["id"]

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = self.last.json()
        return body

    @property
    def step(self) -> dict[str, Any]:
        step: dict[str, Any] = self.body["step"]
        return step

    def answer(self, value: str | None = None, **fields: Any) -> Talk:
        body = {"block_id": self.block_id, **({"value": value} if value is not None else {}), **fields}
        self.last = self.caller.post(f"/conversations/{self.id}/answers", body)
        return self

    def move(self, verb: str) -> Talk:
        body = {} if verb == "back" else {"block_id": self.block_id}
        self.last = self.caller.post(f"/conversations/{self.id}/{verb}", body)
        return self

    def stored(self) -> Any:
        """The first answer of the response, as the interface returns it."""
        return self.caller.get(f"/responses/{self.id}").json()["answers"][0]

    @property
    def prompt(self) -> str:
        return str(self.step["block"]["prompt"])


@pytest.fixture
def anthropic(settings: Any) -> Iterator[Loopback]:
    with model(settings) as loopback:
        yield loopback


@pytest.fixture
def caller() -> Caller:
    return caller_with_credits()


@pytest.fixture
def talk(caller: Caller, anthropic: Loopback) -> Talk:
    """Somebody has answered the first question shortly."""
    anthropic.queue(asks(QUESTION), asks(SECOND))
    return Talk(caller, survey(caller)).answer("The evenings")


@pytest.fixture
def asked(talk: Talk) -> Talk:
    """A further question is asked."""
    write(talk.id)
    return talk.move("continue")


def test_a_step_waits_by_itself_while_the_question_is_written(talk: Talk) -> None:
    block = talk.step["block"]

    assert (block["id"], block["type"], block["prompt"]) == (
        talk.block_id,
        "content_block",
        "One moment, please.",
    )
    assert block["continue"] == {"after": "pause", "pause": 2, "label": "Go on"}
    assert (talk.step["follow_up"], talk.step["answer"], talk.step["skip_label"]) == (1, None, None)
    assert talk.stored()["value"] == "The evenings"  # is saved already


def test_nothing_moves_before_the_question_is_there(talk: Talk) -> None:
    talk.move("continue")

    assert talk.body["resumed"] is True
    assert talk.step["block"]["type"] == "content_block"


def test_the_question_is_an_optional_text_of_the_same_block(asked: Talk, anthropic: Loopback) -> None:
    block = asked.step["block"]

    assert (block["id"], block["type"], block["prompt"], block["required"]) == (
        asked.block_id,
        "open_text",
        QUESTION,
        None,
    )
    assert (asked.step["follow_up"], asked.step["skip_label"], asked.step["can_go_back"]) == (1, "Skip", True)
    assert data_in(anthropic.requests[0].body) == {
        "question": "What should we change?",
        "answer": "The evenings",
        "earlier": [],
    }


def test_the_model_gets_nothing_else_of_the_respondent(caller: Caller, anthropic: Loopback) -> None:
    anthropic.queue(asks(QUESTION))
    named = CHANGE | {"prompt": "[UserName], you like [colour]: what should we change?"}
    talk = Talk(caller, survey(caller, COLOUR | {"required": False}, named))
    talk.answer("Ultramarine")
    talk.block_id = talk.step["block"]["id"]
    talk.answer("The evenings")
    write(talk.id)

    assert "Ultramarine" in caller.get(f"/responses/{talk.id}").content.decode()
    told = data_in(anthropic.requests[0].body)["question"]
    assert told == "…, you like [Which colour?]: what should we change?"


def test_both_questions_and_their_answers_are_part_of_the_response(asked: Talk, anthropic: Loopback) -> None:
    asked.answer("They end late")
    write(asked.id, asked=2)
    asked.move("continue")
    second = (asked.prompt, asked.step["follow_up"])
    asked.answer("Nine", follow_up=2)

    assert second == (SECOND, 2)
    assert asked.prompt == "Which colour?"
    assert asked.step["follow_up"] == 0
    assert asked.stored()["follow_ups"] == [
        {"question": QUESTION, "answer": "They end late"},
        {"question": SECOND, "answer": "Nine"},
    ]
    assert data_in(anthropic.requests[1].body)["earlier"] == [
        {"question": QUESTION, "answer": "They end late"}
    ]


def test_a_client_that_knows_nothing_of_them_gets_through(asked: Talk) -> None:
    asked.answer(skip=True)

    assert asked.prompt == "Which colour?"
    assert asked.stored()["follow_ups"] == [{"question": QUESTION, "answer": None}]


def test_the_talk_goes_on_once_the_time_is_over(talk: Talk) -> None:
    run_out(talk.id)
    talk.move("continue")

    assert talk.prompt == "Which colour?"
    assert "follow_ups" not in talk.stored()


def test_a_question_that_comes_late_is_dropped(talk: Talk, caller: Caller) -> None:
    times = iter([timezone.now(), timezone.now() + timedelta(seconds=61)])
    write(talk.id, now=lambda: next(times))
    talk.move("continue")

    caller.community.refresh_from_db()
    assert talk.step["block"]["type"] == "content_block"
    assert caller.community.bot_credits == 5


@pytest.mark.parametrize("fault", ["clear", "a promise", "an error"])
def test_without_a_question_the_next_continue_goes_on(
    fault: str, caller: Caller, anthropic: Loopback
) -> None:
    match fault:
        case "clear":
            anthropic.queue({"is_clear": True, "question": ""})
        case "a promise":
            anthropic.queue(asks("We will change them, is that fine?"))
        case _:
            anthropic.queue_error(529, "overloaded_error")
    talk = Talk(caller, survey(caller)).answer("The evenings")

    write(talk.id)
    talk.move("continue")

    caller.community.refresh_from_db()
    assert talk.prompt == "Which colour?"
    assert caller.community.bot_credits == 5


def test_two_workers_ask_one_question(talk: Talk, anthropic: Loopback, caller: Caller) -> None:
    write(talk.id)
    write(talk.id)
    talk.move("continue")

    caller.community.refresh_from_db()
    assert (talk.prompt, len(anthropic.requests), caller.community.follow_ups_of_ten) == (QUESTION, 1, 1)


def test_no_question_about_an_earlier_answer_is_asked_about_the_one_in_its_place(
    talk: Talk, anthropic: Loopback, caller: Caller
) -> None:
    talk.move("back")
    talk.answer("The mornings")
    write(talk.id)  # for “The evenings”
    talk.move("continue")

    caller.community.refresh_from_db()
    assert talk.step["block"]["type"] == "content_block"
    assert (len(anthropic.requests), caller.community.bot_credits) == (0, 5)
    write(talk.id, asked=2)
    assert talk.move("continue").prompt == QUESTION


def test_a_question_written_while_another_answer_is_given_is_dropped(
    talk: Talk, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow:
        def ask_further(self, request: object) -> str:
            talk.move("back").answer("The mornings")
            return QUESTION

    with monkeypatch.context() as patch:
        patch.setattr(ai, "get_provider", Slow)
        write(talk.id)
    talk.move("continue")

    caller.community.refresh_from_db()
    assert talk.step["block"]["type"] == "content_block"
    assert caller.community.bot_credits == 5


def test_an_answer_that_is_sent_again_changes_nothing(talk: Talk) -> None:
    before = talk.body
    again = talk.answer("The evenings").body

    assert again == before
    assert talk.answer("Another").last.status_code == 409


def test_the_first_answer_sent_again_is_no_answer_to_the_question(asked: Talk) -> None:
    assert asked.answer("The evenings", follow_up=0).prompt == QUESTION
    assert asked.answer("Another", follow_up=0).last.status_code == 409
    assert asked.answer("The evenings").prompt == QUESTION
    assert "follow_ups" not in asked.stored()


def test_a_further_question_may_be_answered_in_the_same_words(asked: Talk) -> None:
    asked.answer("The evenings", follow_up=1)

    assert asked.stored()["follow_ups"] == [{"question": QUESTION, "answer": "The evenings"}]


@pytest.mark.parametrize("steps", [1, 2])
def test_a_question_is_asked_again_about_the_same_answer(
    steps: int, caller: Caller, anthropic: Loopback
) -> None:
    anthropic.queue(asks(QUESTION))
    talk = Talk(caller, survey(caller, COLOUR, CHANGE | {"follow_ups": 1})).answer("Red")
    colour, talk.block_id = talk.block_id, talk.step["block"]["id"]
    talk.answer("The evenings")
    write(talk.id)
    talk.move("continue")
    for _ in range(steps):
        talk.move("back")
    if steps == 2:
        talk.answer("Red", block_id=colour)

    assert talk.step["answer"] == {"value": "The evenings"}
    assert talk.answer("The evenings").prompt == QUESTION
    assert talk.answer("The evenings").prompt == QUESTION  # sent again
    talk.answer("They end late")
    assert talk.body["status"] == "completed"
    assert caller.get(f"/responses/{talk.id}").json()["answers"][1]["follow_ups"] == [
        {"question": QUESTION, "answer": "They end late"}
    ]
    assert len(anthropic.requests) == 1
    assert "aside" not in Conversation.objects.get(pk=talk.id).state


@pytest.mark.parametrize("is_back_first", [True, False])
def test_a_question_that_is_written_during_a_step_back_is_asked_about_the_same_answer(
    is_back_first: bool, talk: Talk, caller: Caller, anthropic: Loopback
) -> None:
    talk.move("back")
    if is_back_first:
        write(talk.id)
    at_question = talk.caller.get(f"/conversations/{talk.id}").json()["step"]
    talk.answer("The evenings")
    if not is_back_first:
        assert (talk.step["block"]["type"], talk.step["follow_up"]) == ("content_block", 1)
        write(talk.id)
        talk.move("continue")
    write(talk.id)

    caller.community.refresh_from_db()
    assert (at_question["follow_up"], at_question["answer"]) == (0, {"value": "The evenings"})
    assert (talk.prompt, len(anthropic.requests)) == (QUESTION, 1)
    assert (caller.community.bot_credits, caller.community.follow_ups_of_ten) == (4, 1)


@pytest.mark.parametrize("fault", ["none came", "the time is over"])
def test_nobody_waits_after_a_step_back_for_a_question_that_does_not_come(
    fault: str, caller: Caller, anthropic: Loopback
) -> None:
    anthropic.queue({"is_clear": True, "question": ""})
    talk = Talk(caller, survey(caller)).answer("The evenings")
    if fault == "the time is over":
        run_out(talk.id)
    talk.move("back")
    write(talk.id)

    assert talk.answer("The evenings").prompt == "Which colour?"
    assert "aside" not in Conversation.objects.get(pk=talk.id).state


def test_a_question_is_written_while_its_respondent_is_two_steps_back(
    caller: Caller, anthropic: Loopback
) -> None:
    anthropic.queue(asks(QUESTION))
    talk = Talk(caller, survey(caller, COLOUR, CHANGE)).answer("Red")
    colour, talk.block_id = talk.block_id, talk.step["block"]["id"]
    talk.answer("The evenings").move("back").move("back")
    write(talk.id)
    talk.answer("Blue", block_id=colour)

    assert talk.answer("The evenings").prompt == QUESTION
    assert len(anthropic.requests) == 1


@pytest.mark.parametrize(("length", "is_short"), [(0, False), (1, True), (199, True), (200, False)])
def test_only_a_short_answer_is_asked_about(length: int, is_short: bool) -> None:
    """Rule 10.60."""
    block = Block("open_text", id=1, follow_ups=1)

    assert follow_ups.wants(block, {"text": "x" * length}) is is_short


def test_a_question_about_another_answer_is_not_asked_again(asked: Talk) -> None:
    asked.move("back")
    asked.answer("x" * 200)
    asked.move("back")

    assert asked.answer("x" * 200).prompt == "Which colour?"
    assert "follow_ups" not in asked.stored()


def test_a_question_that_a_script_allows_no_more_is_not_asked_again(asked: Talk, caller: Caller) -> None:
    asked.move("back")
    caller.post(f"/projects/{asked.project_id}/close")
    caller.patch(f"/projects/{asked.project_id}/script/blocks/{asked.block_id}", {"follow_ups": 0})
    caller.post(f"/projects/{asked.project_id}/open")

    assert asked.answer("The evenings").prompt == "Which colour?"


def test_the_answer_to_the_last_question_may_be_sent_again(asked: Talk, anthropic: Loopback) -> None:
    asked.answer("x" * 200, follow_up=1)  # too long for another question
    again = asked.answer("x" * 200, follow_up=1)

    assert again.prompt == "Which colour?"
    assert again.answer("y", follow_up=1).last.status_code == 409
    assert len(asked.stored()["follow_ups"]) == 1


def test_continue_never_passes_a_question_that_is_asked(asked: Talk) -> None:
    asked.move("continue")

    assert (asked.prompt, asked.body["resumed"]) == (QUESTION, True)


def test_a_step_back_leads_to_the_answer_which_may_stay(asked: Talk, anthropic: Loopback) -> None:
    asked.answer("They end late", follow_up=1)
    asked.move("back")

    assert (asked.prompt, asked.step["answer"]) == ("What should we change?", {"value": "The evenings"})
    assert asked.stored()["follow_ups"] == [{"question": QUESTION, "answer": "They end late"}]
    assert asked.answer("The evenings").step["follow_up"] == 2  # which is still written
    write(asked.id, asked=2)
    assert asked.move("continue").prompt == SECOND
    assert len(anthropic.requests) == 2


def test_a_changed_answer_takes_its_questions_with_it(asked: Talk) -> None:
    asked.answer("x" * 200, follow_up=1)
    asked.move("back")
    asked.answer("y" * 200)

    assert asked.prompt == "Which colour?"
    assert "follow_ups" not in asked.stored()


@pytest.mark.long
def test_no_more_are_asked_than_the_script_allows_however_often_answers_change(asked: Talk) -> None:
    asked.move("back")
    asked.answer("The mornings")
    assert asked.step["follow_up"] == 1
    asked.move("back")
    asked.answer("The noons")

    assert asked.prompt == "Which colour?"


def test_the_last_question_ends_the_conversation_after_its_further_one(
    caller: Caller, anthropic: Loopback
) -> None:
    anthropic.queue(asks(QUESTION))
    talk = Talk(caller, survey(caller, CHANGE | {"follow_ups": 1})).answer("The evenings")
    while_written = talk.body["status"]
    write(talk.id)
    talk.move("continue")
    talk.answer("They end late", follow_up=1)

    assert (while_written, talk.body["status"], talk.body["step"]) == ("active", "completed", None)
    assert talk.stored()["follow_ups"] == [{"question": QUESTION, "answer": "They end late"}]


def test_ten_questions_take_one_credit_and_no_credits_ask_none(caller: Caller, anthropic: Loopback) -> None:
    caller.community.bot_credits = 1
    caller.community.save()
    project_id = survey(caller)

    prompts = [asked_about(caller, project_id, anthropic) for _ in range(11)]

    caller.community.refresh_from_db()
    assert prompts == [QUESTION] * 10 + ["Which colour?"]
    assert (caller.community.bot_credits, len(anthropic.requests)) == (0, 10)


def test_a_community_has_so_many_in_an_hour(
    caller: Caller, anthropic: Loopback, settings: Any, redis: Any
) -> None:
    settings.FOLLOW_UPS_PER_COMMUNITY_AND_HOUR = 1
    anthropic.queue(asks(QUESTION))
    talk = Talk(caller, survey(caller)).answer("The evenings")
    write(talk.id)
    talk.move("continue").answer("They end late", follow_up=1)
    write(talk.id, asked=2)

    assert talk.move("continue").prompt == "Which colour?"
    assert len(anthropic.requests) == 1


def asked_about(caller: Caller, project_id: str, anthropic: Loopback) -> str:
    """What somebody else is asked after a short answer."""
    anthropic.queue(asks(QUESTION))
    talk = Talk(caller, project_id)
    Conversation.objects.filter(pk=talk.id).update(respondent=None, user=None)
    talk.answer("The evenings")
    write(talk.id)
    return talk.move("continue").prompt if talk.step["follow_up"] else talk.prompt


@pytest.mark.parametrize("limit", ["FOLLOW_UPS_PER_PROJECT_AND_DAY", "FOLLOW_UPS_PER_COMMUNITY_AND_HOUR"])
def test_the_public_has_few_questions_written_in_a_time(
    caller: Caller, anthropic: Loopback, settings: Any, redis: Any, limit: str
) -> None:
    """Rule 10.93."""
    settings.METRICS = True
    setattr(settings, limit, 2)
    project_id = survey(caller)

    prompts = [asked_about(caller, project_id, anthropic) for _ in range(3)]

    assert prompts == [QUESTION, QUESTION, "Which colour?"]
    assert len(anthropic.requests) == 2
    assert spending.totals().follow_ups == {("asked",): 2, ("limit",): 1}


def test_a_refused_question_counts_for_nobody(caller: Caller, settings: Any, redis: Any) -> None:
    """Rule 10.116: a project at its limit, a community at its own, and one without credits."""
    settings.FOLLOW_UPS_PER_PROJECT_AND_DAY, settings.FOLLOW_UPS_PER_COMMUNITY_AND_HOUR = 1, 2

    def pay(project_id: int) -> str | None:
        return paying.pay_for_follow_up(community_id=caller.community.pk, project_id=project_id)

    type(caller.community).objects.update(bot_credits=50)
    of_one_project = [pay(1) for _ in range(5)]
    of_another = pay(2)
    beyond_the_community = [pay(3), pay(3)]
    settings.FOLLOW_UPS_PER_COMMUNITY_AND_HOUR = 3
    type(caller.community).objects.update(bot_credits=0, follow_ups_of_ten=0)
    without_credits = [pay(3), pay(3)]
    type(caller.community).objects.update(bot_credits=50)

    assert of_one_project == [None, "limit", "limit", "limit", "limit"]
    assert of_another is None
    assert beyond_the_community == ["limit", "limit"]
    assert without_credits == ["credits", "credits"]
    assert [pay(3), pay(3)] == [None, "limit"]


def test_questions_leave_credits_for_analyses(caller: Caller, anthropic: Loopback, settings: Any) -> None:
    """Rule 10.93: five credits, of which four are kept."""
    settings.CREDITS_KEPT_FROM_FOLLOW_UPS = 4
    project_id = survey(caller)

    prompts = [asked_about(caller, project_id, anthropic) for _ in range(11)]

    caller.community.refresh_from_db()
    assert prompts == [QUESTION] * 10 + ["Which colour?"]
    assert caller.community.bot_credits == 4


def test_a_question_is_paid_before_the_call_and_one_that_is_not_asked_is_free(
    caller: Caller, anthropic: Loopback, settings: Any, redis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.67: with one credit left, no more calls are made than it pays for."""
    settings.METRICS = True
    Community.objects.update(bot_credits=1)
    talk = Talk(caller, survey(caller)).answer("The evenings")
    credits = [Community.objects.values_list("bot_credits", "follow_ups_of_ten").get()]

    def ask_nothing(_: object) -> None:
        credits.append(Community.objects.values_list("bot_credits", "follow_ups_of_ten").get())

    monkeypatch.setattr(ai, "get_provider", lambda: SimpleNamespace(ask_further=ask_nothing))
    write(talk.id)

    credits.append(Community.objects.values_list("bot_credits", "follow_ups_of_ten").get())
    assert credits == [(1, 0), (0, 1), (1, 0)]
    assert spending.totals().follow_ups == {("none",): 1}


def test_a_question_outlives_other_wording_of_its_block(asked: Talk, caller: Caller) -> None:
    caller.patch(
        f"/projects/{asked.project_id}/script/blocks/{asked.block_id}", {"prompt": "What to change?"}
    )
    seen = caller.get(f"/conversations/{asked.id}").json()["step"]
    asked.answer("They end late")  # as a caller does that knows nothing of further questions

    assert (seen["block"]["prompt"], seen["follow_up"]) == (QUESTION, 1)
    assert asked.stored()["value"] == "The evenings"
    assert asked.stored()["follow_ups"] == [{"question": QUESTION, "answer": "They end late"}]


def test_a_block_without_further_questions_asks_the_question_itself_again(
    asked: Talk, caller: Caller
) -> None:
    caller.post(f"/projects/{asked.project_id}/close")
    block = f"/projects/{asked.project_id}/script/blocks/{asked.block_id}"
    assert caller.patch(block, {"follow_ups": 0}).status_code == 200
    assert caller.post(f"/projects/{asked.project_id}/open").status_code == 200
    seen = caller.get(f"/conversations/{asked.id}").json()["step"]

    assert (seen["block"]["prompt"], seen["answer"]) == ("What should we change?", {"value": "The evenings"})
    assert asked.answer("The evenings").prompt == "Which colour?"


def test_a_project_that_closes_meanwhile_keeps_the_answer(talk: Talk, caller: Caller) -> None:
    caller.post(f"/projects/{talk.project_id}/close")
    run_out(talk.id)

    assert talk.move("continue").last.status_code == 409
    assert Answer.objects.get(conversation_id=talk.id).value == "The evenings"


def test_no_question_is_written_on_a_project_that_closed(
    talk: Talk, caller: Caller, anthropic: Loopback
) -> None:
    caller.post(f"/projects/{talk.project_id}/close")
    write(talk.id)

    assert len(anthropic.requests) == 0


@pytest.mark.parametrize(("sent", "code"), [(3, "too_large"), (-1, "too_small"), ("1", "invalid_type")])
def test_a_question_has_at_most_two(sent: object, code: str) -> None:
    refused = Caller().post(
        "/projects",
        {"name": "Evenings", "type": "convo", "script": {"blocks": [CHANGE | {"follow_ups": sent}]}},
    )

    violation = refused.json()["violations"][0]
    assert (violation["field"], violation["code"]) == ("script.blocks[0].follow_ups", code)


def test_only_open_texts_have_them() -> None:
    block = {"type": "rating", "prompt": "How was it?", "follow_ups": 1}
    refused = Caller().post("/projects", {"name": "Evenings", "type": "convo", "script": {"blocks": [block]}})

    assert [each["code"] for each in refused.json()["violations"]] == ["not_allowed"]


# --- Scripts --------------------------------------------------------------------------------------------


def test_anonymous_projects_have_none() -> None:
    caller = Caller()
    body = {"name": "Evenings", "type": "convo", "script": {"blocks": [CHANGE]}}
    anonymous = {"privacy_mode": "anonymous"}
    made = caller.post("/projects", body | {"privacy_mode": "transparent"}).json()
    plain = {key: value for key, value in CHANGE.items() if key != "follow_ups"}
    empty = caller.post("/projects", body | anonymous | {"script": {"blocks": [plain]}}).json()
    answers = [
        caller.post("/projects", body | anonymous),
        caller.patch(f"/projects/{made['id']}", anonymous),
        caller.put(f"/projects/{empty['id']}/script", {"blocks": [CHANGE]}),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400]
    assert [answer.json()["violations"][0]["field"] for answer in answers] == [
        "script.blocks[0].follow_ups",
        "script.blocks[0].follow_ups",
        "blocks[0].follow_ups",
    ]
