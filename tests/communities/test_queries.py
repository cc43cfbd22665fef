"""Reading with an unknown query parameter is refused (rule 11.4)."""

from __future__ import annotations

import pytest

from tests.support.api_requests import ask
from tests.support.caller import Caller, faults

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["", "/settings", "/api_keys", "/projects"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_unknown_parameters_are_refused(method: str, path: str) -> None:
    caller = Caller()

    answer = ask(method, f"/v1/communities/{caller.community.pk}{path}?pgae=2", key=caller.secret)

    assert answer.status_code == 400


def test_every_unknown_parameter_is_named() -> None:
    answer = Caller().get("?a=1&b=2&b=3")

    assert faults(answer) == {("a", "not_allowed"), ("b", "not_allowed")}


def test_a_known_parameter_stands_once() -> None:
    assert faults(Caller().get("/projects?page=1&page=2")) == {("page", "duplicate")}


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("page=0", ("page", "too_small")),
        ("page=1.5", ("page", "invalid")),
        ("page=", ("page", "invalid")),
        ("per_page=0", ("per_page", "too_small")),
        ("per_page=101", ("per_page", "too_large")),
        ("page=99999999999999999999", ("page", "too_large")),
    ],
)
def test_pages_outside_their_bounds_are_refused(query: str, fault: tuple[str, str]) -> None:
    assert faults(Caller().get(f"/projects?{query}")) == {fault}


def test_pages_follow_each_other() -> None:
    caller = Caller()
    for number in range(3):
        caller.post("/api_keys", {"name": f"Key {number}"})

    pages = [caller.get(f"/api_keys?per_page=3&page={page}").json() for page in (1, 2)]

    assert [len(page["data"]) for page in pages] == [3, 1]
    assert [page["pagination"]["has_more"] for page in pages] == [True, False]
    assert len({key["id"] for page in pages for key in page["data"]}) == 4
