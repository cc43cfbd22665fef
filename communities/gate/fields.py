"""Serializer fields that accept exactly one JSON type: no number for a text, no text for a number.

Their error messages are sentences without a subject; `validation` adds the field's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from communities.ground.errors import ENOUGH_VIOLATIONS
from communities.ground.ids import BEYOND_64_BITS, OF_64_BITS
from communities.ground.sent_text import sent_text
from communities.ground.sent_time import FIRST_YEAR, is_possible

MAX_TIME = 40  # A time has at most this many characters.
_COLOUR = re.compile("[0-9A-Fa-f]{6}")


class StrictStringField(serializers.CharField):
    """A string that is not written by people, such as an address: only white space at its ends is removed.

    In a nullable field an empty string means null.
    """

    default_error_messages = {"invalid_type": "must be text."}

    def __init__(self, **kwargs: Any) -> None:
        if kwargs.get("allow_null"):
            kwargs.setdefault("allow_blank", True)
        super().__init__(**kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        return None if value == "" and self.allow_null else value

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid_type")
        return super().to_internal_value(data)


class StrictTextField(StrictStringField):
    """A text as `sent_text` returns it. The length of the returned text is checked (rules 1.6 and 1.7)."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        return super().run_validation(sent_text(data) if isinstance(data, str) else data)


@extend_schema_field({"type": "string", "pattern": "^[0-9A-Fa-f]{6}$"})
class ColourField(StrictStringField):
    """A colour as six hexadecimal digits."""

    default_error_messages = {"invalid": "must be six hexadecimal digits, such as 4b4fcc."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text and not _COLOUR.fullmatch(text):
            self.fail("invalid")
        return text


class StrictChoiceField(serializers.ChoiceField):
    default_error_messages = {"invalid_type": "must be text."}

    def to_internal_value(self, data: object) -> Any:
        if not isinstance(data, str):
            self.fail("invalid_type")
        return super().to_internal_value(data)


class StrictIntegerField(serializers.IntegerField):
    """An integer of at most 64 bits."""

    default_error_messages = {
        "invalid_type": "must be an integer.",
        "too_small": BEYOND_64_BITS,
        "too_large": BEYOND_64_BITS,
    }

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid_type")
        if data not in OF_64_BITS:
            self.fail("too_large" if data > 0 else "too_small")
        return data


class StrictBooleanField(serializers.BooleanField):
    default_error_messages = {"invalid_type": "must be true or false."}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid_type")
        return data


class FlagField(serializers.BooleanField):
    """A query parameter that is either `true` or `false`; a missing parameter means false, if there is no
    other `default` and nothing says `required=False`.
    """

    default_error_messages = {"invalid": "must be true or false."}
    default_empty_html = serializers.empty  # else a missing parameter would mean false in any case

    def __init__(self, **kwargs: Any) -> None:
        if kwargs.get("required") is not False:
            kwargs.setdefault("default", False)
        super().__init__(**kwargs)

    def to_internal_value(self, data: object) -> bool:
        if data not in ("true", "false"):
            self.fail("invalid")
        return data == "true"


class StrictListField(serializers.ListField):
    """A list whose length is checked before its elements (rule 11.9).

    Validation stops as soon as enough elements are wrong for a refusal.
    """

    def __init__(self, *, max_length: int, **kwargs: Any) -> None:
        super().__init__(max_length=max_length, **kwargs)

    def to_internal_value(self, data: object) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        if not (data or self.allow_empty):
            self.fail("empty")
        # This checks the length first. DRF would check the length after the elements.
        self.run_validators(data)
        return self.run_child_validation(data)

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        values, errors = [], {}
        for index, element in enumerate(data):
            try:
                values.append(self.child.run_validation(element))
            except serializers.ValidationError as error:
                errors[index] = error.detail
                if len(errors) == ENOUGH_VIOLATIONS:
                    break
        if errors:
            raise serializers.ValidationError(errors)  # type: ignore[arg-type]  # as DRF does: by index
        return values


class PrefixedParameters(serializers.Field[dict[str, Any], Any, Any, Any]):
    """The query parameters `<field's name>.<name>`, by their names (rule 11.28). Only queries can have such a
    field.

    The number of the parameters is checked before any parameter is read. `problem` returns the fault of one
    parameter.
    """

    max_parameters: ClassVar[int]

    @property
    def prefix(self) -> str:
        return f"{self.field_name}."

    def get_value(self, dictionary: Mapping[str, Any]) -> Any:
        start = len(self.prefix)
        sent = {name[start:]: value for name, value in dictionary.items() if name.startswith(self.prefix)}
        return sent or serializers.empty

    def to_internal_value(self, data: dict[str, str]) -> dict[str, str]:
        if len(data) > self.max_parameters:
            message = f"At most {self.max_parameters} parameters `{self.prefix}...` can be sent."
            beyond = sorted(data)[self.max_parameters]
            raise serializers.ValidationError({beyond: [ErrorDetail(message, "too_many")]})
        problems = {name: self.problem(name, value) for name, value in data.items()}
        found = {name: [ErrorDetail(problem[1], problem[0])] for name, problem in problems.items() if problem}
        if found:
            raise serializers.ValidationError(found)
        return data

    def problem(self, name: str, value: str) -> tuple[str, str] | None:
        """The code of a violation and its message; None if there is none."""
        raise NotImplementedError


@extend_schema_field({"type": "string", "format": "date-time"})
class UtcDateTimeField(serializers.Field[datetime, object, str, Any]):
    """A time with its offset in ISO 8601, as UTC (rule 1.4). Fractions of a second are dropped.

    The year in UTC is between 1970 and 9999. `t` and `z` may be in lower case.
    """

    default_error_messages = {
        "invalid": "must be a time up to the year 9999 with its offset, such as 2026-01-31T09:30:00Z.",
        "too_small": f"must not be before the year {FIRST_YEAR}.",
        "too_large": "must not be after the year 9999.",
    }

    def to_internal_value(self, data: object) -> datetime:
        if not isinstance(data, str) or len(data) > MAX_TIME:
            self.fail("invalid")
        try:
            moment = datetime.fromisoformat(data.upper())
        except ValueError:
            self.fail("invalid")
        if moment.tzinfo is None:
            self.fail("invalid")
        if not is_possible(moment):
            self.fail("too_small" if moment.year <= FIRST_YEAR else "too_large")
        return moment.astimezone(UTC).replace(microsecond=0)

    def to_representation(self, value: datetime) -> str:
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
