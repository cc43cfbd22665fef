"""Integers beyond 64 bits in every body: known fields refuse them by name, and unknown ones are ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client

from tests.support.caller import Caller
from tests.support.openapi import described
from tests.support.place import made_place

LONG = 10**25
JSON = "application/json"


def _bodies() -> list[tuple[str, str, Any]]:
    """Method, path and an example of the body of every operation that takes JSON."""
    return [
        (method, path, example["value"])
        for path, methods in described()["paths"].items()
        for method, operation in methods.items()
        for example in operation.get("requestBody", {})
        .get("content", {})
        .get(JSON, {})
        .get("examples", {})
        .values()
    ]


def _with_long(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The body once for each of its values, with a long integer in its place, and the path of that."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        inner = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        for changed in (LONG, [LONG]):
            body = deepcopy(value)
            body[key] = changed
            yield inner, body
        for place, below in _with_long(part, inner):
            body = deepcopy(value)
            body[key] = below
            yield place, body


def _send(place: dict[str, str], method: str, path: str, body: Any) -> Any:
    return Client().generic(
        method.upper(), path.format(**place), json.dumps(body), JSON, headers={"X-API-Key": place["key"]}
    )


@pytest.mark.long
@pytest.mark.django_db
def test_known_fields_refuse_them_and_unknown_ones_do_no_harm() -> None:
    """Rule 11.84."""
    place = made_place(Caller("admin"))
    bodies = _bodies()
    tried, faulty = 0, []
    for method, path, example in bodies:
        for field, body in _with_long(example):
            answer = _send(place, method, path, body)
            tried += 1
            violations = answer.json().get("violations", []) if answer.status_code == 400 else []
            is_named = any(each["field"].startswith(field.split("[")[0].split(".")[0]) for each in violations)
            # The state of an object, or a missing one, may be the reason before the body is.
            if not (is_named or answer.status_code in (404, 409)):
                faulty.append((method, path, field, answer.status_code, answer.content[:200]))
        before = _send(place, method, path, example).status_code
        after = _send(place, method, path, {**example, "unknown": LONG, "other": {"deep": [LONG]}})
        if (before < 300 and after.status_code >= 500) or b"64 bits" in after.content:
            faulty.append((method, path, "unknown", after.status_code, after.content[:200]))

    assert len(bodies) > 30
    assert tried > 200
    assert faulty == []
