"""From DRF's serializers to the interface's words: violations with paths, and what was ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

CODES = {
    "required": "required",
    "null": "null",
    "blank": "blank",
    "invalid_choice": "invalid_choice",
    "max_length": "too_long",
    "min_length": "too_short",
    "max_value": "too_large",
    "min_value": "too_small",
    "not_a_list": "invalid_type",
    "not_a_dict": "invalid_type",
    "max_string_length": "too_long",
    "empty": "too_few",
}
KNOWN = frozenset(
    "required null blank invalid invalid_type invalid_choice too_short too_long too_small too_large too_few "
    "too_many duplicate not_found not_allowed conflicting unknown_reference later_reference self_reference "
    "syntax_error too_deep too_many_emoji in_use in_past read_only".split()
)


def violations_of(errors: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every fault of a serializer as field, code and message."""
    return list(_walk(errors, ""))


def _walk(errors: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(errors, Mapping):
        for name, inner in errors.items():
            if name == "non_field_errors":
                yield from _walk(inner, path)
            elif isinstance(name, int):
                yield from _walk(inner, f"{path}[{name}]")
            else:
                yield from _walk(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(errors, list):
        for index, inner in enumerate(errors):
            if isinstance(inner, Mapping):
                yield from _walk(inner, f"{path}[{index}]")
            elif isinstance(inner, ErrorDetail):
                yield _violation(path, inner)


def _violation(path: str, detail: ErrorDetail) -> dict[str, Any]:
    code = str(detail.code)
    return {
        "field": path,
        "code": code if code in KNOWN else CODES.get(code, "invalid"),
        "message": str(detail),
    }


def ignored_paths(serializer: serializers.BaseSerializer[Any], sent: Any, path: str = "") -> Iterator[str]:
    """Paths of what was sent that the serializer does not know, at any depth."""
    if isinstance(serializer, serializers.ListSerializer):
        for index, part in enumerate(sent if isinstance(sent, list) else []):
            yield from ignored_paths(serializer.child, part, f"{path}[{index}]")
    elif isinstance(serializer, serializers.Serializer) and isinstance(sent, Mapping):
        for name, part in sent.items():
            inner = f"{path}.{name}" if path else name
            field = serializer.fields.get(name)
            if field is None:
                if name not in getattr(serializer, "accepted_and_ignored", ()):
                    yield inner
            elif isinstance(field, serializers.BaseSerializer):
                yield from ignored_paths(field, part, inner)


def unknown_parameters(shape: type[serializers.Serializer[Any]], sent: QueryDict) -> list[dict[str, Any]]:
    """Violations for query parameters that an endpoint does not know, or that stand twice."""
    known = shape().fields
    unknown = [
        {"field": name, "code": "not_allowed", "message": "This endpoint does not know this query parameter."}
        for name in sent
        if name not in known
    ]
    repeated = [
        {"field": name, "code": "duplicate", "message": "This query parameter stands twice."}
        for name in sent
        if name in known and len(sent.getlist(name)) > 1
    ]
    return unknown + repeated
