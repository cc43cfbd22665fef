"""What the real API refuses of a request with structured output, so that a loopback refuses it too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# Of a schema, as the manual of structured output says it (November 2026).
REFUSED = {"minLength", "maxLength", "minimum", "maximum", "multipleOf", "maxItems", "uniqueItems", "pattern"}
MOST_OPTIONAL = 24
MOST_UNIONS = 16
GONE = ("temperature", "top_p", "top_k")  # since version 2026-10-21


def faults_of_request(body: Mapping[str, Any]) -> list[str]:
    """Sentences about what is wrong; none where it would be taken."""
    faults = [f"{key}: Field required" for key in ("model", "max_tokens", "messages") if not body.get(key)]
    faults += [f"{key}: Extra inputs are not permitted" for key in GONE if key in body]
    format = (body.get("output_config") or {}).get("format")
    if format is None:
        return faults
    if format.get("type") != "json_schema" or not isinstance(format.get("schema"), Mapping):
        return [*faults, "output_config.format: Field required"]
    return [*faults, *faults_of_schema(format["schema"])]


def faults_of_schema(schema: Mapping[str, Any]) -> list[str]:
    """What of a schema cannot be made into a grammar."""
    faults: list[str] = []
    optional = unions = 0
    for path, part in _parts(schema, "$"):
        faults += [f"{path}: {key} is not supported" for key in sorted(REFUSED & part.keys())]
        if part.get("minItems", 0) > 1:
            faults.append(f"{path}: minItems must be 0 or 1")
        unions += "anyOf" in part or isinstance(part.get("type"), list)
        if part.get("type") == "object":
            properties = part.get("properties", {})
            optional += len(properties) - len(part.get("required", []))
            if part.get("additionalProperties") is not False:
                faults.append(f"{path}: additionalProperties must be false")
            if unknown := set(part.get("required", [])) - properties.keys():
                faults.append(f"{path}: required names {sorted(unknown)}, which is no property")
        elif part.get("type") == "array" and "items" not in part:
            faults.append(f"{path}: items is required")
        elif not {"type", "anyOf", "enum", "const"} & part.keys():
            faults.append(f"{path}: type is required")
    if optional > MOST_OPTIONAL:
        faults.append(f"There are {optional} optional parameters; {MOST_OPTIONAL} are allowed.")
    if unions > MOST_UNIONS:
        faults.append(f"There are {unions} parameters with union types; {MOST_UNIONS} are allowed.")
    return faults


def misfits(value: object, schema: Mapping[str, Any], path: str = "$") -> list[str]:
    """Where a value is not what a schema says: for answers that are made up to be told from wrong ones."""
    if "anyOf" in schema:
        fits = [misfits(value, each, path) for each in schema["anyOf"]]
        return [] if any(not each for each in fits) else min(fits, key=len)
    if "const" in schema:
        return [] if value == schema["const"] else [f"{path} is not {schema['const']}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{path} is none of {schema['enum']}"]
    if not _is(value, schema["type"]):
        return [f"{path} is no {schema['type']}"]
    if isinstance(value, list):
        return [
            fault for n, each in enumerate(value) for fault in misfits(each, schema["items"], f"{path}[{n}]")
        ]
    if isinstance(value, Mapping):
        properties = schema["properties"]
        faults = [f"{path}.{key} is missing" for key in schema["required"] if key not in value]
        faults += [f"{path}.{key} is unknown" for key in value if key not in properties]
        known = [key for key in value if key in properties]
        return faults + [
            each for key in known for each in misfits(value[key], properties[key], f"{path}.{key}")
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
