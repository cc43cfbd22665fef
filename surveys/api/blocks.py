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
from surveys.engine.rules.logic import MAX_SEARCHED
from surveys.engine.rules.script import MAX_LOGIC, MAX_TEXTS
from surveys.engine.script import BLOCK_TYPES

Schema = dict[str, Any]

_PATCH = (
    "The fields of a block to change. Fields that are not sent stay as they are; null clears a field. "
    "`options` and conditions are replaced as a whole; in `scale`, `action_config` and `continue` only "
    "the keys that are sent change. Sending one of `precondition`, `show_when` and `hide_when` replaces "
    "the other two. `show_when: null` or `hide_when: null` also clears the `precondition` compiled from "
    "it. A new `name`, or a new `value` of an option that is sent with its `id`, is carried into the "
    "texts, conditions and formulas that use the old one."
)
_LITERAL = ["string", "number", "boolean"]


def components() -> dict[str, Schema]:
    """Block with a schema for each type, BlockPatch, and all that they refer to; Script and ScriptWarning."""
    prompt = _field(fields.BLOCK.fields["prompt"])
    shapes = (fields.OPTION, fields.SCALE, fields.ACTION_CONFIG, fields.CONTINUE)
    return {
        **{shape.name: _object(shape) for shape in shapes},
        "BlockFields": _block_fields(),
        **by_type("Block", "BlockFields", fields.BLOCK.description, lambda _: {"prompt": prompt}),
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
            "description": f"{description.split('.')[0]}, of type `{type}`.",
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
    schema["description"] = "All but `type` and `prompt`. Fields say on which types they work."
    return schema


def _patch() -> Schema:
    """The fields of a block, none of them required, for partial updates."""
    own = {key: _field(fields.BLOCK.fields[key]) for key in ("type", "prompt")}
    return {"description": _PATCH, "allOf": [ref("BlockFields"), {"type": "object", "properties": own}]}


def _condition() -> Schema:
    parts = {"type": ["array", "null"], "items": ref("Condition"), "minItems": 1, "maxItems": MAX_PARTS}
    literal = {"type": _LITERAL, "pattern": '^[^"]*$'}
    return {
        "type": "object",
        "description": (
            "A comparison has `block` or `variable`, and `op` and `value`; a group has `all` or `any`. "
            "A condition must be one or the other, and a group must not be empty."
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
                    "Texts must not contain a double quote. Those of a `precondition` can: inside its "
                    'strings `""` stands for one.'
                ),
                "examples": ["Chess"],
            },
            "all": {**parts, "description": "True if all of these are true (AND)."},
            "any": {**parts, "description": "True if any of these is true (OR)."},
        },
        "examples": [{"block": "favGame", "op": "eq", "value": "Chess"}],
    }


def _script() -> Schema:
    return {
        "type": "object",
        "description": (
            f"The blocks of a project: first the intro, then the main section. At most {MAX_BLOCKS} blocks, "
            f"whose texts, options and scores have at most {MAX_TEXTS:,} characters together, "
            f"whose conditions and formulas have at most {MAX_LOGIC:,}, "
            f"and whose conditions look by `in` for at most {MAX_SEARCHED:,} characters in texts. "
            "Blocks are sorted by `position`, which defaults to the index in the array. The service creates "
            "the outro blocks: `thank_you`, and `xp`, `achievement` and `role` according to the project's "
            "`rewards`. `?expand=outro` includes them in a read, and a write refers to them by `id`; only "
            "`prompt`, the pictures with their texts and the `pause` of `continue` can change. The "
            "`xp_amount` of `xp` is the community's `xp_per_question` times the number of questions in the "
            "script at the time of the read, or 0 if the community gives no XP."
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
                "description": "Fields that are valid but may not do what the author expects.",
            },
        },
    }


def _warning() -> Schema:
    return {
        "type": "object",
        "description": (
            "`scores_ignored`: points written while scoring was off, which count once the script is written "
            "again with scoring on, or points on a ranking, which never count. `not_graded`: a correct "
            "answer while scoring is off. `double_award`: XP both from a block and from `rewards.use_xp`. "
            "`missing_formula`: a calculated block whose formula was left out of a copy; it has no value, "
            "and the project cannot be opened. "
            "`unknown_variable`: a name in a formula or `source_key` that has no value at this block and "
            "counts as 0. `unfilled_token`: a token inside quoted text in a formula, which is not filled in. "
            "`unknown_achievement`: an achievement without a description. `tells_the_answers`: on an "
            "anonymous project, an award that depends on a score or a condition would reveal answers, so "
            "nothing is given. `undeclared_field`: a condition compares a `field.…` that "
            "`settings.hidden_fields` does not declare, so the page does not take it from its address. "
            "`reserved_name`: a question whose name means something else in the address of the page, so that "
            "`?name=value` does not fill it in: a parameter of the page (`embed`, `link`, `skip`, "
            "`taken`) or a declared field. "
            "`unknown_token`: a text contains a name in brackets that stands for nothing, so people read it "
            "as it is, and that is similar to one that stands for something; the message says to which. "
            "Words in brackets that are similar to none are left alone. "
            "`ambiguous_name`: a text, condition or formula contains a position such as `q3`, and another "
            "block than the third has this name; the message says what is read, and how the block of that "
            "name is written. So are variables (`score`, `answer`, `username` and all others) that are "
            "names of blocks too, where a block has such a name and wherever one is used. "
            "`unknown_value`: a choice or a ranking is compared with a value that none of its options has, "
            "a scale with a number that is none of its points, or a number or score with something that is "
            "no number or is out of the question's range. "
            "`never_true`: `<`, `>`, `<=` or `>=` with something that is never a number, or with a number "
            "that no answer can satisfy, and comparisons with an empty list. These two are about conditions "
            "and formulas, at most 10 for each, and about `settings.quotas` and `settings.ends`, where "
            "`field` is the path of the setting and `block_id` is null. "
            "`similar_options`: two options whose values, or labels with their emoji, differ only in the "
            "case of letters; values that look the same are refused (`duplicate`). "
            "`unseen_character`: an option's value contains a character that nobody sees, such as U+200B. "
            "It is stored as sent, and conditions, prefilled answers and imports that lack it do not match. "
            "Joiners inside emoji and words are no such characters. "
            "`never_asked`: the block has `follow_ups`, and no model is at work that asks them."
        ),
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
                "description": "Null if it is about the whole script.",
            },
            "block_name": {
                "type": ["string", "null"],
                "description": "The block's name; null if it is about the whole script.",
            },
            "code": {"type": "string", "enum": list(warnings.CODES), "description": "The kind of warning."},
            "message": {"type": "string", "description": "What is wrong and what to do."},
        },
    }
