"""A change of one block: the fields of the request replace the stored ones."""

from __future__ import annotations

from surveys.engine.intake import reader
from surveys.engine.intake.serialization import block_as_json
from surveys.engine.script import ActionConfig, Block, Continue
from tests.support.cases import try_each
from tests.support.engine.full_script import EVERYTHING
from tests.support.engine.violations import Raw


def patched(raw: object, block: Block) -> Block:
    parsed = reader.read_patch(raw, block=block)
    assert parsed.violations == []
    return parsed.blocks[0]


@try_each("block", EVERYTHING.blocks)
def test_a_patch_of_nothing_changes_nothing(block: Block) -> None:
    assert patched({}, block) == block
    assert patched(block_as_json(block, scoring=True), block) == block


def test_a_patch_changes_what_is_sent_and_null_clears() -> None:
    block = EVERYTHING.blocks[1]

    changed = patched({"prompt": "Which one?", "when_correct": None, "id": 999}, block)

    assert (changed.prompt, changed.when_correct, changed.when_incorrect) == ("Which one?", None, "No.")
    assert changed.id == 2


def test_the_paths_of_a_patch_have_no_prefix() -> None:
    raw = {"prompt": 7, "options": [{"value": "a"}, {"value": 7}], "promt": 1}

    parsed = reader.read_patch(raw, block=EVERYTHING.blocks[2])

    assert [each.field for each in parsed.violations] == ["prompt", "options[1].value"]
    assert parsed.ignored == ["promt"]
    assert parsed.sent_keys == (frozenset(raw),)


@try_each("raw", [None, 7, [], "text"])
def test_a_patch_that_is_no_object_is_refused(raw: object) -> None:
    parsed = reader.read_patch(raw, block=EVERYTHING.blocks[0])

    assert [each.code for each in parsed.violations] == ["invalid_type"]


def test_a_patch_of_an_object_changes_the_keys_that_are_sent() -> None:
    block = EVERYTHING.blocks[0]

    assert patched({"continue": {"pause": 9}}, block).continue_ == Continue("pause", 9, "On")
    assert patched({"continue": None}, block).continue_ is None


def test_another_kind_of_action_starts_from_an_empty_config() -> None:
    raw = {"action_kind": "give_role", "action_config": {"role_id": "7"}}

    assert patched(raw, EVERYTHING.blocks[6]).action_config == ActionConfig(role_id="7")


SHOWN, RAW_LOGIC, HIDDEN = EVERYTHING.blocks[2], EVERYTHING.blocks[3], EVERYTHING.blocks[5]
OTHER = {"block": "favGame", "op": "eq", "value": "Go"}


@try_each(
    ("block", "raw", "expected"),
    [
        (SHOWN, {"show_when": None}, (None, None, None)),
        (HIDDEN, {"hide_when": None}, (None, None, None)),
        (SHOWN, {"precondition": None}, (None, None, None)),
        (SHOWN, {"hide_when": None}, (SHOWN.precondition, SHOWN.show_when, None)),
        (RAW_LOGIC, {"show_when": None}, (RAW_LOGIC.precondition, None, None)),
        (RAW_LOGIC, {"hide_when": None, "show_when": None}, (RAW_LOGIC.precondition, None, None)),
        (RAW_LOGIC, {"precondition": ""}, (None, None, None)),
        (SHOWN, {"show_when": OTHER}, ('NOT((favGame = "Go"))', OTHER, None)),
        (SHOWN, {"hide_when": OTHER}, ('favGame = "Go"', None, OTHER)),
        (SHOWN, {"show_when": None, "hide_when": OTHER}, ('favGame = "Go"', None, OTHER)),
        (SHOWN, {"precondition": "q1 = 1"}, ("q1 = 1", None, None)),
        (SHOWN, {"precondition": "q1 = 1", "show_when": None}, ("q1 = 1", None, None)),
        (SHOWN, {"precondition": SHOWN.precondition}, (SHOWN.precondition, SHOWN.show_when, None)),
        (SHOWN, {"precondition": SHOWN.precondition, "show_when": None}, (SHOWN.precondition, None, None)),
        (RAW_LOGIC, {"show_when": OTHER}, ('NOT((favGame = "Go"))', OTHER, None)),
    ],
)
def test_logic_that_is_sent_replaces_the_stored_logic(block: Block, raw: Raw, expected: object) -> None:
    changed = patched(raw, block)

    assert (changed.precondition, changed.show_when, changed.hide_when) == expected


def test_a_patch_with_two_ways_to_write_logic_is_refused() -> None:
    parsed = reader.read_patch({"show_when": OTHER, "precondition": "q1 = 1"}, block=SHOWN)

    assert [(each.field, each.code) for each in parsed.violations] == [("precondition", "conflicting")]


@try_each(
    ("raw", "ids", "index"),
    [
        ({"correct_answer_id": 11}, (11,), 0),
        ({"correct_answer_index": 0}, (11,), 0),
        ({"correct_answer_ids": [11]}, (11,), 0),
        ({"correct_answer_ids": [12], "correct_answer_index": 0}, (12,), 1),
        ({"options": [{"id": 12, "value": "Go"}, {"id": 11, "value": "Chess"}]}, (12,), 0),
        ({"correct_answer_ids": None, "when_correct": None, "when_incorrect": None}, None, None),
        ({"correct_answer_id": None, "when_correct": None, "when_incorrect": None}, None, None),
    ],
)
def test_a_patch_of_the_correct_answer_or_of_the_options(raw: Raw, ids: object, index: int | None) -> None:
    changed = patched(raw, EVERYTHING.blocks[1])

    assert (changed.correct_answer_ids, changed.correct_answer_index) == (ids, index)


def test_the_correct_option_cannot_be_left_out_while_it_is_correct() -> None:
    parsed = reader.read_patch({"options": [{"id": 11, "value": "Chess"}]}, block=EVERYTHING.blocks[1])

    assert [(each.field, each.code) for each in parsed.violations] == [("correct_answer_ids[0]", "not_found")]
