"""A project from an intent, over the interface, with a worker beside it (rules 10.2 to 10.7)."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from communities.gate import idempotency
from communities.ground import privacy_words
from communities.ground.errors import Conflict
from surveys.ai.provider import ProposedScript, ScriptRequest, UnwrittenLanguage
from surveys.models import Generation, Project
from surveys.services.ai_work import from_intent, generation
from surveys.services.projects import service as projects
from tests.support.caller import CHOICE, Caller, counts, faults, refusal
from tests.support.moments import NOON
from tests.support.surveys.draft_provider import (
    BAD,
    GOOD,
    INTENT,
    POLL,
    QUIZ,
    Drafts,
    down,
    provide,
    work_while_waiting,
)

pytestmark = pytest.mark.django_db
KEY = "5b0ad3a9-1d9a-4c8f-8a55-0f6c3f4b9d11"


@pytest.fixture
def caller() -> Caller:
    made = Caller()
    made.community.bot_credits = 3
    made.community.save()
    return made


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    work_while_waiting(monkeypatch)


@pytest.fixture
def drafts(monkeypatch, settings) -> Drafts:
    return provide(monkeypatch, settings, GOOD)


def credits(caller: Caller) -> int:
    caller.community.refresh_from_db()
    return caller.community.bot_credits


def test_a_project_comes_with_the_script_that_was_made(caller, drafts):
    answer = caller.post("/projects", INTENT)

    made = answer.json()
    assert answer.status_code == 201
    assert made["status"] == "inactive"
    assert [block["prompt"] for block in made["script"]["blocks"]] == [
        "How was the club evening?",
        "What should we change?",
    ]
    assert made["credits_used"] == 1
    assert made["generation"] == {
        "status": "completed",
        "generated_by": "anthropic",
        "error": None,
        "method": "model",
        "confidence": None,
        "understood": [],
        "unmet": [],
    }
    assert made["info"]["block_count"] == 2


@pytest.mark.parametrize(
    ("fields", "mode", "is_unmet"),
    [
        ({}, "anonymous", False),
        ({"privacy_mode": "transparent"}, "transparent", True),
        ({"settings": {"privacy_mode": "semi-private"}}, "semi-private", True),
    ],
)
def test_anonymous_never_ends_as_something_else_in_silence(caller, drafts, fields, mode, is_unmet):
    intent = {**INTENT, "intent": "An anonymous survey about our club evening", **fields}

    made = caller.post("/projects", intent).json()

    assert made["settings"]["privacy_mode"] == mode
    assert any("anonymous" in each for each in made["generation"]["unmet"]) == is_unmet


LEADS_AWAY = {"settings": {"end": {"url": "https://shop.example/?r=[response_id]"}}}


@pytest.mark.parametrize(
    ("fields", "mode"),
    [
        ({}, "anonymous"),
        ({"privacy_mode": "transparent"}, "transparent"),
        (LEADS_AWAY, "transparent"),  # rule 6.183
    ],
)
def test_a_wish_that_only_the_model_understood_counts_too(caller, monkeypatch, settings, fields, mode):
    """Rule 10.90."""
    provide(monkeypatch, settings, replace(GOOD, wishes={"privacy_mode": "anonymous"}))

    made = caller.post("/projects", {**INTENT, **fields}).json()

    assert made["settings"]["privacy_mode"] == mode
    assert any("anonymous" in each for each in made["generation"]["unmet"]) == (mode == "transparent")


def test_a_model_never_makes_a_project_more_open(caller, monkeypatch, settings):
    provide(monkeypatch, settings, replace(GOOD, wishes={"privacy_mode": "transparent"}))

    made = caller.post("/projects", {**INTENT, "intent": "Ask anonymously how it was"}).json()

    assert made["settings"]["privacy_mode"] == "anonymous"


@pytest.mark.parametrize(
    ("mode", "readers"),
    [
        ("transparent", [privacy_words.TRANSPARENT.sentence]),
        ("semi-private", [privacy_words.SEMI_PRIVATE.sentence]),
        ("anonymous", []),
    ],
)
def test_confidential_is_not_anonymous_and_who_reads_is_told(caller, monkeypatch, settings, mode, readers):
    """Rule 10.94."""
    provide(monkeypatch, settings, replace(GOOD, understood=("It is confidential.", "Two questions.")))
    intent = "Ask how the evening was. Keep the answers confidential."

    told = caller.post("/projects", {**INTENT, "intent": intent, "privacy_mode": mode}).json()["generation"]

    assert told["unmet"] == [
        f"You asked for confidential answers, and this project is {mode}. {each} "
        "Choose who may under Delivery before it opens."
        for each in readers
    ]
    assert told["understood"] == (
        ["Two questions."] if readers else ["It is confidential.", "Two questions."]
    )


def test_white_space_of_an_intent_is_one_space_or_one_empty_line(caller, drafts):
    """Rule 10.91."""
    caller.post("/projects", {**INTENT, "intent": "Ask" + " " * 1000 + "why:\n\n\n \n- one \u2003\n-\ttwo"})

    ((request, _),) = drafts.asked
    assert request.intent == "Ask why:\n\n- one\n- two"


def test_an_intent_in_a_language_without_templates_names_the_intent_and_costs_nothing(
    caller, monkeypatch, settings
):
    provide(monkeypatch, settings, UnwrittenLanguage("Not in this language."))

    answer = caller.post("/projects", INTENT)

    assert answer.status_code == 400
    assert faults(answer) == {("intent", "invalid")}
    assert not Project.objects.exists()
    assert credits(caller) == 3


@pytest.mark.parametrize("texts", [("⟦Question 1⟧", "Yes"), ("Is it?", "⟦Right answer⟧")])
def test_a_script_with_a_placeholder_cannot_be_opened_until_its_author_replaces_it(
    caller, monkeypatch, settings, texts
):
    """Rule 10.47."""
    prompt, option = texts
    options = [{"value": option}, {"value": "No"}]
    block = {"name": "fact", "type": "single_punch", "prompt": prompt, "options": options}
    provide(monkeypatch, settings, ProposedScript([block]))
    path = f"/projects/{caller.post('/projects', INTENT).json()['id']}"

    refused = caller.post(f"{path}/open")
    edited = {**block, "prompt": "Is it?", "options": [{"value": "Yes"}, {"value": "No"}]}
    caller.put(f"{path}/script", {"blocks": [edited]})

    assert refusal(refused) == (409, "conflict")
    assert "“fact”" in refused.json()["message"]
    assert caller.post(f"{path}/open").json()["status"] == "active"


def test_a_script_takes_one_credit(caller, drafts):
    caller.post("/projects", INTENT)

    assert credits(caller) == 2


def test_the_local_provider_is_free(caller):
    """Rule 10.1."""
    answer = caller.post("/projects", INTENT)

    assert answer.json()["credits_used"] == 0
    assert answer.json()["generation"]["generated_by"] == "local"
    assert answer.json()["script"]["blocks"]
    assert credits(caller) == 3


@pytest.mark.parametrize(
    ("intent", "words"),
    [
        ("Customer survey about the new menu", "the new menu"),
        ("Sondage sur le nouveau menu", "Quelques questions"),
        ("Umfrage über den neuen Speiseplan", "Was gefällt dir"),
        ("Pesquisa sobre a nova sede", "do que você mais gosta"),
        ("Encuesta sobre el nuevo horario", "preguntas cortas"),
    ],
)
def test_without_a_model_a_script_is_in_the_language_of_the_intent(caller, intent, words):
    """Rule 10.43."""
    made = caller.post("/projects", {"name": "N", "type": "convo", "intent": intent}).json()

    assert words in "\n".join(block["prompt"] for block in made["script"]["blocks"])


def test_without_a_model_a_draft_may_have_fewer_questions_than_wanted_and_says_so(caller):
    """Rule 10.45."""
    intent = "Survey about our club evening with 60 questions"

    made = caller.post("/projects", {"name": "N", "type": "convo", "intent": intent}).json()

    questions = [block for block in made["script"]["blocks"] if block["type"] != "content_block"]
    assert 10 < len(questions) < 60
    assert [str(len(questions)) in each for each in made["generation"]["unmet"]] == [True]


def test_without_a_model_and_a_match_the_general_template_is_chosen_with_low_confidence(caller):
    """Rule 10.46."""
    fields = {"name": "N", "type": "convo"}

    clear, unclear = (
        caller.post("/projects", {**fields, "intent": intent}).json()["generation"]
        for intent in ("Event feedback survey", "Qwertz uiop asdf")
    )

    assert clear["confidence"] > 0.5 > unclear["confidence"]
    assert clear["understood"] == ["Template: Event feedback."]
    assert unclear["understood"] == ["This may not be what you asked for.", "Template: General survey."]


def test_without_a_model_no_script_is_written_in_another_language(caller):
    """Rule 10.43."""
    intent = "sondaggio sui pasti della nostra mensa"

    answer = caller.post("/projects", {"name": "N", "type": "convo", "intent": intent})

    assert refusal(answer) == (400, "invalid_request")
    assert faults(answer) == {("intent", "invalid")}
    assert "English, French, German, Portuguese and Spanish only" in answer.json()["message"]
    assert not Project.objects.exists()


def test_too_few_credits_are_refused_and_nothing_is_left(caller, drafts):
    caller.community.bot_credits = 0
    caller.community.save()

    answer = caller.post("/projects", INTENT)

    assert refusal(answer) == (402, "payment_required")
    assert answer.json()["message"] == "This takes 1 credit, and the community has 0 credits left."
    assert drafts.asked == []
    assert not Generation.objects.exists()
    assert counts(caller) == (0, 0)


def test_a_project_without_an_intent_tells_of_no_generation(caller):
    assert caller.make()["generation"] is None


def test_nothing_is_left_of_the_work_once_it_is_fetched(caller, drafts):
    caller.post("/projects", INTENT)

    assert not Generation.objects.exists()


# --- What the provider is asked ---------------------------------------------------------------------


def test_the_provider_is_told_the_intent_and_what_it_is_for(caller, drafts):
    """Rule 10.49."""
    caller.post("/projects", INTENT)

    ((request, correction),) = drafts.asked
    assert (request.intent, request.type, request.scoring, request.for_chat, correction) == (
        INTENT["intent"],
        "convo",
        None,
        False,
        None,
    )
    assert request.community == caller.community.name


@pytest.mark.parametrize(
    ("sent", "scoring"),
    [
        ({}, None),
        ({"scoring_enabled": True}, True),
        ({"scoring_enabled": False}, False),
        ({"scoring": None}, False),
        ({"scoring": {"enabled": True}}, True),
        ({"scoring": {"buckets": []}}, None),
    ],
)
def test_the_provider_is_told_whether_there_are_points(caller, drafts, sent, scoring):
    caller.post("/projects", {**INTENT, **sent})

    assert drafts.asked[0][0].scoring is scoring


def test_the_provider_is_told_the_buckets(caller, monkeypatch, settings):
    drafts = provide(monkeypatch, settings, GOOD)
    scoring = {"enabled": True, "buckets": [{"name": "Mage"}, {"name": "Knight"}]}

    caller.post("/projects", {**INTENT, "scoring": scoring})

    assert drafts.asked[0][0].bucket_names == ("Mage", "Knight")


def test_an_intent_that_needs_points_turns_scoring_on(caller, monkeypatch, settings):
    provide(monkeypatch, settings, QUIZ)

    made = caller.post("/projects", INTENT).json()

    assert made["scoring"] == {"enabled": True, "buckets": [{"name": "Score", "order": 0}]}
    assert made["script"]["blocks"][0]["correct_answer_ids"]


def test_scoring_that_was_turned_off_stays_off(caller, monkeypatch, settings):
    provide(monkeypatch, settings, QUIZ)

    made = caller.post("/projects", {**INTENT, "scoring_enabled": False}).json()

    assert made["scoring"]["enabled"] is False


def test_a_poll_gets_a_script_of_a_poll(caller, monkeypatch, settings):
    provide(monkeypatch, settings, POLL)

    made = caller.post("/projects", {**INTENT, "type": "poll"}).json()

    assert made["info"]["type"] == "poll"
    assert len(made["script"]["blocks"]) == 1


# --- Valid or nothing -------------------------------------------------------------------------------


def test_what_is_wrong_goes_back_to_the_provider(caller, monkeypatch, settings):
    drafts = provide(monkeypatch, settings, BAD, GOOD)

    answer = caller.post("/projects", INTENT)

    correction = drafts.asked[1][1]
    assert answer.status_code == 201
    assert correction is not None
    assert correction.draft == BAD
    assert [each["field"] for each in correction.violations] == ["script.blocks[0].prompt"]


def test_it_goes_back_twice_at_most(caller, monkeypatch, settings):
    drafts = provide(monkeypatch, settings, BAD)

    answer = caller.post("/projects", INTENT)

    assert refusal(answer) == (503, "unavailable")
    assert len(drafts.asked) == 3
    assert credits(caller) == 3
    assert counts(caller) == (0, 0)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "content_block", "prompt": "Hello."},
        {
            "type": "action_block",
            "prompt": "Here!",
            "action_kind": "give_xp",
            "action_config": {"xp_amount": 5},
        },
    ],
)
def test_a_script_without_a_question_or_that_gives_something_away_is_not_valid(
    caller, monkeypatch, settings, block
):
    blocks = [block] if block["type"] == "content_block" else [*GOOD.blocks, block]
    provide(monkeypatch, settings, ProposedScript(blocks))

    assert refusal(caller.post("/projects", INTENT)) == (503, "unavailable")


def test_a_poll_of_two_questions_is_not_valid(caller, drafts):
    assert refusal(caller.post("/projects", {**INTENT, "type": "poll"})) == (503, "unavailable")


# --- Failures ---------------------------------------------------------------------------------------


def test_a_provider_that_fails_leaves_no_project_and_takes_no_credits(caller, monkeypatch, settings):
    provide(monkeypatch, settings, down())

    answer = caller.post("/projects", INTENT)

    assert refusal(answer) == (503, "unavailable")
    assert answer.json()["message"] == "The AI provider is overloaded."
    assert answer["Retry-After"] == "45"
    assert not Project.objects.exists()
    assert credits(caller) == 3
    assert counts(caller) == (0, 0)


def test_a_fault_of_our_own_is_logged_and_told_in_general(caller, monkeypatch, settings, capsys):
    provide(monkeypatch, settings, ZeroDivisionError("the intent's words"))

    answer = caller.post("/projects", INTENT)

    assert refusal(answer) == (503, "unavailable")
    assert "intent's words" not in answer.json()["message"]
    assert credits(caller) == 3


def test_a_retry_under_the_same_key_tries_again(caller, monkeypatch, settings):
    provide(monkeypatch, settings, down(), GOOD)

    first = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})
    second = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})

    assert (first.status_code, second.status_code) == (503, 201)
    assert credits(caller) == 2


# --- Fields -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        ({"intent": ""}, ("intent", "blank")),
        ({"intent": " \n"}, ("intent", "blank")),
        ({"intent": 5}, ("intent", "invalid_type")),
        ({"intent": "a" * 4001}, ("intent", "too_long")),
        ({"script": {"blocks": [CHOICE]}}, ("script", "conflicting")),
        ({"template": "nps"}, ("template", "conflicting")),
        ({"name": ""}, ("name", "blank")),
        ({"settings": {"max_completes_per_user": 0}}, ("settings.max_completes_per_user", "too_small")),
    ],
)
def test_what_is_wrong_with_the_fields_is_told_before_anything_is_paid(caller, drafts, sent, fault):
    answer = caller.post("/projects", {**INTENT, **sent})

    assert refusal(answer) == (400, "invalid_request")
    assert fault in faults(answer)
    assert drafts.asked == []
    assert credits(caller) == 3


def test_premium_fields_are_refused_before_anything_is_paid(drafts):
    basic = Caller(tier="basic")

    answer = basic.post("/projects", {**INTENT, "delivery": {"invitation": {"footer": "Yours"}}})

    assert refusal(answer) == (403, "tier_required")
    assert drafts.asked == []


def test_unknown_fields_are_named_once(caller, drafts):
    answer = caller.post("/projects", {**INTENT, "intend": "x"})

    assert answer["X-Ignored-Fields"] == "intend"
    project = caller.make_open(CHOICE, delivery={"audience": {"participation": "open_web"}})
    answer = caller.post(f"/projects/{project['id']}/conversations", {"external_id": "a", "nick": "x"})
    assert answer["X-Ignored-Fields"] == "nick"


def test_a_member_may_not_ask(caller, drafts):
    assert refusal(caller.beside("member").post("/projects", INTENT)) == (403, "forbidden")
    assert drafts.asked == []


# --- Once -------------------------------------------------------------------------------------------


def test_the_same_key_gets_the_same_answer_and_pays_once(caller, drafts):
    first = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})
    second = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})

    assert second.content == first.content
    assert second["Idempotency-Replayed"] == "true"
    assert len(drafts.asked) == 1
    assert credits(caller) == 2
    assert Project.objects.count() == 1


def test_a_replay_begins_no_work(caller, drafts, monkeypatch):
    first = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})
    monkeypatch.setattr(from_intent, "prepare", None)

    second = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})

    assert second.content == first.content
    assert second["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": KEY}])
def test_the_project_is_planned_once(caller, drafts, monkeypatch, headers):
    plan_project = Mock(wraps=projects.plan_project)
    monkeypatch.setattr(projects, "plan_project", plan_project)

    answer = caller.post("/projects", INTENT, **headers)

    assert answer.status_code == 201
    plan_project.assert_called_once()


def test_a_request_without_an_intent_does_not_ask_whether_it_is_answered(caller, monkeypatch):
    monkeypatch.setattr(idempotency, "is_settled", None)

    answer = caller.post("/projects", {"name": "By hand", "type": "convo"}, **{"Idempotency-Key": KEY})

    assert answer.status_code == 201


def test_an_answer_that_expires_before_it_is_replayed_is_a_conflict(caller, drafts, monkeypatch):
    monkeypatch.setattr(idempotency, "is_settled", lambda claim, at: True)

    answer = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})

    assert refusal(answer) == (409, "conflict")
    assert answer["Retry-After"] == "1"


def test_another_intent_under_the_same_key_is_refused(caller, drafts):
    caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})

    answer = caller.post("/projects", {**INTENT, "intent": "Another"}, **{"Idempotency-Key": KEY})

    assert refusal(answer) == (409, "conflict")


def test_a_caller_that_broke_off_finds_the_script_that_it_paid_for(caller, drafts, monkeypatch):
    def break_off(*, generation_id: int) -> None:
        generation.run(generation_id=generation_id)
        raise ConnectionResetError

    caller.client.raise_request_exception = False
    monkeypatch.setattr(generation, "wait", break_off)
    assert caller.post("/projects", INTENT, **{"Idempotency-Key": KEY}).status_code == 500
    work_while_waiting(monkeypatch)

    answer = caller.post("/projects", INTENT, **{"Idempotency-Key": KEY})

    assert answer.status_code == 201
    assert len(drafts.asked) == 1
    assert credits(caller) == 2


def test_another_request_under_the_key_of_one_that_broke_off_is_refused(caller, drafts):
    request = ScriptRequest("Ask", "convo")
    begin = {"community_id": caller.community.pk, "request": request, "claim": "c", "at": NOON}
    generation.begin(**begin, fingerprint="f")

    with pytest.raises(Conflict):
        generation.begin(**begin, fingerprint="another")
