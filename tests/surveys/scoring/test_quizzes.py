"""Quizzes, built only over the interface: right answers, grades, rewards, and personality results."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from communities.models import Member, User
from tests.support.caller import Caller
from tests.support.effort import examples
from tests.support.instruments import (
    chess_quiz,
    wizards,
)
from tests.support.instruments.respondent import Sitting, build, opened, sit

pytestmark = pytest.mark.django_db
RANDOM = settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))


@pytest.fixture
def caller():
    return Caller()


def shown(sitting, names):
    """Which of these blocks were met, in the order in which they are named here."""
    return [name for name in names if name in sitting.said]


class TestChessQuiz:
    ALL_RIGHT = {
        "fork": "knight",
        "pin": "absolutely",
        "opposition": "opposition",
        "mates": ["queen", "rook"],
    }

    @pytest.fixture
    def quiz(self, caller):
        answer = caller.post("/projects", chess_quiz.PROJECT)
        assert answer.status_code == 201, answer.content
        chess_quiz.finish(caller, answer.json())
        return opened(caller, answer.json())

    @pytest.mark.parametrize(
        ("answers", "result", "points", "by_bucket"),
        [
            (
                ALL_RIGHT,
                "3 of 3 right, 100 percent.",
                "9 of 9; rightly 7 of 7.",
                "4/4 5/5 4/4 3/3",
            ),
            (
                {"fork": "pawn", "pin": "absolutely", "opposition": "zugzwang", "mates": ["queen"]},
                "1 of 3 right, 33.333333 percent.",
                "4.5 of 9; rightly 2 of 7.",
                "2.5/4 2/5 2/4 0/3",
            ),
            (
                {
                    "fork": "king",
                    "pin": "relatively",
                    "opposition": "check",
                    "mates": ["two knights", "rook"],
                },
                "0 of 3 right, 0 percent.",
                "-2 of 9; rightly 0 of 7.",
                "0/4 -2/5 0/4 0/3",
            ),
            ({}, "0 of 3 right, 0 percent.", "0 of 9; rightly 0 of 7.", "0/4 0/5 0/4 0/3"),
        ],
    )
    def test_grades_and_points(self, caller, quiz, answers, result, points, by_bucket):
        sitting = sit(caller, quiz, answers)

        assert sitting.said["result"] == result
        assert sitting.said["points"] == points
        assert sitting.said["by bucket"] == by_bucket

    @pytest.mark.parametrize(("right", "met"), [(1, []), (2, ["passed"]), (3, ["passed", "perfect"])])
    def test_what_is_shown_to_whom(self, caller, quiz, right, met):
        names = ["fork", "pin", "opposition"][:right]

        sitting = sit(caller, quiz, {name: self.ALL_RIGHT[name] for name in names})

        assert shown(sitting, ["passed", "perfect"]) == met

    def test_feedback_knows_the_answer_just_given(self, caller, quiz):
        right, wrong = Sitting(caller, quiz).answer("knight"), Sitting(caller, quiz).answer("pawn")

        assert right.feedback == "Yes, the knight: 2 of 2."
        assert wrong.feedback == "Not the pawn, alas. You have 0.5 points."
        assert right.answer("absolutely").feedback is None

    def test_the_score_is_given_as_xp(self, caller, quiz):
        member = Member.objects.create(community=caller.community, user=User.objects.create(name="Ann"))

        sitting = Sitting(caller, quiz, member_id=str(member.pk)).walk(self.ALL_RIGHT)

        assert sitting.said["prize"] == "9 XP for you."
        told = caller.get(f"/members/{member.pk}").json()
        assert (told["xp_total"], told["participation"]) == (9, 1)
        (entry,) = caller.get(f"/members/{member.pk}/xp").json()["data"]
        assert (entry["delta"], entry["balance_after"], entry["source_kind"]) == (9, 9, "action_block")
        assert (entry["source_ref"], entry["survey_name"]) == (int(quiz["id"]), "Chess quiz")

    def test_half_points_are_rounded_up_into_xp(self, caller, quiz):
        member = Member.objects.create(community=caller.community, user=User.objects.create(name="Ann"))

        sitting = Sitting(caller, quiz, member_id=str(member.pk)).walk({"fork": "pawn", "mates": ["queen"]})

        assert sitting.said["points"] == "1.5 of 9; rightly 0 of 7."
        assert sitting.said["prize"] == "2 XP for you."
        assert caller.get(f"/members/{member.pk}").json()["xp_total"] == 2

    def test_points_below_nothing_take_no_more_than_there_is(self, caller, quiz):
        member = Member.objects.create(community=caller.community, user=User.objects.create(name="Ann"))

        Sitting(caller, quiz, member_id=str(member.pk)).walk({"opposition": "check"})

        assert caller.get(f"/members/{member.pk}").json()["xp_total"] == 0

    def test_the_prize_is_given_once_for_all_the_times(self, caller, quiz):
        member = Member.objects.create(community=caller.community, user=User.objects.create(name="Ann"))

        for answers in ({"fork": "knight"}, self.ALL_RIGHT):
            Sitting(caller, quiz, member_id=str(member.pk)).walk(answers)

        told = caller.get(f"/members/{member.pk}").json()
        assert (told["xp_total"], told["participation"]) == (2, 2)


class TestWizards:
    def test_buckets_are_made_from_the_weights(self, caller):
        made = build(caller, wizards.PROJECT)

        assert [bucket["name"] for bucket in made["scoring"]["buckets"]] == list(wizards.KINDS.values())

    @pytest.mark.parametrize(
        ("answers", "told"),
        [
            (
                {"evening": "by the fire", "tools": ["torch"], "temper": 3},
                "You are a Fire Mage. 4.5, 0, 0.5; 5.",
            ),
            (
                {"evening": "by the sea", "tools": ["shell", "mirror"], "temper": 2},
                "You are a Sea Witch. 0, 4.5, 1; 5.5.",
            ),
            (
                {"evening": "with the stars", "tools": ["torch", "shell", "mirror"], "temper": 1},
                "You are a Seer. 0, 1.5, 4.5; 6.",
            ),
            ({"evening": "with the stars", "temper": 3}, "You are a Seer. 1.5, 0, 2; 3.5."),
        ],
    )
    def test_who_has_most_points(self, caller, answers, told):
        sitting = sit(caller, build(caller, wizards.PROJECT), answers)

        assert sitting.said["result"] == told
        kind = told.removeprefix("You are a ").split(".")[0]
        key = kind.lower().replace(" ", "_")
        assert shown(sitting, [f"about {each}" for each in wizards.KINDS]) == [f"about {key}"]
        assert "torn" not in sitting.said

    def test_of_equals_the_first_in_the_formula_wins(self, caller):
        answers = {"evening": "by the sea", "tools": ["torch", "mirror"], "temper": 3}  # 2.5, 2.5, 1.5

        sitting = sit(caller, build(caller, wizards.PROJECT), answers)

        assert sitting.said["result"] == "You are a Fire Mage. 2.5, 2.5, 1.5; 6.5."
        assert "about fire_mage" in sitting.said
        assert "torn" in sitting.said  # the other formula names the Sea Witch first

    def test_a_change_of_mind_changes_who_you_are(self, caller):
        answers = {"evening": "by the fire", "tools": ["torch"], "temper": 3}
        sitting = Sitting(caller, build(caller, wizards.PROJECT)).walk(answers, until="result")

        sitting.back_to("evening").walk(answers | {"evening": "by the sea", "temper": 2}, until="result")

        assert sitting.block["prompt"] == "You are a Sea Witch. 1, 3, 0.5; 4.5."
