"""Tokens, grades and score variables in logic, over the interface (rules 4.27 to 4.29 and 5.11)."""

from __future__ import annotations

import pytest

from tests.support.caller import Caller, faults
from tests.support.instruments.blocks import (
    choice,
    computes,
    option,
    says,
    scale,
    where,
)
from tests.support.instruments.respondent import Sitting, build, opened, sit
from tests.support.surveys.scored_projects import TELL, TWO, many, points, script, walked

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller():
    return Caller()


class TestTokens:
    @pytest.mark.parametrize(
        "token", ["[nobody]", "[score_air]", "[max_score_air]", "[SCORE]", "[Max_Score]", "[ ]", "[1]", "[]"]
    )
    def test_what_nothing_defines_stays_as_it_is_written(self, caller, token):
        said = walked(caller, [points("x", 2), says("told", f"a {token} b")], {"x": "a"})

        assert said["told"] == f"a {token} b"

    def test_values_are_never_read_as_tokens(self, caller):
        blocks = [
            points("x", 2),
            {"name": "why", "type": "open_text", "prompt": "Why?"},
            says("told", "[why] <b>[score]</b>"),
        ]

        said = walked(caller, blocks, {"x": "a", "why": "[score] & <i>more</i>"})

        assert said["told"] == "[score] & <i>more</i> <b>2</b>"

    def test_a_block_named_like_a_variable_is_meant_by_its_title_case(self, caller):
        blocks = [
            points("score", 2),
            says("told", "[Score] [score]"),
            says("shown", "!", precondition='NOT((Score = "a" AND score = 2))'),
        ]

        said = walked(caller, blocks, {"score": "a"})

        assert (said["told"], "shown" in said) == ("a 2", True)

    def test_labels_are_read_and_values_are_counted(self, caller):
        options = [option(n, {"score": n}, f"{n} stars") for n in range(1, 6)]
        block = {"name": "x", "type": "rating", "prompt": "?", "options": options}

        said = walked(
            caller, [block, computes("twice", "[x] * 2"), says("told", "[x] [twice] [score]")], {"x": 4}
        )

        assert said["told"] == "4 stars 8 4"


