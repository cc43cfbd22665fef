"""The values of skip logic and the rules by which they compare (decisions 6.4, 6.5 and 14.13).

No function here raises, whatever the values: an expression is always true or false.
"""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias

from communities.sent_text import composed, sent_text

Value: TypeAlias = str | Decimal | bool | tuple["Value", ...] | None  # None means no value

# Only ASCII digits and a point: `1_0`, `٣`, `NaN`, `1e5` and ` 5 ` are text, although Decimal accepts them.
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
_MAX_DIGITS = 100  # before or after the point; longer numbers are written with an exponent
_EXACT = Context(prec=3 * _MAX_DIGITS, rounding=ROUND_HALF_UP)
_SIX_PLACES = Decimal("0.000001")
MAX_INTEGER = 2**53  # readers of JSON hold larger whole numbers as the nearest float


def number(value: Value) -> Decimal | None:
    """The number that a value is, or that its text reads as; else None. Booleans are no numbers."""
    if isinstance(value, str):
        return Decimal(value) if _PLAIN_NUMBER(value) else None
    if isinstance(value, Decimal) and value.is_finite():
        return value
    return None


def number_text(value: Decimal) -> str:
    """A number for people: no exponent, no trailing `.0`, at most 6 decimals (decisions 6.9)."""
    if not value.is_finite() or value.adjusted() > _MAX_DIGITS:
        return str(value)
    return plain_digits(value.quantize(_SIX_PLACES, context=_EXACT))


def json_number(value: Decimal) -> int | float:
    """A finite number as JSON has them: whole ones without a point, as far as its readers hold them exactly.

    Larger ones are written with an exponent.
    """
    is_whole = abs(value) <= MAX_INTEGER and value == value.to_integral_value()
    return int(value) if is_whole else float(value)


def text(value: Value) -> str:
    """A value as text, for comparison: numbers without trailing zeros, `true`, `false`, no value as ``."""
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        wide = not value.is_finite() or abs(value.adjusted()) > _MAX_DIGITS
        return str(value) if wide else plain_digits(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ", ".join(map(text, value))
    return ""


def is_true(value: Value) -> bool:
    """Whether a value by itself is a true condition: it exists and is not empty, 0 or false.

    The texts `0` and `false` are not true either, because options of a question may have these values.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, tuple):
        return bool(value)
    if value is None or value in ("", "false"):
        return False
    return number(value) != 0


def equal(left: Value, right: Value) -> bool:
    """`=`: compares numbers if both sides read as numbers, else texts in the form of `sent_text`.

    Case matters. A missing value equals nothing. A list equals a list with equal elements in the same order;
    a list of one equals its element.
    """
    if left is None or right is None:
        return False
    if isinstance(left, tuple):
        if not isinstance(right, tuple):
            return len(left) == 1 and equal(left[0], right)
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(right, tuple):
        return len(right) == 1 and equal(left, right[0])
    first = number(left)
    if first is not None:
        second = number(right)
        if second is not None:
            return first == second
    one, other = text(left), text(right)
    return one == other or sent_text(one) == sent_text(other)


def differ(left: Value, right: Value) -> bool:
    """`!=`: the opposite of `=`, so it is true if a value is missing."""
    return not equal(left, right)


def less(left: Value, right: Value) -> bool:
    """`<`: false unless both sides are numbers, like the other three orderings."""
    first, second = number(left), number(right)
    return first is not None and second is not None and first < second


def less_or_equal(left: Value, right: Value) -> bool:
    """`<=`, between two numbers."""
    first, second = number(left), number(right)
    return first is not None and second is not None and first <= second


def greater(left: Value, right: Value) -> bool:
    """`>`, between two numbers."""
    return less(right, left)


def greater_or_equal(left: Value, right: Value) -> bool:
    """`>=`, between two numbers."""
    return less_or_equal(right, left)


def is_in(left: Value, right: Value) -> bool:
    """`in`: an element of a list, or a part of a text. For a list on the left, any element suffices."""
    if left is None or right is None:
        return False
    if isinstance(left, tuple):
        return any(is_in(element, right) for element in left)
    if isinstance(right, tuple):
        return any(equal(left, element) for element in right)
    return composed(text(left)) in composed(text(right))


def plain_digits(value: Decimal) -> str:
    """A number in digits: no exponent, no zeros after its last decimal, and no minus before 0."""
    digits = format(value, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def json_bytes(value: object) -> int:
    """The size of a value as compact JSON, with all characters as they are."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode(errors="surrogatepass"))
