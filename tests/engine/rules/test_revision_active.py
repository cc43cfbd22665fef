"""Changes of a script while its project is active: permitted and refused ones (rules 2.10 to 2.12)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from typing import Any

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.rules import revision
from surveys.engine.script import ActionConfig, Block, Continue, Option, Scale, Script
from tests.support.cases import try_each
from tests.support.engine.rating import RATING

KITCHEN = Block(
    "multi_punch",
    "Which?",
    id=5,
    name="more",
    options=(Option("a", 51, display_order=0), Option("b", 52, display_order=1)),
    position=0,
)
ACTION = Block(
    "action_block",
    "Take this.",
    id=6,
    name="gift",
    action_kind="give_xp",
    action_config=ActionConfig(xp_amount=1),
    position=1,
)
ACTIVE = Script(
    blocks=(KITCHEN, ACTION, replace(RATING, position=2, precondition=None)), scoring_enabled=True
)


def frozen(*blocks: Block, before: Script = ACTIVE, seen: Collection[int] | None = None) -> list[str]:
    script = replace(before, blocks=blocks)
    block_paths = tuple(
        BlockPath(f"blocks[{n}]", tuple(range(len(each.options)))) for n, each in enumerate(blocks)
    )
    reached = frozenset if seen is None else frozenset(seen).intersection
    violations = revision.frozen_changes(before, script, block_paths=block_paths, reached=reached)
    assert {each.code for each in violations} <= {"read_only"}
    return [each.field for each in violations]


WORDING: list[tuple[int, dict[str, Any]]] = [
    (0, {"prompt": "Other?"}),
    (0, {"image_url": "https://example.com/a"}),
    (0, {"thumbnail_url": "https://example.com/a"}),
    (0, {"when_correct": "Yes", "when_incorrect": "No"}),
    (0, {"options": (replace(KITCHEN.options[0], label="A", emoji="👍"), KITCHEN.options[1])}),
    (1, {"color": "ffffff"}),
    (1, {"continue_": Continue("pause", 5)}),
    (2, {"scale": Scale("stars", "Bad", "So so", "Good")}),
    # Null, false and empty are the same.
    (0, {"randomize_options": False, "required": False, "correct_answer_ids": ()}),
    (0, {"options": (replace(KITCHEN.options[0], score_values={}), KITCHEN.options[1])}),
    (0, {"options": (*KITCHEN.options, Option("c"))}),
    (0, {"options": (Option("c", score_values={"score": Decimal(1)}), *KITCHEN.options[::-1])}),
]


@try_each(("at", "changes"), WORDING)
def test_wording_may_change_while_active(at: int, changes: dict[str, Any]) -> None:
    blocks = list(ACTIVE.blocks)
    blocks[at] = replace(blocks[at], **changes)

    assert frozen(*blocks) == []


STRUCTURE: list[tuple[int, dict[str, Any], str]] = [
    (0, {"name": "other"}, "blocks[0].name"),
    (0, {"name": "MORE"}, "blocks[0].name"),
    (0, {"type": "single_punch"}, "blocks[0].type"),
    (0, {"section": "intro"}, "blocks[0].section"),
    (0, {"required": True}, "blocks[0].required"),
    (0, {"min": 0}, "blocks[0].min"),
    (0, {"max": 2}, "blocks[0].max"),
    (0, {"precondition": "q1 = 1"}, "blocks[0].precondition"),
    (0, {"precondition": "q1 = 1", "hide_when": {"a": 1}}, "blocks[0].hide_when"),
    (0, {"correct_answer_ids": (51,)}, "blocks[0].correct_answer_ids"),
    (0, {"randomize_options": True}, "blocks[0].randomize_options"),
    (
        0,
        {"options": (replace(KITCHEN.options[0], value="c"), KITCHEN.options[1])},
        "blocks[0].options[0].value",
    ),
    (
        0,
        {"options": (KITCHEN.options[0], replace(KITCHEN.options[1], score_values={"score": Decimal(1)}))},
        "blocks[0].options[1].score_values",
    ),
    (0, {"options": KITCHEN.options[:1]}, "blocks[0].options"),
    (0, {"options": (KITCHEN.options[0], Option("b"))}, "blocks[0].options"),
    (1, {"action_config": ActionConfig(xp_amount=2)}, "blocks[1].action_config"),
    (2, {"scale": Scale("numbers")}, "blocks[2].scale.icon"),
]


@try_each(("at", "changes", "field"), STRUCTURE)
def test_structure_waits_while_active(at: int, changes: dict[str, Any], field: str) -> None:
    blocks = list(ACTIVE.blocks)
    blocks[at] = replace(blocks[at], **changes)

    assert frozen(*blocks) == [field]


def test_options_of_scales_are_not_added_while_active() -> None:
    """Rule 2.10."""
    before = Script(blocks=(replace(RATING, options=(Option("1", 11), Option("2", 12))),))
    [rating] = before.blocks

    assert frozen(replace(rating, options=(*rating.options, Option("3"))), before=before) == [
        "blocks[0].options"
    ]


def test_a_question_may_become_optional_and_not_required_while_active() -> None:
    """Rule 2.10."""
    required, optional = replace(KITCHEN, required=True), replace(KITCHEN, required=False)

    assert frozen(optional, before=Script(blocks=(required,))) == []
    assert frozen(required, before=Script(blocks=(optional,))) == ["blocks[0].required"]


def test_blocks_are_added_and_not_removed_while_active() -> None:
    """Rule 2.10."""
    one, two, three = ACTIVE.blocks
    new = Block("open_text", "New?")

    assert frozen(one, two, three) == []
    assert frozen(one, two) == ["blocks"]
    assert frozen(one, two, three, new) == []
    assert frozen(new, one, new, two, three) == []
    assert frozen(new, one, two) == ["blocks"]


def test_blocks_that_nobody_has_seen_are_reordered_while_active() -> None:
    """Rule 2.12."""
    one, two, three = ACTIVE.blocks
    new = Block("open_text", "New?")

    assert frozen(one, three, two) == ["blocks"]
    assert frozen(one, three, two, seen=()) == []
    assert frozen(one, three, new, two, seen={5}) == []
    assert frozen(one, three, two, seen={6}) == ["blocks"]
    assert frozen(three, one, two, seen={6}) == ["blocks"]


@try_each(
    ("field", "text"), [("prompt", "You said [q1]."), ("precondition", "q1 = 1"), ("when_correct", "[q1]!")]
)
def test_nothing_moves_that_a_text_refers_to_by_position(field: str, text: str) -> None:
    """Rule 2.12."""
    one, two, three = ACTIVE.blocks
    written: dict[str, Any] = {field: text}
    other: dict[str, Any] = {field: "[more]"}
    last = replace(three, **written)
    before = replace(ACTIVE, blocks=(one, two, last))
    new = Block("open_text", "New?")

    assert frozen(one, new, two, last, before=before) == []
    assert frozen(new, one, two, last, before=before) == [f"blocks[3].{field}"]
    if field != "precondition":  # which is structure
        assert frozen(new, one, two, replace(last, **other), before=before) == []


def test_scores_that_are_passed_over_are_no_change() -> None:
    scored = replace(
        KITCHEN, options=(replace(KITCHEN.options[0], score_values={"a": Decimal(1)}), KITCHEN.options[1])
    )
    before = Script(blocks=(scored,), scoring_enabled=False)

    assert frozen(KITCHEN, before=before) == []


def test_that_scores_were_ignored_is_no_structure() -> None:
    assert frozen(*(replace(block, scores_ignored=True) for block in ACTIVE.blocks)) == []
