"""Scripts drafted by the real SDK over a loopback, and checked against the engine's rules."""

from typing import Any

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.models import schemas
from surveys.ai.provider import Correction, ProposedScript, ProviderError, ScriptRequest
from surveys.engine.script import FORMATS
from tests.support.ai.drafted import SCHEMAS, violations_of
from tests.support.ai.improvisation import data_in, improvise
from tests.support.ai.loopback import Loopback
from tests.support.ai.request_rules import mismatches, problems_with_schema
from tests.support.cases import try_each

SURVEY = ScriptRequest(intent="Do people like our new board?", type="convo")
ASKED: dict[str, Any] = {"description": "", "required": True, "show_when": []}
OPTIONS = [{"value": "Yes"}, {"value": "No", "emoji": "👎"}, {"value": "Other", "kind": "last"}]
ITEMS: dict[str, Any] = {**ASKED, "prompt": "Which?", "options": OPTIONS, "randomize_options": True}
CHOICE_FIELDS: dict[str, Any] = {**ITEMS, "group": ""}
SCALE: dict[str, Any] = {**ASKED, "group": "", "label_left": "", "label_center": "", "label_right": ""}
YES_OR_NO = [{"value": "Yes"}, {"value": "No", "emoji": "👎"}, {"value": "Other", "anchor_position": "last"}]

# Each block as the model writes it, and as our API takes it.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "content_block": (
        {"section": "intro", "prompt": "Welcome.", "description": "To you.", "show_when": []},
        {"section": "intro", "prompt": "Welcome.", "description": "To you."},
    ),
    "single_punch": (
        CHOICE_FIELDS,
        {"prompt": "Which?", "required": True, "options": YES_OR_NO, "randomize_options": True},
    ),
    "multi_punch": (
        {**CHOICE_FIELDS, "min": 1, "max": 2, "randomize_options": False},
        {"prompt": "Which?", "required": True, "options": YES_OR_NO, "min": 1, "max": 2},
    ),
    "open_text": (
        {**ASKED, "prompt": "Why?", "required": False, "format": "text"},
        {"prompt": "Why?", "required": False},
    ),
    "open_numeric": (
        {**ASKED, "prompt": "How many?", "whole": True, "min": 0},
        {"prompt": "How many?", "required": True, "whole": True, "min": 0},
    ),
    "rating": (
        {**SCALE, "prompt": "How good?", "max": 5, "label_left": "Poor", "label_right": "Great"},
        {
            "prompt": "How good?",
            "required": True,
            "min": 1,
            "max": 5,
            "scale": {"label_left": "Poor", "label_right": "Great"},
        },
    ),
    "opinion_scale": (
        {**SCALE, "prompt": "How sure?", "min": 0, "max": 6, "label_center": "Half", "group": "Sure?"},
        {
            "prompt": "How sure?",
            "required": True,
            "min": 0,
            "max": 6,
            "group": "Sure?",
            "scale": {"label_center": "Half"},
        },
    ),
    "nps": ({**ASKED, "group": "", "prompt": "Recommend?"}, {"prompt": "Recommend?", "required": True}),
    "ranking": (
        {**ITEMS, "options": OPTIONS[:2], "rank_top_n": 1},
        {
            "prompt": "Which?",
            "required": True,
            "options": YES_OR_NO[:2],
            "randomize_options": True,
            "rank_top_n": 1,
        },
    ),
    "calculated_block": ({"calculated_formula": "1 + 1"}, {"prompt": "", "calculated_formula": "1 + 1"}),
}
QUESTION = {"type": "open_text", "name": "Why", **KINDS["open_text"][0]}


def script(*blocks: dict[str, Any], scoring: bool = False) -> dict[str, Any]:
    said: dict[str, Any] = {"understood": [], "unmet": [], "wishes": [], "confidence": 0.5}
    return {"scoring_enabled": scoring, "blocks": list(blocks), **said}


@pytest.mark.parametrize("type_", KINDS)
def test_each_type_of_block_is_converted_to_our_form(
    claude: ClaudeProvider, anthropic: Loopback, type_: str
) -> None:
    written, converted = KINDS[type_]
    sent = script({"type": type_, "name": "Thing", **written}, QUESTION)
    anthropic.queue(sent)

    draft = claude.draft_script(SURVEY)

    assert mismatches(sent, schemas.CONVO) == []
    assert draft.blocks[0] == {"type": type_, "name": "Thing", **converted}
    assert violations_of(draft) == []


