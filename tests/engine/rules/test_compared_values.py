"""Warnings about comparisons with unknown values, and about orderings that never hold (rule 3.34)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.language import values
from surveys.engine.rules import answer_values, compared_values
from surveys.engine.rules.answer_values import ListedValues
from surveys.engine.rules.compared_values import MOST, Comparisons
from surveys.engine.script import Bucket
from tests.support.cases import try_each
from tests.support.engine.script_builder import script

CHOICE: dict[str, Any] = {
    "type": "single_punch",
    "name": "game",
    "options": [{"value": "chess", "label": "Chess, of course"}, {"value": "go"}, {"value": "Go fish"}],
}
BEFORE: tuple[dict[str, Any], ...] = (
    CHOICE,
    {"type": "multi_punch", "name": "snacks", "options": ["nuts", "5"]},
    {"type": "ranking", "name": "order", "options": ["first", "second"]},
    {
        "type": "rating",
        "name": "mood",
        "options": [{"value": str(n), "label": f"Mood {n}"} for n in range(1, 6)],
    },
    {"type": "nps", "name": "nps"},
    {"type": "open_text", "name": "words"},
    {"type": "open_numeric", "name": "age"},
    {"type": "calculated_block", "name": "result", "calculated_formula": "1 + 1"},
    {"type": "single_punch", "name": "size", "options": ["1", "2", "large"]},
    {"type": "open_numeric", "name": "minutes", "min": 1, "max": 15},
    {"type": "open_numeric", "name": "least", "min": 5},
    {"type": "open_text", "name": "day", "format": "date"},
    {"type": "open_text", "name": "mail", "format": "email"},
    {"type": "open_numeric", "name": "count", "whole": True, "min": 1},
    {"type": "single_punch", "name": "days", "options": ["2026-01-31", "never"]},
)


def found(block: dict[str, Any]) -> list[tuple[str, str]]:
    scored = {"scoring_enabled": True, "buckets": (Bucket("Fire Mage"),)}
    made = script(*BEFORE, {"type": "open_text", "name": "last", **block}, **scored)
    return [(path, code) for path, code, _ in Comparisons(made).findings(len(BEFORE))]


def code_of(precondition: str) -> str | None:
    codes = {code for path, code in found({"precondition": precondition}) if path == "precondition"}
    assert len(codes) < 2
    return codes.pop() if codes else None


@try_each(
    ("precondition", "expected"),
    [
        ('game = "chess"', None),
        ('game = "Chess"', "unknown_value"),
        ('"poker" != game', "unknown_value"),
        ('NOT((q1 = "poker" AND words = "poker"))', "unknown_value"),
        ('game in ["chess", "go"]', None),
        ('game in ["chess", "poker"]', "unknown_value"),
        ('"fish" in game', None),
        ('"whale" in game', "unknown_value"),
        ('game in "chess or poker"', None),
        ('game in "poker"', "unknown_value"),
        ("game = true", "unknown_value"),
        ("game", None),
        ('"nuts" in snacks', None),
        ('"nut" in snacks', "unknown_value"),
        ('snacks = ["nuts", 5]', None),
        ('snacks = ["nuts", 6]', "unknown_value"),
        ("snacks = []", None),
        ('order = ["first"]', None),
        ('"third" in order', "unknown_value"),
        ("mood = 1 OR mood = 5", None),
        ("mood = 0", "unknown_value"),
        ("mood = 6", "unknown_value"),
        ("mood = 2.5", "unknown_value"),
        ('mood = "5"', None),
        ('mood in [5, "Mood 5"]', "unknown_value"),
        ("nps = 0 OR nps = 10", None),
        ("nps = 11", "unknown_value"),
        ('words = "anything" AND age = -1 AND result = "x" AND answer = "y"', None),
        ("age = 18 OR age = 18.5", None),
        ('age = "18" OR age in [1, "2"] OR age = [18]', None),
        ("age = true", "unknown_value"),
        ("false != age", "unknown_value"),
        ('age = "old"', "unknown_value"),
        ('age = ""', "unknown_value"),
        ('age = "1e3"', "unknown_value"),
        ("age = [18, 19]", "unknown_value"),
        ("age != []", "unknown_value"),
        ('age in [18, "old"]', "unknown_value"),
        ('age in "18, 19"', None),
        ('age in "old, older"', "unknown_value"),
        ('"8" in age OR "." in age', None),
        ('"old" in age', "unknown_value"),
        ('"true" in age', "unknown_value"),
        ("minutes = 1 OR minutes = 15", None),
        ("minutes = 0", "unknown_value"),
        ("minutes in [15, 16]", "unknown_value"),
        ("count = 1 AND count in [2, 3]", None),
        ("count = 1.5", "unknown_value"),
        ('day = "2026-01-31" OR day in ["2026-02-01"] OR "2026-" in day', None),
        ('day = "31.01.2026"', "unknown_value"),
        ('day in ["2026-02-01", "later"]', "unknown_value"),
        ('"x" in day', "unknown_value"),
        ('day in "later"', "unknown_value"),
        ("mood = true", "unknown_value"),
        ("words = true", None),  # somebody may write it
        ("score = 3", None),
        ('score = "high"', "unknown_value"),
        ("score_fire_mage != true", "unknown_value"),
    ],
)
def test_a_value_that_no_answer_has_is_unknown(precondition: str, expected: str | None) -> None:
    assert code_of(precondition) == expected


@try_each(
    ("precondition", "is_never_true"),
    [
        ("mood > 4", False),
        ("mood > 5", True),
        ("mood >= 5", False),
        ("mood >= 5.1", True),
        ("mood < 2", False),
        ("mood < 1", True),
        ("1 <= mood", False),
        ("0 >= mood", True),
        ("nps <= 0", False),
        ("nps < 0", True),
        ("size >= 2", False),
        ("size > 2", True),
        ("game > 1", True),
        ("snacks > 1", True),
        ("order < 9", True),
        ('mood > "Mood 4"', True),
        ('mood > "4"', False),
        ('age >= "old"', True),
        ("age >= true", True),
        ('result < "x"', True),
        ("result < 0 OR answer > 5 OR age > 1000", False),
        ("words > 5", False),
        ('words > "later"', True),
        ('words >= "2026-11-01"', False),
        ('age >= "2026-11-01"', True),
        ('day >= "2026-11-01"', False),
        ('"2026-11-01" < day', False),
        ('day >= "2026-11-31"', True),
        ('day >= "soon"', True),
        ("day >= 5", True),
        ("day < words", False),
        ('mail >= "2026-11-01"', True),
        ('days >= "2026-11-01"', False),
        ('answer >= "2026-11-01" OR field.day < "2026-11-01" OR result < "2026-11-01"', False),
        ('score >= "2026-11-01"', True),
        ("age > mood", False),
        ("age > game", True),
        ("(age > 1) > 0", True),
        ("minutes > 14", False),
        ("minutes > 15", True),
        ("minutes <= 1", False),
        ("minutes < 1", True),
        ("16 <= minutes", True),
        ("least > 1000000", False),
        ("least < 5", True),
        ("age < -1000000", False),
        ("score > 1000", False),
        *(
            (f"{name} in []", True)
            for name in ("age", "minutes", "game", "snacks", "mood", "words", "answer")
        ),
        ("[] in age", True),
        *((f"{name} = []", True) for name in ("age", "game", "mood", "words", "result")),
        ("snacks = []", False),
    ],
)
def test_an_ordering_is_never_true_without_numbers_that_satisfy_it(
    precondition: str, is_never_true: bool
) -> None:
    """Rule 3.35."""
    assert code_of(precondition) == ("never_true" if is_never_true else None)


@try_each(
    ("formula", "code"),
    [
        ('if [game] == "go" then 1 else 0', None),
        ('if [game] == "Chess" then 1 else 0', "unknown_value"),
        ('2 * (if NOT [game] != "poker" OR 1 then 1 else 0)', "unknown_value"),
        ("if [mood] == 0 then 1 else 0", None),  # no answer counts as 0
        ("if [mood] == -1 then 1 else 0", "unknown_value"),
        ("if [mood] < 1 then 1 else 0", None),
        ("if [mood] < 0 then 1 else 0", "never_true"),
        ("if 6 <= [mood] then 1 else 0", "never_true"),
        ("if [game] >= 1 then 1 else 0", "never_true"),
        ("if [game] < 1 then 1 else 0", None),
        ("if [mood] + 1 > 9 then 1 else 0", None),
        ("if [minutes] == 0 then 1 else 0", None),
        ("if [minutes] == 16 then 1 else 0", "unknown_value"),
        ('if [age] == "old" then 1 else 0', "unknown_value"),
        ("if [minutes] < 1 then 1 else 0", None),
        ("if [minutes] < 0 then 1 else 0", "never_true"),
        ('if [day] < "2026-11-01" then 1 else 0', None),
        ("if [day] > 5 then 1 else 0", "never_true"),
        ('if [day] == "soon" then 1 else 0', "unknown_value"),
        ("if [count] == 1.5 then 1 else 0", "unknown_value"),
    ],
)
def test_formulas_compare_values_too(formula: str, code: str | None) -> None:
    calculated = {"type": "calculated_block", "calculated_formula": formula}

    assert found(calculated) == ([("calculated_formula", code)] if code else [])


def test_a_finding_in_a_condition_names_the_comparison() -> None:
    unknown = {"block": "GAME", "op": "eq", "value": "poker"}
    never = {"variable": "q4", "op": "gt", "value": 5}
    listed = {"block": "game", "op": "in", "value": ["go", "poker", "whist"]}
    condition = {"all": [{"block": "game", "op": "eq", "value": "go"}, {"any": [unknown, never]}, listed]}
    block = {"show_when": condition, "precondition": "compiled"}

    assert found(block) == [
        ("show_when.all[1].any[0].value", "unknown_value"),
        ("show_when.all[1].any[1].value", "never_true"),
        ("show_when.all[2].value", "unknown_value"),
        ("show_when.all[2].value", "unknown_value"),
    ]


@try_each(
    ("precondition", "message"),
    [
        (
            'game = "Chess, of course"',
            '`precondition` compares game with "Chess, of course", which is the value of none of its '
            'options. Did you mean the value "chess"?',
        ),
        (
            'game = "poker"',
            '`precondition` compares game with "poker", which is the value of none of its options. '
            'Its values are "chess", "go", "Go fish".',
        ),
        (
            'mood = "mood 2"',
            '`precondition` compares mood with "mood 2", and its points are 1 to 5. '
            'Did you mean the value "2"?',
        ),
        ("age = true", "`precondition` compares age with true, and its values are numbers."),
        (
            "minutes = 16",
            "`precondition` compares minutes with 16, and its values are numbers, 1 to 15.",
        ),
        (
            "least < 5",
            "`precondition` has a comparison that is never true: no answer to least is < 5. "
            "Its numbers are at least 5.",
        ),
        ("age in []", "`precondition` has a comparison with an empty list, which is never true."),
        (
            "mood > 5",
            "`precondition` has a comparison that is never true: no answer to mood is > 5. "
            "Its points are 1 to 5.",
        ),
    ],
)
def test_a_message_says_what_was_probably_meant(precondition: str, message: str) -> None:
    made = script(*BEFORE, {"type": "open_text", "precondition": precondition})

    assert [text for _, _, text in Comparisons(made).findings(len(BEFORE))] == [message]


def test_a_block_that_comes_later_is_not_judged() -> None:
    made = script({"type": "open_text", "precondition": 'game = "poker"'}, CHOICE)

    assert list(Comparisons(made).findings(0)) == []


def test_a_condition_has_so_many_findings_at_most() -> None:
    values = ", ".join(f'"{n} no"' for n in range(200))

    assert len(found({"precondition": f"game in [{values}]"})) == MOST


def test_the_values_of_a_choice_are_read_once_for_all_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = values.number

    def number(value: Any) -> Any:
        read.append(str(value))
        return plain(value)

    choice = CHOICE | {"name": "many", "options": [f"o{n}" for n in range(100)]}
    condition = " OR ".join(f'many="o{n}"' for n in range(100))
    made = script(choice, *[{"type": "content_block", "precondition": condition}] * 20)
    monkeypatch.setattr(values, "number", number)
    comparisons = Comparisons(made)

    assert [each for n in range(21) for each in comparisons.findings(n)] == []
    assert len(read) == 100 + 20 * 100


# --- Work -----------------------------------------------------------------------------------------


@pytest.fixture
def made_messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The values in the messages about unknown ones, one for each message that is made."""
    made: list[str] = []
    unknown = compared_values._Check.unknown

    def counted(check: Any, answers: Any, value: Any) -> str:
        made.append(values.text(value))
        return unknown(check, answers, value)

    monkeypatch.setattr(compared_values._Check, "unknown", counted)
    return made


