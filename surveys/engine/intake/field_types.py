"""Types of fields, and the check of a JSON value against each type.

Integers are JSON integers: `true`, `1.0` and `"1"` are refused. Lengths are counted in code points, as JSON
schema counts them. Empty text in a nullable text field means null, because an emptied form field sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from communities.ground.sent_text import UNSTORABLE_MESSAGE, is_unstorable, sent_text

Problem = tuple[str, str]
"""A violation's code and its message; the name of the field is put before the message."""


@dataclass(frozen=True, slots=True)
class TextType:
    """Text of bounded length, stored as `sent_text` returns it. With a `minimum` it must not be blank.

    A `verbatim` text is stored as it was sent: an address, or logic, because violations refer to its columns.
    """

    maximum: int
    minimum: int = 0
    empty_is_null: bool = False
    verbatim: bool = False
    check: Callable[[str], Problem | None] | None = None
    format: str | None = None
    pattern: str | None = None  # only for the OpenAPI schema; `check` decides

    def stored(self, value: object) -> object:
        """The value that is checked and stored, if it is text."""
        return value if self.verbatim or not isinstance(value, str) else sent_text(value)

    def problem(self, value: object) -> Problem | None:
        """The fault of this value, as `stored` returns it, or None."""
        if not isinstance(value, str):
            return "invalid_type", f"must be text, not {describe_type(value)}."
        if len(value) > self.maximum:
            return "too_long", f"must have at most {self.maximum:,} characters, not {len(value):,}."
        if self.minimum and not value:
            return "blank", "must not be blank."
        if is_unstorable(value):
            return "invalid", UNSTORABLE_MESSAGE
        return self.check(value) if self.check and value else None


@dataclass(frozen=True, slots=True)
class ChoiceType:
    """One of a fixed set of texts."""

    choices: tuple[str, ...]

    def problem(self, value: object) -> Problem | None:
        """The fault of this value, or None."""
        if isinstance(value, str):
            if value in self.choices:
                return None
            return "invalid_choice", f"must be one of {quoted_list(self.choices)}."
        return "invalid_type", f"must be one of {quoted_list(self.choices)}, not {describe_type(value)}."


@dataclass(frozen=True, slots=True)
class IntegerType:
    """An integer within bounds."""

    minimum: int
    maximum: int

    def problem(self, value: object) -> Problem | None:
        """The fault of this value, or None."""
        if type(value) is not int:  # isinstance() would accept a bool
            return "invalid_type", f"must be an integer, not {describe_type(value)}."
        if value < self.minimum:
            return "too_small", f"must be at least {self.minimum}."
        if value > self.maximum:
            return "too_large", f"must be at most {self.maximum}."
        return None


@dataclass(frozen=True, slots=True)
class BooleanType:
    """True or false."""

    def problem(self, value: object) -> Problem | None:
        """The fault of this value, or None."""
        if isinstance(value, bool):
            return None
        return "invalid_type", f"must be true or false, not {describe_type(value)}."


@dataclass(frozen=True, slots=True)
class WeightsType:
    """A map of bucket keys to finite numbers."""


@dataclass(frozen=True, slots=True)
class ListType:
    """A list of bounded length."""

    item_type: IntegerType | ObjectType
    maximum: int


@dataclass(frozen=True, slots=True)
class ConditionType:
    """A Condition (rule 4.17): stored as it was sent; `conditions` compiles it."""


@dataclass(frozen=True)
class ObjectType:
    """An object of the interface: its name in the schema, and its fields by key."""

    name: str
    fields: Mapping[str, FieldSpec]
    description: str
    required: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        required = tuple(key for key, spec in self.fields.items() if spec.required)
        object.__setattr__(self, "required", required)


ScalarType = TextType | ChoiceType | IntegerType | BooleanType
CompoundType = WeightsType | ListType | ConditionType | ObjectType
SCALAR_TYPES = (TextType, ChoiceType, IntegerType, BooleanType)


@dataclass(frozen=True)
class FieldSpec:
    """One key of an object. `only_on` are the block types that may have a value there.

    `is_scalar` and `empty_is_null` are computed from the type once, because they are read for every value.
    """

    type: ScalarType | CompoundType
    description: str
    nullable: bool = True
    required: bool = False
    only_on: frozenset[str] | None = None
    example: object = None
    attribute: str | None = None  # the attribute of the engine's class, if its name is not the key
    deprecated: bool = False
    write_only: bool = False
    is_scalar: bool = field(init=False)
    empty_is_null: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_scalar", isinstance(self.type, SCALAR_TYPES))
        object.__setattr__(self, "empty_is_null", isinstance(self.type, TextType) and self.type.empty_is_null)


def describe_type(value: object) -> str:
    """The type of a JSON value in words. The result never contains the value itself, which may be huge."""
    if value is None:
        return "null"
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "something else")


def quoted_list(choices: tuple[str, ...]) -> str:
    """The choices in backticks, separated by commas."""
    return ", ".join(f"`{choice}`" for choice in choices)