def test_options_ask_for_a_text_or_are_chosen_alone(claude: ClaudeProvider, anthropic: Loopback) -> None:
    """Rule 10.99. What a block cannot have is its last option."""
    kinds = [{"value": kind, "kind": kind} for kind in ("plain", "last", "other", "exclusive")]
    one = {"type": "single_punch", "name": "One", **CHOICE_FIELDS, "options": kinds[:3]}
    several = {"type": "multi_punch", "name": "Several", **CHOICE_FIELDS, "options": kinds}
    order = {"type": "ranking", "name": "Order", **ITEMS, "options": kinds[:2]}
    sent = script(one, several, order)
    assert mismatches(sent, schemas.CONVO) == []
    assert mismatches(script({**one, "options": kinds}), schemas.CONVO) != []
    anthropic.queue(sent, script({**one, "options": kinds}))

    draft, other_draft = claude.draft_script(SURVEY), claude.draft_script(SURVEY)

    special: list[dict[str, Any]] = [
        {"value": "plain"},
        {"value": "last", "anchor_position": "last"},
        {"value": "other", "is_other": True},
        {"value": "exclusive", "is_exclusive": True},
    ]
    assert [block["options"] for block in draft.blocks] == [special[:3], special, special[:2]]
    assert violations_of(draft) == []
    (block,) = other_draft.blocks
    options: Any = block["options"]
    assert options[3] == {"value": "exclusive", "anchor_position": "last"}


def test_neighbours_share_a_title(claude: ClaudeProvider, anthropic: Loopback) -> None:
    """Rule 10.99."""
    shared = {"type": "rating", **SCALE, "max": 5, "group": " How good was … "}
    anthropic.queue(
        script(*({**shared, "name": name, "prompt": f"The {name}?"} for name in ("Food", "Music")))
    )

    draft = claude.draft_script(SURVEY)

    assert [block["group"] for block in draft.blocks] == ["How good was …"] * 2
    assert violations_of(draft) == []


@pytest.mark.parametrize("format_", FORMATS)
def test_each_format_of_an_open_question_is_drafted(
    claude: ClaudeProvider, anthropic: Loopback, format_: str
) -> None:
    sent = script({**QUESTION, "format": format_})
    anthropic.queue(sent)

    draft = claude.draft_script(SURVEY)

    assert mismatches(sent, schemas.CONVO) == []
    assert draft.blocks[0]["format"] == format_
    assert violations_of(draft) == []


def test_a_quiz_with_a_result_passes_the_rules(claude: ClaudeProvider, anthropic: Loopback) -> None:
    scored = [{"value": "Red", "scores": [{"bucket": "Fire Mage", "points": 2}]}, {"value": "Blue"}]
    graded = {"correct_answer_index": 0, "when_correct": "Right!", "when_incorrect": "It was [Colour]."}
    shown = [{"block": "Level", "op": "eq", "value": "Expert"}]
    sent = script(
        {"type": "single_punch", "name": "Colour", **CHOICE_FIELDS, "options": scored, **graded},
        {
            "type": "calculated_block",
            "name": "Level",
            "calculated_formula": "if [correct_answers] >= 1 then Expert else New",
        },
        {
            "type": "content_block",
            "name": "End",
            "section": "main",
            "prompt": "You have [score].",
            "description": "",
            "show_when": shown,
        },
        scoring=True,
    )
    anthropic.queue(sent)

    draft = claude.draft_script(SURVEY)

    assert mismatches(sent, schemas.CONVO) == []
    assert draft.scoring_enabled
    assert violations_of(draft) == []
    colour, _, end = draft.blocks
    assert colour["options"] == [{"value": "Red", "score_values": {"fire_mage": 2}}, {"value": "Blue"}]
    assert {key: colour[key] for key in graded} == graded
    assert end["show_when"] == {"block": "Level", "op": "eq", "value": "Expert"}


def test_conditions_name_blocks_and_variables(claude: ClaudeProvider, anthropic: Loopback) -> None:
    conditions = [
        {"block": "Which", "op": "in", "value": "Yes"},
        {"block": "score", "op": "gte", "value": 3},
    ]
    anthropic.queue(
        script(
            {"type": "multi_punch", "name": "Which", **CHOICE_FIELDS},
            {**QUESTION, "show_when": conditions},
            scoring=True,
        )
    )

    draft = claude.draft_script(SURVEY)

    assert draft.blocks[1]["show_when"] == {
        "all": [
            {"block": "Which", "op": "in", "value": ["Yes"]},
            {"variable": "score", "op": "gte", "value": 3},
        ]
    }
    assert violations_of(draft) == []


