"""Charts, drawn from the figures of a question."""

from communities.ground import words
from surveys.drawing.figures import charts, solutions
from surveys.engine.script import Block, Option, Script
from tests.support.cases import try_each

QUESTION = {"block_id": 7, "prompt": "Which?", "is_archived": False, "response_count": 4}
NOTHING = {"distribution": None, "stats": None, "ranking": None, "nps": None}


def card(type, block=None, **figures):
    entry = {**QUESTION, **NOTHING, "block_type": type, **figures}
    return charts.draw_card(entry, block, script=Script(()), number=1)


def point(value, count=0, percentage=0.0):
    return {"option_id": None, "value": str(value), "label": None, "count": count, "percentage": percentage}


def chosen(id, value, count, percentage):
    return {"option_id": id, "value": value, "label": None, "count": count, "percentage": percentage}


@try_each(
    ("percentage", "text"),
    [
        (0.0, "0%"),
        (0.01, "<1%"),
        (0.99, "<1%"),
        (1.0, "1%"),
        (33.33, "33%"),
        (66.67, "67%"),
        (99.0, "99%"),
        (99.01, ">99%"),
        (100.0, "100%"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(percentage, text):
    assert words.percent(percentage) == text


@try_each(
    ("value", "text"),
    [
        (4, "4"),
        (4.0, "4"),
        (100, "100"),
        (3.14159, "3.14"),
        (2.5, "2.5"),
        (-7, "−7"),
        (1234567.891, "1,234,567.89"),
    ],
)
def test_a_number_has_no_more_decimals_than_it_needs(value, text):
    assert charts.number(value) == text


def test_every_option_of_the_script_has_a_bar_and_removed_ones_come_last():
    block = Block("single_punch", options=(Option("red", 1, "Red"), Option("blue", 2, emoji="<:wave:12>")))

    drawn = card("single_punch", block, distribution=[chosen(1, "red", 3, 75.0), chosen(9, "old", 1, 25.0)])

    assert [(bar.text, bar.emoji, bar.share, bar.width, bar.is_removed) for bar in drawn.bars] == [
        ("Red", "", "75%", "75.00", False),
        ("blue", ":wave:", "0%", "0.00", False),
        ("old", "", "25%", "25.00", True),
    ]
    assert drawn.table.rows[-1] == ("old (removed)", "1", "25.00%")


def test_a_scale_of_numbers_is_drawn_as_columns_and_one_of_words_as_bars():
    points = [point(1, 1, 25.0), point(2, 3, 75.0)]
    stats = {"count": 4, "mean": 1.75, "min": 1, "max": 2}
    worded = Block("opinion_scale", options=(Option("1", 1, "Not at all"), Option("2", 2, "Very much")))

    plain = card("opinion_scale", Block("opinion_scale"), distribution=points, stats=stats)
    words = card("opinion_scale", worded, distribution=points, stats=stats)

    assert [column.height for column in plain.columns] == ["33.33", "100.00"]
    assert (plain.bars, words.columns) == ((), ())
    assert [bar.text for bar in words.bars] == ["1 Not at all", "2 Very much"]
    assert (plain.marker.x, words.marker.x) == ("62.50", "75.00")


def test_the_mean_is_placed_among_points_that_are_not_next_to_each_other():
    points = [point(1, 2, 50.0), point(2), point(9, 2, 50.0)]

    drawn = card("rating", None, distribution=points, stats={"count": 4, "mean": 5.0, "min": 1, "max": 9})

    assert drawn.marker.x == "64.29"  # three sevenths of the way from the second to the third of three


def item(value, points, rank, first, ranked):
    return {
        "option_id": 1,
        "value": value,
        "label": None,
        "points": points,
        "average_rank": rank,
        "first_choice_count": first,
        "ranked_count": ranked,
    }


def test_a_ranking_is_drawn_best_first_and_what_nobody_ranked_last():
    drawn = card(
        "ranking", ranking=[item("a", 6, 2.5, 0, 4), item("b", 0, None, 0, 0), item("c", 12, 1.0, 4, 4)]
    )

    assert [(bar.text, bar.share, bar.width) for bar in drawn.places] == [
        ("c", "12", "100.00"),
        ("a", "6", "50.00"),
        ("b", "0", "0.00"),
    ]
    assert drawn.places[0].note == "first for 4, ranked by 4, average rank 1.00"
    assert drawn.note.startswith("Points, most first: each answer gives 3 points to its first place")
    assert drawn.table.rows[0] == ("c", "12", "1.00", "4", "4")


def test_an_item_that_few_put_first_does_not_stand_above_one_that_all_have_placed():
    ranking = [
        item("few", 4, 1.0, 2, 2),
        item("all", 12, 1.8, 2, 10),
        item("none", 0, None, 0, 0),
        item("rest", 8, 2.0, 6, 8),
    ]
    block = Block("ranking", rank_top_n=2)

    drawn = card("ranking", block, ranking=ranking, response_count=10)

    assert [(bar.text, bar.share, bar.width) for bar in drawn.places] == [
        ("all", "12", "60.00"),
        ("rest", "8", "40.00"),
        ("few", "4", "20.00"),
        ("none", "0", "0.00"),
    ]
    assert "gives 2 points to its first place" in drawn.note


def numbers(count=4, **stats):
    names = ("mean", "min", "lower_quartile", "median", "upper_quartile", "max", "standard_deviation")
    return {"count": count, **dict.fromkeys(names), **stats}


def test_numbers_are_drawn_as_a_histogram_and_told_in_facts():
    """Rules 6.300 and 6.301."""
    ranges = [
        {"from": 10, "to": 20, "count": 1, "percentage": 25.0},
        {"from": 20, "to": 30, "count": 3, "percentage": 75.0},
    ]
    stats = numbers(mean=22.5, min=18, lower_quartile=20, median=23.5, upper_quartile=26, max=25)
    stats["standard_deviation"] = 3.109
    whole = {"width": 10, "is_whole": True, "ranges": ranges}

    ages = card("open_numeric", stats=stats, histogram=whole)
    sizes = card("open_numeric", stats=stats, histogram={**whole, "is_whole": False})
    hidden = card("open_numeric", stats=numbers(mean=22.5), histogram=None)

    assert [(each.text, each.share) for each in ages.columns] == [("10–19", "25%"), ("20–29", "75%")]
    assert [each.text for each in sizes.columns] == ["10–20", "20–30"]
    assert (ages.note, sizes.note) == ("", charts.RANGES)
    assert [(fact.name, fact.value) for fact in ages.facts] == [
        ("Mean", "22.5"),
        ("Median", "23.5"),
        ("Middle half", "20–26"),
        ("Standard deviation", "3.11"),
        ("Lowest", "18"),
        ("Highest", "25"),
    ]
    assert [fact.name for fact in hidden.facts] == ["Mean"]
    assert hidden.columns == ()


def graded(type, *right, values=("red", "blue"), **block):
    options = tuple(Option(value, n) for n, value in enumerate(values, start=1))
    return Block(type, options=options, correct_answer_ids=right, **block)


def solved(block, **figures):
    entry = {**QUESTION, **NOTHING, "block_type": block.type, **figures}
    return solutions.with_solution(charts.draw_card(entry, block, script=Script(()), number=1), entry, block)


def test_the_right_option_is_marked_and_those_who_chose_it_are_counted():
    drawn = solved(
        graded("single_punch", 1),
        distribution=[chosen(1, "red", 3, 75.0), chosen(9, "old", 1, 25.0)],
    )

    assert [bar.is_right for bar in drawn.bars] == [True, False, False]
    assert drawn.facts == [charts.Fact("Right answers", "75% (3)")]
    assert [row[0] for row in drawn.table.rows] == ["red (right)", "blue", "old (removed)"]


def test_of_several_right_options_nobody_knows_who_had_them_all():
    drawn = solved(
        graded("multi_punch", 1, 2),
        distribution=[chosen(1, "red", 3, 75.0), chosen(2, "blue", 1, 25.0)],
    )

    assert [bar.is_right for bar in drawn.bars] == [True, True]
    assert drawn.facts == ()


def test_of_several_choices_nobody_knows_who_had_the_right_one_alone():
    drawn = solved(
        graded("multi_punch", 1),
        distribution=[chosen(1, "red", 3, 75.0), chosen(2, "blue", 1, 25.0)],
    )

    assert [bar.is_right for bar in drawn.bars] == [True, False]
    assert drawn.facts == ()


def test_the_right_point_of_a_scale_is_marked_and_named_to_screen_readers():
    drawn = solved(
        graded("rating", 2, values=("1", "2")),
        distribution=[point(1, 3, 75.0), point(2, 1, 25.0)],
        stats={"count": 4, "mean": 1.25, "min": 1, "max": 2},
    )

    assert [column.is_right for column in drawn.columns] == [False, True]
    assert drawn.description.endswith("Right: 2 \N{BLACK STAR}.")
    assert [(fact.name, fact.value) for fact in drawn.facts] == [
        ("Right answers", "25% (1)"),
        ("Mean", "1.25 of 1 to 2"),
    ]
