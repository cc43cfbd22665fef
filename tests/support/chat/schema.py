"""Checks our requests against the platform's own description of its API, if the file exists.

We may not publish the file, so it is searched beside the repository or at CHAT_OPENAPI.
"""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

_BESIDE = Path(__file__).resolve().parents[4] / "shared" / "chat" / "openapi.json"
_URI = "platform:openapi"


def path() -> Path | None:
    """The path of the description; None if the file does not exist."""
    found = Path(os.environ.get("CHAT_OPENAPI") or _BESIDE)
    return found if found.is_file() else None


def faults_of_request(method: str, route: str, raw: Any) -> list[str]:
    """The faults of a request by the description. `route` is the path after the API's base address."""
    if path() is None:
        return []
    template = _template(method.lower(), re.sub(r"\?.*", "", route))
    if template is None:
        return [f"{method} {route} is no operation of the platform."]
    if raw is None:
        return []
    return _faults(
        f"#/paths/{_escaped(template)}/{method.lower()}/requestBody/content/application~1json/schema", raw
    )


def faults_of(schema: str, raw: Any) -> list[str]:
    """The faults of a value by one of the description's schemas."""
    return [] if path() is None else _faults(f"#/components/schemas/{schema}", raw)


def _faults(pointer: str, raw: Any) -> list[str]:
    errors = _validator(pointer).iter_errors(raw)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors]


@functools.cache
def _document() -> dict[str, Any]:
    found = path()
    assert found is not None
    document: dict[str, Any] = json.loads(found.read_text())
    return document


@functools.cache
def _validator(pointer: str) -> Draft202012Validator:
    resource = DRAFT202012.create_resource(_document())
    registry: Any = Registry().with_resource(_URI, resource)
    return Draft202012Validator({"$ref": f"{_URI}{pointer}"}, registry=registry)


@functools.cache
def _templates() -> list[tuple[str, re.Pattern[str], frozenset[str]]]:
    return [
        (template, re.compile(re.sub(r"\{[^}]+\}", "[^/]+", template) + "$"), frozenset(operations))
        for template, operations in _document()["paths"].items()
    ]


def _template(method: str, route: str) -> str | None:
    matches = [t for t, pattern, methods in _templates() if method in methods and pattern.match(route)]
    return min(matches, key=lambda template: template.count("{"), default=None)


def _escaped(template: str) -> str:
    return template.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
