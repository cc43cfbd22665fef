"""Blocks that are proved to be always or never shown, and nothing claimed that is not so."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surveys.engine.flow import reach
from surveys.engine.language import expressions, values
from surveys.engine.script import Bucket
from surveys.engine.walk import answers, runner
from tests.support.cases import try_each
from tests.support.effort import examples
from tests.support.engine import script_builder

CHOICE = {"type": "single_punch", "name": "game", "options": ["chess", "go"], "required": True}
SEVERAL = {"type": "multi_punch", "name": "days", "options": ["Mon", "Tue", "Wed"], "required": True}
YEARS = {"type": "open_numeric", "name": "years", "min": 0, "max": 10, "required": True}
RATING = {"type": "rating", "name": "stars", "required": True}
TEXT = {"type": "open_text", "name": "why"}


def reach_of(precondition: str, *before: dict[str, Any], **fields: Any) -> str:
    """The reach of a last block with this hide expression."""
    script = script_builder.script(*before, {"type": "open_text", "precondition": precondition}, **fields)
    return reach.of_blocks(script)[-1]


@try_each(
    ("precondition", "expected"),
    [
        ("true", "never"),
        ("NOT false", "never"),
        ("false", "always"),
        ("1 = 1", "never"),
        ('game = "chess"', "sometimes"),
        ('game = "chess" OR game = "go"', "never"),
        ('game = "chess" AND game = "go"', "always"),
        ('NOT((game = "chess" AND game = "go"))', "never"),
        ('game != "poker"', "never"),
        ('NOT((game = "Chess"))', "never"),
        ('game in ["chess", "go"]', "never"),
        ("game in []", "always"),
        ('game in "chess or go"', "never"),
        ("game", "never"),
        ('NOT(("Mon" in days AND NOT ("Mon" in days)))', "never"),
        ('NOT("Mon" in days OR "Tue" in days OR "Wed" in days)', "always"),
        ('"Mon" in days OR "Tue" in days', "sometimes"),
        ('days = ["Mon", "Tue"]', "sometimes"),
        ('days = ["Tue", "Mon"]', "always"),
        ('days = "Mon" AND "Tue" in days', "always"),
        ("NOT((years > 3 AND years < 3))", "never"),
        ("years >= 0", "never"),
        ("years > 10", "always"),
        ("years > 3 AND years < 4", "sometimes"),
        ("years = 3.5", "sometimes"),
        ('years in "12345"', "sometimes"),
        ("stars >= 1", "never"),
        ("stars > 5 OR stars = 2.5", "always"),
        ("stars < 3 OR stars > 2", "never"),
        ('why = "a" AND why = "b"', "sometimes"),
        ("why in []", "always"),
        ("nobody = 1", "always"),
        ("nobody != 1", "never"),
        ("q6 = 1", "always"),
        ("answer = 1", "sometimes"),
        ("game = years", "sometimes"),
        ('game = "chess" AND (game = "go" OR answer = 3)', "sometimes"),
        ('game = "chess" AND answer = 3 AND game = "go"', "always"),
        ("a = = b", "sometimes"),
    ],
)
def test_the_reach_of_a_block_behind_required_questions(precondition: str, expected: str) -> None:
    assert reach_of(precondition, CHOICE, SEVERAL, YEARS, RATING, TEXT) == expected


@try_each(
    ("precondition", "expected"),
    [
        ('game = "chess" OR game = "go"', "sometimes"),
        ('game != "chess" OR game != "go"', "never"),
        ('NOT((game = "chess" AND game = "go"))', "never"),
        ("years >= 0", "sometimes"),
    ],
)
def test_an_optional_question_may_have_no_answer(precondition: str, expected: str) -> None:
    before = ({**CHOICE, "required": None}, {**YEARS, "required": False})

    assert reach_of(precondition, *before) == expected


def test_what_follows_from_a_block_that_is_never_shown() -> None:
    hidden = {**CHOICE, "precondition": "true"}

    assert reach_of('game = "chess"', hidden) == "always"
    assert reach_of('NOT((game = "chess"))', hidden) == "never"


def test_a_required_question_behind_a_condition_may_have_no_answer() -> None:
    behind = {**CHOICE, "precondition": "years > 3"}

    assert reach_of('game = "chess" OR game = "go"', YEARS, behind) == "sometimes"


@try_each("least", [2, 3])
def test_how_many_may_be_chosen_counts(least: int) -> None:
    days = {**SEVERAL, "min": least, "max": 3}

    expected = {2: "sometimes", 3: "never"}
    assert reach_of('"Mon" in days', days) == expected[least]
    assert reach_of('days = "Mon"', days) == "always"


def test_the_work_for_the_largest_scripts_is_bounded() -> None:
    """Twenty questions of ten points in every one of 180 long conditions."""
    questions = [{"type": "rating", "name": f"r{n}", "min": 1, "max": 10} for n in range(20)]
    text = " OR ".join(f"(r{n % 20} > {n % 9} AND NOT r{(n + 1) % 20} = {n % 7})" for n in range(60))
    script = script_builder.script(*questions, *[{"type": "open_text", "precondition": text}] * 180)

    began = time.process_time()
    found = reach.of_blocks(script)

    assert set(found[20:]) == {"sometimes"}
    assert time.process_time() - began < 3


# --- Nothing is claimed that a walk disproves -------------------------------------------------------

NUMBERS = st.integers(-1, 4)
TEXTS = st.sampled_from(['"a"', '"b"', '"c"', '"ab"', '["a", "b"]', '["b"]', "[1, 2]", '"1"'])
KINDS = ["single_punch", "multi_punch", "open_text", "open_numeric", "rating", "calculated_block"]


@st.composite
def preconditions(draw, before: list[str]):
    if not before:
        return draw(st.none() | st.sampled_from(["true", "q1 != 1", "answer = 1"]))
    names = st.sampled_from([*before, "answer", "score"])
    leaf = st.one_of(
        st.builds("{} {} {}".format, names, st.sampled_from(["=", "!=", "<", ">="]), NUMBERS | TEXTS),
        st.builds("{} in {}".format, names, TEXTS),
        st.builds("{} in {}".format, TEXTS, names),
        st.builds("{} = {}".format, names, names),
        names,
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds("({} AND {})".format, inner, inner),
            st.builds("({} OR {})".format, inner, inner),
            st.builds("NOT({})".format, inner),
        ),
        max_leaves=5,
    )
    return draw(st.none() | tree)


@st.composite
def scripts(draw) -> Any:
    blocks: list[dict[str, Any]] = []
    before: list[str] = []
    for n in range(draw(st.integers(2, 6))):
        kind = draw(st.sampled_from(KINDS))
        raw: dict[str, Any] = {
            "type": kind,
            "name": f"B{n}",
            "required": draw(st.booleans()),
            "precondition": draw(preconditions(list(before))),
        }
        if kind in ("single_punch", "multi_punch"):
            raw["options"] = ["a", "b", "1"]
        if kind == "multi_punch":
            raw["min"] = draw(st.none() | st.integers(0, 2))
            raw["max"] = draw(st.none() | st.integers(2, 3))
        if kind == "open_numeric":
            raw["min"], raw["max"] = draw(st.sampled_from([(None, None), (0, 2), (1, None)]))
        if kind == "rating":
            raw["min"], raw["max"] = 1, 3
        if kind == "calculated_block":
            raw["calculated_formula"] = "[B0] + 1"
        blocks.append(raw)
        before.append(f"B{n}")
    return script_builder.script(*blocks, scoring_enabled=True, buckets=(Bucket("Fire"),))


def a_reply(draw, block) -> Any:
    ids = st.sampled_from([option.id for option in block.options] or [0])
    kinds = {
        "single_punch": ids.map(lambda each: {"option_id": each}),
        "multi_punch": st.lists(
            ids, min_size=max(block.min or 1, 1), max_size=block.max or 3, unique=True
        ).map(lambda several: {"option_ids": several}),
        "open_text": st.sampled_from(["a", "b", "ab", "1", "x"]).map(lambda text: {"value": text}),
        "open_numeric": st.sampled_from(
            [text for text in ("1", "2", "0", "1.5", "3", "-2") if _is_between(block, float(text))]
        ).map(lambda text: {"value": text}),
        "rating": st.integers(1, 3).map(lambda number: {"value": number}),
    }
    reply = kinds[block.type]
    return draw(reply if block.required else reply | st.just({"skip": True}))


def _is_between(block, number: float) -> bool:
    return (block.min is None or number >= block.min) and (block.max is None or number <= block.max)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(scripts(), st.data())
def test_no_walk_meets_a_block_that_is_never_reached_or_passes_one_always_shown(script, data) -> None:
    found = reach.of_blocks(script)

    turn = runner.begin(script)
    while turn.show is not None:
        raw = a_reply(data.draw, turn.show)
        turn = runner.answer(script, turn.state, answers.parse(turn.show, raw))

    met = {*turn.state.path, *turn.state.results}
    for block, how in zip(script.blocks, found, strict=True):
        assert how != "never" or block.id not in met
        assert how != "always" or block.id in met


LISTED = ", ".join(str(n) for n in range(5, 205))
OPTIONS = [f"o{n}" for n in range(95)] + ["5", "50", "100", "150", "199"]


@pytest.mark.parametrize(
    ("question", "condition", "of_script", "of_condition"),
    [
        ({"type": "single_punch", "options": OPTIONS}, f"q1 in [{LISTED}]", 100, 200),
        ({"type": "single_punch", "options": OPTIONS}, " OR ".join(['q1 = "o1"'] * 90), 100, 90),
        ({"type": "multi_punch", "options": OPTIONS}, f"q1 in [{LISTED}]", 100, 200),
        ({"type": "multi_punch", "options": OPTIONS, "min": 90}, f"[{LISTED}] in q1", 100, 200),
        ({"type": "rating", "min": 1, "max": 10}, f"q1 in [{LISTED}]", 0, 200 + 10),
        ({"type": "open_numeric"}, f"q1 in [{LISTED}]", 0, 200 + 403),
    ],
)
def test_each_value_is_read_once(
    question: dict[str, Any],
    condition: str,
    of_script: int,
    of_condition: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[object] = []
    plain = values._forms

    def forms(value: Any, number: Any) -> Any:
        read.append(value)
        return plain(value, number)

    conditions = [condition + " " * n for n in range(10)]
    blocks = [{"type": "content_block", "precondition": each} for each in conditions]
    made = script_builder.script({"name": "T", "required": True, **question}, *blocks)
    monkeypatch.setattr(values, "_forms", forms)
    expressions.parse.cache_clear()  # a kept expression has read its values

    assert reach.of_blocks(made)[1:] == ("sometimes",) * 10
    assert len(read) == of_script + 10 * of_condition


@try_each(("elements", "expected"), [(10, "always"), (400, "sometimes")])
def test_a_list_that_is_looked_for_in_texts_counts_with_each_element(elements: int, expected: str) -> None:
    choice = {"type": "single_punch", "name": "T", "options": OPTIONS}
    listed = ", ".join(f'"{n}"' for n in range(300, 300 + elements))
    others = [{"type": "content_block"}] * 19

    assert reach_of(f"[{listed}] in T", choice, *others) == expected


def test_long_texts_in_which_options_are_looked_for_count_by_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of them compares a text of 2,000 characters with 100 options."""
    characters = 0
    compare = expressions.COMPARISONS["in"]

    def counted(left: Any, right: Any) -> bool:
        nonlocal characters
        characters += len(str(right.value))
        return compare(left, right)

    monkeypatch.setitem(expressions.COMPARISONS, "in", counted)
    options = [f"{n}{'a' * 400}" for n in range(100)]
    hidden = {"type": "open_text", "precondition": f'game in "{"a" * 1_900}"'}
    script = script_builder.script(CHOICE | {"options": options}, *[hidden] * 150)

    assert set(reach.of_blocks(script)[1:]) == {"sometimes"}
    assert characters <= reach.WORK * 20
