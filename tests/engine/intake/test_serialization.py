"""A block that was read can be sent back: every key is present, and none is a violation (rule 3.3)."""

from __future__ import annotations

from typing import Any

from surveys.engine.intake import fields, reader
from surveys.engine.intake.serialization import block_as_json, script_as_json
from surveys.engine.script import Block
from tests.support.cases import try_each
from tests.support.engine.full_script import EVERYTHING
from tests.support.engine.violations import ONE_OF_EACH, Raw, violations


def read_one(raw: Raw) -> Block:
    parsed = reader.read_blocks([raw], path="blocks")
    assert parsed.violations == []
    return parsed.blocks[0]


def test_a_script_that_was_read_can_be_sent_back_unchanged() -> None:
    serialized = script_as_json(EVERYTHING)

    parsed = reader.read_blocks(serialized, path="blocks")

    assert violations(serialized, scoring=True, bucket_keys=["score"]) == []
    assert parsed.ignored == []
    assert parsed.blocks == EVERYTHING.blocks


def test_the_script_sent_back_uses_every_field() -> None:
    serialized = script_as_json(EVERYTHING)

    for key in set(fields.BLOCK.fields) - {"correct_answer_id"}:
        assert any(block[key] is not None for block in serialized), key


@try_each("type_", sorted(ONE_OF_EACH))
def test_every_key_is_present_on_reads_and_can_be_sent_back(type_: str) -> None:
    block = read_one(ONE_OF_EACH[type_])

    serialized = block_as_json(block, scoring=True)

    assert serialized.keys() == fields.BLOCK.fields.keys() - {"correct_answer_id"}
    assert violations([serialized], scoring=True) == []
    assert read_one(serialized) == block
    falsy = {
        **serialized,
        "randomize_options": False,
        "options": serialized["options"] or [],
        "correct_answer_ids": [],
    }
    assert violations([falsy], scoring=True) == []


def test_score_values_are_read_only_while_scoring_is_on() -> None:
    block = EVERYTHING.blocks[1]

    scored: Any = block_as_json(block, scoring=True)["options"]
    plain: Any = block_as_json(block, scoring=False)["options"]

    assert scored[0]["score_values"] == {"score": 1.5}
    assert "score_values" not in plain[0]
