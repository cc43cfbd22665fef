"""Drafts of the local provider: their length, their points, and the project's buckets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surveys.ai.local import LocalProvider
from surveys.ai.local.drafts import length, library
from surveys.ai.local.drafts.library import Template
from surveys.ai.provider import Correction, ProposedScript, ScriptRequest
from surveys.engine.script import QUESTIONS
from tests.support.ai.drafts import (
    check_draft,
    draft_from,
    each,
    first_option,
    last_option,
    option_values,
    prompts,
    questions,
    run,
)
from tests.support.cases import try_each

ROOT = Path(__file__).parents[2]
GRADES = {"correct_answer_index", "when_correct", "when_incorrect"}
SURVEYS = [template for template in library.all_templates() if template.type == "convo"]


def graded(draft: ProposedScript) -> list[Any]:
    return [block for block in draft.blocks if GRADES & block.keys()]


def weights(draft: ProposedScript) -> set[str]:
    options = [option for block in draft.blocks for option in block.get("options", ())]  # type: ignore[attr-defined]
    return {key for option in options for key in option.get("score_values", {})}


def run_draft(draft: ProposedScript, respond: Any, **fields: Any) -> Any:
    return run(check_draft(draft, "convo", **fields).script, respond)


# --- Length ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 12])
@each(SURVEYS)
def test_every_survey_has_exactly_as_many_questions_as_are_wanted(template: Template, count: int) -> None:
    wanted = f"{template.name} on volcanoes, {count} questions"

    draft = draft_from(wanted, for_chat=True)

    if template.id in library.STANDARD:
        assert len(questions(draft)) == template.question_count
        assert draft.unmet == (
            f"The draft has {template.question_count} questions, and you asked for another number.",
        )
    else:
        assert len(questions(draft)) == count


def test_the_most_important_question_stays_longest() -> None:
    (question,) = questions(draft_from("event feedback, 1 question"))

    assert question["name"] == "overall"


def test_follow_ups_are_dropped_together_with_their_question() -> None:
    template = library.get("event-feedback")
    assert template is not None
    blocks = [dict(block) for block in template.blocks]

    remaining = length.without_blocks(blocks, ["Overall"])

    assert {"overall", "reason"}.isdisjoint(block["name"] for block in remaining)
    assert len(remaining) == len(blocks) - 2


def test_further_questions_come_before_the_closing_open_question() -> None:
    asked = questions(draft_from("a survey about coffee with 15 questions"))

    assert asked[-1]["name"] == "anything_else"
    assert len({each["prompt"] for each in asked}) == 15


def test_a_draft_has_fewer_questions_when_the_library_has_no_more_and_says_so() -> None:
    draft = draft_from("a survey about coffee with 60 questions")

    asked = len(questions(draft))
    assert 30 < asked < 60
    assert draft.unmet == (f"The draft has {asked} questions, and you asked for another number.",)
    assert not draft.is_placeholder


@try_each(("wanted", "count"), [("at least 12", 12), ("up to 4", 4), ("5 to 20", 7), ("30", 30)])
def test_a_range_of_questions_is_respected(wanted: str, count: int) -> None:
    assert len(questions(draft_from(f"a survey about coffee with {wanted} questions"))) == count


@try_each("count", [2, 10, 100])
def test_a_poll_has_one_question_even_if_more_are_wanted(count: int) -> None:
    assert len(questions(draft_from(f"a poll with {count} questions about tea", "poll"))) == 1


# --- Quizzes --------------------------------------------------------------------------------------


def test_a_quiz_shows_its_score() -> None:
    draft = draft_from("a general knowledge quiz with 4 questions")

    assert draft.scoring_enabled
    assert run_draft(draft, first_option).prompts["told_score"] == "You got 4 of 4 right."
    assert "told_high" in run_draft(draft, first_option).prompts
    assert run_draft(draft, last_option).prompts["told_score"] == "You got 0 of 4 right."
    assert "told_low" in run_draft(draft, last_option).prompts


def test_a_quiz_says_whether_an_answer_was_right() -> None:
    draft = draft_from("trivia with 2 questions")

    assert run_draft(draft, first_option).feedback == ["That's right!"] * 2
    assert run_draft(draft, last_option).feedback[0] == "Not quite: the right answer is Mercury."


def test_a_quiz_on_a_topic_has_placeholders_for_the_author() -> None:
    draft = draft_from("a quiz about volcanoes with 7 questions and 3 options each")

    asked = questions(draft)
    assert [each["prompt"] for each in asked][-1] == "⟦Question 7 about volcanoes⟧"
    assert {len(each["options"]) for each in asked} == {3}
    assert all(value.startswith("⟦") for each in asked for value in option_values(each))
    assert run_draft(draft, first_option).prompts["told_score"] == "You got 7 of 7 right."


def test_a_longer_quiz_gets_placeholders_with_right_answers() -> None:
    draft = draft_from("pub quiz with 20 questions")

    assert len(graded(draft)) == len(questions(draft)) == 20
    assert "⟦" in prompts(draft)[-6]


@try_each("bucket_names", [("Score",), ("Sea", "Fire Mage")])
def test_a_quiz_gives_no_points_to_the_projects_buckets(bucket_names: tuple[str, ...]) -> None:
    draft = draft_from("quiz about cats", bucket_names=bucket_names)

    assert weights(draft) == set()
    assert graded(draft)


# --- Personality quizzes --------------------------------------------------------------------------


def test_a_personality_quiz_shows_its_result() -> None:
    draft = draft_from("a personality quiz")

    assert list(run_draft(draft, first_option).prompts.items())[-1] == (
        "told_explorer",
        "Your result: Explorer!",
    )
    assert run_draft(draft, last_option).prompts["told_creator"] == "Your result: Creator!"


def test_results_listed_in_the_intent_are_computed_and_shown() -> None:
    draft = draft_from("personality quiz with 4 questions and these results: fire mage, healer and rogue")

    shown = run_draft(draft, last_option).prompts
    assert shown["told_outcome_3"] == "Your result: Rogue!"
    assert draft.blocks[-1]["description"] == "⟦Tell here what “Rogue” stands for⟧"
    assert weights(draft) == {"fire_mage", "healer", "rogue"}
    assert option_values(questions(draft)[0])[0] == "⟦Answer for Fire Mage⟧"


def test_the_projects_buckets_are_the_results() -> None:
    names = ("Fire Mage", "Sea")

    draft = draft_from("personality quiz, 12 questions", bucket_names=names, for_chat=True)

    assert weights(draft) == {"fire_mage", "sea"}
    assert run_draft(draft, last_option, bucket_names=names).prompts["told_outcome_2"] == "Your result: Sea!"


def test_buckets_that_include_the_templates_own_keep_its_answers() -> None:
    names = ("Explorer", "Achiever", "Connector", "Creator", "Other")

    draft = draft_from("personality quiz", bucket_names=names)

    assert draft == draft_from("personality quiz")


@try_each("names", [("Score",), ("C++", "C#"), ("火", "水!")])
def test_buckets_that_cannot_be_results_get_no_points(names: tuple[str, ...]) -> None:
    draft = draft_from("personality quiz", bucket_names=names)

    assert weights(draft) == set()
    assert not [each for each in prompts(draft) if "[" in each]


@try_each("listed", ["C++, C#", "a" * 70 + ", b" * 2, "correct, wrong", "Straße, Ärger", "co-op, co op"])
def test_any_listed_results_give_a_draft(listed: str) -> None:
    assert questions(draft_from(f"personality quiz with results: {listed}", for_chat=True))


# --- Points ---------------------------------------------------------------------------------------


@try_each("intent", ["quiz about cats", "trivia", "a personality quiz", "event feedback"])
def test_without_scoring_a_draft_has_no_points_and_mentions_none(intent: str) -> None:
    draft = draft_from(intent, scoring=False)

    assert not draft.scoring_enabled
    assert weights(draft) == set()
    assert graded(draft) == []
    assert not [block for block in draft.blocks if block["type"] == "calculated_block"]
    assert not [each for each in prompts(draft) if "[" in each]
    assert questions(draft)


@try_each("type", ["convo", "poll"])
def test_scoring_can_be_switched_on_for_any_template(type: str) -> None:
    assert draft_from("event feedback", type, scoring=True).scoring_enabled


def test_by_default_scoring_is_on_if_the_template_needs_it() -> None:
    assert draft_from("trivia").scoring_enabled
    assert not draft_from("event feedback").scoring_enabled


# --- The provider ---------------------------------------------------------------------------------


def test_drafting_does_not_load_the_libraries_that_read_texts() -> None:
    code = (
        "import sys;"
        "from surveys.ai.local import LocalProvider; from surveys.ai.provider import ScriptRequest;"
        "LocalProvider().draft_script(ScriptRequest('a quiz about tea', 'convo'));"
        "sys.exit(any(name.split('.')[0] in ('sklearn', 'scipy', 'wordllama') for name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@try_each("type", ["convo", "poll"])
@try_each("scoring", [None, True, False])
def test_a_corrected_draft_takes_nothing_from_the_intent(type: str, scoring: bool | None) -> None:
    request = ScriptRequest(intent="a quiz about Elden Ring", type=type, scoring=scoring, for_chat=True)
    faulty = Correction(ProposedScript([]), [])

    draft = LocalProvider().draft_script(request, faulty)

    assert check_draft(draft, type, for_chat=True).problems == []
    assert "Elden Ring" not in "\n".join(prompts(draft))
    assert draft.scoring_enabled is bool(scoring)


def test_the_same_intent_gives_the_same_draft_and_does_not_change_the_library() -> None:
    before = [template.blocks for template in library.all_templates()]

    drafts = [draft_from("personality quiz about tea, 3 questions") for _ in range(2)]

    assert drafts[0] == drafts[1]
    assert [template.blocks for template in library.all_templates()] == before
    assert not [
        block
        for template in library.all_templates()
        for block in template.blocks
        if "tea" in str(block["prompt"]).split()
    ]


@try_each("type", ["convo", "poll"])
def test_every_draft_has_a_question(type: str) -> None:
    assert [block["type"] in QUESTIONS for block in draft_from("!", type).blocks].count(True) >= 1
