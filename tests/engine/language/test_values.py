"""Operands, which read and normalise a value once, compare like the plain definition of each comparison."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from communities.ground.sent_text import composed, sent_text
from surveys.engine.language import values
from surveys.engine.language.values import Operand, Value
from tests.support.effort import examples

TEXTS = [
    "",
    " ",
    "a",
    "A",
    "5",
    "5.0",
    "05",
    " 5",
    "-0",
    "0",
    "0" * 100 + "5",
    "٣",
    "NaN",
    "1E+200",
    "true",
    "e\u0301",
    "é",
    "aé",
]
NUMBERS = ["5", "5.00", "-0", "0.5", "1E+200", "1E-200", "NaN", "Infinity"]
singles = st.sampled_from(TEXTS) | st.sampled_from(NUMBERS).map(Decimal) | st.booleans()
everything = singles | st.lists(singles, max_size=3).map(tuple) | st.none()


def equal(left: Value, right: Value) -> bool:
    """The definition of `=`, as rule 4.14 has it."""
    if left is None or right is None:
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, tuple):
        return len(left) == 1 and equal(left[0], right)
    if isinstance(right, tuple):
        return equal(right, left)
    first, second = values.number(left), values.number(right)
    if first is not None and second is not None:
        return first == second
    return sent_text(values.text(left)) == sent_text(values.text(right))


def is_in(left: Value, right: Value) -> bool:
    """The definition of `in`."""
    if left is None or right is None:
        return False
    if isinstance(left, tuple):
        return any(is_in(element, right) for element in left)
    if isinstance(right, tuple):
        return any(equal(left, element) for element in right)
    return composed(values.text(left)) in composed(values.text(right))


@settings(max_examples=examples(1_000))
@given(everything, everything)
def test_prepared_values_compare_like_the_definition(left: Value, right: Value) -> None:
    one, other = Operand(left), Operand(right)

    for _ in range(2):  # the second time from what the first one kept
        assert values.equal(one, other) is equal(left, right)
        assert values.differ(one, other) is not equal(left, right)
        assert values.is_in(one, other) is is_in(left, right)
    assert values.equal(left, right) is equal(left, right)
