"""Statistics of a block's answers (rules 6.54 and 6.55)."""

import math
import statistics as plain
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest

from surveys.engine import spread, statistics
from surveys.engine.script import Block, Option
from surveys.engine.statistics import AnswerGroup, percentage, summarize
from tests.support.cases import try_each

COLOURS = Block("multi_punch", id=1, options=(Option("red", id=10), Option("green", id=11, label="Green")))
BLUE = Option("blue", id=12)
RATING = Block("rating", id=2, max=3)


def point(number, rows, option_id=None):
    total = Decimal(number * rows)
    return AnswerGroup(option_id, number, rows, rows, rows, total, float(number), float(number))


@try_each(
    ("part", "whole", "expected"),
    [(0, 0, 0.0), (1, 3, 33.33), (2, 3, 66.67), (1, 800, 0.13), (1, 16, 6.25), (7, 7, 100.0)],
)
def test_a_percentage_has_two_decimals_and_halves_go_up(part, whole, expected):
    assert percentage(part, whole) == expected


def test_shares_are_of_people_not_of_choices():
    summary = summarize(COLOURS, (), [AnswerGroup(10, None, 3, 3), AnswerGroup(11, None, 2, 1)])

    assert summary["response_count"] == 4
    assert [(each["value"], each["count"], each["percentage"]) for each in summary["distribution"]] == [
        ("red", 3, 75.0),
        ("green", 2, 50.0),
    ]


def test_a_segment_has_the_entries_of_all_answers():
    all_groups = [AnswerGroup(10, None, 3, 3), AnswerGroup(12, None, 1, 1)]

    summary = summarize(COLOURS, [BLUE], [AnswerGroup(10, None, 1, 1)], all_groups=all_groups)

    assert [(each["value"], each["count"]) for each in summary["distribution"]] == [("red", 1), ("blue", 0)]


def test_answers_may_be_divided_by_options_that_nobody_chose():
    entries = statistics.segment_entries(COLOURS, [BLUE], [AnswerGroup(11, None, 1, 1)])

    assert [entry.value for entry in entries] == ["red", "green"]


def test_points_given_before_a_scale_was_changed_stand_among_the_declared_ones():
    summary = summarize(RATING, (), [point(5, 2), point(0, 1), point(3, 1)])

    assert [(each["value"], each["count"]) for each in summary["distribution"]] == [
        ("0", 1),
        ("1", 0),
        ("2", 0),
        ("3", 1),
        ("5", 2),
    ]
    assert summary["stats"] == {
        "count": 4,
        "mean": 3.25,
        "min": 0,
        "lower_quartile": 2.25,
        "median": 4,
        "upper_quartile": 5,
        "max": 5,
        "standard_deviation": pytest.approx(math.sqrt(67 / 12)),
    }


def test_answers_from_when_a_scale_was_a_choice_count_as_answers_but_not_as_numbers():
    summary = summarize(RATING, [BLUE], [AnswerGroup(12, None, 2, 2), point(3, 1)])

    assert summary["response_count"] == 3
    assert summary["stats"]["count"] == 1
    assert {summary["stats"][name] for name in ("mean", "min", "median", "max")} == {3}
    assert sum(each["count"] for each in summary["distribution"]) == 1


def test_a_mean_is_that_of_the_numbers_as_they_were_typed():
    groups = [AnswerGroup(None, None, 3, 3, 3, Decimal("0.3"), 0.1, 0.1)]

    summary = summarize(Block("open_numeric", id=3), (), groups)

    assert (summary["stats"]["count"], summary["stats"]["mean"]) == (3, 0.1)


@try_each(
    ("groups", "score"),
    [
        ([], None),
        ([point(9, 1), point(7, 2)], 33.3),
        ([point(6, 1), point(7, 2)], -33.3),
        ([point(10, 1), point(0, 1)], 0.0),
        ([point(10, 1), point(8, 15)], 6.3),
        ([point(0, 1), point(8, 15)], -6.3),
    ],
)
def test_an_nps_has_one_decimal_and_no_side(groups, score):
    summary = summarize(Block("nps", id=4), (), groups)

    assert summary["nps"]["score"] == score


