"""Sizes before elements: every list and free map of a request has a limit, checked first (rule 11.9)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from communities.gate.bodies import MAX_BODY
from communities.ground.errors import MAX_VIOLATIONS
from tests.support.api_requests import ask
from tests.support.caller import Caller
from tests.support.effort import IS_THOROUGH, examples
from tests.support.openapi import described
from tests.support.place import made_place

pytestmark = pytest.mark.django_db
MAX_REFUSAL = 65_536  # bytes
MAX_CALLS = 20_000  # of Python functions in one request; a list of 1 MiB has 500,000 elements, a map 87,000
Trail = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """A list or a free map in the body of an operation, and how many elements it takes."""

    method: str
    path: str
    trail: Trail
    is_map: bool
    most: int | None

    @property
    def field(self) -> str:
        joined = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.trail)
        return joined.removeprefix(".")

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.field}{'{}' if self.is_map else '[]'}"

    def with_elements(self, count: int, element: object) -> dict[str, Any]:
        """A body that contains only this list, with `count` elements, and the objects around it."""
        body: Any = {f"k{n}": element for n in range(count)} if self.is_map else [element] * count
        for step in reversed(self.trail):
            body = {step: body} if isinstance(step, str) else [body]
        new_project = {"name": "New", "type": "convo", "scoring_enabled": True}
        return {**new_project, **body} if self.path.endswith("/projects") else body


def places() -> list[Place]:
    """Every list and free map of every request, the parts of a condition once."""
    found = []
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            if "requestBody" in operation:
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                found += [Place(method, path, *each) for each in _collections(schema, (), ())]
    return found


def _collections(
    schema: Any, trail: Trail, refs: tuple[str, ...]
) -> Iterator[tuple[Trail, bool, int | None]]:
    if (ref := schema.get("$ref")) is not None:
        if ref not in refs:
            inner = described()["components"]["schemas"][ref.rpartition("/")[2]]
            yield from _collections(inner, trail, (*refs, ref))
        return
    if schema.get("readOnly"):
        return
    for each in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _collections(each, trail, refs)
    types = schema.get("type", ())
    if "array" in types:
        yield trail, False, schema.get("maxItems")
        yield from _collections(schema["items"], (*trail, 0), refs)
    if "object" in types:
        if "properties" not in schema:
            yield trail, True, schema.get("maxProperties")
            yield from _collections(schema["additionalProperties"], (*trail, "k"), refs)
        for name, inner in schema.get("properties", {}).items():
            yield from _collections(inner, (*trail, name), refs)


@pytest.fixture
def ids() -> dict[str, str]:
    return made_place(Caller("admin"), scoring_enabled=True)


def sent(place: Place, ids: dict[str, str], body: object) -> Any:
    is_of_themes = place.path.endswith(("/codebook", "/reading"))
    of = ids | {"block_id": ids["text_id"]} if is_of_themes else ids
    return ask(place.method.upper(), place.path.format(**of), key=ids["key"], body=body)


def calls_of(request: Any) -> tuple[int, Any]:
    """How many Python functions are called by a request, and its answer."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        answer = request()
    finally:
        sys.setprofile(None)
    return count, answer


def test_every_list_and_map_of_a_request_says_how_many_elements_it_takes() -> None:
    found = places()

    assert [str(each) for each in found if each.most is None] == []
    assert len({each.field for each in found}) >= 18


@pytest.mark.long
def test_one_element_more_is_one_violation_whatever_the_elements_are(ids: dict[str, str]) -> None:
    wrong = []
    for place in places():
        assert place.most is not None
        answer = sent(place, ids, place.with_elements(place.most + 1, {}))
        inside = (f"{place.field}[{place.most}", f"{place.field}.k{place.most}")
        told = [(each["field"], each["code"]) for each in answer.json().get("violations", ())]
        told = [each for each in told if each[0] == place.field or each[0].startswith(inside)]
        if (answer.status_code, told) != (400, [(place.field, "too_many")]):
            wrong.append((str(place), answer.status_code, answer.content[:300]))

    assert wrong == []


@pytest.mark.long
def test_a_body_full_of_elements_is_refused_without_a_look_at_them(ids: dict[str, str]) -> None:
    wrong = []
    for place in places():
        size = len(b'"k999999":0,') if place.is_map else len(b"0,")
        body = orjson.dumps(place.with_elements(examples((MAX_BODY - 500) // size), 0))
        calls, answer = calls_of(lambda place=place, body=body: sent(place, ids, body))
        if answer.status_code != 400 or len(answer.content) >= MAX_REFUSAL or calls > MAX_CALLS:
            wrong.append((str(place), answer.status_code, len(answer.content), calls))

    assert wrong == []


@pytest.mark.long
@pytest.mark.thorough
@pytest.mark.parametrize(
    "element",
    [{"\N{SNOWMAN}" * 300: "\N{SNOWMAN}" * 300}, *([0, "\N{SNOWMAN}" * 300] if IS_THOROUGH else [])],
)
def test_a_refusal_is_small_however_much_is_wrong(ids: dict[str, str], element: object) -> None:
    wrong = []
    for place in places():
        assert place.most is not None
        answer = sent(place, ids, place.with_elements(min(place.most, 300), element))
        violations = answer.json().get("violations", ())
        if len(answer.content) >= MAX_REFUSAL or len(violations) > MAX_VIOLATIONS:
            wrong.append((str(place), len(answer.content), len(violations)))

    assert wrong == []


def test_a_refusal_says_that_there_are_more_violations(ids: dict[str, str]) -> None:
    path = f"/v1/communities/{ids['community_id']}/projects"
    scripts = [{"blocks": [{"type": "nps", "prompt": ""}] * count} for count in (3, 150)]
    few, many = ({"name": "Too much", "type": "convo", "script": script} for script in scripts)

    answers = [ask("POST", path, key=ids["key"], body=body).json() for body in (few, many)]

    assert [len(answer["violations"]) for answer in answers] == [3, MAX_VIOLATIONS]
    assert [answer["message"].endswith("there are more.") for answer in answers] == [False, True]


def test_long_names_and_values_are_cut_where_they_are_repeated(ids: dict[str, str]) -> None:
    path = "/v1/communities/{community_id}/projects/{project_id}/conversations"
    body = {"metadata": {f"{n}-{'ä' * 9_000}": "x" for n in range(20)}}

    answer = ask("POST", path.format(**ids), key=ids["key"], body=body)

    assert len(answer.json()["violations"]) == 20
    assert {(len(each["field"]), each["field"][-1]) for each in answer.json()["violations"]} == {(300, "…")}


def test_many_and_long_unknown_fields_make_a_short_header(ids: dict[str, str]) -> None:
    path = "/v1/communities/{community_id}/settings".format(**ids)
    many = {f"{n}": 0 for n in range(100_000)}
    long = {"ä" * 200_000: 0, "xp_nmae": 0}

    calls, counted = calls_of(lambda: ask("PATCH", path, key=ids["key"], body=many))
    answer = ask("PATCH", path, key=ids["key"], body=long)

    assert len(counted["X-Ignored-Fields"]) < 4_200
    assert counted["X-Ignored-Fields"].endswith(", ...")
    assert calls < MAX_CALLS
    assert len(answer["X-Ignored-Fields"]) < 4_200
    assert answer["X-Ignored-Fields"].endswith("xp_nmae")
