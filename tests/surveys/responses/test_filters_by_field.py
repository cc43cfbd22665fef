"""Responses listed and exported by the fields that were sent along with them (rules 6.10 to 6.12)."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from surveys.api.responses import ResponsesIn
from tests.support.caller import TEXT, Caller, faults, refusal
from tests.support.cases import try_each
from tests.support.surveys.imports import imported, past

pytestmark = pytest.mark.django_db

DECLARED = {"settings": {"hidden_fields": ["campaign", "place"]}}


@pytest.fixture(scope="module")
def caller(kept_rows: None) -> Caller:
    return Caller()


@pytest.fixture(scope="module")
def project(caller: Caller) -> Any:
    made = caller.make({**TEXT, "name": "why"}, **DECLARED)
    sent: list[dict[str, str] | None] = [
        {"campaign": "mail"},
        {"campaign": "mail", "customer": "C-1"},
        {"campaign": "Mail"},
        {"campaign": ""},
        None,
    ]
    imported(caller, made, *(past(("why", f"n{n}"), metadata=each) for n, each in enumerate(sent)))
    return made


def listed(caller: Caller, project: Any, query: str) -> tuple[list[str], int]:
    answer = caller.get(f"/projects/{project['id']}/responses?{query}")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    return [each["answers"][0]["value"] for each in body["data"]], body["pagination"]["total"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("field.campaign=mail", ["n0", "n1"]),
        ("field.campaign=Mail", ["n2"]),
        ("field.campaign=", ["n3", "n4"]),
        ("field.campaign=mail&field.customer=C-1", ["n1"]),
        ("field.campaign=mail&field.customer=", ["n0"]),
        ("field.campaign=poster", []),
        ("field.place=", ["n0", "n1", "n2", "n3", "n4"]),
        ("field.campaign=mail&status=partial", []),
        ("field.campaign=mail&order=desc", ["n1", "n0"]),
    ],
)
def test_the_listing_and_the_export_hold_the_responses_with_these_values(
    caller: Caller, project: Any, query: str, expected: list[str]
) -> None:
    rows = caller.get(f"/projects/{project['id']}/responses/export?{query.split('&order')[0]}")
    exported = list(csv.DictReader(b"".join(rows.streaming_content).decode().splitlines()))

    assert listed(caller, project, query) == (expected, len(expected))
    assert [row["Why?"] for row in exported] == sorted(expected)


def test_pages_go_on_within_the_filter(caller: Caller, project: Any) -> None:
    path = f"/projects/{project['id']}/responses?field.campaign=mail&per_page=1"

    first = caller.get(path).json()
    second = caller.get(f"{path}&after={first['data'][0]['id']}").json()

    assert [first["pagination"]["has_more"], second["pagination"]["has_more"]] == [True, False]
    assert [page["data"][0]["answers"][0]["value"] for page in (first, second)] == ["n0", "n1"]


@try_each("path", ["responses", "responses/export"])
@try_each(
    ("query", "fault"),
    [
        ("field.town=Rome", ("field.town", "not_found")),
        ("field.Town=Rome", ("field.Town", "invalid")),
        ("field.campaign=" + "x" * 501, ("field.campaign", "too_long")),
        ("&".join(f"field.f{n}=x" for n in range(21)), ("field.f9", "too_many")),
    ],
)
def test_faults_are_named(
    caller: Caller, project: Any, path: str, query: str, fault: tuple[str, str]
) -> None:
    answer = caller.get(f"/projects/{project['id']}/{path}?{query}")

    assert refusal(answer) == (400, "invalid_request")
    assert [each[0] for each in faults(answer)] == [fault[0]]
    if fault[1] != "invalid":
        assert faults(answer) == {fault}


@pytest.mark.parametrize("path", ["responses", "responses/export", "analysis/results"])
def test_too_many_fields_are_refused_before_a_response_is_read(
    caller: Caller, project: Any, path: str
) -> None:
    many = "&".join(f"field.x{n}=" for n in range(640))

    with CaptureQueriesContext(connection) as queries:
        answer = caller.get(f"/projects/{project['id']}/{path}?{many}")

    assert (refusal(answer), faults(answer)) == ((400, "invalid_request"), {("field.x116", "too_many")})
    of_surveys = [query["sql"] for query in queries if "surveys_" in query["sql"]]
    assert {sql.split(" FROM ")[1].split()[0] for sql in of_surveys} == {"surveys_project"}


def test_a_query_makes_no_class(caller: Caller, project: Any) -> None:
    before = len(ResponsesIn.__subclasses__())
    listed(caller, project, "field.campaign=mail")

    assert len(ResponsesIn.__subclasses__()) <= before


def test_anonymous_responses_are_found_by_declared_values(caller: Caller) -> None:
    settings = {"privacy_mode": "anonymous", "hidden_fields": {"campaign": ["mail", "poster"]}}
    made = caller.make({**TEXT, "name": "why"}, settings=settings)
    imported(caller, made, *(past(("why", each), metadata={"campaign": each}) for each in ("mail", "Ann")))

    assert listed(caller, made, "field.campaign=mail") == (["mail"], 1)
    assert listed(caller, made, "field.campaign=") == (["Ann"], 1)
