"""From DRF's serializers to the interface's words: violations with paths, and what was ignored."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from communities.errors import violation

VIOLATION_CODES = (
    *("required", "null", "blank", "read_only"),
    *("invalid", "invalid_type", "invalid_choice", "syntax_error"),
    *("too_short", "too_long", "too_small", "too_large", "too_few", "too_many", "too_deep", "too_many_emoji"),
    *("not_found", "unknown_reference", "later_reference", "self_reference"),
    *("not_allowed", "conflicting", "duplicate", "in_use", "in_past"),
)

Violation = dict[str, Any]
Field = serializers.Field[Any, Any, Any, Any]

# DRF's code → ours, and what comes behind the field's name; the field's own bounds fill the braces.
_SENTENCES = {
    "required": ("required", "is required."),
    "null": ("null", "must not be null."),
    "blank": ("blank", "must not be blank."),
    "max_length": ("too_long", "must be at most {max_length} characters."),
    "min_length": ("too_short", "must be at least {min_length} characters."),
    "max_value": ("too_large", "must be at most {max_value}."),
    "min_value": ("too_small", "must be at least {min_value}."),
    "max_string_length": ("too_long", "is too long."),
    "not_a_list": ("invalid_type", "must be a list."),
    "not_a_dict": ("invalid_type", "must be an object."),
    "invalid_choice": ("invalid_choice", "must be one of {choices}."),
}
_SENTENCES_OF_LISTS = {
    "max_length": ("too_many", "must have at most {max_length} elements."),
    "min_length": ("too_few", "must have at least {min_length} elements."),
    "empty": ("too_few", "must not be empty."),
}
_KINDS = (  # what DRF calls invalid, by the field that says so
    (serializers.BaseSerializer, "invalid_type", "must be an object."),
    (serializers.IntegerField, "invalid", "must be an integer."),
    (serializers.FloatField, "invalid", "must be a number."),
    (serializers.BooleanField, "invalid", "must be true or false."),
)


@functools.cache
def _pattern(shape: type[serializers.Serializer[Any]], partial: bool) -> serializers.Serializer[Any]:
    pattern = shape(partial=partial)
    pattern.fields.keys()  # makes them, so that the copies share them
    return pattern


def filled(
    shape: type[serializers.Serializer[Any]], data: Any, *, partial: bool = False
) -> serializers.Serializer[Any]:
    """A serializer with data, to be validated.

    DRF copies every field for every serializer, which takes 0.1 ms and more. Fields do not change while they
    validate, so all serializers of a shape share them here; a shape's own attributes are its own.
    """
    serializer = copy.copy(_pattern(shape, partial))
    serializer.initial_data = data
    return serializer


def violations_of(serializer: serializers.Serializer[Any]) -> list[Violation]:
    """Every fault of a serializer that was found not valid, as field, code and message."""
    return list(_walk(serializer.errors, serializer, ""))


def complaint(path: str, code: str, words: str) -> Violation:
    """A violation whose message is a sentence about the field: `words` go on from its name."""
    if not words[:1].islower():
        return violation(path, code, words)
    subject = f"`{path.rpartition('.')[2]}`" if path else "The body"
    return violation(path, code, f"{subject} {words}")


def _walk(errors: Any, field: Any, path: str) -> Iterator[Violation]:
    if isinstance(errors, Mapping):
        for name, inner in errors.items():
            if name == "non_field_errors":
                yield from _walk(inner, field, path)
            elif isinstance(name, int):
                yield from _walk(inner, getattr(field, "child", None), f"{path}[{name}]")
            else:
                below = _child(field, name)
                yield from _walk(inner, below, f"{path}.{name}" if path else str(name))
    elif isinstance(errors, list):
        for index, inner in enumerate(errors):
            if isinstance(inner, Mapping):
                yield from _walk(inner, getattr(field, "child", None), f"{path}[{index}]")
            elif isinstance(inner, ErrorDetail):
                yield complaint(path, *_as_ours(field, inner))


def _child(field: Any, name: str) -> Any:
    return (
        field.fields.get(name) if isinstance(field, serializers.Serializer) else getattr(field, "child", None)
    )


def _as_ours(field: Any, detail: ErrorDetail) -> tuple[str, str]:
    """Our code, and the words behind the field's name."""
    code = str(detail.code)
    is_many = isinstance(field, serializers.ListField | serializers.ListSerializer | serializers.DictField)
    known = (is_many and _SENTENCES_OF_LISTS.get(code)) or _SENTENCES.get(code)
    if known:
        names = ("max_length", "min_length", "max_value", "min_value")
        bounds = {name: getattr(field, name, "") for name in names}
        choices = ", ".join(str(choice) for choice in getattr(field, "choices", ()))
        return known[0], known[1].format(choices=choices, **bounds)
    if code == "invalid" and not str(detail)[:1].islower():
        for kind, kinds_code, words in _KINDS:
            if isinstance(field, kind):
                return kinds_code, words
    return (code if code in VIOLATION_CODES else "invalid"), str(detail)


def ignored_paths(serializer: Any, sent: Any, path: str = "") -> Iterator[str]:
    """Paths of what was sent that the serializer does not know, at any depth.

    A shape may set `accepted_and_ignored`: names of read-only fields that it does not declare.
    """
    if isinstance(serializer, serializers.ListSerializer | serializers.ListField):
        for index, part in enumerate(sent if isinstance(sent, list) else ()):
            yield from ignored_paths(serializer.child, part, f"{path}[{index}]")
    elif isinstance(serializer, serializers.Serializer) and isinstance(sent, Mapping):
        for name, part in sent.items():
            inner = f"{path}.{name}" if path else name
            field = serializer.fields.get(name)
            if field is not None:
                if isinstance(part, dict | list) and not field.read_only:
                    yield from ignored_paths(field, part, inner)
            elif name not in getattr(serializer, "accepted_and_ignored", ()):
                yield inner


def faults_of_query(serializer: serializers.Serializer[Any], sent: QueryDict) -> list[Violation]:
    """Violations for query parameters that an endpoint does not know, or that stand twice."""
    known = serializer.fields
    return [
        complaint(name, "not_allowed", "is no query parameter of this endpoint.")
        if name not in known
        else complaint(name, "duplicate", "stands more than once in the query.")
        for name in sent
        if name not in known or len(sent.getlist(name)) > 1
    ]
