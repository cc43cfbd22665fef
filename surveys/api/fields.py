"""Serializer fields for values with a format: URLs, colours, ids and single characters, as JSON strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from communities.gate.fields import StrictBooleanField, StrictStringField, StrictTextField
from communities.ground.ids import id_of
from communities.ground.web_addresses import BadAddress
from communities.services.pictures import copies
from surveys.engine.intake.emojis import is_one_character
from surveys.engine.intake.field_types import TextType
from surveys.engine.intake.fields import BLOCK, SNOWFLAKE

MAX_ROWS = 50
MAX_ROW_NAME = 64  # characters


class _BlockTextField(StrictStringField):
    """A text that follows the rules of a text field of blocks, with the same error messages."""

    key: ClassVar[str]

    def to_internal_value(self, data: object) -> str:
        kind = BLOCK.fields[self.key].type
        assert isinstance(kind, TextType)
        if data != "" and (problem := kind.problem(data)):
            raise serializers.ValidationError(problem[1], code=problem[0])
        return str(data)


@extend_schema_field({"type": "string", "format": "uri", "maxLength": 2048})
class PictureField(_BlockTextField):
    """The https address of a picture on a public host."""

    key = "image_url"

    def to_internal_value(self, data: object) -> str:
        address = super().to_internal_value(data)
        if address:
            try:
                copies.check_address(address)
            except BadAddress as error:
                raise serializers.ValidationError(error.reason, code=error.code) from None
        return address


@extend_schema_field({"type": "string", "pattern": "^[0-9A-Fa-f]{6}$"})
class ColorField(_BlockTextField):
    """A colour as six hexadecimal digits."""

    key = "color"


@extend_schema_field({"type": "string", "pattern": SNOWFLAKE.pattern})
class SnowflakeField(StrictTextField):
    """An id of the chat platform: digits in a string, because JSON numbers may lose precision."""

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text and (problem := SNOWFLAKE.problem(text)):
            raise serializers.ValidationError(problem[1], code=problem[0])
        return text


@extend_schema_field({"type": "string", "pattern": "^[1-9][0-9]{0,18}$"})
class AchievementIdField(StrictTextField):
    """The number of an achievement, as a string of digits."""

    default_error_messages = {"invalid": "must be the number of an achievement: digits in a string."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text and (text[0] == "0" or id_of(text) is None):
            self.fail("invalid")
        return text


@extend_schema_field({"type": "string", "maxLength": 1})
class OneCharacterField(StrictTextField):
    """One visible character: a letter, a sign, or an emoji of any length."""

    default_error_messages = {"too_long": "must be one visible character."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if text and not is_one_character(text):
            self.fail("too_long")
        return text


@extend_schema_field(
    {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": MAX_ROWS}
)
class BooleanMapField(serializers.DictField):
    """A map of strings to booleans."""

    child = StrictBooleanField()

    default_error_messages = {
        "too_many": f"may hold at most {MAX_ROWS} entries.",
        "too_long": f"has a key longer than {MAX_ROW_NAME} characters.",
    }

    def to_internal_value(self, data: Any) -> dict[str, bool]:
        if isinstance(data, Mapping):
            if len(data) > MAX_ROWS:
                self.fail("too_many")
            if any(len(key) > MAX_ROW_NAME for key in data):
                self.fail("too_long")
        rows: dict[str, bool] = super().to_internal_value(data)
        return rows
