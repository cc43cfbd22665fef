"""Answers: read, checked, and stored as rows (rules 6.19, 6.23 and 6.25)."""

from decimal import Decimal

import pytest

from surveys.engine.script import Block
from surveys.engine.walk import answers, defaults
from surveys.engine.walk.answers import AnswerRow, InvalidAnswer
from tests.support.cases import try_each
from tests.support.engine import script_builder

RED, GREEN, BLUE = 10, 11, 12
LONG = {"number": "0.1234567890123456789"}
COLOURS = ["red", {"value": "green", "label": "Leaf green"}, "blue"]


def block_of(type: str, **fields) -> Block:
    return script_builder.block(0, {"type": type, **fields})


def refusal(block: Block, raw) -> tuple[str, str]:
    with pytest.raises(InvalidAnswer) as caught:
        answers.parse(block, raw)
    return caught.value.violation.field, caught.value.violation.code


def test_a_limit_is_written_as_in_the_sentence_above_the_field():
    block = block_of("open_numeric", min=-12_000, max=12_000)

    for raw, words in ((13_000, "at most 12,000."), (-13_000, "at least -12,000.")):
        with pytest.raises(InvalidAnswer, match=f"Answer with a number of {words}"):
            answers.parse(block, {"value": raw})
    assert "12,000" in defaults.help_of(block)


@try_each(
    ("type", "fields", "raw", "expected"),
    [
        ("single_punch", {}, {"option_id": RED}, {"option_ids": [RED]}),
        ("single_punch", {}, {"option_ids": [GREEN]}, {"option_ids": [GREEN]}),
        ("single_punch", {}, {"value": "blue"}, {"option_ids": [BLUE]}),
        ("single_punch", {}, {"value": " blue "}, {"option_ids": [BLUE]}),
        ("single_punch", {}, {"value": "Leaf green"}, {"option_ids": [GREEN]}),
        ("single_punch", {}, {"value": ""}, {"skipped": True}),
        ("single_punch", {}, {"option_id": RED, "value": None, "skip": False}, {"option_ids": [RED]}),
        ("multi_punch", {}, {"option_ids": [BLUE, RED]}, {"option_ids": [RED, BLUE]}),
        ("multi_punch", {}, {"option_id": BLUE}, {"option_ids": [BLUE]}),
        ("multi_punch", {}, {"value": ["red", "blue"]}, {"option_ids": [RED, BLUE]}),
        ("multi_punch", {}, {"value": "red"}, {"option_ids": [RED]}),
        ("multi_punch", {}, {"option_ids": []}, {"skipped": True}),
        ("multi_punch", {"min": 1, "max": 2}, {"option_ids": [RED, BLUE]}, {"option_ids": [RED, BLUE]}),
        ("ranking", {}, {"ranking": [BLUE, RED, GREEN]}, {"option_ids": [BLUE, RED, GREEN]}),
        ("ranking", {"rank_top_n": 2}, {"ranking": [BLUE, RED]}, {"option_ids": [BLUE, RED]}),
        ("ranking", {"rank_top_n": 1}, {"value": ["Leaf green"]}, {"option_ids": [GREEN]}),
        ("open_text", {}, {"value": "  two words \n"}, {"text": "two words"}),
        ("open_text", {}, {"value": 7}, {"text": "7"}),
        ("open_text", {}, {"value": "   "}, {"skipped": True}),
        ("open_text", {}, {"value": "\u200b\u3164"}, {"skipped": True}),
        ("open_text", {}, {"value": "Zoe\u0308"}, {"text": "Zo\u00eb"}),
        ("open_text", {}, {"skip": True}, {"skipped": True}),
        ("open_text", {}, {}, {"skipped": True}),
        ("open_text", {}, {"value": "x" * 10_000}, {"text": "x" * 10_000}),
        ("open_numeric", {}, {"value": " 4.50 "}, {"number": "4.5"}),
        ("open_numeric", {}, {"value": -3}, {"number": "-3"}),
        ("open_numeric", {}, {"value": 3.0}, {"number": "3"}),
        ("open_numeric", {}, {"value": "3.0"}, {"number": "3"}),
        ("open_numeric", {}, {"value": "-0"}, {"number": "0"}),
        ("open_numeric", {}, {"value": "0.00"}, {"number": "0"}),
        ("open_numeric", {}, {"value": "1e3"}, {"number": "1000"}),
        ("open_numeric", {}, {"value": Decimal("0.12345678901234567890")}, LONG),
        ("open_numeric", {}, {"value": "٣"}, {"number": "3"}),
        ("open_numeric", {}, {"value": 0}, {"number": "0"}),
        ("open_numeric", {"min": 1, "max": 3}, {"value": 1}, {"number": "1"}),
        ("open_numeric", {"min": 1, "max": 3}, {"value": 3}, {"number": "3"}),
        ("open_numeric", {}, {"value": 10**15}, {"number": "1000000000000000"}),
        ("open_numeric", {"whole": True}, {"value": "3.0"}, {"number": "3"}),
        ("open_numeric", {"whole": True, "min": -3}, {"value": -3}, {"number": "-3"}),
        ("rating", {}, {"value": 5}, {"number": "5"}),
        ("rating", {}, {"value": "4.0"}, {"number": "4"}),
        ("rating", {"options": ["1", "2", "3", "4", "5"]}, {"option_id": 12}, {"number": "3"}),
        ("opinion_scale", {"min": 0, "max": 4}, {"value": 0}, {"number": "0"}),
        ("nps", {}, {"value": 10}, {"number": "10"}),
    ],
)
def test_an_answer_that_fits_becomes_a_reply(type, fields, raw, expected):
    """Rule 6.24."""
    if type in ("single_punch", "multi_punch", "ranking"):
        fields = {"options": COLOURS, **fields}

    reply = answers.parse(block_of(type, **fields), raw)

    assert reply == expected


