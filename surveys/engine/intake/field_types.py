"""Kinds of fields, and what a value must be to be of one.

Integers are JSON integers: `true`, `1.0` and `"1"` are refused. Lengths are counted in code points, as
JSON schema counts them. An empty text in a nullable text field means null, as an emptied form field does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Problem = tuple[str, str]
"""A violation's code, and what is wrong: the sentence without the field's name at its front."""

UNSTORABLE_MESSAGE = "must not contain null characters or halves of characters."
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL keeps neither


def is_unstorable(text: str) -> bool:
    return _UNSTORABLE.search(text) is not None


@dataclass(frozen=True, slots=True)
class TextType:
    maximum: int
    minimum: int = 0
    empty_is_null: bool = False
    check: Callable[[str], Problem | None] | None = None
    format: str | None = None
    pattern: str | None = None  # for the schema; `check` is what decides

    def fault(self, value: object) -> Problem | None:
        if not isinstance(value, str):
            return "invalid_type", f"must be text, not {describe_type(value)}."
        if len(value) > self.maximum:
            return "too_long", f"must have at most {self.maximum:,} characters, not {len(value):,}."
        if self.minimum and not value.strip():
            return "blank", "must not be blank."
        if is_unstorable(value):
            return "invalid", UNSTORABLE_MESSAGE
        return self.check(value) if self.check and value else None


@dataclass(frozen=True, slots=True)
class ChoiceType:
    choices: tuple[str, ...]

    def fault(self, value: object) -> Problem | None:
        if isinstance(value, str):
            if value in self.choices:
                return None
            return "invalid_choice", f"must be one of {quoted_list(self.choices)}."
        return "invalid_type", f"must be one of {quoted_list(self.choices)}, not {describe_type(value)}."


@dataclass(frozen=True, slots=True)
class IntegerType:
    minimum: int
    maximum: int

    def fault(self, value: object) -> Problem | None:
        if type(value) is not int:  # a bool is an int to isinstance
            return "invalid_type", f"must be an integer, not {describe_type(value)}."
        if value < self.minimum:
            return "too_small", f"must be at least {self.minimum}."
        if value > self.maximum:
            return "too_large", f"must be at most {self.maximum}."
        return None


@dataclass(frozen=True, slots=True)
class BooleanType:
    def fault(self, value: object) -> Problem | None:
        if isinstance(value, bool):
            return None
        return "invalid_type", f"must be true or false, not {describe_type(value)}."


@dataclass(frozen=True, slots=True)
class WeightsType:
    """A map of bucket keys to finite numbers."""


@dataclass(frozen=True, slots=True)
class ListType:
    kind: IntegerType | ObjectType
    maximum: int


@dataclass(frozen=True, slots=True)
class ConditionType:
    """A Condition: kept as it came, read by `conditions`."""


@dataclass(frozen=True)
class ObjectType:
    """An object of the interface: its name in the schema, and its fields by key."""

    name: str
    fields: Mapping[str, FieldSpec]
    description: str
    required: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        required = tuple(key for key, each in self.fields.items() if each.required)
        object.__setattr__(self, "required", required)


ScalarType = TextType | ChoiceType | IntegerType | BooleanType
CompoundType = WeightsType | ListType | ConditionType | ObjectType
SCALAR_TYPES = (TextType, ChoiceType, IntegerType, BooleanType)


@dataclass(frozen=True)
class FieldSpec:
    """One key of an object. `only_on` are the block types on which it may say anything."""

    kind: ScalarType | CompoundType
    description: str
    nullable: bool = True
    required: bool = False
    only_on: frozenset[str] | None = None
    example: object = None
    attribute: str | None = None  # where the vocabulary's name differs
    deprecated: bool = False
    write_only: bool = False
    scalar: bool = field(init=False)
    empty_is_null: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scalar", isinstance(self.kind, SCALAR_TYPES))
        object.__setattr__(self, "empty_is_null", isinstance(self.kind, TextType) and self.kind.empty_is_null)


def describe_type(value: object) -> str:
    """The kind of a JSON value in words, never the value itself: it may be huge."""
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
    return ", ".join(f"`{choice}`" for choice in choices)
