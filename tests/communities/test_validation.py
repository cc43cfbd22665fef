"""Violations in the interface's form, and unknown fields by their paths (rules 11.2 and 11.7)."""

from typing import Any

import pytest
from django.http import QueryDict
from rest_framework import serializers

from communities.gate.etags import etag_of, parse_if_match
from communities.gate.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictTextField,
    UtcDateTimeField,
)
from communities.gate.pagination import paginate
from communities.gate.validation import (
    VIOLATION_CODES,
    ignored_paths,
    query_violations,
    serializer_violations,
)
from communities.gate.views import _as_header
from communities.ground.errors import InvalidRequest
from communities.ground.sent_text import UNSTORABLE_MESSAGE
from tests.support.cases import try_each


class Small(serializers.Serializer[Any]):
    text = StrictTextField(max_length=3, min_length=2)
    maybe = StrictTextField(allow_null=True, required=False)
    told = serializers.CharField(read_only=True)


class Shape(serializers.Serializer[Any]):
    accepted_and_ignored = frozenset({"id"})

    text = StrictTextField(max_length=3, required=False)
    whole = StrictIntegerField(min_value=1, max_value=9, required=False)
    truth = StrictBooleanField(required=False)
    choice = StrictChoiceField(choices=["a", "b"], required=False)
    moment = UtcDateTimeField(required=False)
    small = Small(required=False)
    pair: serializers.ListSerializer[Any] = serializers.ListSerializer(
        child=Small(), required=False, max_length=2
    )
    list = serializers.ListField(child=StrictIntegerField(), required=False, min_length=1, max_length=2)
    smalls = serializers.ListField(child=Small(), required=False)
    map = serializers.DictField(child=StrictBooleanField(), required=False)
    plain = serializers.IntegerField(required=False)
    bare = serializers.CharField(required=False)
    told = serializers.DictField(read_only=True)


def found(sent: object) -> list[tuple[str, str, str]]:
    serializer = Shape(data=sent)
    assert not serializer.is_valid()
    return [(each["field"], each["code"], each["message"]) for each in serializer_violations(serializer)]


SMALL = {"text": "ab"}


@try_each(
    ("sent", "field", "code", "message"),
    [
        ({"text": 5}, "text", "invalid_type", "`text` must be text."),
        ({"text": None}, "text", "null", "`text` must not be null."),
        ({"text": " "}, "text", "blank", "`text` must not be blank."),
        ({"text": "abcd"}, "text", "too_long", "`text` must be at most 3 characters."),
        ({"whole": "5"}, "whole", "invalid_type", "`whole` must be an integer."),
        ({"whole": True}, "whole", "invalid_type", "`whole` must be an integer."),
        ({"whole": 5.0}, "whole", "invalid_type", "`whole` must be an integer."),
        ({"whole": 0}, "whole", "too_small", "`whole` must be at least 1."),
        ({"whole": 10}, "whole", "too_large", "`whole` must be at most 9."),
        ({"truth": 1}, "truth", "invalid_type", "`truth` must be true or false."),
        ({"truth": "yes"}, "truth", "invalid_type", "`truth` must be true or false."),
        ({"choice": "c"}, "choice", "invalid_choice", "`choice` must be one of a, b."),
        ({"choice": ["a"]}, "choice", "invalid_type", "`choice` must be text."),
        (
            {"moment": "2026-01-31T09:30:00"},
            "moment",
            "invalid",
            "`moment` must be a time up to the year 9999 with its offset, such as 2026-01-31T09:30:00Z.",
        ),
        ({"small": 1}, "small", "invalid_type", "`small` must be an object."),
        ({"small": {}}, "small.text", "required", "`text` is required."),
        ({"small": {"text": "a"}}, "small.text", "too_short", "`text` must be at least 2 characters."),
        ({"pair": [SMALL, {}]}, "pair[1].text", "required", "`text` is required."),
        ({"pair": [SMALL, 1]}, "pair[1]", "invalid_type", "`pair[1]` must be an object."),
        ({"pair": {}}, "pair", "invalid_type", "`pair` must be a list."),
        ({"pair": [SMALL] * 3}, "pair", "too_many", "`pair` must have at most 2 elements."),
        ({"list": []}, "list", "too_few", "`list` must have at least 1 elements."),
        ({"list": [1, 2, 3]}, "list", "too_many", "`list` must have at most 2 elements."),
        ({"list": [1, "2"]}, "list[1]", "invalid_type", "`list[1]` must be an integer."),
        ({"list": "1"}, "list", "invalid_type", "`list` must be a list."),
        ({"smalls": [{}]}, "smalls[0].text", "required", "`text` is required."),
        ({"map": {"a": 1}}, "map.a", "invalid_type", "`a` must be true or false."),
        ({"map": []}, "map", "invalid_type", "`map` must be an object."),
        ({"plain": "x"}, "plain", "invalid", "`plain` must be an integer."),
        ({"bare": "\0"}, "bare", "invalid", f"`bare` {UNSTORABLE_MESSAGE}"),
        ({"bare": "\ud800"}, "bare", "invalid", f"`bare` {UNSTORABLE_MESSAGE}"),
    ],
)
def test_a_violation_names_the_field_and_says_why(sent: object, field: str, code: str, message: str) -> None:
    assert found(sent) == [(field, code, message)]
    assert code in VIOLATION_CODES


