"""Hide expressions and conditions in their script: the language, and the permitted references."""

from __future__ import annotations

from surveys.engine.language.lexer import MAX_LENGTH
from surveys.engine.rules.logic import LEAST_SEARCHED, MAX_SEARCHED, NAME_SEARCHED
from surveys.engine.script import Violation
from surveys.engine.walk.answers import MAX_TEXT
from tests.support.cases import try_each
from tests.support.engine.violations import CALCULATED, CHOICE, CONTENT, MULTI, TEXT, Raw, faults, violations


def in_the_middle(**logic: object) -> list[Raw]:
    """Game (q1), a content block (q2), the block with the logic, Mine (q3), and Later (q4)."""
    return [
        {**CHOICE, "name": "game"},
        {**CONTENT, "name": "hello"},
        {**TEXT, "name": "mine", **logic},
        {**TEXT, "name": "later"},
    ]


@try_each(
    ("expression", "code"),
    [
        ('game = "a"', None),
        ('GAME = "a" AND q1 != "b"', None),
        ("answer = 1", None),
        ('later = "a"', "later_reference"),
        ("q4 = 1", "later_reference"),
        ("mine = 1", "self_reference"),
        ("q3 = 1", "self_reference"),
        ("nobody = 1", "unknown_reference"),
        ("q5 = 1", "unknown_reference"),
        ("q0 = 1", "unknown_reference"),
        ("score > 1", "unknown_reference"),
        ("hello = 1", "not_allowed"),
        ("q2 = 1", "not_allowed"),
        ("game =", "syntax_error"),
        ("game < 1 < 2", "syntax_error"),
        ("(" * 51 + "game" + ")" * 51, "too_deep"),
        ("game = " + "1" * 1_993, None),
        ("game = " + "1" * 1_994, "too_long"),
    ],
)
def test_references_of_a_precondition(expression: str, code: str | None) -> None:
    assert faults(in_the_middle(precondition=expression)) == (
        [("blocks[2].precondition", code)] if code else []
    )


def test_a_syntax_error_has_its_column() -> None:
    (violation,) = violations(in_the_middle(precondition='game = "a" AND nobody = 1'))

    assert isinstance(violation, Violation)
    assert violation.column == 16
    assert violation.as_json()["column"] == 16


def test_every_bad_reference_is_reported() -> None:
    pairs = faults(in_the_middle(precondition="nobody = 1 OR later = 2"))

    assert [code for _, code in pairs] == ["unknown_reference", "later_reference"]


def test_score_variables_are_known_if_scoring_is_on() -> None:
    script = in_the_middle(precondition="score > 1 AND score_fire > 2 AND correct_answers = 1")

    assert faults(script, scoring=True, bucket_keys=["fire"]) == []
    assert [code for _, code in faults(script, scoring=True, bucket_keys=["ice"])] == ["unknown_reference"]


def leaf(block: str) -> Raw:
    return {"block": block, "op": "eq", "value": "a"}


@try_each("key", ["show_when", "hide_when"])
@try_each(
    ("condition", "expected"),
    [
        (leaf("game"), []),
        (leaf("gAME"), []),
        ({"variable": "q1", "op": "eq", "value": "a"}, []),
        (leaf("nobody"), [("block", "unknown_reference")]),
        (leaf("later"), [("block", "later_reference")]),
        (leaf("mine"), [("block", "self_reference")]),
        (leaf("hello"), [("block", "not_allowed")]),
        ({"variable": "q9", "op": "eq", "value": "a"}, [("variable", "unknown_reference")]),
        (
            {"all": [leaf("game"), {"any": [leaf("nobody"), leaf("later")]}]},
            [("all[1].any[0].block", "unknown_reference"), ("all[1].any[1].block", "later_reference")],
        ),
    ],
)
def test_references_of_a_condition_are_reported_at_its_parts(
    key: str, condition: Raw, expected: list[tuple[str, str]]
) -> None:
    assert faults(in_the_middle(**{key: condition})) == [
        (f"blocks[2].{key}.{field}", code) for field, code in expected
    ]


