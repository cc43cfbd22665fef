"""New values of options are carried into the logic and formulas that name them (rule 3.31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from communities.ground.sent_text import sent_text
from surveys.engine.language import conditions, expressions, formulas, references, values
from surveys.engine.rules.carrying import carry
from surveys.engine.script import Block, Option, Script
from tests.support.cases import try_each
from tests.support.effort import examples

OLD = ("red", "5", 'say "hi"', "blue")


def options(*values: str) -> tuple[Option, ...]:
    return tuple(Option(value, id=10 + n) for n, value in enumerate(values))


COLOR = Block("multi_punch", "Which?", id=1, name="color", options=options(*OLD))
OTHER = Block("single_punch", "Other?", id=2, name="other", options=options(*OLD))


def carried(block: Block, *values: str, name: str = "color", before: Block = COLOR) -> Block:
    """The block after the first four options have these values (the old ones where fewer are given)."""
    new = (*values, *OLD[len(values) :])
    sent = (replace(before, options=options(*new), name=name), OTHER, block)
    return carry(Script((before, OTHER, block)), sent)[2]


@try_each(
    ("text", "expected"),
    [
        ('color = "red"', 'color = "crimson"'),
        ('NOT((COLOR="red"  OR "red" in color))', 'NOT((COLOR="crimson"  OR "crimson" in color))'),
        ('q1 in ["blue", "red",5]', 'q1 in ["blue", "crimson",6]'),
        ('color != 5.0 AND color = "5"', 'color != 6 AND color = "6"'),
        ('color = "say ""hi"""', 'color = "say nothing"'),
        ('other = "red" AND color = "green" AND "red" = q2', None),
        ('answer = "red" AND color = other', None),
    ],
)
def test_an_expression_follows_the_value_of_an_option(text: str, expected: str | None) -> None:
    asked = Block("open_text", id=3, name="why", precondition=text)

    assert carried(asked, "crimson", "6", "say nothing").precondition == (expected or text)


@try_each(
    ("text", "expected"),
    [
        ('if [color] == "red" then "red" else red', 'if [color] == "crimson" then "red" else red'),
        (
            "if 5 == [Color] OR [q1] != - 5 then 1 else 5",
            "if -6 == [Color] OR [q1] != - 5 then 1 else 5",
        ),
        (
            '2 * (if NOT [color] == "say ""hi""" then 1 else 0)',
            '2 * (if NOT [color] == "a ""b""" then 1 else 0)',
        ),
    ],
)
def test_a_formula_follows_the_value_of_an_option(text: str, expected: str) -> None:
    total = Block("calculated_block", id=3, name="sum", calculated_formula=text)

    assert carried(total, "crimson", "-6", 'a "b"').calculated_formula == expected
    assert formulas.parse(expected)


def test_a_negative_number_in_a_formula_is_one_value() -> None:
    before = replace(COLOR, options=options("-5", *OLD[1:]))
    total = Block("calculated_block", id=3, name="sum", calculated_formula="if [color] == - 5 then 1 else 0")

    assert carried(total, "7", before=before).calculated_formula == "if [color] == 7 then 1 else 0"


def test_a_condition_follows_the_value_and_the_name_together() -> None:
    leaf = {"block": "Color", "op": "eq", "value": "red"}
    listed = {"variable": "q1", "op": "in", "value": ["blue", 5]}
    condition = {"all": [leaf, {"any": [listed]}]}
    compiled = conditions.compile(condition, hide=False)
    asked = Block("open_text", id=3, name="why", show_when=condition, precondition=compiled)

    now = carried(asked, "crimson", "six", name="colour")

    assert now.show_when == {
        "all": [
            {"block": "colour", "op": "eq", "value": "crimson"},
            {"any": [{"variable": "q1", "op": "in", "value": ["blue", "six"]}]},
        ]
    }
    assert now.precondition == 'NOT((colour = "crimson" AND q1 in ["blue", "six"]))'


def test_a_condition_becomes_an_expression_if_only_that_can_say_the_value() -> None:
    leaf = {"block": "color", "op": "eq", "value": "red"}
    asked = Block("open_text", id=3, name="why", hide_when=leaf, precondition='color = "red"')

    now = carried(asked, 'the "red" one', name="colour")

    assert (now.hide_when, now.show_when) == (None, None)
    assert now.precondition == 'colour = "the ""red"" one"'


def test_what_the_same_write_changed_stays_as_it_was_sent() -> None:
    asked = Block("open_text", id=3, name="why", precondition='color = "red"')
    sent = (
        replace(COLOR, options=options("crimson", *OLD[1:])),
        replace(asked, precondition='color = "red" OR color = 5'),
    )

    assert carry(Script((COLOR, asked)), sent) == sent


def test_values_can_be_exchanged() -> None:
    asked = Block("open_text", id=3, name="why", precondition='color in ["red", "x"]')

    assert carried(asked, "blue", "5", "x", "red").precondition == 'color in ["blue", "x"]'


def test_a_position_that_now_means_another_block_keeps_its_value() -> None:
    asked = Block("open_text", id=3, name="why", precondition='q1 = "red" AND color = "red"')
    changed = replace(COLOR, options=options("crimson", *OLD[1:]))

    now = carry(Script((COLOR, OTHER, asked)), (OTHER, changed, asked))[2]

    assert now.precondition == 'q1 = "red" AND color = "crimson"'