def test_all_violations_at_once() -> None:
    fields = [field for field, _, _ in found({"text": 1, "small": {"maybe": 1}, "pair": [{}, SMALL, {}]})]

    assert fields == ["text", "small.text", "small.maybe", "pair"]


@try_each(
    ("sent", "ignored"),
    [
        ({}, []),
        ({"text": "a", "told": {"x": 1}, "id": 3}, []),
        ({"txet": 1}, ["txet"]),
        ({"small": {"text": "ab", "told": "x", "other": 1}}, ["small.other"]),
        ({"pair": [SMALL, {"id": 1}]}, ["pair[1].id"]),
        ({"smalls": [{"a": 1}, {"b": {"c": 1}}]}, ["smalls[0].a", "smalls[1].b"]),
        ({"map": {"anything": True}}, []),
        ({"small": [1], "pair": {"a": 1}, "text": {"a": 1}}, []),
    ],
)
def test_unknown_fields_are_ignored_by_their_path(sent: dict[str, Any], ignored: list[str]) -> None:
    assert list(ignored_paths(Shape(data=sent), sent)) == ignored


def test_an_empty_text_in_a_nullable_field_is_null() -> None:
    small = Small(data={"text": "ab", "maybe": "  "})

    assert small.is_valid()
    assert small.validated_data == {"text": "ab", "maybe": None}


@try_each(
    ("query", "faults"),
    [
        ("", []),
        ("text=a", []),
        ("txet=a", [("txet", "not_allowed")]),
        ("text=a&text=a", [("text", "duplicate")]),
        ("x=1&x=2&text=a", [("x", "not_allowed")]),
    ],
)
def test_query_parameters_are_known_and_sent_once(query: str, faults: list[tuple[str, str]]) -> None:
    told = query_violations(Shape(), QueryDict(query))

    assert [(each["field"], each["code"]) for each in told] == faults


def test_the_header_of_ignored_fields_is_plain_ascii() -> None:
    assert _as_header(["script.blocks[2].promt", "größe", "a,b\r\nX: y"]) == (
        "script.blocks[2].promt, gr%C3%B6%C3%9Fe, a%2Cb%0D%0AX%3A%20y"
    )


def test_the_header_of_ignored_fields_stays_short() -> None:
    header = _as_header([f"field-{number}" for number in range(10_000)])

    assert len(header) < 4_200
    assert header.endswith(", ...")


@try_each(
    ("text", "moment"),
    [
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00+02:00", "2026-01-31T07:30:00Z"),
        ("2026-01-31T09:30:00.999999Z", "2026-01-31T09:30:00Z"),
    ],
)
def test_a_time_is_rendered_in_utc(text: str, moment: str) -> None:
    """Rule 1.3."""
    assert UtcDateTimeField().to_representation(UtcDateTimeField().run_validation(text)) == moment


@try_each(
    "text",
    ["", "tomorrow", "2026-01-31", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 5, "2" * 99],
)
def test_a_value_that_is_no_time_is_refused(text: object) -> None:
    with pytest.raises(serializers.ValidationError):
        UtcDateTimeField().run_validation(text)


@try_each(
    ("page", "here", "has_more"), [(1, [0, 1], True), (2, [2, 3], True), (3, [4], False), (4, [], False)]
)
def test_a_page_says_where_it_stands(page: int, here: list[int], has_more: bool) -> None:
    query = {"page": page, "per_page": 2}
    pagination = {"page": page, "per_page": 2, "total": 5, "has_more": has_more}

    assert paginate(range(5), query) == (here, pagination)
    assert paginate(lambda offset, length: list(range(5))[offset : offset + length], query, total=5) == (
        here,
        pagination,
    )


def test_a_loader_has_to_know_the_total() -> None:
    with pytest.raises(TypeError):
        paginate(lambda offset, length: [], {"page": 1, "per_page": 2})


@try_each(
    ("if_match", "states"),
    [
        ("*", None),
        ('"7"', {"7"}),
        ('W/"7"', {"7"}),
        ('"7", "8" ,W/"9"', {"7", "8", "9"}),
        ("7", {"7"}),
        ('"a,b"', {"a,b"}),
        ('"7x-0f"', {"7x"}),
    ],
)
def test_if_match_is_read_as_states(if_match: str, states: set[str] | None) -> None:
    assert parse_if_match(if_match) == (None if states is None else frozenset(states))


@try_each("if_match", ["", "7x", '"7', '"7" "8"', "*, *", '"a"b"'])
def test_an_invalid_if_match_is_refused(if_match: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_if_match(if_match)


def test_an_etag_matches_its_own_revision() -> None:
    assert parse_if_match(etag_of(12)) == frozenset({"12"})
