"""Drafts of the local provider: as long as is wanted, with points or without, with the project's buckets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surveys.ai.local import LocalProvider
from surveys.ai.local.drafts import length, library
from surveys.ai.provider import Correction, ScriptDraft, ScriptRequest
from surveys.engine.script import QUESTIONS
from tests.support.ai.drafts import drafted, first, judge, last, prompts, questions, values, walk

ROOT = Path(__file__).parents[2]
GRADES = {"correct_answer_index", "when_correct", "when_incorrect"}
IDS = [template.id for template in library.all_templates() if template.type == "convo"]


def graded(draft: ScriptDraft) -> list[Any]:
    return [block for block in draft.blocks if GRADES & block.keys()]


def weights(draft: ScriptDraft) -> set[str]:
    options = [option for block in draft.blocks for option in block.get("options", ())]  # type: ignore[attr-defined]
    return {key for option in options for key in option.get("score_values", {})}


def walked(draft: ScriptDraft, say: Any, **wanted: Any) -> Any:
    return walk(judge(draft, "convo", **wanted).script, say)


# --- Length ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 30, 60, 100])
@pytest.mark.parametrize("kind", IDS)
def test_every_survey_has_exactly_as_many_questions_as_are_wanted(kind: str, count: int) -> None:
    template = library.get(kind)
    assert template is not None
    wanted = f"{template.name} on volcanoes, {count} questions"

    draft = drafted(wanted, for_chat=True)

    assert len(questions(draft)) == count


def test_the_most_important_question_stays_longest() -> None:
    (question,) = questions(drafted("event feedback, 1 question"))

    assert question["name"] == "overall"


def test_a_question_goes_together_with_those_that_ask_on() -> None:
    template = library.get("event-feedback")
    assert template is not None
    blocks = [dict(block) for block in template.blocks]

    kept = length.without_blocks(blocks, ["Overall"])

    assert {"overall", "reason"}.isdisjoint(block["name"] for block in kept)
    assert len(kept) == len(blocks) - 2


def test_further_questions_stand_before_the_open_one_at_the_end() -> None:
    asked = questions(drafted("a survey about coffee with 15 questions"))

    assert asked[-1]["name"] == "anything_else"
    assert len({each["prompt"] for each in asked}) == 15


def test_what_the_library_has_no_question_for_is_marked_for_the_author() -> None:
    said = prompts(drafted("a survey about coffee with 60 questions"))

    assert "Question 59 about coffee (replace this text)" in said


@pytest.mark.parametrize(
    ("wanted", "count"), [("at least 12", 12), ("up to 4", 4), ("5 to 20", 7), ("300", 100)]
)
def test_a_range_is_kept(wanted: str, count: int) -> None:
    assert len(questions(drafted(f"a survey about coffee with {wanted} questions"))) == count


@pytest.mark.parametrize("count", [2, 10, 100])
def test_a_poll_asks_once_whatever_is_wanted(count: int) -> None:
    assert len(questions(drafted(f"a poll with {count} questions about tea", "poll"))) == 1


# --- Quizzes --------------------------------------------------------------------------------------


def test_a_quiz_tells_its_score() -> None:
    draft = drafted("a general knowledge quiz with 4 questions")

    assert draft.scoring_enabled
    assert walked(draft, first).told["told_score"] == "You got 4 of 4 right."
    assert "told_high" in walked(draft, first).told
    assert walked(draft, last).told["told_score"] == "You got 0 of 4 right."
    assert "told_low" in walked(draft, last).told


def test_a_quiz_says_whether_an_answer_was_right() -> None:
    draft = drafted("trivia with 2 questions")

    assert walked(draft, first).feedback == ["That's right!"] * 2
    assert walked(draft, last).feedback[0] == "Not quite: the right answer is Mercury."


def test_a_quiz_on_a_topic_is_a_frame_that_says_what_is_to_be_replaced() -> None:
    draft = drafted("a quiz about volcanoes with 7 questions and 3 options each")

    asked = questions(draft)
    assert [each["prompt"] for each in asked][-1] == "Question 7 about volcanoes (replace this text)"
    assert {len(each["options"]) for each in asked} == {3}
    assert all(value.endswith("(replace)") for each in asked for value in values(each))
    assert walked(draft, first).told["told_score"] == "You got 7 of 7 right."


def test_a_longer_quiz_goes_on_in_the_same_way() -> None:
    draft = drafted("pub quiz with 20 questions")

    assert len(graded(draft)) == len(questions(draft)) == 20
    assert "(replace" in prompts(draft)[-6]


@pytest.mark.parametrize("bucket_names", [("Score",), ("Sea", "Fire Mage")])
def test_a_quiz_leaves_the_projects_buckets_alone(bucket_names: tuple[str, ...]) -> None:
    draft = drafted("quiz about cats", bucket_names=bucket_names)

    assert weights(draft) == set()
    assert graded(draft)


# --- Personality quizzes --------------------------------------------------------------------------


def test_a_personality_quiz_tells_its_result() -> None:
    draft = drafted("a personality quiz")

    assert walked(draft, first).told["told_result"] == "Your result: Explorer!"
    assert walked(draft, last).told["told_result"] == "Your result: Creator!"
    assert "told_creator" in walked(draft, last).told


def test_results_that_the_intent_lists_are_found_and_told() -> None:
    draft = drafted("personality quiz with 4 questions and these results: fire mage, healer and rogue")

    told = walked(draft, last).told
    assert told["told_result"] == "Your result: Rogue!"
    assert told["told_outcome_3"] == "(Tell here what “Rogue” stands for.)"
    assert weights(draft) == {"fire_mage", "healer", "rogue"}
    assert values(questions(draft)[0])[0] == "Answer for Fire Mage (replace)"


def test_the_projects_buckets_are_the_results() -> None:
    names = ("Fire Mage", "Sea")

    draft = drafted("personality quiz, 12 questions", bucket_names=names, for_chat=True)

    assert weights(draft) == {"fire_mage", "sea"}
    assert walked(draft, last, bucket_names=names).told["told_result"] == "Your result: Sea!"


def test_buckets_that_are_the_templates_own_keep_its_answers() -> None:
    names = ("Explorer", "Achiever", "Connector", "Creator", "Other")

    draft = drafted("personality quiz", bucket_names=names)

    assert draft == drafted("personality quiz")


@pytest.mark.parametrize("names", [("Score",), ("C++", "C#"), ("火", "水!")])
def test_buckets_that_cannot_be_results_are_left_alone(names: tuple[str, ...]) -> None:
    draft = drafted("personality quiz", bucket_names=names)

    assert weights(draft) == set()
    assert not [each for each in prompts(draft) if "[" in each]


@pytest.mark.parametrize(
    "listed", ["C++, C#", "a" * 70 + ", b" * 2, "correct, wrong", "Straße, Ärger", "co-op, co op"]
)
def test_any_results_that_are_listed_give_a_draft(listed: str) -> None:
    assert questions(drafted(f"personality quiz with results: {listed}", for_chat=True))


# --- Points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", ["quiz about cats", "trivia", "a personality quiz", "event feedback"])
def test_without_scoring_there_are_no_points_and_nothing_tells_of_any(intent: str) -> None:
    draft = drafted(intent, scoring=False)

    assert not draft.scoring_enabled
    assert weights(draft) == set()
    assert graded(draft) == []
    assert not [block for block in draft.blocks if block["type"] == "calculated_block"]
    assert not [each for each in prompts(draft) if "[" in each]
    assert questions(draft)


@pytest.mark.parametrize("type", ["convo", "poll"])
def test_with_scoring_it_is_on_whatever_the_template(type: str) -> None:
    assert drafted("event feedback", type, scoring=True).scoring_enabled


def test_left_to_the_provider_scoring_is_on_where_the_template_needs_it() -> None:
    assert drafted("trivia").scoring_enabled
    assert not drafted("event feedback").scoring_enabled


# --- The provider ---------------------------------------------------------------------------------


def test_drafting_loads_nothing_that_reads_texts() -> None:
    code = (
        "import sys;"
        "from surveys.ai.local import LocalProvider; from surveys.ai.provider import ScriptRequest;"
        "LocalProvider().draft_script(ScriptRequest('a quiz about tea', 'convo'));"
        "sys.exit(any(name.split('.')[0] in ('sklearn', 'numpy', 'scipy') for name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("type", ["convo", "poll"])
@pytest.mark.parametrize("scoring", [None, True, False])
def test_a_corrected_draft_takes_nothing_from_the_intent(type: str, scoring: bool | None) -> None:
    request = ScriptRequest(intent="a quiz about Elden Ring", type=type, scoring=scoring, for_chat=True)
    faulty = Correction(ScriptDraft([]), [])

    draft = LocalProvider().draft_script(request, faulty)

    assert judge(draft, type, for_chat=True).faults == []
    assert "Elden Ring" not in "\n".join(prompts(draft))
    assert draft.scoring_enabled is bool(scoring)


def test_the_same_intent_gives_the_same_draft_and_leaves_the_library_as_it_is() -> None:
    before = [template.blocks for template in library.all_templates()]

    drafts = [drafted("personality quiz about tea, 3 questions") for _ in range(2)]

    assert drafts[0] == drafts[1]
    assert [template.blocks for template in library.all_templates()] == before
    assert not [
        block
        for template in library.all_templates()
        for block in template.blocks
        if "tea" in str(block["prompt"]).split()
    ]


@pytest.mark.parametrize("type", ["convo", "poll"])
def test_every_draft_asks_something(type: str) -> None:
    assert [block["type"] in QUESTIONS for block in drafted("!", type).blocks].count(True) >= 1
