"""Expressions in words that their author's colleagues understand."""

from __future__ import annotations

import pytest

from surveys.engine.flow import graph, vocabulary, wording
from surveys.engine.flow.wording import MAX_WORDS, Wording, heading
from surveys.engine.language import values
from surveys.engine.language.expressions import parse
from surveys.engine.language.values import Value
from surveys.engine.script import Bucket, Option, Script
from tests.support.cases import try_each
from tests.support.engine import script_builder

SCRIPT = script_builder.script(
    {"type": "single_punch", "name": "membership", "options": [{"value": "m", "label": "Member"}, "Guest"]},
    {"type": "multi_punch", "name": "Which days", "options": ["Mon", {"value": "t", "label": "Tuesday"}]},
    {"type": "open_numeric", "name": "years"},
    {"type": "open_text", "name": "why"},
    {"type": "calculated_block", "name": "kind"},
    scoring_enabled=True,
    buckets=(Bucket("Fire Mage"),),
)


@try_each(
    ("text", "expected"),
    [
        ('membership = "m"', "membership is Member"),
        ('NOT membership = "m"', "membership is not Member"),
        ('MEMBERSHIP != "Guest"', "membership is not Guest"),
        ('q1 in ["m", "Guest"]', "membership is one of Member, Guest"),
        ('"t" in which_days', "Which days includes Tuesday"),
        ('Which_days in ["Mon", "t"]', "Which days includes any of Mon, Tuesday"),
        ('Which_days = ["Mon", "t"]', "Which days is exactly Mon, Tuesday"),
        ('Which_days = "Mon"', "Which days is only Mon"),
        ('Which_days != "Mon"', "Which days is not only Mon"),
        ("Which_days > 3", "Which days is more than 3"),
        ("years >= 3.50", "years is at least 3.5"),
        ("years < 3 OR years > 9", "years is less than 3 or years is more than 9"),
        ("3 <= years", "3 is at most years"),
        ("years = q5", "years is kind"),
        ('"chess" in why', "why contains chess"),
        ('why in "abc"', "why is part of abc"),
        ('why = ""', "why is empty"),
        ("why in []", "why is one of nothing"),
        ('kind != "Fire Mage"', "kind is not Fire Mage"),
        ("score_fire_mage >= 3", "score for Fire Mage is at least 3"),
        ('answer = "Yes"', "the latest answer is Yes"),
        ("nobody = true", "nobody is true"),
        ("years", "years has a value other than 0"),
        ("true", "always"),
        ("0", "never"),
        ("NOT (years = 1 AND why)", "not (years is 1 and why has a value other than 0)"),
        (
            'years > 1 AND (membership = "m" OR why = "x")',
            "years is more than 1 and (membership is Member or why is x)",
        ),
        ("(years = 1) = true", "(years is 1) is true"),
    ],
)
def test_an_expression_in_words(text: str, expected: str) -> None:
    assert Wording(SCRIPT).words(parse(text).tree) == expected


def test_a_block_that_nobody_has_named_is_called_by_its_text():
    script = script_builder.script(
        {"type": "open_numeric", "name": "q1", "prompt": "For how\n many years?"},
        {"type": "open_numeric", "name": "q2", "prompt": ""},
    )

    said = Wording(script).words(parse("q1 > 3 AND q2 = 1").tree)

    assert said == "“For how many years?” is more than 3 and Block 2 is 1"


@try_each(
    ("prompt", "read"),
    [
        ("Why [years] [ q1 ], [UserName]?", "Why [Prompt 2.] [Prompt 0.], …?"),
        ("[membership], [score_fire_mage], [xp_name], [field.source]", "[Prompt 0.], …, …, …"),
        ("**[kind]** _[q1]_", "… [Prompt 0.]"),
        ("Thanks, [UserName|dear guest]! [membership|]", "Thanks, dear guest! "),
        ("How are you, [nobody | friend]?", "How are you, friend?"),
        ("[nothing] [1] [optional part]", "[nothing] [1] [optional part]"),
    ],
)
def test_headings_show_fallbacks_and_leave_out_what_differs(prompt: str, read: str) -> None:
    """Rule 6.304."""
    assert heading(prompt, SCRIPT) == read


def test_a_heading_shows_the_words_of_a_question_instead_of_its_answers() -> None:
    """Rule 6.304."""
    script = script_builder.script(
        {"type": "open_text", "name": "nickname", "prompt": "How do your **friends** call you?"},
        {"type": "open_numeric", "name": "age", "prompt": "How old are you, [nickname]?" + " Say it." * 9},
    )

    read = heading("Well, [nickname]: at [age]?", script)

    age = "How old are you, …? Say it. Say it. Say it. Say it. Say it.…"
    assert read == f"Well, [How do your friends call you?]: at [{age}]?"


def test_a_script_looks_up_its_labels_and_variables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    label, variables = Option.display_text.fget, vocabulary.variables  # type: ignore[attr-defined]

    def display_text(option: Option) -> str:
        looked_up.append(option.value)
        return label(option)

    def called(script: Script) -> tuple[vocabulary.Term, ...]:
        looked_up.append("variables")
        return variables(script)

    monkeypatch.setattr(Option, "display_text", property(display_text))
    monkeypatch.setattr(vocabulary, "variables", called)
    conditions = [f'q1 in ["o{n}", "o2", "o3"] AND score > {n} OR score_fire_mage = 1' for n in range(10)]
    script = script_builder.script(
        {"type": "single_punch", "name": "game", "options": [f"o{n}" for n in range(30)]},
        *({"type": "content_block", "precondition": each} for each in conditions),
        scoring_enabled=True,
        buckets=(Bucket("Fire Mage"),),
    )

    nodes = graph.of_script(script).nodes

    assert nodes[1].skipped == (
        "when (game is one of o0, o2, o3 and score is more than 0) or score for Fire Mage is 1"
    )
    assert sorted(looked_up) == sorted([*(f"o{n}" for n in range(30)), "variables"])


@pytest.mark.parametrize(
    "text",
    [
        f"q1 in [{', '.join(map(str, range(400)))}]",
        " OR ".join(f"q1 = {n}" for n in range(160)),
        " AND ".join(f"(why = {n} OR NOT(years > {n} AND q1))" for n in range(40)),
    ],
)
def test_no_more_words_are_looked_up_than_are_drawn(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = script_builder.script(
        {"type": "single_punch", "name": "game", "options": ["1"]},
        {"type": "open_text", "name": "why"},
        {"type": "open_numeric", "name": "years"},
        {"type": "content_block", "precondition": text},
    )
    whole = Wording(script).words(parse(text).tree, most=10_000)
    read: list[Value] = []

    def spelled(value: Value) -> str:
        read.append(value)
        return values.text(value)

    monkeypatch.setattr(wording, "text", spelled)

    skipped = graph.of_script(script).nodes[3].skipped or ""

    assert len(whole) > 1_500
    assert f"when {whole}".startswith(skipped)
    assert MAX_WORDS < len(skipped) < MAX_WORDS + 30
    assert 0 < len(read) <= MAX_WORDS
