"""Expressions over a whole response (rule 6.176)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from surveys.engine import where
from surveys.engine.script import Block, Bucket, Option, Script
from surveys.engine.walk import runner
from surveys.engine.walk.runner import State
from tests.support.cases import try_each

COLOUR = Block(
    id=1,
    type="single_punch",
    name="colour",
    prompt="Which?",
    options=tuple(
        Option(id=10 + n, value=value, score_values={"fun": Decimal(n)})
        for n, value in enumerate(("red", "green"))
    ),
)
WHY = Block(id=2, type="open_text", name="why", prompt="Why?", precondition='colour = "green"')
TEXT = Block(id=3, type="content_block", name="bye", prompt="Bye.")
SCRIPT = Script((COLOUR, WHY, TEXT), scoring_enabled=True, is_scored=True, buckets=(Bucket("Fun"),))


def answered(*replies: dict[str, object], script: Script = SCRIPT, **fields: str) -> State:
    """The state after these replies, at the end if they lead there."""
    turn = runner.begin(script, fields=fields)
    for reply in replies:
        turn = runner.answer(script, turn.state, reply)
    while turn.show is not None and not turn.show.asks:
        turn = runner.proceed(script, turn.state)
    return turn.state


RED = replace(answered({"option_ids": [10]}, {"text": "because"}, city="Oslo"), language="de")
GREEN = answered({"option_ids": [11]}, city="Bergen")


@try_each(
    ("text", "red", "green"),
    [
        ('colour = "red"', True, False),
        ('colour != "red"', False, True),
        ('why = "because"', True, False),
        ("why", True, False),
        ('why != "because"', False, True),  # no value: every comparison but this one is false
        ('field.city in "Oslo, Trondheim"', True, False),
        ('field.other = ""', False, False),
        ('language = "de"', True, False),
        ('language != "de"', False, True),
        ("score >= 1", False, True),
        ("score_fun = 0", True, False),
        ('NOT colour = "red" OR why', True, True),
    ],
)
def test_an_expression_holds_for_the_responses_that_satisfy_it(text: str, red: bool, green: bool) -> None:
    found = [where.holds(text, script=SCRIPT, state=state) for state in (RED, GREEN)]

    assert found == [red, green]


def test_without_a_language_none_is_equal() -> None:
    assert not where.holds('language = "de"', script=SCRIPT, state=GREEN)
    assert not where.holds('language = ""', script=SCRIPT, state=GREEN)


def test_answers_ahead_after_a_step_back_count_and_hidden_ones_do_not() -> None:
    back = runner.back(SCRIPT, answered({"option_ids": [10]}, {"text": "because"})).state
    first = runner.back(SCRIPT, back).state

    assert where.holds('colour = "red" AND why = "because"', script=SCRIPT, state=first)
    left = replace(RED, replies={**RED.replies, 1: {"option_ids": [11]}}, left=frozenset({2}))
    assert not where.holds('why = "because"', script=SCRIPT, state=replace(left, path=(1, 3)))


def test_a_state_from_before_blocks_were_removed_is_read_by_those_that_remain() -> None:
    shorter = replace(SCRIPT, blocks=(COLOUR,))

    assert where.holds('colour = "red"', script=shorter, state=RED)


@try_each(
    ("text", "code", "column"),
    [
        ('colour = "red" AND', "syntax_error", 19),
        ('shade = "red"', "unknown_reference", 1),
        ('colour = "red" OR bye', "not_allowed", 19),
        ('why = "' + "x" * 2_000 + '"', "too_long", 2_001),
    ],
)
def test_a_fault_has_its_column(text: str, code: str, column: int) -> None:
    [fault] = where.faults(text, script=SCRIPT, path="settings.quotas[0].where")

    assert (fault.field, fault.code, fault.column) == ("settings.quotas[0].where", code, column)
    assert fault.message.startswith("`where`: ")


@try_each("text", ['colour = "red"', "why", 'language = "de"', "field.any", "score_fun > 1", "q2"])
def test_all_blocks_variables_fields_and_the_language_may_be_named(text: str) -> None:
    assert list(where.faults(text, script=SCRIPT, path="where")) == []


@try_each(
    ("text", "expected"),
    [
        ('field.city = "Oslo"', True),
        ('language = "de" AND field.a = field.b', True),
        ('field.city = "Oslo" OR colour = "red"', False),
        ("score > 1", False),
    ],
)
def test_what_is_known_at_the_start(text: str, expected: bool) -> None:
    assert where.is_known_at_start(text) is expected


@try_each(
    ("name", "value", "expected"),
    [
        ("colour", "crimson", 'colour = "crimson" AND language = "red"'),
        ("Shade of it", "red", 'Shade_of_it = "red" AND language = "red"'),
        ("language", "red", 'Language = "red" AND language = "red"'),
    ],
)
def test_new_names_and_values_are_carried(name: str, value: str, expected: str) -> None:
    options = (replace(COLOUR.options[0], value=value), COLOUR.options[1])
    after = (replace(COLOUR, name=name, options=options), WHY, TEXT)

    carried = where.carried('colour = "red" AND language = "red"', before=SCRIPT, after=after)

    assert carried == expected
