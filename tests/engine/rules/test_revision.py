"""Two revisions of a script compared."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings

from surveys.engine.intake.field_paths import BlockPath, stored_paths
from surveys.engine.rules import carrying, revision
from surveys.engine.rules import script as script_rules
from surveys.engine.script import ActionConfig, Block, Bucket, Continue, Option, Script
from tests.support.cases import try_each
from tests.support.engine.rating import RATING

GAME = Block(
    "single_punch",
    "Which?",
    id=1,
    name="favGame",
    options=(Option("a", 11, "A", None, {"score": Decimal(1)}, 0), Option("b", 12, display_order=1)),
    correct_answer_ids=(11,),
    correct_answer_index=0,
    when_correct="[favGame]!",
    position=0,
)
WHY = Block(
    "open_text",
    "Why [Favgame], or [q1]?",
    id=2,
    name="why",
    precondition='NOT((favGame = "a"))',
    show_when={"any": [{"block": "FAVGAME", "op": "eq", "value": "a"}]},
    position=1,
)
SUM = Block(
    "calculated_block", id=4, name="sum", calculated_formula="[favgame] + [how] + [score]", position=3
)
BEFORE = Script(blocks=(GAME, WHY, RATING, SUM), scoring_enabled=True, buckets=(Bucket("Score"),))


def after(*blocks: Block, before: Script = BEFORE) -> Script:
    return replace(before, blocks=blocks)


def test_a_rename_carries_through_texts_expressions_conditions_and_formulas() -> None:
    sent = (replace(GAME, name="Best Game"), WHY, RATING, SUM)

    game, why, raw, total = carrying.carry(BEFORE, sent)

    assert carrying.renames(BEFORE, sent) == {"Favgame": "Best Game"}
    assert game.when_correct == "[Best Game]!"
    assert why.prompt == "Why [Best Game], or [q1]?"
    assert why.show_when == {"any": [{"block": "Best Game", "op": "eq", "value": "a"}]}
    assert why.precondition == 'NOT((Best_Game = "a"))'
    assert raw.precondition == "Best_Game in [1] OR q1 = 2"
    assert total.calculated_formula == "[Best Game] + [how] + [score]"
    assert (
        script_rules.check(
            after(game, why, raw, total), block_paths=stored_paths(BEFORE, path="blocks"), chat=False
        )
        == []
    )


def test_a_text_that_the_same_write_changed_is_left_as_it_was_sent() -> None:
    """Rule 3.30."""
    sent = (
        replace(GAME, name="best"),
        replace(WHY, prompt="And [favGame]?"),
        replace(RATING, precondition="favGame = 1"),
    )

    _, why, raw = carrying.carry(BEFORE, sent)

    assert why.prompt == "And [favGame]?"
    assert raw.precondition == "favGame = 1"


def test_a_condition_about_a_token_is_carried_too() -> None:
    token = {"variable": "FavGame", "op": "eq", "value": "a"}
    asked = replace(WHY, show_when=None, hide_when=token, precondition='FavGame = "a"')
    by_position = replace(
        WHY, id=9, show_when=None, hide_when={**token, "variable": "q1"}, precondition='q1 = "a"'
    )
    before = replace(BEFORE, blocks=(GAME, asked, by_position))

    _, carried, still = carrying.carry(before, (replace(GAME, name="my-game"), asked, by_position))

    assert carried.hide_when == {**token, "variable": "my_game"}
    assert carried.precondition == 'my_game = "a"'
    assert (still.hide_when, still.precondition) == (by_position.hide_when, 'q1 = "a"')


def test_two_names_can_be_exchanged() -> None:
    sent = (replace(GAME, name="how"), WHY, replace(RATING, name="favGame", precondition=None), SUM)

    carried = carrying.carry(BEFORE, sent)

    assert carried[3].calculated_formula == "[how] + [favGame] + [score]"


def test_a_variable_named_like_the_block_is_left_alone() -> None:
    before = Script(
        blocks=(Block("open_text", id=1, name="Score"), replace(SUM, calculated_formula="[score] + [Score]")),
        scoring_enabled=True,
    )
    sent = (replace(before.blocks[0], name="Result"), before.blocks[1])

    assert carrying.carry(before, sent)[1].calculated_formula == "[score] + [Result]"


def test_a_reference_stays_if_expressions_cannot_write_the_new_name() -> None:
    sent = (replace(GAME, name="True"), WHY, RATING)

    carried = carrying.carry(BEFORE, sent)
    violations = script_rules.check(
        after(*carried), block_paths=stored_paths(after(*carried), path="blocks"), chat=False
    )

    assert {violation.code for violation in violations} == {"unknown_reference"}


@try_each(
    ("formula", "expected"),
    [
        ('if [favGame] == "[favGame]" then Take [favGame] else [q1]', None),
        ("[ favgame ] + [favGame]", "[best] + [best]"),
        ("1 +* [favGame]", "1 +* [favGame]"),
    ],
)
def test_a_rename_rewrites_references_of_a_formula_and_none_of_its_texts(
    formula: str, expected: str | None
) -> None:
    total = replace(SUM, calculated_formula=formula)
    before = replace(BEFORE, blocks=(GAME, total))

    _, carried = carrying.carry(before, (replace(GAME, name="best"), total))

    only_reference = 'if [best] == "[favGame]" then Take [favGame] else [q1]'
    assert carried.calculated_formula == (expected or only_reference)


def renamed_faults(before: Script, *blocks: Block) -> list[tuple[str, str]]:
    carried = carrying.carry(before, (*blocks, *before.outro))
    script = replace(before, blocks=carried[: len(blocks)], outro=carried[len(blocks) :])
    block_paths = [BlockPath(f"blocks[{n}]") for n in range(len(carried))]
    violations = carrying.rename_violations(before, script, block_paths=block_paths)
    return [(violation.field, violation.code) for violation in violations]


@try_each("name", ["UserName", "xp_points", "Next_XP_Level"])
def test_a_block_is_not_renamed_to_a_variable_of_prompts(name: str) -> None:
    named = replace(BEFORE, blocks=(replace(GAME, name=name), WHY))

    assert renamed_faults(BEFORE, replace(GAME, name=name), WHY) == [("blocks[0].name", "not_allowed")]
    assert renamed_faults(named, replace(GAME, name=name.upper()), WHY) == []
    assert renamed_faults(named, replace(GAME, name="best"), WHY) == []


@try_each("key", ["prompt", "when_correct", "when_incorrect"])
def test_a_text_that_new_names_make_too_long_is_refused(key: str) -> None:
    text = "[favGame]" + "." * 3_990
    thanks = Block("content_block", text, id=9, name="thank_you", section="outro")
    changed = replace(WHY, **{key: text})  # type: ignore[arg-type]
    before = replace(BEFORE, blocks=(GAME, changed), outro=(thanks,))

    assert renamed_faults(before, replace(GAME, name="favourite"), changed) == [
        (f"blocks[1].{key}", "too_long"),
        ("blocks[2].prompt", "too_long"),
    ]
    assert renamed_faults(before, replace(GAME, name="gameOf8"), changed) == []
    assert renamed_faults(before, replace(GAME, name="gameOf_8"), changed) == []
    assert len(text) == 3_999


# --- Removing -------------------------------------------------------------------------------------


def in_use(*blocks: Block) -> list[tuple[str, str]]:
    script = after(*blocks)
    violations = revision.references_to_removed(
        BEFORE, script, block_paths=stored_paths(script, path="blocks")
    )
    return [(violation.field, violation.code) for violation in violations]


def test_references_to_a_removed_block_name_it() -> None:
    assert in_use(WHY, RATING, SUM) == [
        ("blocks[0].show_when", "in_use"),
        ("blocks[0].prompt", "in_use"),
        ("blocks[1].precondition", "in_use"),
        ("blocks[2].calculated_formula", "in_use"),
    ]


def test_refusals_name_blocks_by_number_and_words() -> None:
    script = after(WHY, RATING)
    block_paths = stored_paths(script, path="blocks")

    (in_condition, *_) = revision.references_to_removed(BEFORE, script, block_paths=block_paths)
    *_, missing = revision.frozen_changes(BEFORE, script, block_paths=block_paths)
    too_long = replace(WHY, prompt="Why [Favgame]?" + "." * 3_990)
    (grown,) = carrying.rename_violations(
        BEFORE, after(replace(GAME, name="best"), too_long), block_paths=block_paths
    )

    assert in_condition.message == (
        "In block 1, “Why [Favgame], or [q1]?”, `show_when` refers to what was block 1, “Which?”. That block "
        "cannot be removed before this reference is."
    )
    assert missing.message == "No block can be removed while the project is active. Missing: block 4."
    assert grown.message == (
        "In block 2, “Why [Favgame]?..........................…”, `prompt` would have 4,004 characters with "
        "the new block names, and must have at most 4,000."
    )


@try_each("folder", ["surveys/engine/rules", "surveys/services/scripts"])
def test_no_message_about_a_script_names_a_block_by_its_name_alone(folder: str) -> None:
    """Automatic names such as q3 mean another block to readers who count blocks."""
    files = [*(Path(settings.BASE_DIR) / folder).glob("*.py")]

    found = [
        f"{path.name}: {line.strip()}"
        for path in files
        for line in path.read_text().splitlines()
        if re.search(r"block \{[^{}]*name\}", line)
    ]

    assert files
    assert found == []


def test_the_outro_refers_to_blocks_too() -> None:
    thanks = Block("content_block", "So [favGame] it is, or [q1].", id=9, name="thank_you", section="outro")
    before = replace(BEFORE, outro=(thanks,))
    gone = replace(before, blocks=(replace(RATING, precondition=None),))
    block_paths = [BlockPath("blocks[0]"), BlockPath("blocks[1]")]

    violations = revision.references_to_removed(before, gone, block_paths=block_paths)
    by_position = revision.references_to_removed(
        replace(before, outro=(replace(thanks, prompt="[q1]"),)),
        replace(gone, outro=(replace(thanks, prompt="[q1]"),)),
        block_paths=block_paths,
    )
    rewritten = revision.references_to_removed(
        before, replace(gone, outro=(replace(thanks, prompt="Thanks, [how]."),)), block_paths=block_paths
    )

    assert [(violation.field, violation.code) for violation in violations] == [("blocks[1].prompt", "in_use")]
    assert [each.field for each in by_position] == ["blocks[1].prompt"]
    assert rewritten == []


def test_brackets_in_a_text_of_a_formula_refer_to_nothing() -> None:
    changed = replace(SUM, calculated_formula='if 1 then "[favGame]" else Take [how]')
    before = replace(BEFORE, blocks=(GAME, changed))
    script = replace(before, blocks=(changed,))

    assert (
        revision.references_to_removed(before, script, block_paths=stored_paths(script, path="blocks")) == []
    )


def test_a_new_block_that_takes_the_name_takes_the_references() -> None:
    new = replace(GAME, id=None, options=(Option("a"),))

    assert in_use(new, WHY, RATING, SUM) == []


def test_a_position_that_another_block_has_taken_is_reported() -> None:
    by_position = replace(RATING, precondition="q1 = 2")
    before = replace(BEFORE, blocks=(GAME, WHY, by_position))
    moved_in = replace(
        before, blocks=(replace(WHY, show_when=None, precondition=None, prompt="Why?"), by_position)
    )
    rewritten = replace(before, blocks=(moved_in.blocks[0], replace(by_position, precondition="q1 = 3")))

    violations = revision.references_to_removed(
        before, moved_in, block_paths=stored_paths(moved_in, path="blocks")
    )

    assert [(violation.field, violation.code) for violation in violations] == [
        ("blocks[1].precondition", "in_use")
    ]
    assert (
        revision.references_to_removed(before, rewritten, block_paths=stored_paths(rewritten, path="blocks"))
        == []
    )


# --- Scores that were ignored ----------------------------------------------------------------------


@try_each(
    ("scoring", "sent", "now", "then"),
    [
        (False, {"options"}, False, True),
        (False, {"prompt"}, False, True),
        (True, {"prompt"}, False, True),
        (True, {"options"}, False, False),
        (True, {"options"}, True, True),
    ],
)
def test_ignored_scores_are_remembered_until_options_count(
    scoring: bool, sent: set[str], now: bool, then: bool
) -> None:
    before = Script((replace(GAME, scores_ignored=True), WHY), scoring_enabled=scoring)
    blocks = (replace(GAME, scores_ignored=now), WHY)

    carried = revision.carry_ignored_scores(before, blocks, sent_keys=[sent, set()])

    assert [block.scores_ignored for block in carried] == [then, False]


@try_each(("weights", "is_ignored"), [(None, True), ({}, False), ({"score": Decimal(0)}, False)])
def test_ignored_scores_are_forgotten_once_points_or_none_are_sent(weights: Any, is_ignored: bool) -> None:
    before = Script((replace(GAME, scores_ignored=True),), scoring_enabled=True)
    options = (Option("a", 11), Option("b", 12, score_values=weights))

    (carried,) = revision.carry_ignored_scores(
        before, [replace(GAME, options=options)], sent_keys=[{"options", "prompt"}]
    )

    assert carried.scores_ignored is is_ignored


@try_each(
    ("sent", "is_ignored"),
    [
        ([{"score": Decimal("1.0")}, None], False),
        ([{"score": Decimal(1)}, {}], False),
        ([{"score": Decimal(2)}, None], True),
        ([{"score": Decimal(1)}, {"score": Decimal(1)}], True),
        ([None, None], True),  # there were points, which could not be read
    ],
)
def test_while_scoring_is_off_stored_points_stay_and_others_are_ignored(
    sent: list[Any], is_ignored: bool
) -> None:
    options = tuple(
        replace(option, score_values=weights) for option, weights in zip(GAME.options, sent, strict=True)
    )

    (revised,) = revision.keep_stored_scores(BEFORE, [replace(GAME, options=options, scores_ignored=True)])

    assert revised == replace(GAME, scores_ignored=is_ignored)


def test_a_block_that_was_sent_without_points_ignores_none() -> None:
    assert revision.keep_stored_scores(BEFORE, [WHY, replace(GAME, id=None, options=(Option("a"),))]) == (
        WHY,
        replace(GAME, id=None, options=(Option("a"),)),
    )


def test_newly_ignored_scores_stay_marked() -> None:
    blocks = (replace(GAME, scores_ignored=True), replace(GAME, id=None, scores_ignored=True))

    carried = revision.carry_ignored_scores(BEFORE, blocks, sent_keys=[{"options"}, {"options"}])

    assert carried == blocks


# --- Outro blocks --------------------------------------------------------------------


def test_an_outro_block_takes_its_presentation_alone() -> None:
    stored = Block(
        "action_block",
        "Thanks.",
        id=9,
        name="outro",
        section="outro",
        action_kind="give_xp",
        action_config=ActionConfig(xp_amount=5),
        continue_=Continue("pause", 5, "On"),
    )
    sent = Block(
        "content_block",
        "Thank you.",
        id=9,
        section="outro",
        image_url="https://example.com/a",
        action_config=ActionConfig(xp_amount=500),
        continue_=Continue("click", 9, "Off"),
    )

    changed = revision.with_presentation(
        stored, sent, sent_keys={"prompt", "image_url", "continue", "action_config"}
    )

    assert changed == replace(
        stored, prompt="Thank you.", image_url="https://example.com/a", continue_=Continue("pause", 9, "On")
    )
    assert revision.with_presentation(stored, sent, sent_keys=frozenset()) == stored
    without_seconds = replace(sent, continue_=Continue("click"))
    assert revision.with_presentation(stored, without_seconds, sent_keys={"continue"}) == stored
    bare = replace(stored, continue_=None)
    assert revision.with_presentation(bare, sent, sent_keys={"continue"}).continue_ == sent.continue_
