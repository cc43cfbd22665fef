"""Metadata of conversations and responses in requests (rules 6.10 to 6.12)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from communities.gate.fields import StrictStringField
from communities.ground.sent_text import sent_text
from surveys.services.ground import metadata


@extend_schema_field({"type": "string", "pattern": f"^{metadata.LANGUAGE_TAG}$"})
class LanguageField(StrictStringField):
    """A language as a tag such as `de` or `de-AT`."""

    default_error_messages = {"invalid": "must be the tag of a language, such as `de` or `de-AT`."}

    def to_internal_value(self, data: object) -> str:
        value = super().to_internal_value(data)
        if value and not metadata.is_language(value):
            self.fail("invalid")
        return value


@extend_schema_field(
    {
        "type": "object",
        "additionalProperties": {"type": "string", "maxLength": metadata.MAX_VALUE},
        "maxProperties": metadata.MAX_FIELDS,
    }
)
class Metadata(serializers.Field[Any, Any, Any, Any]):
    """Texts by their keys."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("`metadata` is an object of texts.", code="invalid_type")
        if len(data) > metadata.MAX_FIELDS:
            message = f"`metadata` can hold at most {metadata.MAX_FIELDS} texts."
            raise serializers.ValidationError(message, code="too_many")
        sent = {key: sent_text(value) if isinstance(value, str) else value for key, value in data.items()}
        faults = {key: _fault_of_field(key, value) for key, value in sent.items()}
        found = {key: fault for key, fault in faults.items() if fault}
        if found:
            raise serializers.ValidationError(found)
        return sent

    def to_representation(self, value: Any) -> Any:
        return value


def _fault_of_field(key: str, value: object) -> list[ErrorDetail]:
    """The faults of one text of the metadata; empty if there are none."""
    if not metadata.is_key(key):
        message = f"Keys are 1 to {metadata.MAX_KEY} of a-z, 0-9 and _."
        return [ErrorDetail(message, "invalid")]
    if not isinstance(value, str):
        return [ErrorDetail("Values are texts.", "invalid_type")]
    if len(value) > metadata.MAX_VALUE:
        return [ErrorDetail(f"Values have at most {metadata.MAX_VALUE} characters.", "too_long")]
    return []
