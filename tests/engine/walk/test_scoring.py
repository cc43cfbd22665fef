"""Points, maxima and grades of single blocks, compared with every possible answer."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from surveys.engine.script import Bucket
from surveys.engine.walk import answers, scoring
from surveys.engine.walk.answers import SKIPPED
from tests.support.cases import try_each
from tests.support.engine import script_builder


def options(*points: float | None) -> list[dict[str, Any]]:
    return [
        {
            "value": str(n + 1),
            "score_values": None if each is None else {"score": Decimal(str(each))},
        }
        for n, each in enumerate(points)
    ]


def block(kind: str, *points: float | None, **fields: Any) -> Any:
    return script_builder.block(0, {"type": kind, "options": options(*points), **fields})


def exclusive(asked: Any, place: int) -> Any:
    """The block with one option that cannot be chosen with others."""
    options = [replace(option, is_exclusive=n == place) for n, option in enumerate(asked.options)]
    return replace(asked, options=tuple(options))


def chosen(*places: int) -> dict[str, Any]:
    return {"option_ids": [10 + place for place in places]}


@try_each(
    ("asked", "reply", "points"),
    [
        (block("single_punch", 1, 2.5), chosen(1), "2.5"),
        (block("single_punch", 1, None), chosen(1), "0"),
        (block("single_punch", 1, -4), chosen(1), "-4"),
        (block("multi_punch", 1, 2, -4), chosen(0, 2), "-3"),
        (block("multi_punch", 1, 2), SKIPPED, "0"),
        (block("multi_punch", 1, 2), None, "0"),
        (block("rating", 0, 10, 20, 30, 40), {"number": "4"}, "30"),
        (block("rating"), {"number": "4"}, "0"),
        (block("opinion_scale", 5, 6, min=1, max=2), {"number": "1"}, "5"),
        (block("ranking", 5, 6), chosen(1, 0), "0"),
        (block("open_numeric"), {"number": "4"}, "0"),
    ],
)
def test_the_points_of_a_reply(asked: Any, reply: Any, points: str) -> None:
    assert scoring.points_by_bucket(asked, reply).get("score", 0) == Decimal(points)
    assert scoring.points_by_bucket(asked, reply).get("other", 0) == 0


@try_each(
    ("asked", "most"),
    [
        (block("single_punch", 1, 3, 2), 3),
        (block("single_punch", -1, -3, required=True), -1),
        (block("single_punch", -1, -3), 0),
        (block("multi_punch", 1, 3, 2, -5), 6),
        (block("multi_punch", 1, 3, 2, max=2), 5),
        (block("multi_punch", 4, -1, -2, min=2, required=True), 3),
        (block("multi_punch", 4, -1, -2, min=2), 3),
        (block("multi_punch", -4, -1, required=True), -1),
        (exclusive(block("multi_punch", 1, 3, 2), 2), 4),
        (exclusive(block("multi_punch", 1, 3, 9), 2), 9),
        (exclusive(block("multi_punch", -4, -1, 0, min=2, required=True), 2), 0),
        (block("multi_punch", -4, -1), 0),
        (block("nps", *range(11)), 10),
        (block("rating"), 0),
        (block("ranking", 3, 4), 0),
        (block("open_text"), 0),
    ],
)
def test_the_best_that_could_be_earned(asked: Any, most: int) -> None:
    assert scoring.max_points(asked, "score") == most


@given(
    points=st.lists(st.integers(-3, 3), min_size=1, max_size=5),
    kind=st.sampled_from(["single_punch", "multi_punch"]),
    required=st.booleans(),
    bounds=st.tuples(st.none() | st.integers(1, 5), st.none() | st.integers(1, 5)),
)
def test_no_answer_earns_more_than_the_best_and_one_earns_as_much(
    points: list[int], kind: str, required: bool, bounds: tuple[int | None, int | None]
) -> None:
    least, most = bounds if kind == "multi_punch" else (None, None)
    assume((least or 1) <= min(len(points), most or len(points)))  # which the rules of scripts ask for
    asked = block(kind, *points, required=required, min=least, max=most)
    possible = [] if required else [SKIPPED]
    for count in range(1, len(points) + 1):
        for places in combinations(range(len(points)), count):
            ids = [10 + place for place in places]
            raw: dict[str, Any] = {"option_ids": ids}
            if kind == "single_punch":
                raw = {"option_id": ids[0]} if count == 1 else raw
            try:
                possible.append(answers.parse(asked, raw))
            except answers.InvalidAnswer:
                continue

    assert scoring.max_points(asked, "score") == max(
        scoring.points_by_bucket(asked, reply).get("score", Decimal(0)) for reply in possible
    )


def test_the_variables_of_a_walk() -> None:
    """Rule 4.18."""
    script = script_builder.script(
        {
            "type": "single_punch",
            "options": [
                {"value": "a", "score_values": {"fire": Decimal(2), "ice": Decimal(-1)}},
                {"value": "b", "score_values": {"fire": Decimal(1)}},
            ],
            "correct_answer_ids": [11],
        },
        {
            "type": "rating",
            "max": 2,
            "options": [
                {"value": "1", "score_values": {"ice": Decimal(5)}},
                {"value": "2", "score_values": {"ice": Decimal("0.5")}},
            ],
            "correct_answer_ids": [20],
        },
        {"type": "open_text"},
        scoring_enabled=True,
        buckets=(Bucket("Fire"), Bucket("Ice")),
    )
    first, second, third = script.blocks

    variables = scoring.variables(
        script, [(first, {"option_ids": [10]}), (second, {"number": "1"}), (third, None)]
    )

    assert {name: str(value) for name, value in variables.items()} == {
        **{"score": "6", "max_score": "7", "score_correct": "5", "max_score_correct": "6"},
        **{
            "score_fire": "2",
            "max_score_fire": "2",
            "score_correct_fire": "0",
            "max_score_correct_fire": "1",
        },
        **{"score_ice": "4", "max_score_ice": "5", "score_correct_ice": "5", "max_score_correct_ice": "5"},
        **{"correct_answers": "1", "max_correct_answers": "2"},
    }


def test_a_script_written_before_scoring_scores_nothing_but_is_graded() -> None:
    script = script_builder.script(
        {
            "type": "single_punch",
            "options": [{"value": "a", "score_values": {"score": Decimal(2)}}],
            "correct_answer_ids": [10],
        },
        scoring_enabled=True,
        is_scored=False,
        buckets=(Bucket("Score"),),
    )

    variables = scoring.variables(script, [(script.blocks[0], {"option_ids": [10]})])

    assert {name: int(value) for name, value in variables.items() if value} == {
        "correct_answers": 1,
        "max_correct_answers": 1,
    }


@try_each(
    ("asked", "reply", "is_right"),
    [
        (block("single_punch", 1, 2, correct_answer_ids=[11]), chosen(1), True),
        (block("single_punch", 1, 2, correct_answer_ids=[11]), chosen(0), False),
        (block("multi_punch", 1, 2, correct_answer_ids=[11]), chosen(0, 1), False),
        (block("rating", 1, 2, max=2, correct_answer_ids=[11]), {"number": "2"}, True),
        (block("rating", 1, 2, max=2, correct_answer_ids=[11]), {"number": "1"}, False),
        (block("single_punch", 1, 2, correct_answer_ids=[11]), SKIPPED, None),
        (block("single_punch", 1, 2), chosen(1), None),
    ],
)
def test_grading(asked: Any, reply: Any, is_right: bool | None) -> None:
    assert answers.is_correct(asked, reply) is is_right
