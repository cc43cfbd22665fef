"""Checks of requests with structured output: the loopback refuses what the real API refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# From the API's documentation of structured output (November 2026).
REFUSED = {"minLength", "maxLength", "minimum", "maximum", "multipleOf", "maxItems", "uniqueItems", "pattern"}
MAX_OPTIONAL = 24
MAX_UNIONS = 16
REMOVED = ("temperature", "top_p", "top_k")  # since version 2026-10-21


def problems_with_request(body: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each problem; none if the API would accept the request."""
    problems = [f"{key}: Field required" for key in ("model", "max_tokens", "messages") if not body.get(key)]
    problems += [f"{key}: Extra inputs are not permitted" for key in REMOVED if key in body]
    format = (body.get("output_config") or {}).get("format")
    if format is None:
        return problems
    if format.get("type") != "json_schema" or not isinstance(format.get("schema"), Mapping):
        return [*problems, "output_config.format: Field required"]
    return [*problems, *problems_with_schema(format["schema"])]


def problems_with_chat(body: Mapping[str, Any], *, formats: Iterable[str] | None, limit: str) -> list[str]:
    """The same for chat completions, and a server that knows these formats. With None it ignores them."""
    problems = [f"{key}: Field required" for key in ("model", "messages") if not body.get(key)]
    limits = {"max_tokens", "max_completion_tokens"}
    problems += [
        f"Unsupported parameter: '{each}' is not supported with this model. Use '{limit}' instead."
        for each in (limits & body.keys()) - {limit}
    ]
    format = body.get("response_format")
    if format is None or formats is None:
        return problems
    if format["type"] not in formats:
        return [*problems, f"This response_format type is unavailable: {format['type']}"]
    if format["type"] == "json_object" and "json" not in str(body["messages"]).lower():
        return [
            *problems,
            "'messages' must contain the word 'json' to use 'response_format' of 'json_object'.",
        ]
    if format["type"] == "json_schema":
        named = format["json_schema"]
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", named["name"]):
            problems.append("response_format.json_schema.name: it is no identifier")
        if named["strict"]:
            problems += problems_with_strict_schema(named["schema"])
    return problems


def problems_with_strict_schema(schema: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each part of a schema that OpenAI's strict mode does not support."""
    problems = ["$: the root must be an object"] if schema.get("type") != "object" else []
    for path, part in _parts(schema, "$"):
        problems += [
            f"{path}: {key} is not supported" for key in sorted({"allOf", "oneOf", "not"} & part.keys())
        ]
        if part.get("type") == "object":
            if part.get("additionalProperties") is not False:
                problems.append(f"{path}: additionalProperties must be false")
            if set(part.get("required", [])) != part.get("properties", {}).keys():
                problems.append(f"{path}: required must name every property")
        elif not {"type", "anyOf", "enum", "const"} & part.keys():
            problems.append(f"{path}: type is required")
    return problems


def problems_with_schema(schema: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each part of a schema that the API does not support."""
    problems: list[str] = []
    optional = unions = 0
    for path, part in _parts(schema, "$"):
        problems += [f"{path}: {key} is not supported" for key in sorted(REFUSED & part.keys())]
        if part.get("minItems", 0) > 1:
            problems.append(f"{path}: minItems must be 0 or 1")
        unions += "anyOf" in part or isinstance(part.get("type"), list)
        if part.get("type") == "object":
            properties = part.get("properties", {})
            optional += len(properties) - len(part.get("required", []))
            if part.get("additionalProperties") is not False:
                problems.append(f"{path}: additionalProperties must be false")
            if unknown := set(part.get("required", [])) - properties.keys():
                problems.append(f"{path}: required names {sorted(unknown)}, which is no property")
        elif part.get("type") == "array" and "items" not in part:
            problems.append(f"{path}: items is required")
        elif not {"type", "anyOf", "enum", "const"} & part.keys():
            problems.append(f"{path}: type is required")
    if optional > MAX_OPTIONAL:
        problems.append(f"There are {optional} optional parameters; {MAX_OPTIONAL} are allowed.")
    if unions > MAX_UNIONS:
        problems.append(f"There are {unions} parameters with union types; {MAX_UNIONS} are allowed.")
    return problems


def mismatches(value: object, schema: Mapping[str, Any], path: str = "$") -> list[str]:
    """Return a sentence for each place at which a value does not match a schema."""
    if "anyOf" in schema:
        fits = [mismatches(value, each, path) for each in schema["anyOf"]]
        return [] if any(not each for each in fits) else min(fits, key=len)
    if "const" in schema:
        return [] if value == schema["const"] else [f"{path} is not {schema['const']}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{path} is none of {schema['enum']}"]
    if not _is(value, schema["type"]):
        return [f"{path} is no {schema['type']}"]
    if isinstance(value, list):
        return [
            problem
            for n, item in enumerate(value)
            for problem in mismatches(item, schema["items"], f"{path}[{n}]")
        ]
    if isinstance(value, Mapping):
        properties = schema["properties"]
        problems = [f"{path}.{key} is missing" for key in schema["required"] if key not in value]
        problems += [f"{path}.{key} is unknown" for key in value if key not in properties]
        known = [key for key in value if key in properties]
        return problems + [
            each for key in known for each in mismatches(value[key], properties[key], f"{path}.{key}")
        ]
    return []


def _is(value: object, type_: str) -> bool:
    kinds: dict[str, tuple[type, ...]] = {
        "object": (Mapping,),
        "array": (list,),
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "boolean": (bool,),
        "null": (type(None),),
    }
    return isinstance(value, kinds[type_]) and (type_ == "boolean" or not isinstance(value, bool))


def _parts(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, schema
    for key, part in schema.get("properties", {}).items():
        yield from _parts(part, f"{path}.{key}")
    for n, part in enumerate(schema.get("anyOf", ())):
        yield from _parts(part, f"{path}|{n}")
    if "items" in schema:
        yield from _parts(schema["items"], f"{path}[]")