class TestGrading:
    FEEDBACK = {
        "when_correct": "[answer] is right: [score] of [max_score], [correct_answers] right.",
        "when_incorrect": "[answer] is wrong: [score] of [max_score], [correct_answers] right.",
    }

    def test_feedback_counts_the_answer_just_given(self, caller):
        made = build(
            caller,
            script(
                points("x", 1, 2, correct_answer_index=1, **self.FEEDBACK),
                points("y", 4, 1, correct_answer_index=0, **self.FEEDBACK),
                TELL,
                settings={"lock_graded_answers": False},
            ),
        )

        sitting = Sitting(caller, made).answer("a")
        assert sitting.feedback == "a is wrong: 1 of 2, 0 right."
        assert sitting.answer("a").feedback == "a is right: 5 of 6, 1 right."
        assert sitting.back().feedback is None

        assert sitting.answer("b").feedback == "b is wrong: 2 of 6, 0 right."

    def test_the_answer_in_feedback_is_its_label(self, caller):
        options = [option("kt", {"score": 1}, "Knight"), option("p", None, "Pawn")]
        made = build(caller, script(choice("x", "?", options, correct_answer_index=0, **self.FEEDBACK), TELL))

        assert Sitting(caller, made).answer("kt").feedback == "Knight is right: 1 of 1, 1 right."

    @pytest.mark.parametrize(
        "named",
        [
            lambda ids: {"correct_answer_ids": [ids[1]]},
            lambda ids: {"correct_answer_id": ids[1]},
            lambda ids: {"correct_answer_index": 1},
        ],
        ids=["plural", "singular", "index"],
    )
    def test_the_right_answer_is_named_in_any_of_three_ways(self, caller, named):
        made = caller.make(points("x", 1, 2), says("told", "[correct_answers]"), scoring_enabled=True)
        block = made["script"]["blocks"][0]
        ids = [each["id"] for each in block["options"]]

        told = caller.patch(f"/projects/{made['id']}/script/blocks/{block['id']}", named(ids)).json()
        opened(caller, made)

        assert (told["correct_answer_ids"], told["correct_answer_index"]) == ([ids[1]], 1)
        assert [sit(caller, made, {"x": x}).said["told"] for x in "ab"] == ["0", "1"]

    def test_an_index_of_the_first_write_becomes_an_id(self, caller):
        made = caller.make(points("x", 1, 2, correct_answer_index=1), scoring_enabled=True)

        (block,) = made["script"]["blocks"]

        assert block["correct_answer_ids"] == [block["options"][1]["id"]]
        assert block["correct_answer_index"] == 1

    def test_points_of_right_answers_alone_are_in_score_correct(self, caller):
        blocks = [
            points("x", 1, 2, correct_answer_index=1),
            points("y", 3, 1, correct_answer_index=0),
            points("ungraded", 50),
            says("told", "[score] [score_correct] [max_score_correct] [max_score]"),
            says("counts", "[correct_answers] [max_correct_answers]"),
            says("by bucket", "[score_correct_score] [max_score_correct_score]"),
        ]

        said = walked(caller, blocks, {"x": "a", "y": "a", "ungraded": "a"})

        assert said["told"] == "54 3 5 55"
        assert said["counts"] == "1 2"
        assert said["by bucket"] == "3 5"

    def test_a_graded_question_that_is_hidden_is_in_no_count_and_one_skipped_in_the_total(self, caller):
        blocks = [
            points("x", 1, 2, correct_answer_index=0),
            points("y", 3, correct_answer_index=0, show_when=where("x", "eq", "b")),
            points("z", 5, correct_answer_index=0),
            says(
                "told", "[correct_answers] of [max_correct_answers], [score_correct] of [max_score_correct]"
            ),
        ]
        made = build(caller, script(*blocks))

        hidden = sit(caller, made, {"x": "a", "z": "a"}).said["told"]
        skipped = sit(caller, made, {"x": "a"}).said["told"]

        assert hidden.startswith("2 of 2, 6 of")
        assert skipped.startswith("1 of 2, 1 of")

    def test_a_scale_with_options_is_graded(self, caller):
        options = [option(n, {"score": 5 if n == 3 else 0}, f"{n} ranks") for n in range(1, 6)]
        block = scale("x", "?", 1, 5, options=options, correct_answer_index=2, **self.FEEDBACK)
        made = build(caller, script(block, says("told", "[correct_answers] of [max_correct_answers]")))

        right, wrong = Sitting(caller, made).answer(3), Sitting(caller, made).answer(4)

        assert right.feedback == "3 ranks is right: 5 of 5, 1 right."
        assert wrong.feedback == "4 ranks is wrong: 0 of 5, 0 right."
        assert (right.block["prompt"], wrong.block["prompt"]) == ("1 of 1", "0 of 1")

    def test_a_multi_punch_is_right_where_just_the_right_one_was_chosen(self, caller):
        options = [option("a", {"score": 1}), option("b", {"score": 1})]
        block = many("x", *options, correct_answer_index=0, **self.FEEDBACK)
        made = build(caller, script(block, says("told", "[score] [score_correct]")))

        right, wrong = Sitting(caller, made).answer(["a"]), Sitting(caller, made).answer(["a", "b"])

        assert (right.feedback, right.block["prompt"]) == ("a is right: 1 of 2, 1 right.", "1 1")
        assert (wrong.feedback, wrong.block["prompt"]) == ("a, b is wrong: 2 of 2, 0 right.", "2 0")

    def test_a_multi_punch_is_right_where_exactly_the_right_ones_were_chosen(self, caller):
        """Rules 3.150 and 5.80: all right options together are one right answer."""
        options = [option(value, {"score": 1}) for value in "abc"]
        block = many("x", *options, correct_answer_indexes=[2, 0], **self.FEEDBACK)
        made = build(caller, script(block, says("told", "[score] [score_correct] of [max_score_correct]")))

        chosen = [Sitting(caller, made).answer(each) for each in (["c", "a"], ["a"], ["a", "b", "c"])]

        assert [(each.feedback or "").split(":")[0] for each in chosen] == [
            "a, c is right",
            "a is wrong",
            "a, b, c is wrong",
        ]
        assert [each.block["prompt"] for each in chosen] == ["2 2 of 2", "1 0 of 2", "3 0 of 2"]

    def test_several_right_answers_are_patched_by_id_and_hidden_from_respondents(self, caller):
        made = caller.make(many("x", *map(option, "abc")), TELL, scoring_enabled=True)
        block = made["script"]["blocks"][0]
        ids = [each["id"] for each in block["options"]]
        path = f"/projects/{made['id']}/script/blocks/{block['id']}"

        told = caller.patch(path, {"correct_answer_ids": [ids[2], ids[1]], **self.FEEDBACK}).json()

        assert (told["correct_answer_ids"], told["correct_answer_index"], told["correct_answer_indexes"]) == (
            ids[1:],
            1,
            [1, 2],
        )
        moved = [{**each, "display_order": n} for n, each in enumerate(reversed(told["options"]))]
        told = caller.patch(path, {"options": moved}).json()
        assert (told["correct_answer_ids"], told["correct_answer_indexes"]) == ([ids[2], ids[1]], [0, 1])
        opened(caller, made)
        seen = Sitting(caller, made).block
        assert not {"correct_answer_ids", "correct_answer_indexes"} & set(seen)

    def test_a_change_of_mind_is_graded_anew(self, caller):
        made = build(
            caller,
            script(
                points("x", 1, 2, correct_answer_index=0), says("told", "[correct_answers] [score_correct]")
            ),
        )
        sitting = Sitting(caller, made).answer("a")
        assert sitting.block["prompt"] == "1 1"

        assert sitting.back().answer("b").block["prompt"] == "0 0"