SAME = {
    "list": {"precondition": f"game in [{', '.join(['7'] * 600)}]"},
    "reversed": {"precondition": f"[{', '.join(['7'] * 600)}] in game"},
    "comparisons": {"precondition": " OR ".join(["game = 7"] * 150)},
    "condition": {"show_when": {"block": "game", "op": "in", "value": [7] * 300}, "precondition": "x"},
    "formula": {"calculated_formula": f"if {' or '.join(['[game] == 7'] * 100)} then 1 else 0"},
}


@pytest.mark.parametrize("block", SAME.values(), ids=SAME)
def test_a_value_that_a_condition_repeats_needs_one_message(
    block: dict[str, Any], made_messages: list[str]
) -> None:
    kind = "calculated_block" if "calculated_formula" in block else "open_text"

    assert len(found({"type": kind, **block})) == 1
    assert made_messages == ["7"]


def test_a_number_a_text_and_a_boolean_are_told_apart(made_messages: list[str]) -> None:
    comparisons = 'game = 1 OR game = "1" OR game = true OR game = "true" OR game = 1.0 OR q3 = 1'

    assert len(found({"precondition": comparisons})) == 5
    assert made_messages == ["1", "1", "true", "true", "1"]


def test_the_spellings_of_options_are_read_once_for_all_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    spelling = answer_values._spelling

    def counted(text: str) -> str:
        read.append(text)
        return spelling(text)

    monkeypatch.setattr(answer_values, "_spelling", counted)
    choice = CHOICE | {"options": [{"value": f"o{n}", "label": f"Label {n}"} for n in range(100)]}
    condition = {"type": "content_block", "precondition": 'game in ["O7", "label 9", "x"]'}
    made = script(choice, *[condition] * 20)
    comparisons = Comparisons(made)

    messages = [text for n in range(21) for _, _, text in comparisons.findings(n)]

    assert [text.rpartition("Did")[2] for text in messages[:2]] == [
        ' you mean the value "o7"?',
        ' you mean the value "o9"?',
    ]
    assert len(messages) == 20 * 3
    assert len(read) == 2 * 100 + 20 * 3


