"""A correct answer is named by its id, or by its index among the options sent (rules 3.24 to 3.26)."""

from __future__ import annotations

from dataclasses import replace

from surveys.engine.intake import correct_answers, reader
from surveys.engine.intake.serialization import block_as_json
from surveys.engine.script import Block, Option
from tests.support.cases import try_each
from tests.support.engine.violations import CHOICE, Raw, block_faults, violations


def read_one(raw: Raw) -> Block:
    parsed = reader.read_blocks([raw], path="blocks")
    assert parsed.violations == []
    return parsed.blocks[0]


WITH_IDS = [{"id": 11, "value": "a"}, {"id": 12, "value": "b"}]


@try_each(
    ("sent", "ids", "index"),
    [
        ({"correct_answer_ids": [12]}, (12,), 1),
        ({"correct_answer_id": 12}, (12,), 1),
        ({"correct_answer_index": 1}, (12,), 1),
        ({"correct_answer_ids": [12], "correct_answer_index": 1, "correct_answer_id": 12}, (12,), 1),
        ({"correct_answer_ids": None, "correct_answer_index": 0}, (11,), 0),
        ({"correct_answer_ids": []}, None, None),
        ({"correct_answer_ids": [], "correct_answer_id": 11}, (11,), 0),
    ],
)
def test_a_correct_answer_is_sent_in_three_ways(sent: Raw, ids: object, index: int | None) -> None:
    block = read_one({**CHOICE, "options": WITH_IDS, **sent})

    assert (block.correct_answer_ids, block.correct_answer_index) == (ids, index)


@try_each("index", [0, 1, 2, 99])
@try_each("ids", [{"correct_answer_ids": [12]}, {"correct_answer_id": 12}])
def test_ids_win_over_an_index(ids: Raw, index: int) -> None:
    block = read_one({**CHOICE, "options": WITH_IDS, **ids, "correct_answer_index": index})

    assert (block.correct_answer_ids, block.correct_answer_index) == ((12,), 1)


def test_an_index_does_not_save_an_unknown_id() -> None:
    sent = {**CHOICE, "options": WITH_IDS, "correct_answer_ids": [13], "correct_answer_index": 1}

    assert block_faults(sent) == [("correct_answer_ids[0]", "not_found")]


def test_an_index_counts_in_the_array_sent_and_follows_the_display_order() -> None:
    sent = [{"value": "a", "display_order": 1}, {"value": "b", "display_order": 0}]

    block = read_one({**CHOICE, "options": sent, "correct_answer_index": 0})

    assert (block.correct_answer_ids, block.correct_answer_index) == (None, 1)


@try_each(
    ("sent", "expected"),
    [
        ({"correct_answer_ids": [13]}, [("correct_answer_ids[0]", "not_found")]),
        ({"correct_answer_id": 13}, [("correct_answer_id", "not_found")]),
        ({"correct_answer_ids": [11, 12]}, [("correct_answer_ids", "too_many")]),
        ({"correct_answer_indexes": [0, 1]}, [("correct_answer_ids", "too_many")]),
        ({"correct_answer_indexes": [0, 2]}, [("correct_answer_indexes[1]", "too_large")]),
        ({"correct_answer_ids": ["11"]}, [("correct_answer_ids[0]", "invalid_type")]),
        ({"correct_answer_ids": [11.0], "when_correct": "Yes"}, [("correct_answer_ids[0]", "invalid_type")]),
        ({"correct_answer_index": 2}, [("correct_answer_index", "too_large")]),
        ({"correct_answer_index": 2, "when_correct": "Yes"}, [("correct_answer_index", "too_large")]),
        ({"correct_answer_index": -1}, [("correct_answer_index", "too_small")]),
        ({"correct_answer_ids": [11], "correct_answer_id": 12}, [("correct_answer_id", "conflicting")]),
    ],
)
def test_correct_answers_that_name_no_option_or_two(sent: Raw, expected: list[tuple[str, str]]) -> None:
    assert block_faults({**CHOICE, "options": WITH_IDS, **sent}) == expected