@try_each(
    ("type", "fields", "raw", "expected"),
    [
        ("single_punch", {}, {"option_id": 99}, ("option_id", "not_found")),
        ("single_punch", {}, {"option_id": "10"}, ("option_id", "not_found")),
        ("single_punch", {}, {"option_id": True}, ("option_id", "not_found")),
        ("single_punch", {}, {"option_id": [RED]}, ("option_id", "invalid_type")),
        ("single_punch", {}, {"option_ids": RED}, ("option_ids", "invalid_type")),
        ("single_punch", {}, {"option_ids": [RED, BLUE]}, ("option_ids", "too_many")),
        ("single_punch", {}, {"value": "purple"}, ("value", "not_found")),
        ("single_punch", {}, {"value": {"a": 1}}, ("value", "invalid_type")),
        ("single_punch", {}, {"value": True}, ("value", "invalid_type")),
        ("single_punch", {}, {"value": "red", "option_id": RED}, ("option_id", "conflicting")),
        ("single_punch", {}, {"option_id": RED, "skip": True}, ("skip", "conflicting")),
        ("single_punch", {"required": True}, {}, ("value", "required")),
        ("single_punch", {"required": True}, {"skip": True}, ("skip", "required")),
        ("single_punch", {}, {"ranking": [RED]}, ("ranking", "not_allowed")),
        ("multi_punch", {}, {"option_ids": [RED, RED]}, ("option_ids", "duplicate")),
        ("multi_punch", {}, {"option_ids": [[RED]]}, ("option_ids", "not_found")),
        ("multi_punch", {"min": 2}, {"option_ids": [RED]}, ("option_ids", "too_few")),
        ("multi_punch", {"max": 1}, {"option_ids": [RED, BLUE]}, ("option_ids", "too_many")),
        ("multi_punch", {"required": True}, {"option_ids": []}, ("value", "required")),
        ("ranking", {}, {"ranking": [RED, GREEN]}, ("ranking", "too_few")),
        ("ranking", {"rank_top_n": 2}, {"ranking": [RED]}, ("ranking", "too_few")),
        ("ranking", {"rank_top_n": 2}, {"ranking": [RED, GREEN, BLUE]}, ("ranking", "too_many")),
        ("ranking", {}, {"ranking": [RED, RED, BLUE]}, ("ranking", "duplicate")),
        ("open_text", {"required": True}, {"value": " \t"}, ("value", "required")),
        ("open_text", {}, {"value": "x" * 10_001}, ("value", "too_long")),
        ("open_text", {}, {"value": "a\x00b"}, ("value", "invalid")),
        ("open_text", {}, {"value": "\ud83d"}, ("value", "invalid")),
        ("open_text", {}, {"value": ["a"]}, ("value", "invalid_type")),
        ("open_text", {}, {"value": True}, ("value", "invalid_type")),
        ("open_text", {}, {"option_id": 1}, ("option_id", "invalid_type")),
        ("open_numeric", {}, {"value": "NaN"}, ("value", "invalid")),
        ("open_numeric", {}, {"value": "-Infinity"}, ("value", "invalid")),
        ("open_numeric", {}, {"value": "four"}, ("value", "invalid")),
        ("open_numeric", {}, {"value": "1_000"}, ("value", "invalid")),
        ("open_numeric", {"whole": True}, {"value": "1_0"}, ("value", "invalid")),
        ("open_numeric", {}, {"value": "1" * 5_000}, ("value", "too_large")),
        ("open_numeric", {}, {"value": "1e16"}, ("value", "too_large")),
        ("open_numeric", {}, {"value": "1e999999999"}, ("value", "too_large")),
        ("open_numeric", {}, {"value": -(10**15) - 1}, ("value", "too_large")),
        ("open_numeric", {}, {"value": "1e-999999999"}, ("value", "invalid")),
        ("open_numeric", {}, {"value": True}, ("value", "invalid_type")),
        ("open_numeric", {"min": 1}, {"value": "0.99"}, ("value", "too_small")),
        ("open_numeric", {"max": 3}, {"value": "3.01"}, ("value", "too_large")),
        ("open_numeric", {"whole": True}, {"value": "3.5"}, ("value", "invalid")),
        ("open_numeric", {"whole": True, "max": 3}, {"value": 4}, ("value", "too_large")),
        ("open_text", {"format": "email"}, {"value": "nobody"}, ("value", "invalid")),
        ("open_text", {"format": "line"}, {"value": "a\nb"}, ("value", "invalid")),
        ("rating", {}, {"value": "4.5"}, ("value", "invalid")),
        ("rating", {}, {"value": 0}, ("value", "too_small")),
        ("rating", {}, {"value": 6}, ("value", "too_large")),
        ("rating", {}, {"option_id": 1}, ("option_id", "not_found")),
        ("nps", {}, {"value": 11}, ("value", "too_large")),
        ("nps", {"required": True}, {"value": ""}, ("value", "required")),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_by_field_and_code(type, fields, raw, expected):
    """Rules 3.23 and 6.191."""
    if type in ("single_punch", "multi_punch", "ranking"):
        fields = {"options": COLOURS, **fields}

    violation = refusal(block_of(type, **fields), raw)

    assert violation == expected


def test_a_number_of_many_digits_is_stored_as_sent():
    block = block_of("open_numeric")

    reply = answers.parse(block, {"value": "0.1234567890123456789012345678901234567890"})

    assert answers.value(block, reply) == Decimal("0.1234567890123456789012345678901234567890")


@try_each(
    ("type", "reply", "expected"),
    [
        ("single_punch", {"option_ids": [GREEN]}, [AnswerRow(0, "green", GREEN)]),
        ("multi_punch", {"option_ids": [BLUE, RED]}, [AnswerRow(0, "blue", BLUE), AnswerRow(1, "red", RED)]),
        ("ranking", {"option_ids": [BLUE, RED]}, [AnswerRow(0, "1", BLUE, 1.0), AnswerRow(1, "2", RED, 2.0)]),
        ("open_text", {"text": "Hi"}, [AnswerRow(0, "Hi")]),
        ("open_numeric", {"number": "4.50"}, [AnswerRow(0, "4.50", number=4.5)]),
        ("rating", {"number": "4"}, [AnswerRow(0, "4", number=4.0)]),
        ("open_text", {"skipped": True}, []),
    ],
)
def test_a_reply_is_stored_as_rows(type, reply, expected):
    """Rule 6.49."""
    rows = list(answers.rows(block_of(type, options=COLOURS), reply))

    assert rows == expected


@try_each(
    ("type", "reply", "value", "shown"),
    [
        ("single_punch", {"option_ids": [GREEN]}, "green", "Leaf green"),
        ("multi_punch", {"option_ids": [GREEN, RED]}, ("red", "green"), "red, Leaf green"),
        ("ranking", {"option_ids": [RED, GREEN]}, ("red", "green"), "red, Leaf green"),
        ("open_text", {"text": "Hi"}, "Hi", "Hi"),
        ("open_numeric", {"number": "4.50"}, Decimal("4.50"), "4.50"),
        ("rating", {"number": "4"}, Decimal(4), "4"),
        ("open_text", {"skipped": True}, None, ""),
        ("open_text", None, None, ""),
        ("single_punch", {"option_ids": [99]}, None, ""),
    ],
)
def test_logic_sees_values_and_readers_see_labels(type, reply, value, shown):
    """Rule 4.9."""
    block = block_of(type, options=COLOURS)

    assert (answers.value(block, reply), answers.display_text(block, reply)) == (value, shown)


def test_a_scale_shows_its_points_label():
    block = block_of("rating", options=[{"value": str(n), "label": f"Point {n}"} for n in range(1, 6)])

    assert answers.display_text(block, {"number": "4"}) == "Point 4"


@try_each(
    ("type", "fields", "reply", "expected"),
    [
        ("single_punch", {}, {"option_ids": [RED]}, True),
        ("single_punch", {}, {"option_ids": [99]}, False),
        ("single_punch", {}, {"text": "red"}, False),
        ("multi_punch", {"max": 1}, {"option_ids": [RED, BLUE]}, False),
        ("multi_punch", {}, {"option_ids": [BLUE, RED]}, True),  # the options were reordered since
        ("multi_punch", {}, {"text": "red"}, False),
        ("ranking", {"rank_top_n": 2}, {"option_ids": [RED, BLUE]}, True),
        ("open_text", {}, {"text": "Hi"}, True),
        ("open_text", {"required": True}, {"skipped": True}, False),
        ("open_text", {}, {"skipped": True}, True),
        ("open_numeric", {"max": 3}, {"number": "4"}, False),
        ("rating", {}, {"number": "4"}, True),
        ("rating", {}, {"option_ids": [RED]}, False),
    ],
)
def test_a_stored_reply_fits_its_block_or_is_asked_again(type, fields, reply, expected):
    block = block_of(type, **({} if type == "rating" else {"options": COLOURS}), **fields)

    assert answers.fits(block, reply) is expected


def test_a_graded_choice_is_correct_if_it_equals_the_correct_options():
    block = block_of("single_punch", options=COLOURS, correct_answer_ids=[GREEN])

    assert answers.is_correct(block, {"option_ids": [GREEN]}) is True
    assert answers.is_correct(block, {"option_ids": [RED]}) is False
    assert answers.is_correct(block, {"skipped": True}) is None
    assert answers.is_correct(block_of("single_punch", options=COLOURS), {"option_ids": [RED]}) is None


NONE = 13
WITH_NONE = {"options": ["red", "green", "blue", {"value": "none", "is_exclusive": True}], "min": 2, "max": 3}


def test_an_exclusive_option_is_an_answer_alone_whatever_the_minimum_is():
    """Rule 6.150."""
    block = block_of("multi_punch", **WITH_NONE)

    assert answers.parse(block, {"option_ids": [NONE]}) == {"option_ids": [NONE]}
    assert answers.parse(block, {"option_ids": [RED, GREEN, BLUE]}) == {"option_ids": [RED, GREEN, BLUE]}
    assert refusal(block, {"option_ids": [RED, NONE]}) == ("option_ids", "conflicting")
    assert refusal(block, {"value": ["none", "red", "blue"]}) == ("value", "conflicting")
    assert refusal(block, {"option_ids": [RED]}) == ("option_ids", "too_few")
