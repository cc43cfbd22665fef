"""Published questionnaires, built by the interface alone, tell their published scores."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from communities.models import Member, User
from tests.support.caller import Caller
from tests.support.instruments import (
    audit_c,
    chess_quiz,
    gad7,
    hrqol4,
    mini_ipip,
    nasa_tlx,
    phq9,
    self_regard,
    sus,
    wizards,
)
from tests.support.instruments.respondent import Sitting, build, opened, sit

pytestmark = pytest.mark.django_db
RANDOM = settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))


@pytest.fixture
def caller():
    return Caller()


def shown(sitting, names):
    """Which of these blocks were met, in the order in which they are named here."""
    return [name for name in names if name in sitting.said]


class TestPhq9:
    @pytest.mark.parametrize(
        ("points", "total", "band"),
        [
            ([0] * 9, 0, "minimal"),
            ([1, 1, 1, 1, 0, 0, 0, 0, 0], 4, "minimal"),
            ([1, 1, 1, 1, 1, 0, 0, 0, 0], 5, "mild"),
            ([1] * 9, 9, "mild"),
            ([0, 0, 2, 2, 2, 2, 2, 0, 0], 10, "moderate"),
            ([2, 2, 2, 2, 2, 2, 2, 0, 0], 14, "moderate"),
            ([2, 2, 2, 2, 2, 2, 2, 1, 0], 15, "moderately severe"),
            ([3, 2, 2, 2, 2, 2, 2, 2, 2], 19, "moderately severe"),
            ([3, 3, 2, 2, 2, 2, 2, 2, 2], 20, "severe"),
            ([3] * 9, 27, "severe"),
        ],
    )
    def test_sum_and_band(self, caller, points, total, band):
        sitting = sit(caller, build(caller, phq9.PROJECT), phq9.answers(points))

        assert sitting.said["result"] == f"{total} of 27: {band}."
        assert phq9.score(points) == total
        assert shown(sitting, ["band 0", "band 1", "band 2", "band 3", "band 4"]) == [
            f"band {phq9.BANDS.index(band)}"
        ]

    @pytest.mark.parametrize(
        ("points", "symptoms", "syndrome"),
        [
            ([1] * 9, 1, "not suggested"),
            ([2, 2, 2, 2, 2, 0, 0, 0, 0], 5, "suggested"),
            ([2, 2, 2, 2, 1, 1, 1, 1, 0], 4, "not suggested"),
            ([0, 0, 2, 2, 2, 2, 2, 0, 0], 5, "not suggested"),  # neither of the first two
            ([0, 2, 2, 2, 2, 0, 0, 0, 1], 5, "suggested"),  # the ninth counts from 1
            ([3] * 9, 9, "suggested"),
        ],
    )
    def test_the_algorithm(self, caller, points, symptoms, syndrome):
        sitting = sit(caller, build(caller, phq9.PROJECT), phq9.answers(points))

        assert sitting.said["algorithm"] == (
            f"Symptoms: {symptoms}. A major depressive syndrome is {syndrome}."
        )

    @pytest.mark.parametrize(
        ("points", "advised"),
        [
            ([0] * 9, False),
            ([2, 2, 2, 2, 1, 0, 0, 0, 0], False),
            ([2, 2, 2, 2, 2, 0, 0, 0, 0], True),
            ([0, 0, 0, 0, 0, 0, 0, 0, 1], True),  # the ninth, whatever the sum
        ],
    )
    def test_who_is_advised_to_see_somebody(self, caller, points, advised):
        sitting = sit(caller, build(caller, phq9.PROJECT), phq9.answers(points))

        assert ("see somebody" in sitting.said) is advised

    def test_the_tenth_question_is_for_those_with_any_points(self, caller):
        made = build(caller, phq9.PROJECT)

        asked = ["difficulty" in sit(caller, made, phq9.answers([0] * 8 + [last])).said for last in (0, 1)]

        assert asked == [False, True]

    def test_a_change_of_mind_changes_the_result(self, caller):
        made = build(caller, phq9.PROJECT)
        sitting = Sitting(caller, made).walk(phq9.answers([3] * 9), until="result")
        assert sitting.block["prompt"] == "27 of 27: severe."

        sitting.back_to("item 9").answer(0).walk({"difficulty": "not"}, until="result")
        assert sitting.block["prompt"] == "24 of 27: severe."
        sitting.back_to("item 1").walk(phq9.answers([1, 0, 0, 0, 0, 0, 0, 0, 0]), until="result")

        assert sitting.block["prompt"] == "1 of 27: minimal."
        assert sitting.go_on().block["prompt"] == (
            "Symptoms: 0. A major depressive syndrome is not suggested."
        )
        assert sitting.go_on().block["name"] == "band 0"


class TestGad7:
    @pytest.mark.parametrize(
        ("points", "total", "band"),
        [
            ([0] * 7, 0, "minimal"),
            ([1, 1, 1, 1, 0, 0, 0], 4, "minimal"),
            ([1, 1, 1, 1, 1, 0, 0], 5, "mild"),
            ([2, 2, 1, 1, 1, 1, 1], 9, "mild"),
            ([2, 2, 2, 1, 1, 1, 1], 10, "moderate"),
            ([2] * 7, 14, "moderate"),
            ([3, 2, 2, 2, 2, 2, 2], 15, "severe"),
            ([3] * 7, 21, "severe"),
        ],
    )
    def test_sum_and_band(self, caller, points, total, band):
        sitting = sit(caller, build(caller, gad7.PROJECT), gad7.answers(points))

        assert sitting.said["result"] == f"{total} of 21 ({total} of 21)."
        assert gad7.score(points) == total
        assert shown(sitting, gad7.BANDS) == [band]

    @pytest.mark.parametrize(
        ("first", "second", "is_positive"), [(1, 1, False), (0, 3, True), (2, 1, True), (3, 3, True)]
    )
    def test_the_first_two_are_scored_on_the_way(self, caller, first, second, is_positive):
        sitting = sit(caller, build(caller, gad7.PROJECT), gad7.answers([first, second, 3, 3, 3, 3, 3]))

        assert sitting.said["GAD 2"] == f"The first two: {first + second} of 6."
        assert ("GAD 2 positive" in sitting.said) is is_positive

    def test_an_item_left_out_adds_nothing_and_stays_in_the_maximum(self, caller):
        points = [3, None, 3, None, 3, 0, 1]

        sitting = sit(caller, build(caller, gad7.PROJECT), gad7.answers(points))

        assert sitting.said["result"] == "10 of 21 (10 of 21)."
        assert shown(sitting, gad7.BANDS) == ["moderate"]


class TestSus:
    @pytest.mark.parametrize(
        ("points", "total"),
        [
            ([1, 5] * 5, "0"),
            ([5, 1] * 5, "100"),
            ([3] * 10, "50"),
            ([1] * 10, "50"),
            ([5] * 10, "50"),
            ([5, 4, 2, 1, 2, 3, 2, 4, 5, 2], "55"),  # contributions 4 1 1 4 1 2 1 1 4 3: 22
            ([4, 2] * 5, "75"),
            ([4, 2, 4, 2, 4, 2, 4, 2, 4, 3], "72.5"),
            ([4, 2, 4, 2, 4, 2, 4, 2, 3, 3], "70"),
            ([3, 3, 3, 3, 3, 3, 3, 3, 3, 4], "47.5"),
        ],
    )
    def test_points_and_verdict(self, caller, points, total):
        sitting = sit(caller, build(caller, sus.PROJECT), sus.answers(points))

        assert sus.score(points) == Decimal(total)
        assert sitting.said["result"] == f"{total} points: {sus.verdict(points)}."
        assert ("above average" in sitting.said) is (Decimal(total) > 68)

    def test_an_item_left_out_counts_as_the_middle(self, caller):
        points = [5, None, 5, 1, None, 1, 5, 1, 5, 1]

        sitting = sit(caller, build(caller, sus.PROJECT), sus.answers(points))

        assert sitting.said["result"] == "90 points: acceptable."

    def test_calculated_blocks_by_position_in_tokens_and_logic(self, caller):
        made = build(caller, sus.PROJECT)

        high, middle = (sit(caller, made, sus.answers(points)) for points in ([5, 1] * 5, [3] * 10))

        assert high.said["by position"] == "q11 is 100, q12 is acceptable."
        assert "by position" not in middle.said

    def test_a_change_of_mind_changes_the_result(self, caller):
        sitting = Sitting(caller, build(caller, sus.PROJECT)).walk(sus.answers([5, 1] * 5), until="result")

        sitting.back_to("item 10").answer(5)

        assert sitting.block["prompt"] == "90 points: acceptable."

    def test_any_answers_come_to_what_the_rule_says(self, caller):
        made = build(caller, sus.PROJECT)

        @RANDOM
        @given(st.lists(st.none() | st.integers(1, 5), min_size=10, max_size=10))
        def agrees(points):
            said = sit(caller, made, sus.answers(points)).said["result"]
            total, verdict = said.removesuffix(".").split(" points: ")
            assert (Decimal(total), verdict) == (sus.score(points), sus.verdict(points))

        agrees()


class TestMiniIpip:
    @pytest.mark.parametrize(
        ("points", "sums"),
        [
            ([1] * 20, [12, 12, 12, 12, 16]),
            ([3] * 20, [12, 12, 12, 12, 12]),
            ([5] * 20, [12, 12, 12, 12, 8]),
            ([5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1], [20, 20, 20, 20, 20]),
            ([1, 1, 1, 1, 1, 5, 5, 5, 5, 5, 1, 1, 1, 1, 5, 5, 5, 5, 5, 5], [4, 4, 4, 4, 4]),
            ([2, 4, 5, 1, 4, 4, 2, 1, 4, 2, 2, 4, 5, 2, 1, 4, 1, 2, 4, 2], [8, 17, 19, 7, 17]),
        ],
    )
    def test_five_factors(self, caller, points, sums):
        sitting = sit(caller, build(caller, mini_ipip.PROJECT), mini_ipip.answers(points))

        assert mini_ipip.sums(points) == sums
        assert sitting.said["sums"] == " ".join(map(str, sums))
        assert sitting.said["maxima"] == "20 20 20 20 20"
        assert sitting.said["total"] == f"{sum(sums)} of 100"
        means = [format((Decimal(each) / 4).normalize(), "f") for each in sums]
        assert sitting.said["means"] == " ".join(means)

    def test_the_strongest_factor_decides_what_is_shown(self, caller):
        points = [2, 4, 5, 1, 4, 4, 2, 1, 4, 2, 2, 4, 5, 2, 1, 4, 1, 2, 4, 2]

        sitting = sit(caller, build(caller, mini_ipip.PROJECT), mini_ipip.answers(points))

        assert sitting.said["strongest factor"] == "Above all: Conscientiousness."
        assert shown(sitting, [f"about {key}" for key in mini_ipip.KEYS]) == ["about conscientiousness"]

    def test_any_answers_come_to_what_the_key_says(self, caller):
        made = build(caller, mini_ipip.PROJECT)

        @RANDOM
        @given(st.lists(st.integers(1, 5), min_size=20, max_size=20))
        def agrees(points):
            said = sit(caller, made, mini_ipip.answers(points)).said
            assert said["sums"] == " ".join(map(str, mini_ipip.sums(points)))
            assert said["strongest factor"] == f"Above all: {mini_ipip.strongest(points)}."

        agrees()


class TestHealthyDays:
    @pytest.mark.parametrize(
        ("physical", "mental", "unhealthy"),
        [(0, 0, 0), (4, 2, 6), (20, 17, 30), (30, 30, 30), (15, 15, 30), (15, 14, 29), (16, 15, 30)],
    )
    def test_unhealthy_days_are_thirty_at_most(self, caller, physical, mental, unhealthy):
        days = {"physical days": physical, "mental days": mental, "limited days": 1}

        sitting = sit(caller, build(caller, hrqol4.PROJECT), days)

        assert hrqol4.unhealthy(physical, mental) == unhealthy
        assert sitting.said["result"] == f"{unhealthy} unhealthy days, {30 - unhealthy} healthy ones. [score]"
        assert ("limited days" in sitting.said) is (unhealthy > 0)
        assert ("frequent distress" in sitting.said) is (mental >= 14)
        assert ("all bad" in sitting.said) is (unhealthy == 30)

    def test_a_calculation_is_piped_into_the_question_after_it(self, caller):
        sitting = sit(caller, build(caller, hrqol4.PROJECT), {"physical days": "2.50", "mental days": 1})

        assert sitting.said["limited days"] == (
            "For how many of these 3.5 days did it keep you from what you usually do?"
        )

    def test_questions_left_out_count_as_none(self, caller):
        sitting = sit(caller, build(caller, hrqol4.PROJECT), {"mental days": 14})

        assert sitting.said["result"] == "14 unhealthy days, 16 healthy ones. [score]"


class TestAuditC:
    @pytest.mark.parametrize(
        ("sex", "points", "total", "is_positive"),
        [
            ("woman", (2, 1, 1), 4, True),
            ("man", (2, 1, 1), 4, True),
            ("man", (2, 1, 0), 3, False),
            ("woman", (2, 1, 0), 3, True),
            ("woman", (1, 1, 0), 2, False),
            ("man", (4, 4, 4), 12, True),
            ("woman", (1, 0, 0), 1, False),
        ],
    )
    def test_total_and_threshold(self, caller, sex, points, total, is_positive):
        sitting = sit(caller, build(caller, audit_c.PROJECT), audit_c.answers(sex, *points))

        assert sitting.said["result"] == f"{total} of 12."
        assert ("positive" in sitting.said) is audit_c.is_positive(sex, *points) is is_positive

    def test_who_never_drinks_is_asked_one_question_which_alone_is_in_the_maximum(self, caller):
        sitting = sit(caller, build(caller, audit_c.PROJECT), audit_c.answers("man", 0))

        assert sitting.met == ["sex", "often", "result"]
        assert sitting.said["result"] == "0 of 4."

    @pytest.mark.parametrize(("points", "told"), [((4, 0, 0), True), ((3, 1, 0), False), ((0,), False)])
    def test_all_points_from_the_first_question(self, caller, points, told):
        sitting = sit(caller, build(caller, audit_c.PROJECT), audit_c.answers("man", *points))

        assert ("below the limits" in sitting.said) is told

    def test_answers_that_became_hidden_no_longer_count(self, caller):
        sitting = Sitting(caller, build(caller, audit_c.PROJECT))
        sitting.walk(audit_c.answers("man", 4, 4, 4), until="result")
        assert sitting.block["prompt"] == "12 of 12."

        sitting.back_to("often").answer("never")
        assert (sitting.block["name"], sitting.block["prompt"]) == ("result", "0 of 4.")
        sitting.back_to("often").walk(audit_c.answers("man", 1, 0, 1), until="result")

        assert sitting.block["prompt"] == "2 of 12."


class TestRawTlx:
    @pytest.mark.parametrize(
        ("ratings", "told"),
        [
            ([0] * 6, "Load 0, of 6 subscales."),
            ([100] * 6, "Load 100, of 6 subscales."),
            ([50, 30, 40, 70, 60, 20], "Load 45, of 6 subscales."),
            ([55, 10, 35, 60, 45, 20], "Load 37.5, of 6 subscales."),
            ([85, 0, 0, 0, 0, 0], "Load 14.166667, of 6 subscales."),
            ([20, 0, 0, 0, 0, 0], "Load 3.333333, of 6 subscales."),
        ],
    )
    def test_the_mean_of_six(self, caller, ratings, told):
        sitting = sit(caller, build(caller, nasa_tlx.PROJECT), nasa_tlx.answers(ratings))

        assert sitting.said["result"] == told
        assert ("heavy" in sitting.said) is (nasa_tlx.load(ratings) > 50)

    @pytest.mark.parametrize(
        ("ratings", "told"),
        [
            ([80, None, 40, 60, None, 0], "Load 45, of 4 subscales."),
            ([None, None, 0, None, None, None], "Load 0, of 1 subscales."),
            ([None] * 6, "Load 0, of 0 subscales."),
        ],
    )
    def test_a_subscale_left_out_is_left_out_of_the_mean(self, caller, ratings, told):
        sitting = sit(caller, build(caller, nasa_tlx.PROJECT), nasa_tlx.answers(ratings))

        assert sitting.said["result"] == told


class TestSelfRegard:
    @pytest.mark.parametrize(
        ("levels", "told"),
        [
            ([3] * 10, "15 of 30, usual"),
            ([0] * 10, "15 of 30, usual"),
            ([3, 3, 0, 3, 0, 3, 3, 0, 0, 0], "30 of 30, high"),
            ([0, 0, 3, 0, 3, 0, 0, 3, 3, 3], "0 of 30, low"),
            ([1, 1, 2, 1, 2, 2, 2, 2, 1, 1], "14 of 30, low"),
            ([3, 3, 0, 3, 0, 2, 2, 1, 1, 1], "25 of 30, usual"),
            ([3, 3, 0, 3, 0, 3, 2, 1, 1, 1], "26 of 30, high"),
        ],
    )
    def test_half_the_items_count_in_reverse(self, caller, levels, told):
        sitting = sit(caller, build(caller, self_regard.PROJECT), self_regard.answers(levels))

        assert sitting.said["result"] == told
        assert told.startswith(f"{self_regard.score(levels)} of")
        assert ("encouragement" in sitting.said) is (self_regard.score(levels) < 15)


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