MANY = {**CHOICE, "type": "multi_punch"}
THREE = [{"id": 11, "value": "a"}, {"id": 12, "value": "b"}, {"id": 13, "value": "c"}]


@try_each(
    ("sent", "ids", "index", "indexes"),
    [
        ({"correct_answer_ids": [13, 11]}, (11, 13), 0, (0, 2)),
        ({"correct_answer_indexes": [2, 1]}, (12, 13), 1, (1, 2)),
        ({"correct_answer_indexes": [2], "correct_answer_index": 2}, (13,), 2, None),
        ({"correct_answer_ids": [12, 13], "correct_answer_indexes": [0, 99]}, (12, 13), 1, (1, 2)),
        ({"correct_answer_ids": [11, 12, 13]}, (11, 12, 13), 0, (0, 1, 2)),
    ],
)
def test_several_options_of_a_multi_punch_are_correct(
    sent: Raw, ids: object, index: int, indexes: object
) -> None:
    """Rule 3.150: in display order, whatever order was sent."""
    block = read_one({**MANY, "options": THREE, **sent})

    assert (block.correct_answer_ids, block.correct_answer_index, block.correct_answer_indexes) == (
        ids,
        index,
        indexes,
    )


def test_indexes_follow_the_display_order_before_there_are_ids() -> None:
    sent = [
        {"value": "a", "display_order": 2},
        {"value": "b", "display_order": 1},
        {"value": "c", "display_order": 0},
    ]

    block = read_one({**MANY, "options": sent, "correct_answer_indexes": [0, 1]})

    assert (block.correct_answer_ids, block.correct_answer_indexes) == (None, (1, 2))
    assert block_as_json(block, scoring=True)["correct_answer_indexes"] == [1, 2]


@try_each(
    ("sent", "expected"),
    [
        ({"correct_answer_ids": [11, 14]}, [("correct_answer_ids[1]", "not_found")]),
        ({"correct_answer_ids": [11, 11]}, [("correct_answer_ids[1]", "duplicate")]),
        ({"correct_answer_indexes": [0, 3]}, [("correct_answer_indexes[1]", "too_large")]),
        ({"correct_answer_indexes": [1, 1]}, [("correct_answer_indexes[1]", "duplicate")]),
        ({"correct_answer_indexes": [-1]}, [("correct_answer_indexes[0]", "too_small")]),
        (
            {"correct_answer_indexes": [0], "correct_answer_index": 1},
            [("correct_answer_index", "conflicting")],
        ),
        ({"correct_answer_ids": [11, 12], "correct_answer_id": 11}, [("correct_answer_id", "conflicting")]),
    ],
)
def test_several_correct_answers_that_name_no_option_or_one_twice(
    sent: Raw, expected: list[tuple[str, str]]
) -> None:
    assert block_faults({**MANY, "options": THREE, **sent}) == expected


def test_before_options_have_ids_only_the_index_can_name_one() -> None:
    (violation,) = violations([{**CHOICE, "correct_answer_ids": [1]}])

    assert violation.code == "not_found"
    assert "`correct_answer_index`" in violation.message


def test_an_index_becomes_an_id_once_there_is_one() -> None:
    first_write = Block("single_punch", options=(Option("a", 11), Option("b", 12)), correct_answer_index=1)
    graded = replace(first_write, correct_answer_ids=(11,), correct_answer_index=0)

    assert correct_answers.with_ids(first_write).correct_answer_ids == (12,)
    assert correct_answers.with_ids(graded) is graded
    several = replace(first_write, type="multi_punch", correct_answer_indexes=(0, 1))
    assert correct_answers.with_ids(several).correct_answer_ids == (11, 12)
    unsaved = replace(first_write, options=(Option("a"), Option("b")))
    assert correct_answers.with_ids(unsaved) is unsaved
