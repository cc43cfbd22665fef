"""The small rules of scores, grading and formulas, one by one, over the interface (interface 2.3 and 2.6,
decisions 6.9, 6.10 and 7)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from communities.models import Member, User
from tests.surveys.calling import Caller, faults
from tests.surveys.instruments.sitting import Sitting, build, opened, sit
from tests.surveys.instruments.writing import (
    choice,
    computes,
    gives_xp,
    number,
    option,
    says,
    scale,
    where,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller():
    return Caller()


def script(*blocks, **fields):
    """The body of a scored project."""
    return {
        "name": "Scores",
        "type": "convo",
        "scoring_enabled": True,
        "script": {"blocks": list(blocks)},
        **fields,
    }


def walked(caller, blocks, answers, **fields):
    """What somebody new was told, by block, who gave these answers."""
    return sit(caller, build(caller, script(*blocks, **fields)), answers).said


def many(name, *options, **more):
    return {"name": name, "type": "multi_punch", "prompt": "Which?", "options": list(options), **more}


def points(name, *weights, **more):
    """A choice among `a`, `b`, … that count so many points in the bucket Score."""
    more = {"required": False, **more}
    return choice(
        name, "Which?", [option("abcdefgh"[n], {"score": w}) for n, w in enumerate(weights)], **more
    )


TELL = says("told", "[score] of [max_score]")
TWO = {"scoring": {"buckets": [{"name": "Fire Mage"}, {"name": "Sea"}]}}


class TestBuckets:
    def test_weights_name_them_where_none_are_declared(self, caller):
        made = caller.make(
            choice("x", "Which?", [option("a", {"fire_mage": 1}), option("b", {"sea": 1, "fire_mage": 2})]),
            scoring_enabled=True,
        )

        assert made["scoring"] == {
            "enabled": True,
            "buckets": [{"name": "Fire Mage", "order": 0}, {"name": "Sea", "order": 1}],
        }

    def test_those_that_weights_name_can_be_declared_as_they_are_read(self, caller):
        weights = {"a_": 1, "straße": 1, "half-elf": 2, "e\u0301lan": 3}
        made = caller.make(choice("x", "Which?", [option("a", weights)]), scoring_enabled=True)

        again = caller.patch(f"/projects/{made['id']}", {"scoring": made["scoring"]})

        names = [bucket["name"] for bucket in made["scoring"]["buckets"]]
        assert names == ["a_", "Straße", "Half-Elf", "\u00c9lan"]
        assert again.status_code == 200
        assert again.json()["scoring"] == made["scoring"]

    def test_a_bucket_counts_whichever_way_its_accent_is_typed(self, caller):
        blocks = [
            choice("x", "Which?", [option("a", {"\u00e9lan": 2})]),
            says("told", "[score_\u00e9lan] [score_e\u0301lan]"),
        ]

        assert walked(caller, blocks, {"x": "a"})["told"] == "2 2"

    @pytest.mark.parametrize(
        ("keys", "code"),
        [(["a-b", "a_b"], "duplicate"), ([f"k{n}" for n in range(101)], "too_many")],
        ids=["one variable", "too many"],
    )
    def test_weights_name_none_that_could_not_be_declared(self, caller, keys, code):
        blocks = [choice(f"x{n}", "Which?", [option("a", {key: 1})]) for n, key in enumerate(keys)]

        refused = caller.post("/projects", script(*blocks))

        last = f"script.blocks[{len(keys) - 1}].options[0].score_values.{keys[-1]}"
        assert faults(refused) == {(last, code)}

    def test_with_neither_there_is_one_named_score(self, caller):
        made = caller.make(choice("x", "Which?", [option("a")]), scoring_enabled=True)

        assert made["scoring"]["buckets"] == [{"name": "Score", "order": 0}]

    def test_a_key_that_matches_none_of_those_declared_is_refused(self, caller):
        blocks = [choice("x", "Which?", [option("a", {"fire_mage": 1, "fire": 1})])]

        refused = caller.post("/projects", script(*blocks, **TWO))

        assert refused.status_code == 400
        assert faults(refused) == {("script.blocks[0].options[0].score_values.fire", "unknown_reference")}

    def test_the_only_bucket_is_told_without_a_suffix(self, caller):
        said = walked(caller, [points("x", 1, 3), TELL], {"x": "a"})

        assert said["told"] == "1 of 3"

    def test_an_only_bucket_of_another_name_is_told_both_ways(self, caller):
        blocks = [
            choice("x", "Which?", [option("a", {"clear_mind": 2})]),
            says("told", "[score] [score_clear_mind] [max_score] [max_score_clear_mind]"),
        ]

        assert walked(caller, blocks, {"x": "a"})["told"] == "2 2 2 2"

    def test_several_are_summed_without_a_suffix(self, caller):
        blocks = [
            choice("x", "Which?", [option("a", {"fire_mage": 2, "sea": 1}), option("b", {"sea": 5})]),
            says("told", "[score_fire_mage] [score_sea] [score]"),
            says("most", "[max_score_fire_mage] [max_score_sea] [max_score]"),
        ]

        said = walked(caller, blocks, {"x": "a"}, **TWO)

        assert said["told"] == "2 1 3"
        assert said["most"] == "2 5 7"

    def test_argmax_returns_the_display_name(self, caller):
        blocks = [
            choice("x", "Which?", [option("a", {"fire_mage": 1, "sea": 2}), option("b", {"fire_mage": 2})]),
            computes("most", "argmax([score_fire_mage], [score_sea])"),
            says("fiery", "[most]!", show_when=where("most", "eq", "Fire Mage")),
            says("other case", "No.", show_when=where("most", "eq", "fire mage")),
            says("wet", "[most].", show_when=where("most", "eq", "Sea")),
        ]
        made = build(caller, script(*blocks))

        fire, sea = sit(caller, made, {"x": "b"}), sit(caller, made, {"x": "a"})

        assert (fire.met, fire.said["fiery"]) == (["x", "fiery"], "Fire Mage!")
        assert (sea.met, sea.said["wet"]) == (["x", "wet"], "Sea.")

    def test_argmax_is_a_side_of_a_condition(self, caller):
        blocks = [
            choice("x", "Which?", [option("a", {"fire_mage": 1}), option("b", {"sea": 2})]),
            computes("side", 'if argmax([score_fire_mage], [score_sea]) == "Sea" then wet else dry'),
            says("told", "[side]"),
        ]
        made = build(caller, script(*blocks, **TWO))

        assert [sit(caller, made, {"x": x}).said["told"] for x in "ab"] == ["dry", "wet"]

    @pytest.mark.parametrize(
        ("name", "key"), [("Größe", "größe"), ("Ömer Bey", "ömer_bey"), ("Well-Being", "well-being")]
    )
    def test_a_bucket_may_have_letters_of_any_language_and_hyphens(self, caller, name, key):
        written = key.replace("-", "_")
        blocks = [
            choice("x", "Which?", [option("a", {key: 2})]),
            computes("best", f"argmax([score_{key}])"),
            says("told", f"[score_{key}] [score_{written}] [best]", precondition=f"score_{written} < 2"),
        ]

        said = walked(caller, blocks, {"x": "a"}, scoring={"buckets": [{"name": name}]})

        assert said["told"] == f"2 2 {name}"

    @pytest.mark.parametrize("name", ["R&D", "Dr. No", "It's me"])
    def test_a_bucket_that_logic_cannot_name_counts_all_the_same(self, caller, name):
        key = name.lower().replace(" ", "_")
        blocks = [choice("x", "Which?", [option("a", {key: 2})]), says("told", "[score]")]

        said = walked(caller, blocks, {"x": "a"}, scoring={"buckets": [{"name": name}]})

        assert said["told"] == "2"

    @pytest.mark.parametrize("name", ["[Fire]", "Fire, Ice", '"', "Correct", "correct-moves"])
    def test_a_name_that_would_be_read_as_something_else_is_refused(self, caller, name):
        declared = caller.post("/projects", script(scoring={"buckets": [{"name": name}]}))
        weighed = caller.post("/projects", script(choice("x", "Which?", [option("a", {name: 1})])))

        assert faults(declared) == {("scoring.buckets[0].name", "invalid")}
        assert faults(weighed) == {("script.blocks[0].options[0].score_values", "invalid")}

    def test_buckets_differ_in_what_expressions_call_them(self, caller):
        declared = caller.post(
            "/projects", script(scoring={"buckets": [{"name": "Fire Mage"}, {"name": "Fire-Mage"}]})
        )

        assert faults(declared) == {("scoring.buckets", "duplicate")}

    def test_a_weight_under_a_name_in_place_of_its_key_is_told_the_key(self, caller):
        refused = caller.post("/projects", script(choice("x", "Which?", [option("a", {"Fire Mage": 1})])))

        (violation,) = refused.json()["violations"]
        assert violation["message"].endswith("Write it fire_mage.")


class TestPoints:
    def test_a_multi_punch_is_the_sum_of_what_was_chosen(self, caller):
        options = [option(n, {"score": w}) for n, w in (("a", 1), ("b", 2), ("c", 4), ("d", -3))]
        made = build(caller, script(many("x", *options), TELL))

        said = [sit(caller, made, {"x": chosen}).said["told"] for chosen in (["a", "c"], ["b", "d"], None)]

        assert said == ["5 of 7", "-1 of 7", "0 of 7"]

    @pytest.mark.parametrize(
        ("weights", "bounds", "most"),
        [
            ((3, 2, 1, -5), {"max": 2}, "5"),
            ((3, 2, 1, -5), {}, "6"),
            ((3, -1, -1), {"max": 2}, "3"),
            ((-1, -2), {}, "0"),
            ((0.5, 0.25, 0.25), {"max": 2}, "0.75"),
        ],
    )
    def test_its_best_are_the_positive_options_as_many_as_may_be_chosen(self, caller, weights, bounds, most):
        options = [option(n, {"score": weight}) for n, weight in enumerate(weights)]

        said = walked(caller, [many("x", *options, **bounds), TELL], {"x": [1]})

        assert said["told"].split(" of ")[1] == most

    def test_a_scale_counts_its_points_option(self, caller):
        options = [option(n, {"score": n * n}, f"{n} stars") for n in range(1, 4)]
        block = {"name": "x", "type": "rating", "prompt": "?", "max": 3, "options": options}
        made = build(caller, script(block, TELL))

        by_value = sit(caller, made, {"x": 2}).said["told"]
        sitting = Sitting(caller, made)
        by_option = caller.post(
            f"/conversations/{sitting.told['id']}/answers",
            {"block_id": sitting.block["id"], "option_id": sitting.block["options"][2]["id"]},
        ).json()

        assert (by_value, by_option["step"]["block"]["prompt"]) == ("4 of 9", "9 of 9")

    def test_fractions_are_decimal(self, caller):
        said = walked(caller, [points("x", 0.1), points("y", 0.2), TELL], {"x": "a", "y": "a"})

        assert said["told"] == "0.3 of 0.3"

    @pytest.mark.parametrize(
        ("weight", "told"), [(3.0, "3"), (2.50, "2.5"), (-0.5, "-0.5"), (0.123456, "0.123456"), (0, "0")]
    )
    def test_numbers_print_plainly(self, caller, weight, told):
        said = walked(caller, [points("x", weight), says("told", "[score]")], {"x": "a"})

        assert said["told"] == told

    def test_an_option_without_weights_and_a_question_without_options_count_nothing(self, caller):
        blocks = [
            choice("x", "Which?", [option("a"), option("b", {"score": 2})]),
            number("n", "How many?", 0, 9),
            {"name": "r", "type": "ranking", "prompt": "?", "options": [option("a"), option("b")]},
            TELL,
        ]

        assert walked(caller, blocks, {"x": "a", "n": 9, "r": ["b", "a"]})["told"] == "0 of 2"

    def test_a_skipped_question_adds_nothing_and_stays_in_the_maximum(self, caller):
        said = walked(caller, [points("x", 1), points("y", 2), TELL], {"y": "a"})

        assert said["told"] == "2 of 3"

    def test_a_respondent_sees_no_points_and_no_formula(self, caller):
        made = build(caller, script(points("x", 1, correct_answer_index=0), TELL))

        block = Sitting(caller, made).block

        assert not {"calculated_formula", "correct_answer_ids", "correct_answer_index"} & set(block)
        assert "score_values" not in block["options"][0]


class TestWhatCounts:
    BLOCKS = (
        points("x", 1, 0),
        says("first", "[score] of [max_score]"),
        points("y", 10, 20, show_when=where("x", "eq", "a")),
        says("second", "[score] of [max_score]"),
        points("z", 100, 200),
        says("third", "[score] of [max_score]"),
    )

    def test_scores_are_of_the_moment_a_block_is_reached(self, caller):
        said = walked(caller, self.BLOCKS, {"x": "a", "y": "a", "z": "b"})

        assert [said[each] for each in ("first", "second", "third")] == [
            "1 of 1",
            "11 of 21",
            "211 of 221",
        ]

    def test_hidden_blocks_count_in_nothing(self, caller):
        said = walked(caller, self.BLOCKS, {"x": "b", "y": "a", "z": "b"})

        assert [said[each] for each in ("first", "second", "third")] == ["0 of 1", "0 of 1", "200 of 201"]

    def test_an_answer_that_became_hidden_counts_no_longer(self, caller):
        sitting = Sitting(caller, build(caller, script(*self.BLOCKS)))
        sitting.walk({"x": "a", "y": "b", "z": "a"}, until="third")
        assert sitting.block["prompt"] == "121 of 221"

        sitting.back_to("x").walk({"x": "b", "z": "a"}, until="third")

        assert sitting.block["prompt"] == "100 of 201"

    def test_a_step_back_shows_the_score_of_that_moment(self, caller):
        sitting = Sitting(caller, build(caller, script(*self.BLOCKS)))
        sitting.walk({"x": "a", "y": "b", "z": "a"}, until="third")

        assert sitting.back_to("second").block["prompt"] == "21 of 21"
        assert sitting.back_to("first").block["prompt"] == "1 of 1"

    def test_the_running_score_stands_in_the_prompt_of_a_question(self, caller):
        blocks = [points("x", 4), points("y", 5) | {"prompt": "You have [score]. Which?"}]

        assert walked(caller, blocks, {"x": "a", "y": "a"})["y"] == "You have 4. Which?"

    def test_the_thanks_at_the_end_may_tell_the_score(self, caller):
        made = caller.make(points("x", 4), scoring_enabled=True)
        blocks = caller.get(f"/projects/{made['id']}/script?expand=outro").json()["blocks"]
        (thanks,) = [block for block in blocks if block["section"] == "outro"]
        address = f"/projects/{made['id']}/script/blocks/{thanks['id']}"
        assert caller.patch(address, {"prompt": "You have [score] of [max_score]."}).status_code == 200

        sitting = sit(caller, opened(caller, made), {"x": "a"})

        assert sitting.told["thank_you"] == "You have 4 of 4."


class TestScoringOff:
    BLOCKS = (
        points("x", 2, correct_answer_index=0, when_correct="Right."),
        computes("more", "[score] + 1"),
        says("told", "[score] [max_score] [score_correct] [score_score] [more]"),
        says("counts", "[correct_answers] of [max_correct_answers]"),
    )
    LITERAL = "[score] [max_score] [score_correct] [score_score] 1"

    def test_tokens_stay_as_they_are_written_and_nothing_is_graded(self, caller):
        sitting = Sitting(caller, build(caller, script(*self.BLOCKS, scoring_enabled=False))).answer("a")

        assert sitting.feedback is None
        assert sitting.walk({}).said["told"] == self.LITERAL
        assert sitting.said["counts"] == "[correct_answers] of [max_correct_answers]"

    def test_enabled_after_the_script_was_written_it_scores_nothing(self, caller):
        made = caller.make(*self.BLOCKS, scoring_enabled=False)
        assert caller.put(f"/projects/{made['id']}", {"scoring_enabled": True}).status_code == 200

        sitting = sit(caller, opened(caller, made), {"x": "a"})

        assert sitting.said["told"] == self.LITERAL

    def test_the_script_written_once_more_scores(self, caller):
        made = caller.make(*self.BLOCKS, scoring_enabled=False)
        assert caller.put(f"/projects/{made['id']}", {"scoring_enabled": True}).status_code == 200
        written = caller.put(f"/projects/{made['id']}/script", {"blocks": list(self.BLOCKS)})
        assert written.status_code == 200, written.content

        sitting = sit(caller, opened(caller, made), {"x": "a"})

        assert sitting.said["told"] == "2 2 2 2 3"
        assert sitting.said["counts"] == "1 of 1"

    def test_score_is_no_variable_of_logic(self, caller):
        blocks = [points("x", 2), says("told", "!", precondition="score > 1")]

        refused = caller.post("/projects", script(*blocks, scoring_enabled=False))

        assert faults(refused) == {("script.blocks[1].precondition", "unknown_reference")}


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


class TestScripts:
    BLOCKS = (
        points("x", 1, 2),
        computes("twice", "[x] + [score] * 2"),
        says("told", "[twice] [score]", show_when=where("twice", "gt", 1)),
    )

    def test_a_rename_is_carried_into_formulas(self, caller):
        made = caller.make(*self.BLOCKS, scoring_enabled=True)
        first, second, third = made["script"]["blocks"]
        renamed = [first | {"name": "first one"}, second | {"name": "sum up"}, third]

        written = caller.put(f"/projects/{made['id']}/script", {"blocks": renamed}).json()["blocks"]

        assert written[1]["calculated_formula"] == "[first one] + [score] * 2"
        assert (written[2]["prompt"], written[2]["precondition"]) == (
            "[sum up] [score]",
            "NOT((sum_up > 1))",
        )

    @pytest.mark.parametrize(("removed", "field"), [(0, "calculated_formula"), (1, "show_when")])
    def test_what_a_formula_or_a_condition_needs_cannot_be_removed(self, caller, removed, field):
        made = caller.make(*self.BLOCKS, scoring_enabled=True)
        blocks = [block for n, block in enumerate(made["script"]["blocks"]) if n != removed]

        refused = caller.put(f"/projects/{made['id']}/script", {"blocks": blocks})

        assert (f"blocks[{removed}].{field}", "in_use") in faults(refused)

    @pytest.mark.parametrize(
        ("at", "change", "status"),
        [
            (1, {"calculated_formula": "[score] * 3"}, 409),
            (0, {"correct_answer_index": 0}, 409),
            (2, {"prompt": "[score] so far, [twice] in all"}, 200),
        ],
    )
    def test_while_active_wording_alone_may_change(self, caller, at, change, status):
        made = build(caller, script(*self.BLOCKS))
        sitting = Sitting(caller, made).answer("b")

        block = made["script"]["blocks"][at]
        answer = caller.patch(f"/projects/{made['id']}/script/blocks/{block['id']}", change)

        assert answer.status_code == status
        told = caller.get(f"/conversations/{sitting.told['id']}").json()["step"]["block"]["prompt"]
        assert told == ("2 so far, 4 in all" if status == 200 else "4 2")

    def test_who_is_on_the_way_is_scored_by_the_script_written_anew(self, caller):
        made = build(caller, script(*self.BLOCKS))
        sitting = Sitting(caller, made).answer("b")
        assert caller.post(f"/projects/{made['id']}/close").status_code == 200
        first, second, third = made["script"]["blocks"]
        kept, changed = first["options"]
        weighted = first | {"options": [kept, changed | {"score_values": {"score": 7}}]}
        blocks = [weighted, second | {"calculated_formula": "[score] * 100"}, third]
        written = caller.put(f"/projects/{made['id']}/script", {"blocks": blocks})
        assert written.status_code == 200, written.content
        opened(caller, made)

        told = caller.get(f"/conversations/{sitting.told['id']}").json()

        assert told["step"]["block"]["prompt"] == "700 7"

    def test_a_clone_scores_alike(self, caller):
        options = [option("a", {"fire_mage": 2, "sea": 1})]
        made = caller.make(
            choice("x", "?", options, correct_answer_index=0),
            computes("most", "argmax([score_sea], [score_fire_mage])"),
            says("told", "[most]: [score], [correct_answers] right"),
            scoring_enabled=True,
        )

        clone = caller.post(f"/projects/{made['id']}/clone", {}).json()

        assert clone["scoring"] == made["scoring"]
        assert sit(caller, opened(caller, clone), {"x": "a"}).said["told"] == "Fire Mage: 3, 1 right"

    def test_a_calculation_is_no_answer(self, caller):
        made = build(caller, script(*self.BLOCKS))

        sitting = sit(caller, made, {"x": "b"})

        response = caller.get(f"/responses/{sitting.told['id']}").json()
        assert [answer["block_name"] for answer in response["answers"]] == ["x"]
        assert caller.get(f"/projects/{made['id']}").json()["info"]["response_count"] == 1

    def test_buckets_follow_the_order_they_are_given(self, caller):
        buckets = [{"name": "Sea", "order": 1}, {"name": "Fire Mage", "order": 0}]

        made = caller.make(scoring_enabled=True, scoring={"buckets": buckets})

        assert [bucket["name"] for bucket in made["scoring"]["buckets"]] == ["Fire Mage", "Sea"]

    def test_a_bucket_with_points_cannot_be_taken_away(self, caller):
        made = caller.make(choice("x", "?", [option("a", {"sea": 2})]), scoring_enabled=True)

        refused = caller.patch(f"/projects/{made['id']}", {"scoring": {"buckets": [{"name": "Air"}]}})

        assert refused.status_code == 400
        assert {code for _, code in faults(refused)} == {"unknown_reference"}


class TestWandering:
    """Steps back leave no trace in scores, formulas and what they decide (decisions 8.11)."""

    BLOCKS = (
        points("a", 1, 2, 3, correct_answer_index=1),
        computes("doubled", "[score] * 2"),
        points("b", 5, -1, show_when=where("doubled", "gt", 2)),
        many("c", *(option(n, {"score": w}) for n, w in (("a", 0.5), ("b", 1))), max=1),
        says("half way", "[doubled] [score] [max_score] [correct_answers]"),
        computes("kind", 'if [score] > 5 then high else if [b] == "b" then low else [c]'),
        points("d", 1, 1, hide_when=where("kind", "eq", "high"), correct_answer_index=0),
        computes("percent", "[score] / [max_score] * 100", show_when=where("$score", "gt", 0)),
        says("end", "[kind] [percent] [score] [score_correct] [max_score_correct] [max_correct_answers]"),
    )
    SAID = {
        "a": st.sampled_from("abc"),
        "b": st.none() | st.sampled_from("ab"),
        "c": st.none() | st.sampled_from([["a"], ["b"]]),
        "d": st.none() | st.sampled_from("ab"),
    }

    def test_a_walk_with_steps_back_ends_where_the_straight_one_ends(self, caller):
        made = build(caller, script(*self.BLOCKS))

        @settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
        @given(st.data())
        def ends_alike(data):
            wanderer, final = Sitting(caller, made), {}
            steps = data.draw(st.integers(0, 10))
            while not wanderer.is_over:
                name, steps = wanderer.block["name"], steps - 1
                if steps > 0 and wanderer.told["step"]["can_go_back"] and data.draw(st.booleans()):
                    wanderer.back()
                elif name in self.SAID:
                    final[name] = data.draw(self.SAID[name])
                    wanderer.answer(final[name])
                else:
                    wanderer.go_on()

            straight = sit(caller, made, final)

            assert {name: wanderer.said[name] for name in straight.met} == straight.said

        ends_alike()


class TestXpFromAScore:
    @pytest.fixture
    def ann(self, caller):
        member = Member.objects.create(community=caller.community, user=User.objects.create(name="Ann"))
        return str(member.pk)

    @staticmethod
    def given(caller, member_id):
        """What each entry of a member's ledger changed, the newest first."""
        return [entry["delta"] for entry in caller.get(f"/members/{member_id}/xp").json()["data"]]

    @pytest.mark.parametrize(
        ("source_key", "amount"),
        [("score", 7), ("score_fire_mage", 2), ("score_correct", 5), ("max_score", 7)],
    )
    def test_any_score_may_be_given(self, caller, ann, source_key, amount):
        blocks = [
            choice("x", "?", [option("a", {"fire_mage": 2})]),
            choice("y", "?", [option("a", {"sea": 5})], correct_answer_index=0),
            gives_xp("prize", "[xp_points] [earned_xp]", source_key=source_key),
        ]
        made = build(caller, script(*blocks, **TWO))

        sitting = Sitting(caller, made, member_id=ann).walk({"x": "a", "y": "a"})

        assert sitting.said["prize"] == f"{amount} {amount}"
        assert self.given(caller, ann) == [amount]

    def test_a_bucket_that_is_not_declared_is_refused(self, caller):
        blocks = [points("x", 1), gives_xp("prize", "!", source_key="score_air")]

        refused = caller.post("/projects", script(*blocks))

        assert faults(refused) == {("script.blocks[1].action_config.source_key", "unknown_reference")}

    def test_the_score_at_the_first_arrival_is_what_is_given(self, caller, ann):
        blocks = [points("x", 5, 1), gives_xp("prize", "[earned_xp]", source_key="score"), TELL]
        made = build(caller, script(*blocks))
        sitting = Sitting(caller, made, member_id=ann).answer("b")

        sitting.back().answer("a").walk({})

        assert (sitting.said["prize"], sitting.said["told"]) == ("1", "5 of 5")
        assert self.given(caller, ann) == [1]

    @pytest.mark.parametrize(("scope", "given"), [(None, [1]), ("respondent", [1]), ("session", [5, 1])])
    def test_how_often_is_a_matter_of_scope(self, caller, ann, scope, given):
        prize = gives_xp("prize", "!", source_key="score", fire_scope=scope)
        made = build(caller, script(points("x", 5, 1), prize))

        for x in "ba":
            Sitting(caller, made, member_id=ann).walk({"x": x})

        assert self.given(caller, ann) == given

    def test_nobody_known_is_shown_it_and_earns_nothing(self, caller):
        prize = gives_xp("prize", "[xp_points] [earned_xp] [score]", source_key="score")

        assert walked(caller, [points("x", 5), prize], {"x": "a"})["prize"] == "0 0 5"

    def test_where_a_community_has_no_xp_nothing_is_given(self):
        caller = Caller(use_xp=False)
        member = str(Member.objects.get(user=caller.user).pk)
        made = build(caller, script(points("x", 5), gives_xp("prize", "[xp_points]", source_key="score")))

        sitting = Sitting(caller, made, member_id=member).walk({"x": "a"})

        assert (sitting.said["prize"], self.given(caller, member)) == ("0", [])

    def test_where_scoring_is_off_nothing_is_given(self, caller, ann):
        prize = gives_xp("prize", "[xp_points]", source_key="score")
        made = build(caller, script(points("x", 5), prize, scoring_enabled=False))

        sitting = Sitting(caller, made, member_id=ann).walk({"x": "a"})

        assert (sitting.said["prize"], self.given(caller, ann)) == ("0", [])

    def test_on_an_anonymous_project_nothing_is_given(self, caller, ann):
        blocks = [points("x", 3), gives_xp("prize", "[score]", source_key="score")]
        made = build(caller, script(*blocks, privacy_mode="anonymous"))

        sitting = Sitting(caller, made, member_id=ann).walk({"x": "a"})

        assert (sitting.said["prize"], self.given(caller, ann)) == ("3", [])
        (warning,) = made["script"]["warnings"]
        assert (warning["code"], warning["field"]) == (
            "tells_the_answers",
            "blocks[1].action_config.source_key",
        )
