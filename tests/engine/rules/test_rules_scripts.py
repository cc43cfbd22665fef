"""Rules for a script as a whole: names, ids, polls, order."""

from __future__ import annotations

from surveys.engine.intake import reader
from surveys.engine.intake.ordering import order_blocks, order_patch
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Block, Script
from tests.support.cases import try_each
from tests.support.engine.violations import (
    ACTION,
    CALCULATED,
    CHOICE,
    CONTENT,
    MULTI,
    NPS,
    NUMERIC,
    OPINION,
    RANKING,
    RATING,
    TEXT,
    Raw,
    faults,
)


@try_each(
    ("one", "other"),
    [
        ("game", "game"),
        ("favGame", "FAVGAME"),
        ("fav game", "Fav_Game"),
        ("fav-game", "fav game"),
        ("q7", "Q7"),
        ("caf\u00e9", "Cafe\u0301"),
        ("game", "ga\u3164me"),  # looks the same
    ],
)
def test_names_are_unique_in_title_case(one: str, other: str) -> None:
    assert faults([{**TEXT, "name": one}, {**TEXT, "name": other}]) == [("blocks[1].name", "duplicate")]


def names(raw: list[Raw], before: Script | None = None) -> list[str | None]:
    return [
        block.name for block in order_blocks(reader.read_blocks(raw, path="blocks"), before=before).blocks
    ]


@try_each(
    ("given", "expected"),
    [
        ([None, None], ["q0", "q1"]),
        (["a", None, None], ["a", "q1", "q2"]),
        (["q1", None, None], ["q1", "q2", "q3"]),
        ([None, None, "Q1"], ["q0", "q2", "Q1"]),
        ([None, None, "Q0"], ["q1", "q2", "Q0"]),
    ],
)
def test_automatic_names_take_the_next_free_number(given: list[str | None], expected: list[str]) -> None:
    assert names([{**TEXT, "name": name} for name in given]) == expected


def test_automatic_names_count_intro_blocks_and_positions() -> None:
    """Rule 3.9."""
    raw = [{**TEXT, "prompt": "b"}, {**CONTENT, "section": "intro"}, {**TEXT, "prompt": "a", "position": 0}]

    arranged = order_blocks(reader.read_blocks(raw, path="blocks"))

    assert [(b.type, b.prompt, b.name, b.position) for b in arranged.blocks] == [
        ("content_block", "Welcome.", "q0", 0),
        ("open_text", "b", "q1", 1),
        ("open_text", "a", "q2", 2),
    ]
    assert [block_path.path for block_path in arranged.block_paths] == ["blocks[1]", "blocks[0]", "blocks[2]"]


def test_a_block_sent_by_id_without_a_name_keeps_its_own() -> None:
    before = Script(blocks=(Block("open_text", id=5, name="game"), Block("open_text", id=6, name="q1")))

    assert names([TEXT, {**TEXT, "id": 5}, {**TEXT, "id": 6, "name": "new"}], before) == ["q0", "game", "new"]


@try_each(
    ("positions", "expected"),
    [
        ([None, None, None], "abc"),
        ([2, 1, 0], "cba"),
        ([5, None, None], "bca"),
        ([None, 0, None], "abc"),
        ([1, None, None], "abc"),
        ([3, 3, 0], "cab"),
    ],
)
def test_positions_sort_and_ties_are_as_in_the_array(positions: list[int | None], expected: str) -> None:
    """Rule 3.16."""
    raw = [{**TEXT, "name": name, "position": at} for name, at in zip("abc", positions, strict=True)]

    assert "".join(names(raw)) == expected  # type: ignore[arg-type]


def test_outro_blocks_stand_apart() -> None:
    """Rule 3.9."""
    raw = [{**CONTENT, "section": "outro", "id": 9}, TEXT]

    arranged = order_blocks(reader.read_blocks(raw, path="blocks"))

    assert [block.type for block in arranged.blocks] == ["open_text"]
    assert [block.id for block in arranged.outro] == [9]
    assert arranged.outro_paths[0].path == "blocks[0]"
    assert arranged.outro_sent_keys == (frozenset({"type", "prompt", "section", "id"}),)


@try_each(
    ("raw", "expected"),
    [
        ({}, "abcd"),
        ({"position": None}, "abcd"),
        ({"position": 0}, "bacd"),
        ({"position": 1}, "abcd"),
        ({"position": 2}, "acbd"),
        ({"position": 3}, "acdb"),
        ({"position": 99}, "acdb"),
        ({"section": "intro"}, "bacd"),
    ],
)
def test_a_patched_block_moves_to_its_position(raw: Raw, expected: str) -> None:
    blocks = tuple(
        Block("open_text", "Why?", id=n, name=name, position=n - 1) for n, name in enumerate("abcd", 1)
    )
    before = Script(blocks=blocks)

    arranged = order_patch(reader.read_patch(raw, block=blocks[1]), before=before)

    assert "".join(block.name or "" for block in arranged.blocks) == expected
    assert [block.position for block in arranged.blocks] == [0, 1, 2, 3]
    assert arranged.block_paths[expected.index("b")].path == ""
    assert arranged.block_paths[expected.index("d")].path == "blocks[3]"


@try_each("question", [CHOICE, MULTI, RATING, OPINION, NPS])
def test_a_poll_is_one_question_with_content_around_it(question: Raw) -> None:
    assert faults([question], poll=True) == []
    assert faults([CONTENT, question, {**CONTENT, "section": "intro"}], poll=True) == []
    assert faults([question, question], poll=True) == [("blocks[1].type", "too_many")]


@try_each("other", [TEXT, NUMERIC, RANKING, ACTION, CALCULATED])
def test_a_poll_holds_no_other_blocks(other: Raw) -> None:
    assert faults([CHOICE, other], poll=True) == [("blocks[1].type", "not_allowed")]


def test_a_stored_poll_is_checked_alone() -> None:
    assert [each.code for each in script_rules.check_poll(Script(blocks=(), is_poll=True))] == ["too_few"]


def test_all_violations_are_reported_at_once() -> None:
    raw = [
        {"type": "single_punch", "prompt": "", "options": [{"value": ""}]},
        {**TEXT, "precondition": "(", "color": "red"},
        {"type": "rating", "prompt": "x", "min": 3, "name": "1"},
    ]

    assert sorted(faults(raw)) == [
        ("blocks[0].options[0].value", "blank"),
        ("blocks[0].prompt", "blank"),
        ("blocks[1].color", "invalid"),
        ("blocks[1].precondition", "syntax_error"),
        ("blocks[2].min", "too_large"),
        ("blocks[2].name", "invalid"),
    ]
