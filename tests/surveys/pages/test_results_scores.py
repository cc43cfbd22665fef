"""Cards of scores and calculated results, drawn from their figures."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from surveys.drawing.figures import bins, scores
from surveys.services.results.figures import Figures
from tests.support.cases import try_each

RIGHT = "Mean, counting only points of fully right answers"


def listed(**people: int) -> list[dict[str, Any]]:
    """A distribution of single numbers, by name: `v20`, or `v0_5` for 0.5."""
    numbers = {name[1:].replace("_", "."): count for name, count in people.items()}
    return [
        {
            "value": float(text) if "." in text else int(text),
            "from": None,
            "to": None,
            "count": count,
            "percentage": round(count / sum(people.values()) * 100, 2),
        }
        for text, count in numbers.items()
    ]


def at(*values: float) -> list[dict[str, Any]]:
    """A distribution of numbers that one person has each."""
    share = round(100 / len(values), 2)
    return [{"value": value, "from": None, "to": None, "count": 1, "percentage": share} for value in values]


def between(*ends: float) -> list[dict[str, Any]]:
    """A distribution of ranges that one person is in each."""
    share = round(100 / (len(ends) - 1), 2)
    return [
        {"value": None, "from": low, "to": high, "count": 1, "percentage": share}
        for low, high in pairwise(ends)
    ]


def texts(distribution: list[dict[str, Any]]) -> list[str]:
    return [each.text for each in bins.bins_of(distribution)]


def card(distribution: list[dict[str, Any]], **more: Any) -> scores.ScoreCard:
    count = sum(each["count"] for each in distribution)
    entry = {
        "key": "score",
        "name": "Rook",
        "count": count,
        "mean": 5.0,
        "min": 0,
        "max": 9,
        "max_score": 12,
        "score_correct": None,
        "distribution": distribution,
        **more,
    }
    (drawn,) = scores.score_cards(Figures(count, count, 0, [], scores=[entry]), is_filtered=False)
    return drawn


def variable(distribution: list[dict[str, Any]], name: str | None = "share") -> scores.ScoreCard:
    count = sum(each["count"] for each in distribution)
    entry = {
        "block_id": 7,
        "name": name,
        "is_text": False,
        "count": count,
        "mean": 5.0,
        "min": 0,
        "max": 9,
        "distribution": distribution,
        "other_values": 0,
        "other_count": 0,
    }
    (drawn,) = scores.variable_cards(Figures(count, count, 0, [], variables=[entry]), is_filtered=False)
    return drawn


@try_each(
    ("values", "columns"),
    [
        ((0, 2), ["0", "1", "2"]),
        ((0, 1, 11), [str(n) for n in range(12)]),
        ((0, 1, 12), ["0–1", "2–3", "4–5", "6–7", "8–9", "10–11", "12–13"]),
        ((20, 85, 100, 120), [f"{n}–{n + 9}" for n in range(20, 130, 10)]),
        ((0, 85, 120), [f"{n}–{n + 19}" for n in range(0, 140, 20)]),
        ((-2, 0), ["−2", "−1", "0"]),
        (
            (-13, 0),
            ["−14 to −13", "−12 to −11", "−10 to −9", "−8 to −7", "−6 to −5", "−4 to −3", "−2 to −1", "0–1"],
        ),
        ((1_000_000, 1_000_012), [f"1,000,0{n:02}–1,000,0{n + 1:02}" for n in range(0, 14, 2)]),
    ],
)
def test_whole_numbers_that_do_not_fit_side_by_side_are_put_into_ranges_of_equal_width(
    values: tuple[int, ...], columns: list[str]
) -> None:
    assert texts(at(*values)) == columns


@try_each(
    ("values", "columns"),
    [
        ((0.5, 1, 2), ["0.4–0.6", "0.6–0.8", "0.8–1", "1–1.2", "1.2–1.4", "1.4–1.6", "1.6–1.8", "1.8–2"]),
        ((0.001, 0.0034), [f"{n / 10_000:g}–{(n + 2) / 10_000:g}" for n in range(10, 34, 2)]),
    ],
)
def test_fractions_are_put_into_ranges_whose_ends_are_told_exactly(
    values: tuple[float, ...], columns: list[str]
) -> None:
    assert texts(at(*values)) == columns


def test_a_number_at_the_end_of_a_range_is_in_the_next_one_and_the_highest_in_the_last() -> None:
    drawn = bins.bins_of(listed(v0_5=1, v0_6=2, v2=4))

    assert (drawn[0].count, drawn[1].count, drawn[-1].count) == (1, 2, 4)
    assert drawn[-1].text == "1.8–2"


@try_each(
    "values",
    [
        (0, 10**15),
        (-(10**15), 10**15),
        (-(10**15), 0.5),
        (0.1, 0.10000000000000002),
        (0.5, 1e15),
        (10**40, 10**40 + 13),
        (*range(0, 99, 9), 100.5),
    ],
)
def test_however_far_apart_numbers_are_there_are_a_dozen_columns_at_most(values: tuple[float, ...]) -> None:
    drawn = bins.bins_of(at(*values))

    assert 1 <= len(drawn) <= bins.MAX_BINS
    assert sum(each.count for each in drawn) == len(values)
    assert len({each.text for each in drawn}) == len(drawn)


def test_ranges_that_were_counted_so_are_columns_and_the_card_says_whose_their_ends_are() -> None:
    drawn = card(between(0, 20, 40, 60))

    assert [column.text for column in drawn.columns] == ["0–20", "20–40", "40–60"]
    assert drawn.bars == ()
    assert drawn.note == scores.RANGES
    assert drawn.table is not None
    assert [row[0] for row in drawn.table.rows] == ["0–20", "20–40", "40–60"]


def test_the_table_has_the_numbers_themselves_where_they_are_known() -> None:
    drawn = card(at(20, 85, 100, 120))

    assert len(drawn.columns) == 11
    assert drawn.note == ""
    assert drawn.table is not None
    assert [row[0] for row in drawn.table.rows] == ["20", "85", "100", "120"]


def test_calculated_numbers_are_drawn_as_scores_are() -> None:
    drawn = variable(at(0, 1, 12))

    assert [column.text for column in drawn.columns] == [column.text for column in card(at(0, 1, 12)).columns]
    assert drawn.bars == ()


@try_each(
    ("name", "title"),
    [
        ("share", "Share"),
        ("team_share", "Team share"),
        ("NPS", "NPS"),
        ("_a__b_", "A b"),
        (None, "Unnamed"),
        ("_", "Unnamed"),
    ],
)
def test_a_calculated_result_is_titled_by_its_name_in_words(name: str | None, title: str) -> None:
    assert variable(at(1), name).name == title


@try_each(("mean", "most", "is_told"), [(5.0, 12, False), (4.5, 12, True), (5.0, 10, True)])
def test_the_points_of_right_answers_are_told_only_where_they_differ(
    mean: float, most: int, is_told: bool
) -> None:
    right = {"mean": mean, "min": 0, "max": 9, "max_score_correct": most}

    drawn = card(at(1, 2), score_correct=right)

    assert (RIGHT in [fact.name for fact in drawn.facts]) == is_told
    assert drawn.facts[0].value == "5 of 12"
