"""The OpenAPI description that this version generates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
from drf_spectacular.generators import SchemaGenerator

from communities.gate.schema_words import REFUSALS, STATUSES_OF_WRITES

ANY_REFUSAL = {"$ref": "#/components/responses/Refusal"}


@cache
def described() -> dict[str, Any]:
    """The description as plain JSON. In its operations, shared parameters and responses stand in full, and
    each refusal of all operations has its own status.
    """
    schema = as_sent()
    for methods in (*schema["paths"].values(), *schema["webhooks"].values()):
        for method, operation in methods.items():
            operation["parameters"] = [_whole(each, schema) for each in operation.get("parameters", [])]
            responses = {status: _whole(each, schema) for status, each in operation["responses"].items()}
            if operation["responses"]["default"] == ANY_REFUSAL:
                del responses["default"]
                responses = _refusals(schema, is_write=method != "get") | responses
            operation["responses"] = responses
    return schema


def _refusals(schema: dict[str, Any], *, is_write: bool) -> dict[str, Any]:
    """The shared refusal with the status and the error codes of each."""
    shared = _whole(ANY_REFUSAL, schema)
    content = shared["content"]["application/json"]
    return {
        status: {
            **shared,
            "content": {
                "application/json": {
                    "schema": content["schema"]["anyOf"][status == "429"],
                    "examples": {each["error"]: content["examples"][each["error"]] for each in examples},
                }
            },
        }
        for status, (_, examples) in REFUSALS.items()
        if is_write or status not in STATUSES_OF_WRITES
    }


def as_sent() -> dict[str, Any]:
    """The description as plain JSON, as clients get it."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return orjson.loads(orjson.dumps(schema, default=str, option=orjson.OPT_NON_STR_KEYS))


def operations(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All operations, those of webhooks too."""
    for methods in (*schema["paths"].values(), *schema["webhooks"].values()):
        yield from methods.values()


def component(node: dict[str, Any], schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """The component that a reference is of, or the object itself if it is no reference."""
    return _whole(node, schema or described())


def _whole(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        _, _, kind, name = node["$ref"].split("/")
        node = schema["components"][kind][name]
    return node