def test_options_are_looked_for_in_a_text_once_and_so_many_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[str] = []
    has_within = ListedValues.has_within

    def counted(answers: ListedValues, whole: str) -> bool:
        sought.append(whole)
        return has_within(answers, whole)

    monkeypatch.setattr(ListedValues, "has_within", counted)
    monkeypatch.setattr(compared_values, "MAX_SEARCHES", 10 * len(CHOICE["options"]))
    texts = ["nothing"] * 20 + ["n" * n for n in range(1, 41)]
    made = script(CHOICE, *[{"type": "content_block", "precondition": f'game in "{each}"'} for each in texts])
    comparisons = Comparisons(made)

    findings = [list(comparisons.findings(n)) for n in range(len(made.blocks))]

    assert [len(each) for each in findings] == [0] + [1] * 29 + [0] * 31
    assert len(sought) == len(set(sought)) == 10


def test_parts_of_options_are_looked_for_once_each_and_so_many_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sought: list[str] = []
    has_part = ListedValues.has_part

    def counted(answers: ListedValues, part: str) -> bool:
        sought.append(part)
        return has_part(answers, part)

    monkeypatch.setattr(ListedValues, "has_part", counted)
    monkeypatch.setattr(compared_values, "MAX_SEARCHES", 50)
    known = {"type": "content_block", "precondition": '["chess", "go", "fish"] in game'}
    parts = ", ".join(f'"{n} no"' for n in range(5))
    unknown = {"type": "content_block", "precondition": f"[{parts}] in game"}
    many = [
        {"type": "content_block", "precondition": '["{0}", "{0} s"] in game'.format("h" * n)}
        for n in range(1, 41)
    ]
    made = script(CHOICE, *[known] * 20, *[unknown] * 2, *many)
    comparisons = Comparisons(made)

    findings = [list(comparisons.findings(n)) for n in range(len(made.blocks))]

    assert [len(each) for each in findings] == [0] * 21 + [5] * 2 + [1] + [2] * 20 + [0] * 19
    assert len(sought) == len(set(sought)) == 50
