"""Calculated blocks over the interface (rules 4.22, 4.23 and 5.11)."""

from __future__ import annotations

import pytest

from tests.support.caller import Caller
from tests.support.instruments.blocks import (
    choice,
    computes,
    number,
    option,
    says,
    where,
)
from tests.support.instruments.respondent import Sitting, build, sit
from tests.support.surveys.scored_projects import points, script, walked

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller():
    return Caller()


class TestFormulas:
    QUESTIONS = (number("a", "?", 0, 99), number("b", "?", 0, 99), number("skipped", "?", 0, 99))
    ANSWERS = {"a": 7, "b": 2}

    @pytest.mark.parametrize(
        ("formula", "told"),
        [
            ("[a] + [b]", "9"),
            ("[a] - [b] * 2", "3"),
            ("([a] - [b]) * 2", "10"),
            ("[a] / [b]", "3.5"),
            ("-[a] + [b]", "-5"),
            ("[a] - -[b]", "9"),
            ("8 - 4 - 2", "2"),
            ("8 / 4 / 2", "1"),
            ("[A] + [q2]", "9"),
            ("0.1 + 0.2", "0.3"),
            ("1 / 3", "0.333333"),
            ("2 / 3", "0.666667"),
            ("1 / 3 * 3", "1"),
            ("0 * -1", "0"),
            ("1000000 * 1000000", "1000000000000"),
            ("[a] / 0", "0"),
            ("1 + [a] / ([b] - 2)", "1"),
            ("[nobody] + 1", "1"),
            ("[skipped] + 1", "1"),
            ("[a] / [skipped]", "0"),
            ("if [a] >= 7 then yes else no", "yes"),
            ("IF [a] < 7 Then yes ELSE no", "no"),
            ("if [a] != 7 then 1 else if [b] == 2 then 2 else 3", "2"),
            ("if [a] <= 6 then 1 else if [b] > 2 then 2 else 3", "3"),
            ("if [a] then 1 else 2", "1"),
            ("if [skipped] then 1 else 2", "2"),
            ("if [a] > 5 and [b] > 5 then 1 else 2", "2"),
            ("if [a] > 5 OR [b] > 5 then 1 else 2", "1"),
            ("if NOT [b] > 5 then 1 else 2", "1"),
            ("if not ([a] > 5 and [b] < 5) then 1 else 2", "2"),
            ("if [a] + [b] == 9 then [a] * [b] else 0", "14"),
            ("1 + (if [a] > 5 then 10 else 20)", "11"),
            ('if [a] > 5 then "Well done!" else "Oh."', "Well done!"),
            ("if [a] > 5 then well done else try again", "well done"),
            ('if [a] > 5 then "[b]" else "no"', "[b]"),
        ],
    )
    def test_formula(self, caller, formula, told):
        blocks = [*self.QUESTIONS, computes("result", formula), says("told", "[result]")]

        said = walked(caller, blocks, self.ANSWERS, scoring_enabled=False)

        assert said["told"] == told

    @pytest.mark.parametrize(
        "formula",
        [
            "1 +",
            "* 2",
            "(1",
            "1)",
            "1 2",
            "[a",
            "if 1 then 2",
            "if then 1 else 2",
            "if 1 > then 1 else 2",
            "argmax()",
            "argmax([a]",
            "1 ; 2",
            '"open',
        ],
    )
    def test_what_is_no_formula_is_refused_with_the_column(self, caller, formula):
        blocks = [*self.QUESTIONS, computes("result", formula)]

        refused = caller.post("/projects", script(*blocks))

        assert refused.status_code == 400, refused.content
        (violation,) = refused.json()["violations"]
        assert (violation["field"], violation["code"]) == (
            "script.blocks[3].calculated_formula",
            "syntax_error",
        )
        assert 1 <= violation["column"] <= len(formula) + 1

    def test_a_score_is_of_the_moment_the_formula_is_reached(self, caller):
        blocks = [
            points("x", 3),
            computes("early", "[score] / [max_score] * 100"),
            points("y", 0, 1),
            computes("late", "[score] / [max_score] * 100"),
            says("told", "[early] [late]"),
        ]

        assert walked(caller, blocks, {"x": "a", "y": "a"})["told"] == "100 75"

    def test_a_result_by_name_and_by_position(self, caller):
        blocks = [
            *self.QUESTIONS,
            computes("all in all", "[a] + [b]"),
            says("tokens", "[all in all] [All In All] [q4]"),
            says("name", "!", show_when=where("all in all", "eq", 9)),
            says("position", "!", show_when=where("$q4", "gte", 9)),
            says("expression", "!", precondition="NOT((all_in_all = 9 AND q4 > 8.5))"),
            says("never", "!", show_when=where("$q4", "gt", 9)),
        ]

        sitting = sit(caller, build(caller, script(*blocks)), self.ANSWERS)

        assert sitting.said["tokens"] == "9 9 9"
        assert sitting.met[3:] == ["tokens", "name", "position", "expression"]

    def test_a_result_is_used_by_a_later_formula(self, caller):
        blocks = [
            *self.QUESTIONS,
            computes("third", "[a] / 3"),
            computes("back", "[third] * 3"),
            computes("read", 'if [back] > 6.5 then "5" else "6"'),
            computes("more", "[read] + [q4] - [third]"),
            says("told", "[third] [back] [read] [more]"),
        ]

        assert walked(caller, blocks, self.ANSWERS)["told"] == "2.333333 7 5 5"

    def test_one_that_is_hidden_has_no_value(self, caller):
        blocks = [
            *self.QUESTIONS,
            computes("big", "[a] * 10", show_when=where("a", "gt", 50)),
            computes("more", "[big] + 1"),
            says("told", "<[big]> [more]"),
            says("less", "!", show_when=where("big", "lt", 1000)),
            says("other", "!", show_when=where("big", "ne", 1000)),
        ]
        made = build(caller, script(*blocks))

        hidden, computed = (sit(caller, made, {"a": a}) for a in (7, 60))

        assert (hidden.said["told"], hidden.met[3:]) == ("<> 1", ["told", "other"])
        assert (computed.said["told"], computed.met[3:]) == ("<600> 601", ["told", "less", "other"])

    def test_one_follows_a_change_of_mind(self, caller):
        blocks = [
            *self.QUESTIONS,
            computes("big", "[a] * 10", show_when=where("a", "gt", 50)),
            says("told", "<[big]>"),
        ]
        sitting = Sitting(caller, build(caller, script(*blocks))).walk({"a": 60}, until="told")
        assert sitting.block["prompt"] == "<600>"

        sitting.back_to("a").walk({"a": 7}, until="told")

        assert sitting.block["prompt"] == "<>"

    def test_one_is_never_shown_and_may_stand_first_and_last(self, caller):
        blocks = [
            computes("first", "6 * 7"),
            number("a", "Is it [first]?", 0, 99),
            computes("last", "[a] - [first]"),
        ]

        sitting = sit(caller, build(caller, script(*blocks)), {"a": 42})

        assert sitting.met == ["a"]
        assert sitting.said["a"] == "Is it 42?"

    def test_a_choice_counts_as_the_number_its_value_reads_as(self, caller):
        options = [option(n, label=label) for n, label in enumerate(("none", "one", "two"))]
        blocks = [choice("x", "?", options), computes("y", "[x] * 10"), says("told", "[x] [y]")]

        assert walked(caller, blocks, {"x": 2})["told"] == "two 20"

    def test_what_prints_as_one_is_one(self, caller):
        blocks = [
            number("a", "?", 0, 9),
            computes("third", "[a] / 3"),
            computes("whole", "[third] * 3"),
            computes("band", "if [whole] >= 1 then enough else little"),
            says("told", "[whole] [band]"),
            says("met", "!", show_when=where("whole", "gte", 1)),
        ]

        sitting = sit(caller, build(caller, script(*blocks)), {"a": 1})

        assert sitting.said["told"] == "1 enough"
        assert "met" in sitting.said