class TestVariablesInLogic:
    BLOCKS = (
        choice("x", "?", [option("a", {"fire_mage": 2, "sea": 1}), option("b")], correct_answer_index=0),
        choice("y", "?", [option("a", {"sea": 4}), option("b", {"sea": 8})], correct_answer_index=1),
        choice("z", "?", [option("a", {"fire_mage": 0.5})]),
    )
    ANSWERS = {"x": "a", "y": "a", "z": "a"}
    VALUES = {
        "score": 7.5,
        "max_score": 11.5,
        "score_correct": 3,
        "max_score_correct": 11,
        "correct_answers": 1,
        "max_correct_answers": 2,
        "score_fire_mage": 2.5,
        "max_score_sea": 9,
        "score_correct_sea": 1,
        "max_score_correct_fire_mage": 2,
    }

    @pytest.mark.parametrize("variable", VALUES)
    def test_each_may_be_a_leaf_of_a_condition_and_a_name_in_an_expression(self, caller, variable):
        value = self.VALUES[variable]
        blocks = [
            *self.BLOCKS,
            says("leaf", f"[{variable}]", show_when=where(f"${variable}", "eq", value)),
            says("more", "!", show_when=where(f"${variable}", "gt", value)),
            says("expression", "!", precondition=f"NOT({variable} >= {value} AND {variable} < {value + 1})"),
        ]

        sitting = sit(caller, build(caller, script(*blocks, **TWO)), self.ANSWERS)

        assert sitting.met[3:] == ["leaf", "expression"]
        assert sitting.said["leaf"] == str(value)

    def test_they_are_of_the_moment_too(self, caller):
        blocks = [
            points("x", 3),
            says("early", "!", show_when=where("$score", "gt", 3)),
            points("y", 3, show_when=where("$score", "eq", 3)),
            says("late", "!", show_when=where("$score", "gt", 3)),
        ]

        assert sit(caller, build(caller, script(*blocks)), {"x": "a", "y": "a"}).met == ["x", "y", "late"]

    def test_a_list_and_another_variable_may_be_compared(self, caller):
        blocks = [
            points("x", 3, 2),
            says("listed", "!", show_when=where("$score", "in", [1, 3])),
            says("full", "!", precondition="score != max_score"),
        ]
        made = build(caller, script(*blocks))

        assert [sit(caller, made, {"x": x}).met for x in "ab"] == [["x", "listed", "full"], ["x"]]

    def test_an_unknown_bucket_is_refused(self, caller):
        blocks = [points("x", 3), says("y", "!", show_when=where("$score_air", "gt", 1))]

        refused = caller.post("/projects", script(*blocks))

        assert faults(refused) == {("script.blocks[1].show_when.variable", "unknown_reference")}
