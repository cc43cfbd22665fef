"""Published questionnaires, built only over the interface, give their published scores."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.caller import Caller
from tests.support.effort import examples
from tests.support.instruments import (
    audit_c,
    gad7,
    hrqol4,
    mini_ipip,
    nasa_tlx,
    phq9,
    self_regard,
    sus,
)
from tests.support.instruments.respondent import Sitting, build, sit

pytestmark = pytest.mark.django_db
RANDOM = settings(max_examples=examples(15), suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def owner(kept_rows):
    return Caller()


@pytest.fixture(scope="module")
def built(owner):
    """The project of each instrument, open to anybody."""
    instruments = (audit_c, gad7, hrqol4, mini_ipip, nasa_tlx, phq9, self_regard, sus)
    return {each: build(owner, each.PROJECT) for each in instruments}


@pytest.fixture
def caller(owner):
    """With a rate limit of its own."""
    return owner.beside("admin")


def shown(sitting, names):
    """Which of these blocks were met, in the order in which they are named here."""
    return [name for name in names if name in sitting.said]


class TestPhq9:
    @pytest.mark.parametrize(
        ("points", "total", "band"),
        [
            ([1, 1, 1, 1, 0, 0, 0, 0, 0], 4, "minimal"),
            ([1, 1, 1, 1, 1, 0, 0, 0, 0], 5, "mild"),
            ([0, 0, 2, 2, 2, 2, 2, 0, 0], 10, "moderate"),
            ([2, 2, 2, 2, 2, 2, 2, 1, 0], 15, "moderately severe"),
            ([3, 3, 2, 2, 2, 2, 2, 2, 2], 20, "severe"),
        ],
    )
    def test_sum_and_band(self, caller, built, points, total, band):
        sitting = sit(caller, built[phq9], phq9.answers(points))

        assert sitting.said["result"] == f"{total} of 27: {band}."
        assert phq9.score(points) == total
        assert shown(sitting, ["band 0", "band 1", "band 2", "band 3", "band 4"]) == [
            f"band {phq9.BANDS.index(band)}"
        ]

    @pytest.mark.parametrize(
        ("points", "symptoms", "syndrome"),
        [
            ([2, 2, 2, 2, 2, 0, 0, 0, 0], 5, "suggested"),
            ([2, 2, 2, 2, 1, 1, 1, 1, 0], 4, "not suggested"),
            ([0, 0, 2, 2, 2, 2, 2, 0, 0], 5, "not suggested"),  # neither of the first two
            ([0, 2, 2, 2, 2, 0, 0, 0, 1], 5, "suggested"),  # the ninth counts from 1
        ],
    )
    def test_the_algorithm(self, caller, built, points, symptoms, syndrome):
        sitting = sit(caller, built[phq9], phq9.answers(points))

        assert sitting.said["algorithm"] == (
            f"Symptoms: {symptoms}. A major depressive syndrome is {syndrome}."
        )

    @pytest.mark.parametrize(
        ("points", "advised"),
        [
            ([2, 2, 2, 2, 1, 0, 0, 0, 0], False),
            ([0, 0, 0, 0, 0, 0, 0, 0, 1], True),  # the ninth, whatever the sum
        ],
    )
    def test_who_is_advised_to_see_somebody(self, caller, built, points, advised):
        sitting = sit(caller, built[phq9], phq9.answers(points))

        assert ("see somebody" in sitting.said) is advised

    def test_the_tenth_question_is_for_those_with_any_points(self, caller, built):
        made = built[phq9]

        asked = ["difficulty" in sit(caller, made, phq9.answers([0] * 8 + [last])).said for last in (0, 1)]

        assert asked == [False, True]

    def test_a_change_of_mind_changes_the_result(self, caller, built):
        made = built[phq9]
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
            ([1, 1, 1, 1, 0, 0, 0], 4, "minimal"),
            ([1, 1, 1, 1, 1, 0, 0], 5, "mild"),
            ([2, 2, 2, 1, 1, 1, 1], 10, "moderate"),
            ([3, 2, 2, 2, 2, 2, 2], 15, "severe"),
        ],
    )
    def test_sum_and_band(self, caller, built, points, total, band):
        sitting = sit(caller, built[gad7], gad7.answers(points))

        assert sitting.said["result"] == f"{total} of 21 ({total} of 21)."
        assert gad7.score(points) == total
        assert shown(sitting, gad7.BANDS) == [band]

    @pytest.mark.parametrize(("first", "second", "is_positive"), [(1, 1, False), (0, 3, True)])
    def test_the_first_two_are_scored_on_the_way(self, caller, built, first, second, is_positive):
        sitting = sit(caller, built[gad7], gad7.answers([first, second, 3, 3, 3, 3, 3]))

        assert sitting.said["GAD 2"] == f"The first two: {first + second} of 6."
        assert ("GAD 2 positive" in sitting.said) is is_positive

    def test_an_item_left_out_adds_nothing_and_stays_in_the_maximum(self, caller, built):
        points = [3, None, 3, None, 3, 0, 1]

        sitting = sit(caller, built[gad7], gad7.answers(points))

        assert sitting.said["result"] == "10 of 21 (10 of 21)."
        assert shown(sitting, gad7.BANDS) == ["moderate"]


class TestSus:
    @pytest.mark.parametrize(
        ("points", "total"),
        [
            ([5, 1] * 5, "100"),
            ([3] * 10, "50"),
            ([5, 4, 2, 1, 2, 3, 2, 4, 5, 2], "55"),  # contributions 4 1 1 4 1 2 1 1 4 3: 22
            ([4, 2, 4, 2, 4, 2, 4, 2, 4, 3], "72.5"),
        ],
    )
    def test_points_and_verdict(self, caller, built, points, total):
        sitting = sit(caller, built[sus], sus.answers(points))

        assert sus.score(points) == Decimal(total)
        assert sitting.said["result"] == f"{total} points: {sus.verdict(points)}."
        assert ("above average" in sitting.said) is (Decimal(total) > 68)

    def test_an_item_left_out_counts_as_the_middle(self, caller, built):
        points = [5, None, 5, 1, None, 1, 5, 1, 5, 1]

        sitting = sit(caller, built[sus], sus.answers(points))

        assert sitting.said["result"] == "90 points: acceptable."

    def test_calculated_blocks_by_position_in_tokens_and_logic(self, caller, built):
        made = built[sus]

        high, middle = (sit(caller, made, sus.answers(points)) for points in ([5, 1] * 5, [3] * 10))

        assert high.said["by position"] == "q11 is 100, q12 is acceptable."
        assert "by position" not in middle.said

    def test_a_change_of_mind_changes_the_result(self, caller, built):
        sitting = Sitting(caller, built[sus]).walk(sus.answers([5, 1] * 5), until="result")

        sitting.back_to("item 10").answer(5)

        assert sitting.block["prompt"] == "90 points: acceptable."

    def test_any_answers_come_to_what_the_rule_says(self, caller, built):
        made = built[sus]

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
            ([2, 4, 5, 1, 4, 4, 2, 1, 4, 2, 2, 4, 5, 2, 1, 4, 1, 2, 4, 2], [8, 17, 19, 7, 17]),
        ],
    )
    def test_five_factors(self, caller, built, points, sums):
        sitting = sit(caller, built[mini_ipip], mini_ipip.answers(points))

        assert mini_ipip.sums(points) == sums
        assert sitting.said["sums"] == " ".join(map(str, sums))
        assert sitting.said["maxima"] == "20 20 20 20 20"
        assert sitting.said["total"] == f"{sum(sums)} of 100"
        means = [format((Decimal(each) / 4).normalize(), "f") for each in sums]
        assert sitting.said["means"] == " ".join(means)

    def test_the_strongest_factor_decides_what_is_shown(self, caller, built):
        points = [2, 4, 5, 1, 4, 4, 2, 1, 4, 2, 2, 4, 5, 2, 1, 4, 1, 2, 4, 2]

        sitting = sit(caller, built[mini_ipip], mini_ipip.answers(points))

        assert sitting.said["strongest factor"] == "Above all: Conscientiousness."
        assert shown(sitting, [f"about {key}" for key in mini_ipip.KEYS]) == ["about conscientiousness"]

    def test_any_answers_come_to_what_the_key_says(self, caller, built):
        made = built[mini_ipip]

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
        [(0, 0, 0), (30, 30, 30), (15, 14, 29), (16, 15, 30)],
    )
    def test_unhealthy_days_are_thirty_at_most(self, caller, built, physical, mental, unhealthy):
        days = {"physical days": physical, "mental days": mental, "limited days": 1}

        sitting = sit(caller, built[hrqol4], days)

        assert hrqol4.unhealthy(physical, mental) == unhealthy
        assert sitting.said["result"] == f"{unhealthy} unhealthy days, {30 - unhealthy} healthy ones. [score]"
        assert ("limited days" in sitting.said) is (unhealthy > 0)
        assert ("frequent distress" in sitting.said) is (mental >= 14)
        assert ("all bad" in sitting.said) is (unhealthy == 30)

    def test_a_calculation_is_piped_into_the_question_after_it(self, caller, built):
        sitting = sit(caller, built[hrqol4], {"physical days": "2.50", "mental days": 1})

        assert sitting.said["limited days"] == (
            "For how many of these 3.5 days did it keep you from what you usually do?"
        )

    def test_questions_left_out_count_as_none(self, caller, built):
        sitting = sit(caller, built[hrqol4], {"mental days": 14})

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
        ],
    )
    def test_total_and_threshold(self, caller, built, sex, points, total, is_positive):
        sitting = sit(caller, built[audit_c], audit_c.answers(sex, *points))

        assert sitting.said["result"] == f"{total} of 12."
        assert ("positive" in sitting.said) is audit_c.is_positive(sex, *points) is is_positive

    def test_who_never_drinks_is_asked_one_question_which_alone_is_in_the_maximum(self, caller, built):
        sitting = sit(caller, built[audit_c], audit_c.answers("man", 0))

        assert sitting.met == ["sex", "often", "result"]
        assert sitting.said["result"] == "0 of 4."

    @pytest.mark.parametrize(("points", "told"), [((4, 0, 0), True), ((3, 1, 0), False), ((0,), False)])
    def test_all_points_from_the_first_question(self, caller, built, points, told):
        sitting = sit(caller, built[audit_c], audit_c.answers("man", *points))

        assert ("below the limits" in sitting.said) is told

    def test_answers_that_became_hidden_no_longer_count(self, caller, built):
        sitting = Sitting(caller, built[audit_c])
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
            ([100] * 6, "Load 100, of 6 subscales."),
            ([55, 10, 35, 60, 45, 20], "Load 37.5, of 6 subscales."),
            ([85, 0, 0, 0, 0, 0], "Load 14.166667, of 6 subscales."),
        ],
    )
    def test_the_mean_of_six(self, caller, built, ratings, told):
        sitting = sit(caller, built[nasa_tlx], nasa_tlx.answers(ratings))

        assert sitting.said["result"] == told
        assert ("heavy" in sitting.said) is (nasa_tlx.load(ratings) > 50)

    @pytest.mark.parametrize(
        ("ratings", "told"),
        [
            ([80, None, 40, 60, None, 0], "Load 45, of 4 subscales."),
            ([None] * 6, "Load 0, of 0 subscales."),
        ],
    )
    def test_a_subscale_left_out_is_left_out_of_the_mean(self, caller, built, ratings, told):
        sitting = sit(caller, built[nasa_tlx], nasa_tlx.answers(ratings))

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
    def test_half_the_items_count_in_reverse(self, caller, built, levels, told):
        sitting = sit(caller, built[self_regard], self_regard.answers(levels))

        assert sitting.said["result"] == told
        assert told.startswith(f"{self_regard.score(levels)} of")
        assert ("encouragement" in sitting.said) is (self_regard.score(levels) < 15)
