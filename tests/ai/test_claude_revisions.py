"""Changes of a script by a model: what stays, what changes, and that the result can be written."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.models import schemas
from surveys.ai.models.revisions import shown_script
from surveys.ai.provider import Correction, ProviderError, RevisionRequest
from surveys.engine.intake.fields import BLOCK
from surveys.engine.intake.serialization import script_as_json
from surveys.engine.language import conditions
from surveys.engine.script import SCALES, ActionConfig, Block, Option, Scale, Script
from surveys.services.scripts import planning
from tests.support.ai.improvisation import data_in, improvise
from tests.support.ai.loopback import Loopback
from tests.support.ai.request_rules import mismatches

# The fields of blocks that a model does not write, with the reason.
NOT_WRITTEN = {
    "answer_style": "how it looks is its author's choice",
    "color": "how it looks is its author's choice",
    "image_url": "a model knows no pictures",
    "image_alt": "a model does not see the picture",
    "thumbnail_url": "a model knows no pictures",
    "thumbnail_alt": "a model does not see the picture",
    "video_url": "a model knows no videos",
    "position": "the order of the blocks says it",
    "precondition": "`show_when` is compiled to it",
    "hide_when": "a model writes `show_when` alone",
    "continue": "pauses are their author's choice",
    "correct_answer_ids": "a model writes `correct_answer_index`",
    "correct_answer_id": "a model writes `correct_answer_index`",
    "follow_ups": "they cost credits",
}
# The same for single types. The API has no room for more optional properties than a schema has by now.
NOT_WRITTEN_ON = {
    **{(type_, "options"): "a scale has one for each point from `min` to `max`" for type_ in SCALES},
    **{
        (type_, field): "a scale keeps its own"
        for type_ in SCALES
        for field in ("correct_answer_index", "correct_answer_indexes", "when_correct", "when_incorrect")
    },
    ("single_punch", "correct_answer_indexes"): "it has one right answer",
    ("multi_punch", "correct_answer_index"): "it may have several right answers",
    ("rating", "min"): "stars begin with 1",
    ("nps", "min"): "it begins with 0",
    ("nps", "max"): "it ends with 10",
    ("nps", "scale"): "its ends have labels",
    ("content_block", "required"): "it asks nothing",
    ("calculated_block", "required"): "it asks nothing",
    ("calculated_block", "prompt"): "nobody sees it",
    ("calculated_block", "show_when"): "it is calculated wherever it stands",
}
LIKED = {"block": "liked", "op": "eq", "value": "no"}
EITHER = {"any": [LIKED, LIKED]}  # more than a model's form can express
STORED = Script(
    scoring_enabled=True,
    blocks=(
        Block(id=1, name="hello", section="intro", type="content_block", prompt="Hello.", color="5865F2"),
        Block(
            id=2,
            name="liked",
            type="single_punch",
            prompt="Did you like it?",
            required=True,
            image_url="https://example.org/a.png",
            correct_answer_ids=(21,),
            when_correct="Right.",
            options=(
                Option(
                    id=21,
                    value="yes",
                    label="Yes, I did",
                    display_order=0,
                    score_values={"score": Decimal(2)},
                ),
                Option(id=22, value="no", display_order=1, emoji="👎"),
            ),
        ),
        Block(
            id=3,
            name="why",
            type="open_text",
            prompt="Why not?",
            show_when=LIKED,
            precondition=conditions.compile(LIKED, hide=False),
        ),
        Block(
            id=4,
            name="stars",
            type="rating",
            prompt="How many stars?",
            min=1,
            max=5,
            scale=Scale(icon="stars", label_left="Few"),
            show_when=EITHER,
            precondition=conditions.compile(EITHER, hide=False),
        ),
        Block(
            id=5,
            name="reward",
            type="action_block",
            prompt="For you.",
            action_kind="give_xp",
            action_config=ActionConfig(xp_amount=5),
        ),
    ),
)
BLOCKS = [{**block, "position": n} for n, block in enumerate(script_as_json(STORED))]
REQUEST = RevisionRequest(BLOCKS, "shorter", "convo")
SHOWN: list[dict[str, Any]] = shown_script(BLOCKS)
WRITABLE: dict[str, Any] = {
    kind["properties"]["type"]["const"]: kind["properties"]
    for kind in schemas.REVISED_CONVO["properties"]["blocks"]["items"]["anyOf"]
    if kind["properties"]["type"]["const"] != "kept"
}
UNLABELLED: dict[str, Any] = {
    **dict.fromkeys(("description", "group", "label_left", "label_center", "label_right"), ""),
    "point_labels": [],
}
KEPT: list[dict[str, Any]] = [{"type": "kept", "id": block["id"]} for block in BLOCKS]


def without_positions(blocks: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in block.items() if key != "position"} for block in blocks]


def revised(
    claude: ClaudeProvider,
    anthropic: Loopback,
    *blocks: dict[str, Any],
    request: RevisionRequest = REQUEST,
) -> list[dict[str, Any]]:
    """The script after a response with these blocks, which can be written, without positions."""
    response = {"blocks": list(blocks), "understood": [], "unmet": []}
    assert mismatches(response, schemas.REVISED_CONVO) == []
    anthropic.queue(response)
    proposed = claude.revise_script(request)
    assert [block["position"] for block in proposed.blocks if "position" in block] == [
        n for n, block in enumerate(proposed.blocks) if "position" in block
    ]
    _, violations = planning.read_new(
        {"blocks": [_unstored(block) for block in proposed.blocks]},
        is_poll=False,
        scoring_enabled=True,
        bucket_names=(),
        chat=False,
        xp_limit=None,
    )
    assert [violation.message for violation in violations] == []
    return without_positions(proposed.blocks)


def _unstored(block: Any) -> dict[str, Any]:
    """The block as one for a new script, which has no ids yet."""
    options = block.get("options")
    correct = block.get("correct_answer_ids")
    fields = {key: value for key, value in block.items() if key not in ("id", "correct_answer_ids")}
    if options:
        fields["options"] = [
            {key: value for key, value in option.items() if key != "id"} for option in options
        ]
    if correct:
        ids = [option.get("id") for option in options]
        fields["correct_answer_index"] = ids.index(correct[0])
    return fields


def test_a_model_reads_the_script_in_the_form_in_which_it_writes(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    claude.revise_script(RevisionRequest(BLOCKS, "In German", "convo", ("Fire Mage",), for_chat=True))

    data = data_in(anthropic.requests[0].body)
    assert {key: data[key] for key in data.keys() - {"script"}} == {
        "instruction": "In German",
        "type": "convo",
        "bucket_keys": ["fire_mage"],
        "for_chat": True,
    }
    assert data["script"] == [
        {
            "id": 1,
            "type": "content_block",
            "name": "hello",
            "prompt": "Hello.",
            "section": "intro",
            "show_when": [],
        },
        {
            "id": 2,
            "type": "single_punch",
            "name": "liked",
            "prompt": "Did you like it?",
            "section": "main",
            "required": True,
            "correct_answer_index": 0,
            "when_correct": "Right.",
            "options": [
                {"id": 21, "value": "Yes, I did", "scores": [{"bucket": "score", "points": 2}]},
                {"id": 22, "value": "no", "emoji": "👎"},
            ],
            "show_when": [],
        },
        {
            "id": 3,
            "type": "open_text",
            "name": "why",
            "prompt": "Why not?",
            "section": "main",
            "show_when": [LIKED],
        },
        {
            "id": 4,
            "type": "rating",
            "name": "stars",
            "prompt": "How many stars?",
            "section": "main",
            "min": 1,
            "max": 5,
            "label_left": "Few",
            "show_when": [],
        },
        {"id": 5, "type": "kept", "shows": "For you."},
    ]


def test_the_schema_has_every_field_of_a_block_that_a_model_may_write() -> None:
    for type_, properties in WRITABLE.items():
        fields = {name for name, spec in BLOCK.fields.items() if type_ in (spec.only_on or {type_})}
        has = {"scale" if key.startswith("label_") else key for key in properties} - {"point_labels"}
        missing = fields - has - NOT_WRITTEN.keys() - {"section"}
        assert missing == {field for on, field in NOT_WRITTEN_ON if on == type_}, type_
        assert not has & NOT_WRITTEN.keys()


def test_nothing_is_shown_that_cannot_be_written() -> None:
    for block in SHOWN[:4]:
        fixed = {key for key in block if (block["type"], key) in NOT_WRITTEN_ON}
        assert block.keys() - fixed - {"section"} <= WRITABLE[block["type"]].keys()


@pytest.mark.parametrize("type_", ["single_punch", "multi_punch"])
def test_a_right_answer_that_is_removed_takes_its_feedback_with_it(
    claude: ClaudeProvider, anthropic: Loopback, type_: str
) -> None:
    graded = {**BLOCKS[1], "type": type_}
    shown: dict[str, Any] = shown_script([graded])[0]
    left = {
        key: shown[key]
        for key in shown
        if not key.startswith(("correct_answer_index", "when_correct", "section"))
    }
    _, second = cast("list[object]", shown["options"])
    changed = left | {"options": [second, {"id": 0, "value": "Sort of"}]}

    (block,) = revised(
        claude,
        anthropic,
        {"randomize_options": False, "description": "", "group": "", **changed},
        request=replace(REQUEST, blocks=[graded]),
    )

    assert [option["value"] for option in block["options"]] == ["no", "Sort of"]
    assert [block.get(key) for key in ("correct_answer_ids", "correct_answer_index", "when_correct")] == [
        None
    ] * 3


def test_the_feedback_of_a_multi_punch_can_be_worded_anew(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    graded = {**BLOCKS[1], "type": "multi_punch"}
    (shown,) = shown_script([graded])
    del shown["section"]

    (block,) = revised(
        claude,
        anthropic,
        {"randomize_options": False, "description": "", "group": "", **shown, "when_correct": "Richtig."},
        request=replace(REQUEST, blocks=[graded]),
    )

    assert (block["correct_answer_ids"], block["when_correct"]) == ([21], "Richtig.")


@pytest.mark.parametrize(("most", "is_graded"), [(2, False), (3, True), (4, True)])
def test_a_scale_gets_options_for_its_new_points(
    claude: ClaudeProvider, anthropic: Loopback, most: int, is_graded: bool
) -> None:
    options = [{"id": 40 + n, "value": str(n), "label": f"{n} of 3", "display_order": n} for n in (1, 2, 3)]
    graded = {**BLOCKS[3], "max": 3, "scale": None, "show_when": None, "options": options}
    graded |= {
        "precondition": None,
        "correct_answer_ids": [43],
        "correct_answer_index": 2,
        "when_correct": "Right.",
    }
    (shown,) = shown_script([graded])
    del shown["min"], shown["section"]

    (block,) = revised(
        claude,
        anthropic,
        {"required": False, **UNLABELLED, **shown, "max": most},
        request=replace(REQUEST, blocks=[graded]),
    )

    assert [option["value"] for option in block["options"]] == [str(n + 1) for n in range(most)]
    assert [option.get("id") for option in block["options"]][:3] == [41, 42, 43][:most]
    assert (block.get("when_correct") == "Right.") is is_graded


def test_labels_of_points_are_shown_and_worded_anew(claude: ClaudeProvider, anthropic: Loopback) -> None:
    """Rule 10.99. Other points keep theirs, and a point without a label can get one."""
    labels = {1: "Poor", 2: None, 3: "Great"}
    options = [{"id": 40 + n, "value": str(n), "label": label, "emoji": "⭐"} for n, label in labels.items()]
    labelled = {**BLOCKS[3], "max": 3, "show_when": None, "precondition": None, "options": options}
    (shown,) = shown_script([{**labelled, "scale": {"label_center": "Well"}}])
    assert shown["label_center"] == "Well"
    assert shown["point_labels"] == [{"point": 1, "label": "Poor"}, {"point": 3, "label": "Great"}]
    del shown["min"], shown["section"]
    german = [{"point": 1, "label": "Schlecht"}, {"point": 2, "label": "Gut"}, {"point": 3, "label": "Great"}]

    (block,) = revised(
        claude,
        anthropic,
        {"required": False, **UNLABELLED, **shown, "label_center": "Na ja", "point_labels": german},
        request=replace(REQUEST, blocks=[{**labelled, "scale": {"label_center": "Well"}}]),
    )

    assert block["scale"]["label_center"] == "Na ja"
    assert [(each["id"], each["label"], each["emoji"]) for each in block["options"]] == [
        (41, "Schlecht", "⭐"),
        (42, "Gut", "⭐"),
        (43, "Great", "⭐"),
    ]


def test_what_is_special_about_an_option_stays_and_changes(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    """Rule 10.99. An option that is of two kinds keeps both unless the model writes another kind."""
    both = {"id": 22, "value": "none", "is_other": True, "is_exclusive": True, "anchor_position": None}
    options = [{"id": 21, "value": "tea"}, both, {"id": 23, "value": "nothing", "anchor_position": "last"}]
    ungraded = {"correct_answer_ids": None, "correct_answer_index": None, "when_correct": None}
    stored = {**BLOCKS[1], "type": "multi_punch", "options": options, **ungraded, "group": "Drinks"}
    (shown,) = shown_script([stored])
    assert shown["group"] == "Drinks"
    one, two, three = cast("list[dict[str, Any]]", shown["options"])
    assert [each.get("kind") for each in (one, two, three)] == [None, "other", "last"]
    changed = [{**one, "kind": "last"}, {**two, "value": "neither"}, {**three, "kind": "exclusive"}]
    written = {key: value for key, value in shown.items() if key != "section"}

    (block,) = revised(
        claude,
        anthropic,
        {"randomize_options": False, **written, "description": "", "group": "", "options": changed},
        request=replace(REQUEST, blocks=[stored]),
    )

    kinds = ("anchor_position", "is_other", "is_exclusive")
    assert [[each.get(key) for key in kinds] for each in block["options"]] == [
        ["last", None, None],
        [None, True, True],
        [None, None, True],
    ]
    assert block["options"][1]["label"] == "neither"
    assert not block.get("group")


def test_a_script_that_is_kept_is_the_same(claude: ClaudeProvider, anthropic: Loopback) -> None:
    assert revised(claude, anthropic, *KEPT) == without_positions(BLOCKS)


def written(index: int, **changes: Any) -> dict[str, Any]:
    """A block as the model writes it if it changes nothing but this."""
    shown = {"required": False, "format": "text", **UNLABELLED, **SHOWN[index], **changes}
    if shown["type"] in ("single_punch", "content_block"):
        shown = {"randomize_options": False, **shown}
    return {key: value for key, value in shown.items() if key in WRITABLE[shown["type"]]}


def test_blocks_that_are_written_as_they_were_shown_are_the_same(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    again = [written(n) for n in range(4)]

    blocks = revised(claude, anthropic, *again, KEPT[4])

    assert blocks == without_positions(BLOCKS)


def test_only_what_was_changed_changes(claude: ClaudeProvider, anthropic: Loopback) -> None:
    """Rule 10.30."""
    blocks = revised(
        claude,
        anthropic,
        KEPT[0],
        written(1, prompt="Gut?", name="renamed", when_correct=""),
        KEPT[2],
        written(3, prompt="Wie viele Sterne?", label_left="Wenige", label_right="Viele"),
        KEPT[4],
    )

    expected = without_positions(BLOCKS)
    expected[1] |= {"prompt": "Gut?", "when_correct": None}
    expected[3] |= {
        "prompt": "Wie viele Sterne?",
        "scale": {
            "icon": "stars",
            "label_left": "Wenige",
            "label_center": None,
            "label_right": "Viele",
        },
    }
    assert blocks == expected


def test_an_option_in_other_words_keeps_its_id_and_the_value_that_logic_names(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    """Rule 10.30."""
    options = [
        {"id": 22, "value": "Nein", "emoji": "👎"},
        {"id": 21, "value": "Ja", "scores": [{"bucket": "score", "points": 2}]},
        {"id": 0, "value": "Weiß nicht", "kind": "last"},
    ]
    why = written(2, prompt="Warum?", show_when=[{"block": "liked", "op": "in", "value": ["Nein", "Ja"]}])

    blocks = revised(
        claude,
        anthropic,
        KEPT[0],
        written(1, options=options, correct_answer_index=1),
        why,
        *KEPT[3:],
    )

    assert blocks[1]["options"] == [
        {
            "id": 22,
            "value": "no",
            "label": "Nein",
            "emoji": "👎",
            "anchor_position": None,
            "is_exclusive": None,
            "is_other": None,
            "image_url": None,
            "image_alt": None,
            "score_values": None,
        },
        {
            "id": 21,
            "value": "yes",
            "label": "Ja",
            "emoji": None,
            "anchor_position": None,
            "is_exclusive": None,
            "is_other": None,
            "image_url": None,
            "image_alt": None,
            "score_values": {"score": 2},
        },
        {"value": "Weiß nicht", "anchor_position": "last"},
    ]
    assert blocks[1]["correct_answer_ids"] == [21]
    assert blocks[2]["show_when"] == {"block": "liked", "op": "in", "value": ["no", "yes"]}
    assert "precondition" not in blocks[2]
    assert blocks[3] == without_positions(BLOCKS)[3]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, {"correct_answer_ids": [22]}),
        (1, {"correct_answer_index": 1}),
    ],
)
def test_another_correct_answer_is_named_by_its_id_if_it_has_one(
    claude: ClaudeProvider, anthropic: Loopback, index: int, expected: dict[str, Any]
) -> None:
    options = [{"id": 22, "value": "no", "emoji": "👎"}, {"id": 0, "value": "New"}]

    blocks = revised(
        claude,
        anthropic,
        KEPT[0],
        written(1, options=options, correct_answer_index=index),
    )

    keys = blocks[1].keys() & {"correct_answer_ids", "correct_answer_index"}
    assert {key: blocks[1][key] for key in keys} == expected


def test_blocks_are_added_moved_and_removed(claude: ClaudeProvider, anthropic: Loopback) -> None:
    new = {
        "id": 0,
        "type": "open_text",
        "name": "Price",
        "prompt": "What about prices?",
        "description": "",
        "format": "text",
        "required": False,
        "show_when": [{"block": "liked", "op": "eq", "value": "Yes, I did"}],
    }

    blocks = revised(claude, anthropic, KEPT[1], KEPT[3], new, KEPT[2])

    assert [block.get("id") for block in blocks] == [2, 4, None, 3]
    assert blocks[2] == {
        "type": "open_text",
        "name": "Price",
        "prompt": "What about prices?",
        "required": False,
        "show_when": {"block": "liked", "op": "eq", "value": "yes"},
    }


@pytest.mark.parametrize("wrong", [{"type": "kept", "id": 99}, {"type": "kept", "id": 0}, KEPT[0]])
def test_a_block_that_is_not_there_or_is_there_already_is_not_kept(
    claude: ClaudeProvider, anthropic: Loopback, wrong: dict[str, Any]
) -> None:
    assert revised(claude, anthropic, KEPT[0], wrong, KEPT[1]) == without_positions(BLOCKS)[:2]


def test_a_block_of_another_type_or_with_an_unknown_id_is_a_new_one(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    scale: dict[str, Any] = {"name": "liked", "prompt": "How much?", "required": True, "show_when": []}
    scale |= {"description": "", "group": "", "point_labels": []}

    blocks = revised(
        claude,
        anthropic,
        {"id": 2, "type": "nps", **scale},
        {"id": 77, "type": "nps", **scale, "name": "again"},
    )

    assert [("id" in block, block["name"]) for block in blocks] == [(False, "liked"), (False, "again")]


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"blocks": []},
        {"blocks": [{"type": "kept", "id": 99}]},
        {"blocks": [{"type": "action_block", "id": 5}]},
        {"blocks": [{"type": "kept", "id": "1"}]},
    ],
)
def test_what_is_no_script_is_refused(
    claude: ClaudeProvider, anthropic: Loopback, response: dict[str, Any]
) -> None:
    anthropic.queue(response)

    with pytest.raises(ProviderError, match="required form"):
        claude.revise_script(REQUEST)


def test_what_was_done_and_what_was_not_is_passed_on(claude: ClaudeProvider, anthropic: Loopback) -> None:
    anthropic.queue({"blocks": KEPT, "understood": ["Nothing."], "unmet": ["A picture.", " "]})

    proposed = claude.revise_script(REQUEST)

    assert (proposed.understood, proposed.unmet) == (("Nothing.",), ("A picture.",))
    assert proposed.scoring_enabled


def test_a_correction_contains_the_draft_and_its_violations(
    claude: ClaudeProvider, anthropic: Loopback
) -> None:
    draft = claude.revise_script(REQUEST)
    fault = {"field": "script.blocks[0].prompt", "code": "blank", "message": "`prompt` must not be blank."}

    claude.revise_script(REQUEST, Correction(draft, [fault]))

    asked = anthropic.requests[1]
    data = data_in(asked.body)
    assert data["violations"] == [fault]
    assert data["draft"] == list(draft.blocks)
    assert "every violation corrected" in asked.system
    assert "A script to change" in asked.system


@pytest.mark.parametrize("type_", ["convo", "poll"])
def test_an_improvised_revision_matches_the_schema(
    claude: ClaudeProvider, anthropic: Loopback, type_: str
) -> None:
    claude.revise_script(RevisionRequest(BLOCKS[:2], "shorter", type_))

    (asked,) = anthropic.requests
    assert asked.schema == (schemas.REVISED_POLL if type_ == "poll" else schemas.REVISED_CONVO)
    assert improvise(asked.body)["blocks"][1] == {"type": "kept", "id": 2}
