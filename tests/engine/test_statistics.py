"""Statistics of a block's answers (rules 6.54 and 6.55)."""

from decimal import Decimal

import pytest

from surveys.engine import statistics
from surveys.engine.script import Block, Option
from surveys.engine.statistics import AnswerGroup, percentage, summarize

COLOURS = Block("multi_punch", id=1, options=(Option("red", id=10), Option("green", id=11, label="Green")))
BLUE = Option("blue", id=12)
RATING = Block("rating", id=2, max=3)


def point(number, rows, option_id=None):
    total = Decimal(number * rows)
    return AnswerGroup(option_id, number, rows, rows, rows, total, float(number), float(number))


@pytest.mark.parametrize(
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


def test_options_nobody_chose_are_left_out_and_removed_ones_come_last():
    summary = summarize(COLOURS, [BLUE], [AnswerGroup(12, None, 1, 1), AnswerGroup(11, None, 1, 1)])

    assert [each["value"] for each in summary["distribution"]] == ["green", "blue"]


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
    assert summary["stats"] == {"count": 4, "mean": 3.25, "min": 0, "max": 5}


def test_answers_from_when_a_scale_was_a_choice_count_as_answers_but_not_as_numbers():
    summary = summarize(RATING, [BLUE], [AnswerGroup(12, None, 2, 2), point(3, 1)])

    assert summary["response_count"] == 3
    assert summary["stats"] == {"count": 1, "mean": 3.0, "min": 3, "max": 3}
    assert sum(each["count"] for each in summary["distribution"]) == 1


def test_a_mean_is_that_of_the_numbers_as_they_were_typed():
    groups = [AnswerGroup(None, None, 3, 3, 3, Decimal("0.3"), 0.1, 0.1)]

    summary = summarize(Block("open_numeric", id=3), (), groups)

    assert summary["stats"] == {"count": 3, "mean": 0.1, "min": 0.1, "max": 0.1}


@pytest.mark.parametrize(
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
        (each["value"], each["average_rank"], each["first_choice_count"], each["ranked_count"])
        for each in summary["ranking"]
    ] == [("a", 4 / 3, 2, 3), ("b", 2.0, 0, 2), ("c", None, 0, 0)]


def test_a_type_without_figures_has_none():
    summary = summarize(Block("open_text", id=6), (), [AnswerGroup(None, None, 2, 2)])

    assert summary == {"response_count": 2, "distribution": None, "stats": None, "ranking": None, "nps": None}