def test_points_are_dropped_if_the_request_wants_none(claude: ClaudeProvider, anthropic: Loopback) -> None:
    options = [{"value": "Red", "scores": [{"bucket": "score", "points": 2}]}, {"value": "Blue"}]
    sent = script(
        {"type": "single_punch", "name": "Colour", **CHOICE_FIELDS, "options": options}, scoring=True
    )
    anthropic.queue(sent, sent)

    without = claude.draft_script(ScriptRequest("Colours", "convo", scoring=False))
    left_open = claude.draft_script(ScriptRequest("Colours", "convo"))

    assert not without.scoring_enabled
    assert without.blocks[0]["options"] == [{"value": "Red"}, {"value": "Blue"}]
    assert left_open.scoring_enabled


@pytest.mark.parametrize(
    "request_",
    [
        SURVEY,
        ScriptRequest("12 questions about tea", "convo", for_chat=True),
        ScriptRequest("A poll on lunch", "poll"),
        ScriptRequest("Quiz", "convo", scoring=True, bucket_names=("Fire Mage", "Healer")),
    ],
)
def test_improvised_scripts_match_the_schema_and_pass_the_rules(
    claude: ClaudeProvider, anthropic: Loopback, request_: ScriptRequest
) -> None:
    draft = claude.draft_script(request_)

    (asked,) = anthropic.requests
    assert mismatches(improvise(asked.body), asked.schema) == []
    assert violations_of(draft, request_) == []


@try_each("schema", SCHEMAS.values())
def test_the_schemas_use_only_what_the_api_supports(schema: dict[str, Any]) -> None:
    assert problems_with_schema(schema) == []


def test_the_schema_of_polls_has_only_blocks_for_polls(claude: ClaudeProvider, anthropic: Loopback) -> None:
    claude.draft_script(ScriptRequest("Lunch?", "poll"))

    kinds = anthropic.requests[0].schema["properties"]["blocks"]["items"]["anyOf"]
    assert [kind["properties"]["type"]["const"] for kind in kinds] == [
        "content_block",
        "single_punch",
        "multi_punch",
        "rating",
        "opinion_scale",
        "nps",
    ]


