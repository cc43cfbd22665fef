"""Every template of the library is complete, breaks no rule, and runs to its end."""

from __future__ import annotations

import re

import pytest

from surveys.ai.local.drafts import builder, library
from surveys.ai.local.drafts.length import references_of
from surveys.ai.local.drafts.library import Template
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language import names
from surveys.engine.script import QUESTIONS, SCALES, title_case
from tests.support.ai.drafts import (
    check_draft,
    each,
    first_option,
    last_option,
    questions,
    required_only,
    run,
)

TEMPLATES = library.all_templates()
SURVEYS = [template for template in TEMPLATES if template.type == "convo"]
PREMIUM = {"color", "image_url", "thumbnail_url"}
WANTED = {
    "net-promoter-score",
    "customer-satisfaction",
    "event-feedback",
    "member-onboarding",
    "feature-vote",
    "game-night",
    "personality-quiz",
    "general-knowledge-quiz",
    "moderator-feedback",
    "exit-survey",
}


def asking(template: Template) -> list[str]:
    return [block["name"] for block in template.blocks if block["type"] in QUESTIONS]


def test_there_are_many_surveys_and_polls_with_unique_names() -> None:
    assert len(TEMPLATES) >= 28
    assert {template.type for template in TEMPLATES} == {"convo", "poll"}
    assert {template.id for template in TEMPLATES} >= WANTED
    assert len({template.name for template in TEMPLATES}) == len(TEMPLATES)


@each(TEMPLATES)
@pytest.mark.parametrize("for_chat", [False, True])
def test_a_template_breaks_no_rule(template: Template, for_chat: bool) -> None:
    checked = check_draft(builder.neutral_draft(template), template.type, for_chat=for_chat)

    assert checked.problems == []


@each(TEMPLATES)
@pytest.mark.parametrize("respond", [first_option, last_option, required_only])
def test_a_template_runs_to_its_end(template: Template, respond) -> None:
    result = run(check_draft(builder.neutral_draft(template), template.type).script, respond)

    assert result.is_complete
    assert [text for text in result.prompts.values() if re.search(r"[\[{<]", text)] == []


@each(TEMPLATES)
def test_every_question_can_be_reached(template: Template) -> None:
    script = check_draft(builder.neutral_draft(template), template.type).script
    met = {
        name
        for respond in (first_option, last_option, required_only)
        for name in run(script, respond).prompts
    }

    hidden = {block.name for block in script.blocks if block.asks} - met
    # Some questions are asked only after an answer in the middle of a scale.
    assert hidden <= {"reason_middle", "open_issue", "details"}


@each(TEMPLATES)
def test_texts_are_complete_and_options_fit_on_buttons(template: Template) -> None:
    for block in (*template.blocks, *template.more):
        assert not PREMIUM & block.keys()
        assert block["prompt"] or block["type"] == "calculated_block"
        assert len(block["prompt"]) <= 200
        for option in block.get("options", ()):
            assert len(option.get("label") or option["value"]) <= 40
            assert "{" not in option["value"]


@each(TEMPLATES)
def test_scales_have_labels_at_both_ends(template: Template) -> None:
    for block in template.blocks:
        if block["type"] == "opinion_scale":
            assert {"label_left", "label_right"} <= block["scale"].keys()


# Its ten items in their order, each required, are what makes its score comparable.
STANDARD = "system-usability-scale"


@each(SURVEYS)
def test_a_survey_greets_and_asks_little_that_is_required(template: Template) -> None:
    asked = questions(builder.neutral_draft(template))
    required = [block for block in asked if block.get("required")]

    assert template.blocks[0]["type"] == "content_block"
    assert 1 < len(asked) <= 12
    assert len(required) <= 2 or template.id == STANDARD
    assert 1 <= template.estimated_minutes <= 5


@each(
    [
        template
        for template in SURVEYS
        if not template.scoring_enabled and template.id != "system-usability-scale"
    ]
)
def test_a_survey_ends_with_an_open_question(template: Template) -> None:
    asked = questions(builder.neutral_draft(template))[-1]

    assert asked["type"] == "open_text"
    assert not asked.get("required")


@each(TEMPLATES)
def test_importance_lists_every_question_before_its_follow_ups(template: Template) -> None:
    assert sorted(template.importance) == sorted(asking(template))
    order = {title_case(name): n for n, name in enumerate(template.importance)}
    for block in template.blocks:
        for mention in references_of(block) & order.keys():
            assert order.get(title_case(block["name"]), MAX_BLOCKS) > order[mention]


@each(TEMPLATES)
def test_the_fields_for_matching_and_filling_are_complete(template: Template) -> None:
    names = {block["name"]: block for block in template.blocks}

    assert template.keywords
    assert template.subject.strip()
    if template.choices_of:
        referring = [
            block for block in template.blocks if title_case(template.choices_of) in references_of(block)
        ]
        assert names[template.choices_of]["options"]
        assert referring == []
    if template.result_of:
        assert names[template.result_of]["type"] == "calculated_block"
        assert template.buckets
    assert not {title_case(block["name"]) for block in template.more} & set(map(title_case, names))


def test_further_questions_suit_any_survey() -> None:
    names = [title_case(block["name"]) for block in library.further_questions()]
    taken = {title_case(block["name"]) for template in TEMPLATES for block in template.blocks}

    assert len(set(names)) == len(names) >= 20
    assert not set(names) & taken


def test_scales_of_further_questions_have_labels_at_both_ends() -> None:
    scales = [block for block in library.further_questions() if block["type"] in SCALES - {"nps"}]

    assert [block["name"] for block in scales if "scale" not in block] == []


@each(TEMPLATES)
def test_no_block_of_a_template_is_named_like_a_position(template: Template) -> None:
    named = [block["name"] for block in template.blocks]

    assert [name for name in named if names.is_position(name.lower())] == []
