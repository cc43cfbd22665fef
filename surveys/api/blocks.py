"""OpenAPI schemas of a script, generated from the engine's table of fields.

`components()` returns the component schemas by name, in OpenAPI 3.1; `ref("Block")` refers to one. Requests
and responses share these schemas: the same fields are required and the same fields are never null. In
responses, every key of a Block is present.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surveys.engine.intake import fields
from surveys.engine.intake.field_types import (
    BooleanType,
    ChoiceType,
    CompoundType,
    ConditionType,
    FieldSpec,
    IntegerType,
    ListType,
    ObjectType,
    ScalarType,
    TextType,
    WeightsType,
)
from surveys.engine.intake.reader import MAX_BLOCKS, MAX_OUTRO_BLOCKS
from surveys.engine.language.conditions import MAX_PARTS, MAX_VALUES, OPERATORS
from surveys.engine.rules import warnings
from surveys.engine.script import BLOCK_TYPES

Schema = dict[str, Any]

_PATCH = (
    "The fields of a block to change; null clears a field. `options` and conditions are replaced as a "
    "whole; in `scale`, `action_config` and `continue` only the keys that are sent change. One of "
    "`precondition`, `show_when` and `hide_when` replaces the other two. Texts, conditions and formulas "
    "follow a new `name`, and a new `value` of an option that is sent with its `id`."
)
_LITERAL = ["string", "number", "boolean"]


def components() -> dict[str, Schema]:
    """Block with a schema for each type, BlockPatch, and all that they refer to; Script and ScriptWarning."""
    shapes = (fields.OPTION, fields.SCALE, fields.ACTION_CONFIG, fields.CONTINUE)
    return {
        **{shape.name: _object(shape) for shape in shapes},
        "Prompt": _field(fields.BLOCK.fields["prompt"]),
        "BlockFields": _block_fields(),
        **by_type("Block", "BlockFields", fields.BLOCK.description, lambda _: {"prompt": ref("Prompt")}),
        "BlockPatch": _patch(),
        "Condition": _condition(),
        "Script": _script(),
        "ScriptWarning": _warning(),
    }


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def by_type(name: str, common: str, description: str, own: Callable[[str], Schema]) -> dict[str, Schema]:
    """A union of schemas, one for each type of block, and those schemas.

    Each has the fields of the component `common`, its `type`, and those that `own` returns for the type; they
    are required.
    """
    names = {type: name.removesuffix("Block") + _name_of(type) for type in BLOCK_TYPES}
    parts = {}
    for type in BLOCK_TYPES:
        properties = {"type": {"type": "string", "const": type}, **own(type)}
        fields = {"type": "object", "properties": properties, "required": list(properties)}
        parts[names[type]] = {
            "allOf": [ref(common), fields],
        }
    union = {
        "description": description,
        "oneOf": [ref(each) for each in names.values()],
        "discriminator": {
            "propertyName": "type",
            "mapping": {type: ref(each)["$ref"] for type, each in names.items()},
        },
    }
    return {name: union, **parts}


def _name_of(type: str) -> str:
    """`single_punch` → `SinglePunchBlock`."""
    return "".join(word.title() for word in type.removesuffix("_block").split("_")) + "Block"


def _object(shape: ObjectType) -> Schema:
    schema: Schema = {
        "type": "object",
        "description": shape.description,
        "properties": {key: _field(field) for key, field in shape.fields.items()},
    }
    if shape.required:
        schema["required"] = list(shape.required)
    return schema


def _field(field: FieldSpec) -> Schema:
    schema = _kind(field.type)
    if field.nullable:
        schema = _or_null(schema)
    schema["description"] = field.description
    if field.example is not None:
        schema["examples"] = [field.example]
    if field.deprecated:
        schema["deprecated"] = True
    if field.write_only:
        schema["writeOnly"] = True
    return schema


def _or_null(schema: Schema) -> Schema:
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    schema["type"] = [schema["type"], "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _kind(kind: ScalarType | CompoundType) -> Schema:
    match kind:
        case TextType():
            return _text(kind)
        case ChoiceType(choices):
            return {"type": "string", "enum": list(choices)}
        case IntegerType(minimum, maximum):
            size = "int32" if minimum >= -(2**31) and maximum < 2**31 else "int64"
            return {"type": "integer", "format": size, "minimum": minimum, "maximum": maximum}
        case BooleanType():
            return {"type": "boolean"}
        case WeightsType():
            points = {"type": "number", "minimum": -fields.MAX_NUMBER, "maximum": fields.MAX_NUMBER}
            return {
                "type": "object",
                "additionalProperties": points,
                "maxProperties": fields.MAX_BUCKETS,
            }
        case ListType(inner, maximum):
            return {"type": "array", "items": _kind(inner), "maxItems": maximum}
        case ConditionType():
            return ref("Condition")
        case ObjectType():
            return ref(kind.name)


def _text(kind: TextType) -> Schema:
    schema: Schema = {"type": "string", "maxLength": kind.maximum}
    if kind.minimum:
        schema["minLength"] = kind.minimum
    if kind.format:
        schema["format"] = kind.format
    if kind.pattern:
        # In nullable fields, an empty text means null.
        schema["pattern"] = f"^$|{kind.pattern}" if kind.empty_is_null else kind.pattern
    return schema


def _block_fields() -> Schema:
    """All fields of a block but its type."""
    schema = _object(fields.BLOCK)
    del schema["required"], schema["properties"]["type"], schema["properties"]["prompt"]
    schema["description"] = "All fields except `type` and `prompt`."
    return schema


def _patch() -> Schema:
    """The fields of a block, none of them required, for partial updates."""
    own = {"type": _field(fields.BLOCK.fields["type"]), "prompt": ref("Prompt")}
    return {"description": _PATCH, "allOf": [ref("BlockFields"), {"type": "object", "properties": own}]}


def _condition() -> Schema:
    parts = {"type": ["array", "null"], "items": ref("Condition"), "minItems": 1, "maxItems": MAX_PARTS}
    literal = {"type": _LITERAL, "pattern": '^[^"]*$'}
    return {
        "type": "object",
        "description": (
            "A comparison or a group. A comparison has `block` or `variable`, and `op` and `value`. A "
            "group has `all` or `any`, and is not empty."
        ),
        "properties": {
            "block": {
                "type": ["string", "null"],
                "description": "The name of an earlier block, in any casing.",
                "examples": ["favGame"],
            },
            "variable": {
                "type": ["string", "null"],
                "description": "A token, in place of a block: `score`, `score_<bucket>`, `q3`, "
                "`field.<name>` (metadata) and so on.",
                "examples": ["score"],
            },
            "op": {
                "type": ["string", "null"],
                "enum": [*OPERATORS, None],
                "description": "`in` needs a list as `value`.",
            },
            "value": {
                "anyOf": [
                    literal,
                    {"type": "array", "items": literal, "maxItems": MAX_VALUES},
                    {"type": "null"},
                ],
                "description": (
                    'Texts must not contain a double quote. In a `precondition` they can: write `""` for '
                    "one double quote."
                ),
                "examples": ["Chess"],
            },
            "all": {**parts, "description": "True if all these conditions are true (AND)."},
            "any": {**parts, "description": "True if at least one of these conditions is true (OR)."},
        },
        "examples": [{"block": "favGame", "op": "eq", "value": "Chess"}],
    }


def _script() -> Schema:
    return {
        "type": "object",
        "description": (
            f"The blocks of a project: first the intro, then the main section; at most {MAX_BLOCKS}, sorted "
            "by `position`, which defaults to the index in the array. The service creates the outro; "
            "`?expand=outro` includes it in a read. [Limits, and what can change in the "
            "outro](/docs/details#scripts)."
        ),
        "required": ["blocks"],
        "properties": {
            "project_id": {"type": "string", "readOnly": True},
            "blocks": {
                "type": "array",
                "items": ref("Block"),
                "maxItems": MAX_BLOCKS + MAX_OUTRO_BLOCKS,
                "description": "The blocks, in order.",
            },
            "revision": {
                "type": "integer",
                "readOnly": True,
                "description": (
                    "Increases with every write, and when a change of the project changes the outro or the "
                    "scoring. It is also the `ETag` for `If-Match`."
                ),
            },
            "warnings": {
                "type": "array",
                "readOnly": True,
                "items": ref("ScriptWarning"),
                "description": "Valid fields that may not have the effect that the author expects.",
            },
        },
    }


def _warning() -> Schema:
    return {
        "type": "object",
        "description": "The meaning of each code: [warnings](/docs/details#warnings-of-scripts).",
        "required": ["field", "block_id", "block_name", "code", "message"],
        "properties": {
            "field": {
                "type": "string",
                "description": "Path of the field in the script.",
                "examples": ["blocks[0].options"],
            },
            "block_id": {
                "type": ["integer", "null"],
                "format": "int64",
                "description": "Null if the warning concerns the whole script.",
            },
            "block_name": {
                "type": ["string", "null"],
                "description": "The block's name; null if the warning concerns the whole script.",
            },
            "code": {"type": "string", "enum": list(warnings.CODES), "description": "The kind of warning."},
            "message": {"type": "string", "description": "What is wrong and what to do."},
        },
    }
