"""How readings are compared with labels."""

import pytest

from tests.quality.measures import accuracy, pair_f1, theme_f1
from tests.support.cases import try_each

LABELS = [{"price"}, {"price"}, {"price"}, {"noise"}, {"noise"}, {"noise"}, set()]


@try_each("measure", [theme_f1, pair_f1])
def test_the_same_themes_under_other_names_agree_fully(measure):
    assert measure(LABELS, [{1}, {1}, {1}, {2}, {2}, {2}, set()]) == 1


@try_each(
    ("found", "f1", "of_pairs"),
    [
        ([{1}] * 7, 6 / 13, 12 / 27),  # one theme for everything: 3 of 7 and of 6; 6 of 21 pairs and of 6
        ([{n} for n in range(7)], 4 / 13, 0),  # a theme for each answer: 2 of 7 and of 6
        ([set()] * 7, 0, 0),
        ([{1}, {1}, set(), {2}, {2}, {2}, set()], 10 / 11, 8 / 10),
        ([{1, 2}, {1, 2}, {1, 2}, set(), set(), set(), set()], 6 / 12, 6 / 9),  # the same theme twice
    ],
)
def test_f1_of_other_readings(found, f1, of_pairs):
    assert theme_f1(LABELS, found) == pytest.approx(f1)
    assert pair_f1(LABELS, found) == pytest.approx(of_pairs)


def test_a_label_of_two_answers_is_no_theme():
    assert theme_f1([*LABELS, {"cat"}, {"cat"}], [{1}, {1}, {1}, {2}, {2}, {2}, set(), set(), set()]) == 1


def test_nothing_found_where_nothing_is_labelled_agrees():
    assert theme_f1([set(), set()], [set(), set()]) == pair_f1([set(), set()], [set(), set()]) == 1


def test_accuracy_is_of_the_judged_answers_and_an_opinion_read_into_none_is_wrong():
    assert accuracy(["positive", "negative", "neutral"], ["positive", None, "negative"]) == 0.5
    assert accuracy([None, "positive"], ["negative", "positive"]) == 0.5
    assert accuracy(["positive"], [None]) == 1
