"""Score values as they are sent, and the part that is accepted."""

from __future__ import annotations

from decimal import Decimal

from surveys.engine.intake import reader
from surveys.engine.script import (
    Bucket,
)
from tests.support.cases import try_each
from tests.support.engine.intake import read_block
from tests.support.engine.violations import (
    ACTION,
    CHOICE,
    block_faults,
)


@try_each(
    ("weights", "expected"),
    [
        ({"score": 1}, []),
        ({"score": -1.5, "b": 0}, []),
        ({"score": 10**15}, []),
        ({}, []),
        ({"score": 10**15 + 1}, [("score_values.score", "invalid")]),
        ({"score": 10**400}, [("score_values.score", "invalid")]),
        ({"score": float("inf")}, [("score_values.score", "invalid")]),
        ({"score": float("nan")}, [("score_values.score", "invalid")]),
        ({"score": True}, [("score_values.score", "invalid_type")]),
        ({"score": "1"}, [("score_values.score", "invalid_type")]),
        ({"score": None}, [("score_values.score", "invalid_type")]),
        ({"": 1}, [("score_values", "invalid")]),
        ({"a\nb": 1}, [("score_values", "invalid")]),
        ({f"bucket {n}": 1 for n in range(101)}, [("score_values", "too_many")]),
        ([1], [("score_values", "invalid_type")]),
        (7, [("score_values", "invalid_type")]),
    ],
)
def test_score_values_are_a_map_of_finite_numbers(weights: object, expected: list[tuple[str, str]]) -> None:
    raw = {**CHOICE, "options": [{"value": "a", "score_values": weights}]}

    assert block_faults(raw, scoring=True) == [(f"options[0].{field}", code) for field, code in expected]


@try_each("weights", [{"score": "x"}, 7, "text", {"": []}, {"unknown": 1}])
def test_no_score_values_are_refused_while_scoring_is_off(weights: object) -> None:
    raw = {**CHOICE, "options": [{"value": "a", "score_values": weights}]}

    assert block_faults(raw, scoring=False, bucket_keys=["score"]) == []


def test_a_bucket_is_the_same_with_composed_and_combining_accents() -> None:
    composed, apart = "caf\u00e9", "cafe\u0301"
    weighed = {**CHOICE, "options": [{"value": "a", "score_values": {apart: 1}}]}
    twins = {**CHOICE, "options": [{"value": "a", "score_values": {composed: 1, apart: 2}}]}
    action = {**ACTION, "action_config": {"source_key": f"score_{apart}"}}

    assert read_block(weighed).options[0].score_values == {composed: Decimal(1)}
    assert Bucket(apart.title()).key == composed
    assert block_faults(twins, scoring=True) == [("options[0].score_values.caf?", "duplicate")]
    assert block_faults(action, scoring=True, bucket_keys=[composed]) == []


@try_each("scoring", [False, True])
@try_each(
    ("scores", "are_any"),
    [({"score": 1}, True), ({"score": "many"}, True), ({}, False), (None, False)],
)
def test_points_that_are_passed_over_are_noted(scores: object, are_any: bool, scoring: bool) -> None:
    raw = {**CHOICE, "options": [{"value": "a"}, {"value": "b", "score_values": scores}]}

    (block,) = reader.read_blocks([raw], path="blocks", scoring=scoring).blocks
    (patched,) = reader.read_patch({"options": raw["options"]}, block=block, scoring=scoring).blocks

    assert block.scores_ignored is patched.scores_ignored is (are_any and not scoring)


@try_each("options", ["text", ["text", None], None])
def test_options_that_are_none_have_no_points(options: object) -> None:
    (block,) = reader.read_blocks([{**CHOICE, "options": options}], path="blocks", scoring=False).blocks

    assert not block.scores_ignored


def test_score_values_are_exact_decimals() -> None:
    block = read_block({**CHOICE, "options": [{"value": "a", "score_values": {"score": 0.1}}]})

    assert block.options[0].score_values == {"score": Decimal("0.1")}