def test_every_leaf_with_an_unknown_block_is_reported() -> None:
    condition = {"any": [leaf("and"), leaf("no body"), leaf("no body"), leaf("game")]}

    assert faults(in_the_middle(hide_when=condition)) == [
        (f"blocks[2].hide_when.any[{n}].block", "unknown_reference") for n in range(3)
    ]


def test_near_names_are_suggested_but_not_without_end() -> None:
    logic = {**TEXT, "precondition": "gamee = 1 OR gamme = 2"}

    messages = [violation.message for violation in violations([{**CHOICE, "name": "game"}, *[logic] * 40])]

    assert len(messages) == 80
    assert sum("Did you mean game?" in message for message in messages) == 20


def test_references_follow_the_order_walked_and_paths_the_order_sent() -> None:
    raw = [
        {**TEXT, "name": "last", "position": 9, "precondition": "first = 1"},
        {**TEXT, "name": "first", "precondition": "q2 = 1"},
        {**TEXT, "name": "greeting", "section": "intro"},
    ]

    assert faults(raw) == [("blocks[1].precondition", "self_reference")]


def test_automatic_names_and_calculated_blocks_can_be_referred_to() -> None:
    assert faults([CHOICE, CALCULATED, {**TEXT, "precondition": "Q0 = 1 OR q2 > 1 OR Q1 = 3"}]) == []


def test_a_block_that_cannot_be_read_makes_no_reference_to_it_wrong() -> None:
    logic = {**TEXT, "precondition": 'thing = "a" OR q1 = 1 OR q2 = 3 OR long = 1'}
    raw = [
        {"type": "nope", "prompt": "x", "name": "thing"},
        7,
        {**TEXT, "name": "l o n g !"},
        {**logic, "precondition": "thing = 1 OR q1 = 1 OR q2 = 3"},
    ]

    assert faults(raw) == [
        ("blocks[0].type", "invalid_choice"),
        ("blocks[1]", "invalid_type"),
        ("blocks[2].name", "invalid"),
    ]


@try_each(
    ("condition", "characters"),
    [
        ('"abc" in T', LEAST_SEARCHED),
        ('["abc", 1, "%s"] in T' % ("a" * 50), 2 * LEAST_SEARCHED + 50),
        ('NOT ("a" in answer OR "b" in field.source)', 2 * LEAST_SEARCHED),
        ("C in T", NAME_SEARCHED),
        ("M in T", 2 * NAME_SEARCHED),
        ('M in "%s"' % ("a" * 1_500), 2 * NAME_SEARCHED * 1_500 // MAX_TEXT),
        ('"abc" in M', 0),
        ('C in ["abc", "abd"]', 0),
        ('T = "abc"', 0),
    ],
)
def test_the_texts_that_the_conditions_look_for_have_a_limit_together(condition, characters) -> None:
    asked = [{**CHOICE, "name": "C"}, {**MULTI, "name": "M"}, {**TEXT, "name": "T"}]
    group = " OR ".join([condition] * ((MAX_LENGTH + 4) // len(condition + " OR ")))
    times = group.count(condition)

    def found(count: int) -> list[Violation]:
        found = violations([*asked, *[{**CONTENT, "precondition": group}] * count])
        return [each for each in found if "conditions and formulas" not in each.message]

    fitting = MAX_SEARCHED // (times * characters) if characters else 190
    assert found(min(fitting, 190)) == []
    if fitting < 190:
        (violation,) = found(fitting + 1)
        assert (violation.field, violation.code) == ("blocks", "too_long")
        assert "look for more than 20,000 characters in texts by `in`" in violation.message


def test_the_conditions_and_formulas_have_a_limit_together() -> None:
    """Rule 3.41."""
    condition = " OR ".join(["A = 1"] * 222)  # 1,994 characters
    blocks = [{**TEXT, "name": "A"}, *[{**CONTENT, "precondition": condition}] * 51]

    assert violations(blocks[:51]) == []
    (violation,) = violations(blocks)
    assert (violation.field, violation.code) == ("blocks", "too_long")
    assert "conditions and formulas" in violation.message
