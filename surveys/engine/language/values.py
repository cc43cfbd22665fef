"""The values of skip logic and the rules by which they compare (rules 4.8 to 4.11 and 4.14).

No function here raises, whatever the values: an expression is always true or false.

A walk compares one answer of ten thousand characters a hundred thousand times. Therefore comparisons take an
`Operand` on each side, which reads the number in a text and normalises the text once. A plain value becomes
an operand for one comparison.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias

from communities.ground.cached import cached_property
from communities.ground.sent_text import composed, sent_text

Value: TypeAlias = str | Decimal | bool | tuple["Value", ...] | None  # None means no value

# Only ASCII digits and a point: `1_0`, `٣`, `NaN`, `1e5` and ` 5 ` are text, although Decimal accepts them.
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
MAX_NUMBER = 100  # characters of a text that may be a number
_MAX_DIGITS = 100  # before or after the point; longer numbers are written with an exponent
_EXACT = Context(prec=3 * _MAX_DIGITS, rounding=ROUND_HALF_UP)
_SIX_PLACES = Decimal("0.000001")
MAX_INTEGER = 2**53  # JSON readers round larger whole numbers to the nearest float


def number(value: Value) -> Decimal | None:
    """The number of a value, or of its text; else None. Booleans are no numbers."""
    if isinstance(value, str):
        return Decimal(value) if len(value) <= MAX_NUMBER and _PLAIN_NUMBER(value) else None
    if isinstance(value, Decimal) and value.is_finite():
        return value
    return None


def day_in_words(text: str) -> str:
    """A day as people read it, `31 Jan 2026` for `2026-01-31`; any other text unchanged."""
    if not is_date(text):
        return text
    day = date.fromisoformat(text)
    return f"{day.day} {day:%b} {day.year}"


def is_date(text: str) -> bool:
    """Whether a text is a day of the calendar, such as `2026-01-31`."""
    if _DATE(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def number_text(value: Decimal) -> str:
    """A number for people: no exponent, no trailing `.0`, at most 6 decimals (rule 4.26)."""
    if not value.is_finite() or value.adjusted() > _MAX_DIGITS:
        return str(value)
    return plain_digits(value.quantize(_SIX_PLACES, context=_EXACT))


def json_number(value: Decimal) -> int | float:
    """A finite number for JSON: whole numbers without a point, as far as JSON readers represent them exactly.

    Larger numbers are written with an exponent.
    """
    is_whole = abs(value) <= MAX_INTEGER and value == value.to_integral_value()
    return int(value) if is_whole else float(value)


def text(value: Value) -> str:
    """A value as text, for comparison: numbers without trailing zeros, `true`, `false`, and an empty text for
    no value.
    """
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


class Operand:
    """A value as an operand of comparisons.

    The forms that comparisons need are computed on first use, and cached.
    """

    def __init__(self, value: Value) -> None:
        self.value = value
        self.is_list = isinstance(value, tuple)

    @cached_property
    def number(self) -> Decimal | None:
        return number(self.value)

    @cached_property
    def date(self) -> str | None:
        """The date that the value is; else None. Of two dates the text of the earlier one is less."""
        return self.value if isinstance(self.value, str) and is_date(self.value) else None

    @cached_property
    def is_true(self) -> bool:
        value = self.value
        if isinstance(value, bool):
            return value
        if isinstance(value, tuple):
            return bool(value)
        if value is None or value in ("", "false"):
            return False
        return self.number != 0

    @cached_property
    def forms(self) -> frozenset[Decimal | str]:
        """The number in the value, and its text in the form of `sent_text`.

        Two single values are equal if they have a form in common. A list has the forms of its elements; a
        missing value has none.
        """
        if isinstance(self.value, tuple):
            return frozenset(form for element in self.value for form in _forms(element, number(element)))
        return frozenset(_forms(self.value, self.number))

    @cached_property
    def elements(self) -> tuple[Operand, ...]:
        """The elements of a list, or the value itself."""
        return tuple(map(Operand, self.value)) if isinstance(self.value, tuple) else (self,)

    @cached_property
    def distinct_forms(self) -> tuple[Decimal | str, ...] | None:
        """One form of each element, for comparisons of lists; None if an element needs both of its forms.

        Two kinds of values need both: a number that has no digits in text, such as 1E+200, and a text with a
        number and white space.
        """
        forms = tuple(element.only_form for element in self.elements)
        return None if None in forms else forms  # type: ignore[return-value]

    @cached_property
    def only_form(self) -> Decimal | str | None:
        """The form of a single value for comparisons; None if it needs both of its forms."""
        sent = sent_text(self.text)
        if (self.number is None) != (number(sent) is None):
            return None
        return sent if self.number is None else self.number

    @cached_property
    def text(self) -> str:
        """The value as text in NFC, in which `in` searches."""
        return composed(text(self.value))


def operand(value: Value | Operand) -> Operand:
    """The value as an operand of comparisons."""
    return value if isinstance(value, Operand) else Operand(value)


def joined(elements: Sequence[Operand]) -> Operand:
    """A list of these single values. The values are not parsed again, because many lists may share them."""
    made = Operand(tuple(element.value for element in elements))
    made.elements = tuple(elements)
    made.forms = frozenset[Decimal | str]().union(*(element.forms for element in elements))
    return made


def _forms(value: Value, number: Decimal | None) -> Iterator[Decimal | str]:
    if number is not None:
        yield number
    if value is not None:
        yield sent_text(text(value))


def is_true(value: Value | Operand) -> bool:
    """Whether a value by itself is a true condition: it exists and is not empty, 0 or false (rule 4.12).

    The texts `0` and `false` are not true either, because options of a question may have these values.
    """
    return operand(value).is_true


def equal(left: Value | Operand, right: Value | Operand) -> bool:
    """`=`: compares numbers if both sides read as numbers, else texts in the form of `sent_text` (rule 4.13).

    Case matters. A missing value equals nothing. A list equals a list with equal elements in the same order;
    a list of one equals its element.
    """
    left, right = operand(left), operand(right)
    if not left.is_list and not right.is_list:
        return not left.forms.isdisjoint(right.forms)
    if len(left.elements) != len(right.elements):
        return False
    if len(left.elements) == 1:
        return not left.forms.isdisjoint(right.forms)
    if left.distinct_forms is not None and right.distinct_forms is not None:
        return left.distinct_forms == right.distinct_forms
    return all(map(equal, left.elements, right.elements))


def differ(left: Value | Operand, right: Value | Operand) -> bool:
    """`!=`: the opposite of `=`, so it is true if a value is missing."""
    return not equal(left, right)


def less(left: Value | Operand, right: Value | Operand) -> bool:
    """`<`: false unless both sides are numbers or both are dates, like the other three orderings."""
    left, right = operand(left), operand(right)
    first, second = left.number, right.number
    if first is None or second is None:
        return left.date is not None and right.date is not None and left.date < right.date
    return first < second


def less_or_equal(left: Value | Operand, right: Value | Operand) -> bool:
    """`<=`, between two numbers or two dates."""
    left, right = operand(left), operand(right)
    first, second = left.number, right.number
    if first is None or second is None:
        return left.date is not None and right.date is not None and left.date <= right.date
    return first <= second


def greater(left: Value | Operand, right: Value | Operand) -> bool:
    """`>`, between two numbers or two dates."""
    return less(right, left)


def greater_or_equal(left: Value | Operand, right: Value | Operand) -> bool:
    """`>=`, between two numbers or two dates."""
    return less_or_equal(right, left)


def is_in(left: Value | Operand, right: Value | Operand) -> bool:
    """`in`: an element of a list, or a part of a text. For a list on the left, any element suffices."""
    left, right = operand(left), operand(right)
    if right.is_list:
        return not left.forms.isdisjoint(right.forms)
    if left.value is None or right.value is None:
        return False
    if left.is_list:
        return any(element.text in right.text for element in left.elements)
    return left.text in right.text


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
