"""Writes types.py and api.py of the Python client from the OpenAPI document; `make schema` runs it."""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import yaml

PACKAGE = Path(__file__).parent / "colloquy_client"
COMMUNITY = "/v1/communities/{community_id}"
JSON = "application/json"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
TYPES = '''"""The objects of the interface. Written by generate.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict
'''
OPERATIONS = '''"""The operations of the interface, as calls for a client to send. Written by generate.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from colloquy_client.calls import Call, Download, Pages, segment
from colloquy_client.types import {}
'''
Schema = dict[str, Any]


def generate(document: Schema) -> Iterator[tuple[Path, str]]:
    """The files that belong to a document, and their contents."""
    schemas = document["components"]["schemas"]
    needs = {name: needed_before(schema) for name, schema in schemas.items()}
    order = TopologicalSorter(needs).static_order()
    yield PACKAGE / "types.py", formatted([TYPES, *(type_of(name, schemas[name]) for name in order)])
    operations = [
        operation(method, path, described, document["components"])
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    yield PACKAGE / "api.py", formatted([OPERATIONS.format(", ".join(schemas)), *operations])


def formatted(parts: list[str]) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    text = "\n\n".join(parts)
    for command in (["check", "--fix-only", "--quiet"], ["format"]):
        arguments = [*ruff, *command, "--stdin-filename", str(PACKAGE / "api.py"), "-"]
        text = subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout
    return text


def annotation(schema: Schema) -> str:
    """The Python type of the values of a schema that has no properties of its own."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema.get('enum') or [schema['const']]))}]"
    if choices := schema.get("oneOf") or schema.get("anyOf"):
        return union(map(annotation, choices))
    kind = schema.get("type", "")
    if isinstance(kind, list):
        return union(annotation({**schema, "type": each}) for each in kind)
    if kind == "array":
        return f"list[{annotation(schema['items'])}]"
    if kind == "object":
        return f"dict[str, {annotation(schema.get('additionalProperties') or {})}]"
    return PLAIN.get(kind, "Any")


def union(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def needed_before(schema: Schema) -> list[str]:
    """The names that the statement of a type evaluates. Annotations inside classes are not evaluated."""
    evaluated = [each for each in schema.get("allOf", [schema]) if "properties" not in each]
    return re.findall(r"#/components/schemas/(\w+)", str(evaluated))


def type_of(name: str, schema: Schema) -> str:
    """The statement that gives the type of a named schema its name."""
    bases = [annotation(each) for each in schema.get("allOf", []) if "$ref" in each]
    parts = [each for each in schema.get("allOf", [schema]) if "properties" in each]
    if not bases and not parts:
        return f"{name}: TypeAlias = {annotation(schema)}"
    fields = {
        key: annotation(value) if key in part.get("required", ()) else f"NotRequired[{annotation(value)}]"
        for part in parts
        for key, value in part["properties"].items()
    }
    reserved = ", ".join(f'"{key}": "{fields.pop(key)}"' for key in list(fields) if keyword.iskeyword(key))
    before = f'_{name} = TypedDict("_{name}", {{{reserved}}})\n\n\n' if reserved else ""
    bases += [f"_{name}"] * bool(reserved)
    return f"{before}class {name}({', '.join(bases or ['TypedDict'])}):\n" + (
        "".join(f"    {key}: {value}\n" for key, value in fields.items()) or "    pass\n"
    )


def operation(method: str, path: str, described: Schema, components: Schema) -> str:
    """The function for one operation."""
    parameters: dict[str, Schema] = {}
    for each in described.get("parameters", []):
        parameter = components["parameters"][annotation(each)] if "$ref" in each else each
        parameters[parameter["name"]] = parameter
    query = [name for name, each in parameters.items() if each["in"] == "query" and name != "field.name"]
    arguments = [
        f"{name}: str" for name, each in parameters.items() if each["in"] == "path" and name != "community_id"
    ]
    call = [repr(method.upper()), address(path)]
    if body := described.get("requestBody"):
        contents = body["content"].items()
        sent = union(annotation(each["schema"]) if kind == JSON else "bytes" for kind, each in contents)
        arguments.append(f"body: {sent}" if body.get("required") else f"body: {sent} | None = None")
        call.append("body=body")
    options = [
        f"{name}: {annotation(parameters[name]['schema'])}"
        + ("" if parameters[name].get("required") else " | None = None")
        for name in query
    ]
    items = [f'"{name}": {name}' for name in query]
    if "field.name" in parameters:
        options.append("fields: Mapping[str, str] | None = None")
        items.append('**{f"field.{name}": value for name, value in (fields or {}).items()}')
    if items:
        call.append(f"query={{{', '.join(items)}}}")
    if "If-Match" in parameters:
        options.append("if_match: str | None = None")
        call.append("if_match=if_match")
    arguments += ["*", *options] if options else []
    kind = answer(described, components["schemas"])
    return (
        f"def {described['operationId']}({', '.join(arguments)}) -> {kind}:\n"
        f'    """{described["summary"]}."""\n'
        f"    return {kind.partition('[')[0]}({', '.join(call)})\n"
    )


def address(path: str) -> str:
    """The expression for a path, relative to the community unless the path is not the community's."""
    relative = path.removeprefix(COMMUNITY).lstrip("/") if path.startswith(COMMUNITY) else path
    return ("f" if "{" in relative else "") + f'"{relative}"'.replace("{", "{segment(").replace("}", ")}")


def answer(described: Schema, schemas: Schema) -> str:
    """The type of the call, which says what is answered to the call."""
    contents = [each.get("content", {}) for status, each in described["responses"].items() if status < "300"]
    if any(set(each) - {JSON} for each in contents):
        return "Download"
    name = union(annotation(each[JSON]["schema"]) for each in contents if JSON in each)
    properties = schemas.get(name, {}).get("properties", {})
    if "data" in properties and ("pagination" in properties or "cursor" in properties):
        return f"Pages[{name}, {annotation(properties['data']['items'])}]"
    return f"Call[{name or None}]"


if __name__ == "__main__":
    for file, text in generate(yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8"))):
        file.write_text(text, encoding="utf-8")
