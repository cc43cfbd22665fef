"""Rules of the engine that the script editor repeats. Both are tested by `tests/js/cases.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from surveys.engine import script as engine
from surveys.engine.intake import fields, reader
from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.ordering import order_blocks
from surveys.engine.language import conditions, names, piping, rows
from surveys.engine.rules import naming, revision
from surveys.engine.rules.carrying import carry
from surveys.engine.script import Block, Option, Script, title_case
from tests.support.cases import try_each
from tests.support.engine.violations import ONE_OF_EACH, RANKING, Raw, block_faults, faults, options

CASES: Mapping[str, Any] = json.loads((Path(__file__).parent.parent / "js" / "cases.json").read_text())


@try_each(("name", "title"), CASES["titles"])
def test_names_are_compared_by_their_titles(name: str, title: str) -> None:
    assert title_case(name) == title


@try_each(("name", "form"), CASES["expressions"])
def test_expressions_write_a_name_so_that_it_means_a_block(name: str, form: str) -> None:
    assert names.expression_form(name) == form


@try_each(("name", "form"), CASES["tokens"])
def test_tokens_write_a_name_so_that_it_means_a_block(name: str, form: str) -> None:
    assert piping.token_form(name) == form


@try_each(("prompt", "name"), CASES["names"])
def test_a_name_is_made_of_the_words_of_a_prompt(prompt: str, name: str | None) -> None:
    assert naming.from_words(prompt, number=4, taken=set()) == (name or "question_4")


@try_each(("kind", "condition"), CASES["preconditions"])
def test_a_text_says_whether_it_shows_or_hides(kind: str, condition: str) -> None:
    row = rows.read(condition).condition
    text = conditions.compile(row, hide=kind == "hide_when")

    assert text == (f"NOT(({condition}))" if kind == "show_when" else condition)
    assert rows.read(text).field == kind


@try_each("text", CASES["hidden"])
def test_a_text_that_only_begins_with_not_hides(text: str) -> None:
    assert rows.read(text).field == "hide_when"


def _with_logic(raw: Raw) -> Block:
    block = Block(**{"type": "content_block", "id": 9, "name": "last", **raw})
    row = block.show_when or block.hide_when
    return (
        replace(block, precondition=conditions.compile(row, hide=block.hide_when is not None))
        if row
        else block
    )


def _carried(raw: Raw, *, name: str, value: str) -> Block:
    """The last block after the first one got this name, and its first option this value."""
    both = (Option("a", 1), Option("b", 2))
    game = Block("single_punch", id=1, name="fav game", options=both)
    other = Block("single_punch", id=2, name="other", options=(Option("a", 3), Option("b", 4)))
    changed = replace(game, name=name, options=(replace(both[0], value=value), both[1]))
    return carry(Script((game, other, _with_logic(raw))), (changed, other, _with_logic(raw)))[2]


@try_each("case", CASES["renames"])
def test_references_follow_a_new_name(case: Mapping[str, Raw]) -> None:
    block = _carried(case["block"], name="top", value="a")

    assert {key: getattr(block, key) for key in case["after"]} == case["after"]


@try_each("case", CASES["revalues"])
def test_comparisons_follow_a_new_value(case: Mapping[str, Raw]) -> None:
    block = _carried(case["block"], name="fav game", value="z")

    assert {key: getattr(block, key) for key in case["after"]} == case["after"]


def test_limits() -> None:
    limits = CASES["limits"]

    assert limits["blocks"] == reader.MAX_BLOCKS
    assert limits["options"] == fields.MAX_OPTIONS
    assert limits["label"] == fields.MAX_LABEL
    assert block_faults({**RANKING, "options": options(limits["items"])}) == []
    assert block_faults({**RANKING, "options": options(limits["items"] + 1)}) == [("options", "too_many")]


@try_each("kind", CASES["ranges"])
def test_scales_have_their_range(kind: str) -> None:
    starts, fewest, most, points = CASES["ranges"][kind].values()
    valid = {
        (low, high)
        for low, high in product(range(3), range(1, 13))
        if not block_faults({**ONE_OF_EACH[kind], "min": low, "max": high})
    }

    assert valid == {(low, low + count - 1) for low in starts for count in range(fewest, most + 1)}
    assert Block(kind).points == tuple(points)


def test_families_of_types() -> None:
    assert CASES["families"] == {
        "choices": sorted(engine.CHOICES),
        "scales": sorted(engine.SCALES),
        "with_items": sorted(engine.WITH_ITEMS),
        "statements": sorted(engine.STATEMENTS),
        "questions": sorted(engine.QUESTIONS),
    }


@try_each("name", CASES["reach"]["reachable"])
def test_a_block_refers_to_the_answers_before_it(name: str) -> None:
    blocks = [{**ONE_OF_EACH[each["type"]], **each} for each in CASES["reach"]["blocks"]]
    at = [block["name"] for block in blocks].index(name)

    def is_reachable(other: str) -> bool:
        asked = {**blocks[at], "hide_when": {"block": other, "op": "eq", "value": "a"}}
        found = faults([*blocks[:at], asked, *blocks[at + 1 :]])
        return not any(field == f"blocks[{at}].hide_when.block" for field, _ in found)

    reachable = [block["name"] for block in blocks if is_reachable(block["name"])]
    assert reachable == CASES["reach"]["reachable"][name]


def _read(kind: str, **fields: Any) -> Block:
    """A valid block of this type, which has ids."""
    asked = {"required": True} if kind in engine.QUESTIONS else {}
    raw = {**ONE_OF_EACH[kind], **asked, "id": 1, "name": "which", **fields}
    if raw.get("options"):
        raw["options"] = [{"id": n, **option} for n, option in enumerate(raw["options"], 1)]
    parsed = reader.read_blocks([raw], path="blocks", scoring=False)
    assert parsed.violations == []
    return parsed.blocks[0]


@try_each("case", CASES["open"])
def test_wording_alone_may_change_while_the_project_is_open(case: Raw) -> None:
    kind = case.get("type", "single_punch")
    was, now = _read(kind), _read(kind, **case["change"])
    path = BlockPath("blocks[0]", tuple(range(len(now.options))))

    changes = revision.frozen_changes(Script((was,)), Script((now,)), block_paths=[path])

    assert was != now
    assert (not changes) == case["is_open"]


@try_each("case", CASES["outro"])
def test_of_an_outro_block_little_may_change(case: Raw) -> None:
    stored_raw = {"continue": {"after": "pause", "pause": 5}}
    stored = _read("content_block", **stored_raw)
    sent = _read("content_block", **stored_raw | case["change"])

    kept = revision.with_presentation(stored, sent, sent_keys=case["change"].keys())

    assert (kept != stored) == case["is_open"]


@try_each(("sections", "order"), CASES["sections"])
def test_the_intro_comes_first(sections: list[str], order: list[int]) -> None:
    raw = [
        {**ONE_OF_EACH["content_block"], "section": each, "name": f"b{n}"} for n, each in enumerate(sections)
    ]

    ordered = order_blocks(reader.read_blocks(raw, path="blocks", scoring=False))

    assert [block.name for block in ordered.blocks] == [f"b{n}" for n in order]
