"""Any request body is read without an exception."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from surveys.engine.intake import fields, reader
from surveys.engine.script import Block
from tests.support.effort import examples
from tests.support.engine.full_script import EVERYTHING
from tests.support.engine.violations import ONE_OF_EACH, violations

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
HOSTILE_OPTION = st.dictionaries(st.sampled_from([*fields.OPTION.fields, "x"]), ANYTHING, max_size=4)
HOSTILE_BLOCK = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(fields.BLOCK.fields, ANYTHING),
        "type": st.sampled_from([*ONE_OF_EACH, "x"]) | ANYTHING,
        "options": st.lists(HOSTILE_OPTION | ANYTHING, max_size=3) | ANYTHING,
        "precondition": st.sampled_from(["q1 = 1", "q0 =", "(", "Q0 in [1]"]) | ANYTHING,
        "position": st.integers(-2, 4) | ANYTHING,
        "section": st.sampled_from(["intro", "main", "outro"]) | ANYTHING,
        "id": st.integers(0, 3) | ANYTHING,
    },
)


@settings(max_examples=examples(300))
@given(st.lists(HOSTILE_BLOCK | ANYTHING, max_size=4), st.booleans())
def test_no_body_raises_or_has_a_violation_reported_twice(raw: Any, switch: bool) -> None:
    reported = violations(
        raw, chat=switch, scoring=switch, poll=switch, bucket_keys=["score"] if switch else None
    )

    assert all(each.field.startswith("blocks") for each in reported)
    assert all(each.message.endswith(".") or each.message == reader.OUTRO_NEEDS_ID for each in reported)
    assert len({(each.field, each.code, each.message) for each in reported}) == len(reported)


@settings(max_examples=examples(100))
@given(HOSTILE_BLOCK | ANYTHING, st.sampled_from(EVERYTHING.blocks))
def test_no_patch_raises(raw: Any, block: Block) -> None:
    assert isinstance(reader.read_patch(raw, block=block).blocks[0], Block)