def test_ranks_are_averaged_over_who_ranked_the_item():
    ranking = Block("ranking", id=5, options=(Option("a", id=1), Option("b", id=2), Option("c", id=3)))

    summary = summarize(ranking, (), [point(1, 2, 1), point(2, 1, 1), point(2, 2, 2)])

    assert [
        (
            each["value"],
            each["points"],
            each["average_rank"],
            each["first_choice_count"],
            each["ranked_count"],
        )
        for each in summary["ranking"]
    ] == [("a", 8, 4 / 3, 2, 3), ("b", 4, 2.0, 0, 2), ("c", 0, None, 0, 0)]


@try_each(("top", "points"), [(None, [8, 4, 1]), (2, [5, 2, 0]), (1, [2, 0, 0])])
def test_a_place_gives_points_and_no_place_gives_none(top, points):
    """Rule 6.302."""
    options = (Option("a", id=1), Option("b", id=2), Option("c", id=3))
    ranking = Block("ranking", id=5, options=options, rank_top_n=top)

    summary = summarize(ranking, (), [point(1, 2, 1), point(2, 1, 1), point(2, 2, 2), point(3, 1, 3)])

    assert [each["points"] for each in summary["ranking"]] == points


def spread_over(numbers):
    """The group of these numbers, counted one by one."""
    kept = sorted(numbers)
    group = AnswerGroup(
        None,
        None,
        len(kept),
        len(kept),
        len(kept),
        sum(map(Decimal, kept), Decimal(0)),
        float(kept[0]),
        float(kept[-1]),
        sum((Decimal(each) ** 2 for each in kept), Decimal(0)),
        all(float(each).is_integer() for each in kept),
    )
    lows = group.bins.lows
    counts = [sum(low <= Decimal(each) < low + group.bins.step for each in kept) for low in lows]
    pairs = [spread.indexes(len(kept), quartile) for quartile in spread.QUARTILES]
    around = [(float(kept[low]), float(kept[high])) for low, high in pairs]
    return replace(group, spread=spread.Spread(around, counts))


@try_each(
    "numbers",
    [
        [7],
        [0, 0, 0],
        [1, 2],
        [3, 3, 3, 3, 100],
        list(range(18, 91)),
        [Decimal("0.1"), Decimal("0.2"), Decimal("0.3")],
        [Decimal(n) / 7 for n in range(-40, 60)],
        [Decimal("-1e15"), Decimal("1e-30"), Decimal("1e15")],
        [Decimal("2.5")] * 4,
    ],
)
def test_numbers_have_quartiles_a_deviation_and_bins(numbers):
    """Rules 6.300 and 6.301."""
    numbers = [Decimal(repr(float(each))) for each in numbers]
    group = spread_over(numbers)
    block = Block("open_numeric", id=3)

    stats = summarize(block, (), [group])["stats"]
    told = statistics.histogram(block, [group])

    if len(numbers) > 1:
        expected = plain.quantiles(numbers, n=4, method="inclusive")
        assert [stats[name] for name in ("lower_quartile", "median", "upper_quartile")] == [
            float(each) for each in expected
        ]
        assert stats["standard_deviation"] == pytest.approx(float(plain.stdev(map(Fraction, numbers))))
    else:
        assert (stats["median"], stats["standard_deviation"]) == (7, None)
    assert told is not None
    ranges = told["ranges"]
    assert 1 <= len(ranges) <= spread.MAX_BINS
    assert sum(each["count"] for each in ranges) == len(numbers)
    assert ranges[0]["count"]
    assert ranges[-1]["count"]
    assert all(one["to"] == other["from"] for one, other in pairwise(ranges))
    assert f"{told['width']:e}"[0] in "125"
    assert not told["is_whole"] or told["width"] >= 1


def test_ages_have_bins_of_ten_years():
    """Rule 6.301: Scott's rule has 10.6 years for the ages from 18 to 90, and whole numbers stay together."""
    told = statistics.histogram(Block("open_numeric", id=3), [spread_over(list(range(18, 91)))])

    assert told is not None
    assert [(each["from"], each["to"], each["count"]) for each in told["ranges"]] == [
        (10, 20, 2), (20, 30, 10), (30, 40, 10), (40, 50, 10), (50, 60, 10),
        (60, 70, 10), (70, 80, 10), (80, 90, 10), (90, 100, 1),
    ]  # fmt: skip
