"""Validation by DRF serializers: violations in the interface's form, and ignored fields."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from communities.gate.fields import PrefixedParameters
from communities.ground.errors import ENOUGH_VIOLATIONS, ViolationJson, violation
from communities.ground.sent_text import UNSTORABLE_MESSAGE

VIOLATION_CODES = (
    *("required", "null", "blank", "read_only"),
    *("invalid", "invalid_type", "invalid_choice", "syntax_error"),
    *("too_short", "too_long", "too_small", "too_large", "too_few", "too_many", "too_deep", "too_many_emoji"),
    *("not_found", "unknown_reference", "later_reference", "self_reference"),
    *("not_allowed", "conflicting", "duplicate", "in_use", "in_past", "cursor_expired", "full"),
)

_DIGITS = re.compile("-?[0-9]+")

Field = serializers.Field[Any, Any, Any, Any]

# For each code of DRF: our code, and the words after the field's name. The field's limits replace the braces.
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
    "null_characters_not_allowed": ("invalid", UNSTORABLE_MESSAGE),
    "surrogate_characters_not_allowed": ("invalid", UNSTORABLE_MESSAGE),
}
_SENTENCES_OF_LISTS = {
    "max_length": ("too_many", "must have at most {max_length} elements."),
    "min_length": ("too_few", "must have at least {min_length} elements."),
    "empty": ("too_few", "must not be empty."),
}
_BY_FIELD_CLASS = (  # The words for DRF's code `invalid`, by the class of the field.
    (serializers.BaseSerializer, "invalid_type", "must be an object."),
    (serializers.IntegerField, "invalid", "must be an integer."),
    (serializers.FloatField, "invalid", "must be a number."),
    (serializers.BooleanField, "invalid", "must be true or false."),
)


@functools.cache
def _prototype(shape: type[serializers.Serializer[Any]], partial: bool) -> serializers.Serializer[Any]:
    prototype = shape(partial=partial)
    prototype.fields.keys()  # The access creates the fields, which the copies share.
    return prototype


def bound_serializer(
    shape: type[serializers.Serializer[Any]], data: Any, *, partial: bool = False
) -> serializers.Serializer[Any]:
    """Return a serializer of this class that validates the data.

    DRF copies every field for every serializer, which takes 0.1 ms and more. Fields do not change during
    validation, so all serializers of a class share them here.
    """
    serializer = copy.copy(_prototype(shape, partial))
    serializer.initial_data = data
    return serializer


def serializer_violations(serializer: serializers.Serializer[Any]) -> list[ViolationJson]:
    """Return the violations that a serializer with invalid data has found, as many as a refusal needs."""
    return list(islice(_walk(serializer.errors, serializer, ""), ENOUGH_VIOLATIONS))


def _is_integer(text: str) -> bool:
    """Whether DRF takes the text for an integer."""
    try:
        serializers.IntegerField().to_internal_value(text)
    except serializers.ValidationError:
        return False
    return True


def field_violation(path: str, code: str, words: str) -> ViolationJson:
    """Return a violation whose message is the field's name and then `words` (rule 11.7).

    Words that begin with a capital letter are a whole sentence, and remain unchanged.
    """
    if not words[:1].islower():
        return violation(path, code, words)
    subject = f"`{path.rpartition('.')[2]}`" if path else "The body"
    return violation(path, code, f"{subject} {words}")


def _walk(errors: Any, field: Any, path: str) -> Iterator[ViolationJson]:
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
                yield field_violation(path, *_as_ours(field, inner))


def _child(field: Any, name: str) -> Any:
    return (
        field.fields.get(name) if isinstance(field, serializers.Serializer) else getattr(field, "child", None)
    )


def _as_ours(field: Any, detail: ErrorDetail) -> tuple[str, str]:
    """Return our code, and the words after the field's name."""
    code = str(detail.code)
    is_many = isinstance(field, serializers.ListField | serializers.ListSerializer | serializers.DictField)
    known = (is_many and _SENTENCES_OF_LISTS.get(code)) or _SENTENCES.get(code)
    is_own_sentence = detail.startswith("`")  # DRF's own messages name no field.
    if known and not is_own_sentence:
        names = ("max_length", "min_length", "max_value", "min_value")
        bounds = {name: getattr(field, name, "") for name in names}
        choices = ", ".join(str(choice) for choice in getattr(field, "choices", ()))
        return known[0], known[1].format(choices=choices, **bounds)
    if code == "invalid" and not str(detail)[:1].islower():
        for field_class, own_code, words in _BY_FIELD_CLASS:
            if isinstance(field, field_class):
                return own_code, words
    return (code if code in VIOLATION_CODES else "invalid"), str(detail)


def ignored_paths(serializer: Any, sent: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of sent fields that the serializer does not know, at any depth (rule 11.2).

    A serializer class may set `accepted_and_ignored`: names of read-only fields that it does not declare.
    """
    if isinstance(serializer, serializers.ListSerializer | serializers.ListField):
        # A list that is too long is refused for its length.
        most = getattr(serializer, "max_length", None)
        for index, part in enumerate(sent[:most] if isinstance(sent, list) else ()):
            if isinstance(part, dict | list):
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


def query_violations(serializer: serializers.Serializer[Any], sent: QueryDict) -> list[ViolationJson]:
    """Return violations for query parameters that the endpoint does not know, or that occur twice, and for
    integers that are written in another way than by digits, such as `+1`, `1.0` or `١`.
    """
    prefixes = tuple(
        field.prefix for field in serializer.fields.values() if isinstance(field, PrefixedParameters)
    )
    names = serializer.fields.keys() - {prefix.removesuffix(".") for prefix in prefixes}
    written = [
        field_violation(name, "invalid", "must be an integer.")
        for name, field in serializer.fields.items()
        if isinstance(field, serializers.IntegerField) and name in sent
        # DRF refuses a value that is no number at all.
        if not _DIGITS.fullmatch(text := str(sent[name])) and _is_integer(text)
    ]
    return written + [
        violation(name, "duplicate", f"`{name}` occurs more than once in the query.")
        if name in names or name.startswith(prefixes)
        else violation(name, "not_allowed", f"`{name}` is not a query parameter of this endpoint.")
        for name in sent
        if not (name in names or name.startswith(prefixes)) or len(sent.getlist(name)) > 1
    ]
