"""Buckets and points, one rule after the other, over the interface (chapter 5)."""

from __future__ import annotations

import pytest

from tests.support.caller import Caller, faults
from tests.support.instruments.blocks import (
    choice,
    computes,
    number,
    option,
    says,
    where,
)
from tests.support.instruments.respondent import Sitting, build, opened, sit
from tests.support.surveys.scored_projects import TELL, TWO, many, points, script, walked

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller():
    return Caller()


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
        """Rule 5.5."""
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
        """Rule 5.8."""
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
        """Rule 5.8."""
        blocks = [points("x", 4), points("y", 5) | {"prompt": "[score] of [max_score]. Which?"}]

        assert walked(caller, blocks, {"x": "a", "y": "a"})["y"] == "4 of 4. Which?"

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