def test_a_draft_says_what_was_understood_what_was_not_met_and_which_settings_were_wished(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    wishes = [
        {"setting": "privacy_mode", "value": "anonymous"},
        {"setting": "privacy_mode", "value": "transparent"},
        {"setting": "closing", "value": "until Friday"},
        {"setting": "language", "value": "pt-BR"},
    ]
    said = {
        "understood": ["One question."],
        "unmet": [" No picture. ", ""],
        "confidence": 1.5,
        "wishes": wishes,
    }
    anthropic.queue({**script(QUESTION), **said})

    draft = claude.draft_script(SURVEY)

    assert (draft.understood, draft.unmet) == (("One question.",), ("No picture.",))
    assert draft.confidence == 1.0
    assert draft.wishes == {"privacy_mode": "anonymous", "closing": "until Friday", "language": "pt-BR"}
    assert not draft.is_placeholder


@pytest.mark.parametrize(
    "wish",
    [
        {"setting": "privacy_mode", "value": "secret"},
        {"setting": "type", "value": "quiz"},
        {"setting": "language", "value": "German"},
        {"setting": "closing", "value": " "},
        {"setting": "prize", "value": "a car"},
    ],
)
def test_a_wish_for_a_setting_that_does_not_exist_is_dropped(
    claude: ClaudeProvider, anthropic: Loopback, wish: dict[str, str]
) -> None:
    anthropic.queue({**script(QUESTION), "wishes": [wish]})

    assert claude.draft_script(SURVEY).wishes == {}


def test_a_draft_that_says_nothing_about_itself_is_a_draft_all_the_same(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    anthropic.queue({"scoring_enabled": False, "blocks": [QUESTION]})

    draft = claude.draft_script(SURVEY)

    assert (draft.understood, draft.unmet, draft.confidence, draft.wishes) == ((), (), None, {})


def test_the_request_contains_all_conditions(claude: ClaudeProvider, anthropic: Loopback) -> None:
    """Rule 10.49."""
    request = ScriptRequest(
        "Quiz", "convo", True, ("Fire Mage",), for_chat=True, community="Chess Club", topics="chess, tea"
    )

    claude.draft_script(request)

    (asked,) = anthropic.requests
    assert data_in(asked.body) == {
        "intent": "Quiz",
        "type": "convo",
        "scoring": True,
        "bucket_keys": ["fire_mage"],
        "for_chat": True,
        "community": "Chess Club",
        "topics": "chess, tea",
    }


def test_a_correction_contains_the_draft_and_its_violations(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    draft = ProposedScript([{"type": "nps", "prompt": ""}])
    fault = {"field": "script.blocks[0].prompt", "code": "blank", "message": "`prompt` must not be blank."}
    anthropic.queue(script(QUESTION))

    corrected = claude.draft_script(SURVEY, Correction(draft, [fault]))

    (asked,) = anthropic.requests
    assert violations_of(corrected) == []
    assert (
        '"draft":[{"type":"nps","prompt":""}],"violations":[{"field":"script.blocks[0].prompt"'
        in asked.prompt
    )
    assert "every violation corrected" in asked.system


NONE_OF_OURS: dict[str, object] = {
    "no object": [],
    "no blocks": {"scoring_enabled": True},
    "empty": {"scoring_enabled": True, "blocks": []},
    "blocks that are no list": {"blocks": {}},
    "a block that is a text": {"blocks": ["nps"]},
    "an unknown type": {"blocks": [{**QUESTION, "type": "action_block"}]},
    "no type": {"blocks": [{"prompt": "Why?"}]},
    "a prompt that is a number": {"blocks": [{**QUESTION, "prompt": 5}]},
    "a prompt without end": {"blocks": [{**QUESTION, "prompt": "x" * 10_001}]},
    "required that is a text": {"blocks": [{**QUESTION, "required": "yes"}]},
    "more blocks than there may be": {"blocks": [QUESTION] * 201},
    "more options than there may be": {
        "blocks": [{"type": "ranking", "name": "R", **CHOICE_FIELDS, "options": OPTIONS * 40}]
    },
    "a range that is a text": {"blocks": [{**QUESTION, "type": "open_numeric", "min": "0"}]},
    "half a point": {"blocks": [{**QUESTION, "type": "rating", "max": 4.5}]},
    "a condition that is a text": {"blocks": [{**QUESTION, "show_when": ["score > 3"]}]},
    "a condition on nothing": {"blocks": [{**QUESTION, "show_when": [{"block": "A", "op": "eq"}]}]},
    "a condition on an object": {
        "blocks": [{**QUESTION, "show_when": [{"block": "A", "op": "eq", "value": {"a": 1}}]}]
    },
    "points that are a text": {
        "blocks": [
            {
                "type": "single_punch",
                "name": "S",
                **CHOICE_FIELDS,
                "options": [{"value": "a", "scores": [{"bucket": "score", "points": "2"}]}],
            }
        ]
    },
}


@pytest.mark.parametrize("answer", NONE_OF_OURS.values(), ids=NONE_OF_OURS)
def test_a_malformed_response_is_refused(claude: ClaudeProvider, anthropic: Loopback, answer: object) -> None:
    anthropic.queue(answer)

    with pytest.raises(ProviderError, match="required form"):
        claude.draft_script(SURVEY)

    assert len(anthropic.requests) == 1


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        '{"blocks": [',
        '{"scoring_enabled": NaN, "blocks": []}',
        "[" * 100_000,
        '{"blocks": 1' + "0" * 5_000 + "}",
        "null",
    ],
    ids=["words", "half", "NaN", "depth", "digits", "null"],
)
def test_a_text_that_is_not_a_json_object_is_refused(
    claude: ClaudeProvider, anthropic: Loopback, text: str
) -> None:
    anthropic.queue_text(text)

    with pytest.raises(ProviderError, match="required form"):
        claude.draft_script(SURVEY)


def test_violations_of_rules_are_left_to_the_rules(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue(script({"type": "rating", "name": "1st", **ASKED, "prompt": "", "max": 99}))

    draft = claude.draft_script(SURVEY)

    assert len(violations_of(draft)) == 3


def test_an_infinite_number_is_refused(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue_text('{"blocks": [{"type": "rating", "name": "A", "prompt": "B", "max": 1e999}]}')

    with pytest.raises(ProviderError, match="required form"):
        claude.draft_script(SURVEY)


def test_a_block_that_the_model_names_like_a_position_gets_another_name(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    shown = [{"block": "q2", "op": "eq", "value": "x"}]
    asked = QUESTION | {"prompt": "Why not?"}
    sent = script(
        asked | {"name": "q2"}, QUESTION | {"prompt": "So [q2]?", "show_when": shown}, asked | {"name": ""}
    )
    anthropic.queue(sent)

    blocks: Any = claude.draft_script(SURVEY).blocks
    first, second, third = blocks

    assert [block["name"] for block in (first, second, third)] == ["why_not", "Why", "why_not_2"]
    assert second["prompt"] == "So [why_not]?"
    assert second["show_when"]["block"] == "why_not"
