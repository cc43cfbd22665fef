"""The bodies of imports: two media types, up to 8 MiB, uncompressed."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from communities.gate.bodies import MAX_BODY, MAX_LINES_BODY
from surveys.models import Conversation
from tests.support.caller import TEXT, Caller, refusal
from tests.support.surveys.imports import LINES, as_lines, past, send_lines

pytestmark = pytest.mark.django_db

LINE = as_lines(past(("why", "So.")))


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    return caller.make({**TEXT, "name": "why"})


def post(
    caller: Caller, project: Any, body: bytes, media_type: str, path: str = "responses", **headers: str
) -> Any:
    return caller.client.generic(
        "POST",
        f"/v1/communities/{caller.community.pk}/projects/{project['id']}/{path}",
        body,
        media_type,
        headers={"X-API-Key": caller.secret, **headers},
    )


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (LINES, LINE),
        (f"{LINES}; charset=utf-8", LINE),
        (LINES, b"\xef\xbb\xbf" + LINE),
        ("application/json", b'\xef\xbb\xbf{"data": [' + LINE + b"]}"),
        ("Application/X-NDJSON", LINE),
        ("application/json", b'{"data": [' + LINE + b"]}"),
        ("application/json; charset=UTF-8", b'{"data": [' + LINE + b"]}"),
    ],
)
def test_both_media_types_are_read(caller: Caller, project: Any, media_type: str, body: bytes) -> None:
    answer = post(caller, project, body, media_type)

    assert (answer.status_code, answer.json()) == (201, {"imported": 1})


@pytest.mark.parametrize(
    ("media_type", "headers"),
    [
        ("text/plain", {}),
        ("text/csv", {}),
        (f"{LINES}; charset=latin-1", {}),
        ("application/jsonlines", {}),
        (LINES, {"Content-Encoding": "gzip"}),
        ("application/json", {"Content-Encoding": "gzip"}),
    ],
)
def test_others_are_refused(caller: Caller, project: Any, media_type: str, headers: dict[str, str]) -> None:
    assert refusal(post(caller, project, LINE, media_type, **headers)) == (415, "invalid_request")
    assert not Conversation.objects.exists()


def test_lines_are_for_imports_alone(caller: Caller, project: Any) -> None:
    assert refusal(post(caller, project, b"{}", LINES, path="conversations")) == (415, "invalid_request")


def test_json_of_another_kind_is_told_as_such(caller: Caller, project: Any) -> None:
    as_json = post(caller, project, LINE + b"\n" + LINE, "application/json")
    as_lines = post(caller, project, b'{"data": [' + LINE + b"]}", LINES)

    assert "not valid JSON" in as_json.json()["message"]
    assert [each["field"] for each in as_lines.json()["violations"]] == ["started_at", "answers"]


@pytest.mark.parametrize("size", [MAX_BODY + 1, MAX_LINES_BODY])
def test_a_large_body_is_read(caller: Caller, project: Any, size: int) -> None:
    answer = send_lines(caller, project, LINE.ljust(size), query="?dry_run=true")

    assert (answer.status_code, answer.json()) == (200, {"imported": 0, "valid": 1})


def test_a_larger_one_is_refused(caller: Caller, project: Any) -> None:
    answer = send_lines(caller, project, LINE.ljust(MAX_LINES_BODY + 1))

    assert refusal(answer) == (413, "invalid_request")
    assert answer.json()["message"] == "The body is larger than 8 MiB."


def test_other_addresses_take_one_mebibyte(caller: Caller, project: Any) -> None:
    answer = post(caller, project, b" " * (MAX_BODY + 1), "application/json", path="conversations")

    assert answer.json()["message"] == "The body is larger than 1 MiB."


def test_a_body_of_millions_of_elements_is_refused_before_they_are_looked_at(
    caller: Caller, project: Any
) -> None:
    """Rule 11.32."""
    body = b'{"data":[' + b",".join([b"1"] * (MAX_LINES_BODY // 2 - 10)) + b"]}"

    tracemalloc.start()
    try:
        answer = post(caller, project, body, "application/json")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert refusal(answer) == (400, "invalid_request")
    assert "at most 500,000 commas and opening brackets" in answer.json()["message"]
    assert most < 4 * MAX_LINES_BODY  # the values would take 4 to 60 times as much as the body