def test_points_of_a_scale_are_numbers_that_no_option_gives() -> None:
    points = tuple(Option(str(n), id=n, label=f"Point {n}") for n in range(1, 6))
    shifted = tuple(replace(option, value=str(n)) for n, option in enumerate(points))
    scale = Block("opinion_scale", id=1, name="scale", min=1, max=5, options=points)
    asked = Block("open_text", id=3, name="why", precondition="scale = 5")
    sent = (replace(scale, min=0, max=4, options=shifted), asked)

    assert carry(Script((scale, asked)), sent) == sent


# --- The same decisions -------------------------------------------------------------------------------

WORDS = st.text(alphabet='ab "[]q1=,(', min_size=1, max_size=6).filter(str.strip)
VALUES = st.lists(WORDS | st.integers(0, 99).map(str), min_size=3, max_size=3, unique=True)


@st.composite
def logic(draw: st.DrawFn, known: list[str]) -> str:
    """An expression over the values of `color`."""
    literal = st.sampled_from(known).map(lambda value: '"' + value.replace('"', '""') + '"')
    listed = st.lists(literal, min_size=1, max_size=3).map(lambda each: f"[{', '.join(each)}]")
    leaf = st.one_of(
        st.builds("color = {}".format, literal),
        st.builds("{} != COLOR".format, literal),
        st.builds("color in {}".format, listed),
        st.builds("{} in q1".format, literal),
        st.builds("q1 = {}".format, listed),
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT({})".format, inner),
        ),
        max_leaves=4,
    )
    return draw(tree)


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), old=VALUES, new=VALUES, chosen=st.sets(st.integers(0, 2)))
def test_a_script_decides_the_same_after_its_options_have_other_values(
    data: Any, old: list[str], new: list[str], chosen: set[int]
) -> None:
    text = data.draw(logic(old))
    color = replace(COLOR, options=options(*old))
    asked = Block("open_text", id=3, name="why", precondition=text)

    _, now = carry(Script((color, asked)), (replace(color, options=options(*new)), asked))

    answers = [tuple(values[n] for n in sorted(chosen)) or None for values in (old, new)]
    decisions = [
        expressions.parse(each or "").holds(lambda name, answer=answer: answer)  # type: ignore[misc]
        for each, answer in zip((text, now.precondition), answers, strict=True)
    ]
    assert decisions[0] == decisions[1]


# --- Work -----------------------------------------------------------------------------------------

MANY = replace(COLOR, options=tuple(Option(f"o{n}", id=100 + n) for n in range(100)))
REVALUED = replace(MANY, options=(Option("red", id=100), *MANY.options[1:]))


def of_each_kind(listed: list[str]) -> tuple[Block, ...]:
    """A precondition, a condition and a formula that compare `color` with these values, in texts of each."""
    quoted = [f'"{value}"' for value in listed]
    asked = Block("open_text", id=3, name="why", precondition=f"color in [{', '.join(quoted)}]")
    leaf = {"block": "color", "op": "in", "value": listed}
    shown = replace(asked, id=4, show_when=leaf, precondition=conditions.compile(leaf, hide=False))
    either = " or ".join(f"[color] == {value}" for value in quoted)
    result = Block("calculated_block", id=5, calculated_formula=f"if {either} then 1 else 0")
    return asked, shown, result


def test_options_and_names_are_read_once_for_all_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    resolved: list[str] = []
    form, resolve = sent_text, references.resolve

    def counted(text: str) -> str:
        read.append(text)
        return form(text)

    def resolve_name(name: str, script: Script) -> int | str | None:
        resolved.append(name)
        return resolve(name, script)

    monkeypatch.setattr(values, "sent_text", counted)
    monkeypatch.setattr(references, "resolve", resolve_name)
    blocks = of_each_kind(["o0", *(f"x{n}" for n in range(49))]) * 4

    asked, shown, result, *_ = carry(Script((MANY, *blocks)), (REVALUED, *blocks))[1:]

    assert (asked.precondition or "").startswith('color in ["red", "x0"')
    assert (shown.precondition or "").startswith('NOT((color in ["red", "x0"')
    assert (result.calculated_formula or "").startswith('if [color] == "red" or [color] == "x0"')
    assert len(read) == 100 + 49
    assert resolved == ["color"]


def test_true_is_not_the_number_1() -> None:
    asked = Block("open_text", id=3, name="why", precondition='color in [1, true, 1.0, "1", "true"]')
    before = replace(COLOR, options=options("1", "true"))
    after = replace(COLOR, options=options("2", "yes"))

    _, now = carry(Script((before, asked)), (after, asked))

    assert now.precondition == 'color in [2, "yes", 2, "2", "yes"]'


def test_long_values_make_no_text_that_is_much_longer_than_a_valid_one() -> None:
    blocks = of_each_kind(["o0"] * 60)
    long = replace(REVALUED, options=(Option("é" * 500, id=100), *MANY.options[1:]))

    carried = carry(Script((MANY, *blocks)), (long, *blocks))[1:]

    texts = [*(block.precondition or "" for block in carried[:2]), carried[2].calculated_formula or ""]
    assert [2_000 < len(text) < 23_000 and '"o0"' in text for text in texts] == [True] * 3


def test_a_text_that_is_too_long_only_for_now_is_carried_as_a_whole() -> None:
    blocks = of_each_kind(["o0", "o1"] * 20)
    both = replace(MANY, options=(Option("é" * 500, id=100), Option("green", id=101), *MANY.options[2:]))

    carried = carry(Script((MANY, *blocks)), (both, *blocks))[1:]

    texts = [*(block.precondition or "" for block in carried[:2]), carried[2].calculated_formula or ""]
    assert [(text.count("é" * 500), text.count("green")) for text in texts] == [(20, 20)] * 3
