"""Every text field of the interface's requests, found in its OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.openapi import described

EACH = "[]"  # a step into the elements of a list
ANY_NAME = "{}"  # a step into the values of an object with names of the caller's own
METHODS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TextField:
    """A field whose value is a string. `steps` are its path in the body; a query parameter has one step.

    `shape` is the schema that has the field; several operations may share it.
    """

    method: str
    path: str
    is_query: bool
    steps: tuple[str, ...]
    shape: str
    format: str | None

    @property
    def name(self) -> str:
        """The name of the field, such as `POST /projects: delivery.invitation.message`."""
        return f"{self.method.upper()} {self.path}: {'.'.join(self.steps)}"


def text_fields() -> list[TextField]:
    """The fields of all operations. A schema that several operations share gives each field only once."""
    found: dict[tuple[str, ...], TextField] = {}
    for path, operations in described()["paths"].items():
        for method in METHODS:
            for field in _of_operation(method, path, operations.get(method, {})):
                found.setdefault((field.shape, field.steps[-1], field.format or ""), field)
    return list(found.values())


def _of_operation(method: str, path: str, operation: Schema) -> Iterator[TextField]:
    own = f"{method} {path}"
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query":
            for steps, _, form in _strings(parameter["schema"], (parameter["name"],), "", ()):
                yield TextField(method, path, True, steps, f"{own}?{parameter['name']}", form)
    content = operation.get("requestBody", {}).get("content", {})
    for steps, shape, form in _strings(content.get(JSON, {}).get("schema", {}), (), own, ()):
        yield TextField(method, path, False, steps, shape, form)


def _strings(
    schema: Schema, steps: tuple[str, ...], shape: str, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, str | None]]:
    """The steps to each string, its schema and its format. A schema inside itself is not entered again."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in above:
            return
        schema, shape, above = described()["components"]["schemas"][name], name, (*above, name)
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from _strings(part, steps, shape, above)
    kinds = schema.get("type", [])
    is_string = "string" in ([kinds] if isinstance(kinds, str) else kinds)
    is_string = is_string and schema.keys().isdisjoint({"enum", "const"})
    if is_string and steps and schema.get("maxLength") != 0:  # some fields accept an empty string as null
        yield steps, shape, schema.get("format")
    for name, inner in schema.get("properties", {}).items():
        if not inner.get("readOnly"):
            yield from _strings(inner, (*steps, name), shape, above)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _strings(schema["additionalProperties"], (*steps, ANY_NAME), f"{shape}.{steps[-1]}", above)
    if "items" in schema:
        yield from _strings(schema["items"], (*steps, EACH), f"{shape}.{steps[-1]}", above)
