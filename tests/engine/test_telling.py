"""What was read can be sent back: every key is there, and nothing of it is at fault."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.engine.intake import fields, reader
from surveys.engine.intake.serialization import block_as_json, script_as_json
from surveys.engine.script import Block, Option
from tests.support.engine.full_script import EVERYTHING
from tests.support.engine.violations import ONE_OF_EACH, Raw, violations


def read_one(raw: Raw) -> Block:
    reading = reader.read_blocks([raw], path="blocks")
    assert reading.violations == []
    return reading.blocks[0]


def test_what_was_read_can_be_sent_back_unchanged() -> None:
    told = script_as_json(EVERYTHING)

    reading = reader.read_blocks(told, path="blocks")

    assert violations(told, scoring=True, bucket_keys=["score"]) == []
    assert reading.ignored == []
    assert reading.blocks == EVERYTHING.blocks


def test_the_script_sent_back_uses_every_field_there_is() -> None:
    told = script_as_json(EVERYTHING)

    for key in set(fields.BLOCK.fields) - {"correct_answer_id"}:
        assert any(block[key] is not None for block in told), key


@pytest.mark.parametrize("type_", sorted(ONE_OF_EACH))
def test_every_key_is_there_on_reads_and_can_be_sent_back(type_: str) -> None:
    block = read_one(ONE_OF_EACH[type_])

    told = block_as_json(block, scoring=True)

    assert told.keys() == fields.BLOCK.fields.keys() - {"correct_answer_id"}
    assert violations([told], scoring=True) == []
    assert read_one(told) == block
    falsy = {**told, "randomize_options": False, "options": told["options"] or [], "correct_answer_ids": []}
    assert violations([falsy], scoring=True) == []


def test_score_values_are_told_only_while_scoring_is_on() -> None:
    block = EVERYTHING.blocks[1]

    scored: Any = block_as_json(block, scoring=True)["options"]
    plain: Any = block_as_json(block, scoring=False)["options"]

    assert scored[0]["score_values"] == {"score": 1.5}
    assert "score_values" not in plain[0]


def test_the_index_told_follows_the_id() -> None:
    block = Block(type="single_punch", options=(Option("a", 1), Option("b", 2)), correct_answer_ids=(2,))

    assert block_as_json(block, scoring=True)["correct_answer_index"] == 1
