"""Scores of scripts that are changed, of walks with steps back, and given as XP."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from communities.models import Member, User
from tests.support.caller import Caller, faults
from tests.support.effort import examples
from tests.support.instruments.blocks import (
    choice,
    computes,
    gives_xp,
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
    """Steps back do not affect scores, formulas and their consequences (rules 6.30 and 6.31)."""

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

        @settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
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
        """The change in each entry of a member's ledger, newest first."""
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
