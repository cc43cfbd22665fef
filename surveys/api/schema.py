"""Adds what drf-spectacular cannot infer: the schemas of scripts, which the engine parses, the unions of
blocks and answers, and events.
"""

from __future__ import annotations

from typing import Any

from surveys.api import blocks, events
from surveys.api.blocks import ref
from surveys.engine.script import SCALES, WITH_ITEMS

Schema = dict[str, Any]

# What is sent for each kind of answer: its field, the fields that may stand beside it, and what it is.
_ANSWERS = {
    "ChoiceAnswer": ("option_id", ["other_text"], "One option."),
    "ChoicesAnswer": ("option_ids", ["other_text"], "Several options."),
    "RankingAnswer": ("ranking", [], "Options in an order."),
    "ValueAnswer": ("value", ["other_text"], "A text, a number, or the values of options."),
    "SkippedAnswer": ("skip", [], "No answer to an optional question."),
}


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Post-processing hook of drf-spectacular: add Script, Block, their parts, and events."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(blocks.components() | events.components() | _seen_blocks(schemas))
    schemas.update(_answers(schemas))
    result["webhooks"] = events.operations()
    return result


def _seen_blocks(schemas: Schema) -> Schema:
    """SeenBlock as a union by type."""
    common = schemas.pop("SeenBlock")
    description = common.pop("description")
    del common["properties"]["type"]
    common["required"].remove("type")
    for key, name in (("scale", "Scale"), ("continue", "Continue")):
        common["properties"][key] = {"anyOf": [ref(name), {"type": "null"}]}
    del common["properties"]["options"]
    common["required"].remove("options")
    point = schemas["SeenOption"]
    item = {**point, "properties": {**point["properties"], "id": {"type": "integer"}}}

    def options(kind: str) -> Schema:
        if kind not in WITH_ITEMS | SCALES:
            return {"options": {"type": "null"}}
        items = ref("SeenItem" if kind in WITH_ITEMS else "SeenOption")
        return {"options": {"type": "array", "items": items}}

    union = blocks.by_type("SeenBlock", "SeenBlockFields", description, options)
    return {"SeenBlockFields": common, "SeenItem": item, **union}


def _answers(schemas: Schema) -> Schema:
    """The body of an answer, and the answer in a step, as unions of the kinds of answers."""
    body = schemas["AnswerRequest"]
    sent = body["properties"]
    found: Schema = {}
    for name, (key, beside, description) in _ANSWERS.items():
        found[name] = {
            "type": "object",
            "description": description,
            "properties": {key: _certain(sent[key]), **{each: sent[each] for each in beside}},
            "required": [key],
        }
        place = {"block_id": sent["block_id"], "follow_up": sent["follow_up"]}
        found[f"{name}Request"] = {
            "allOf": [ref(name), {"type": "object", "properties": place, "required": ["block_id"]}]
        }
    found["SkippedAnswer"]["properties"]["skip"]["const"] = True
    found["AnswerRequest"] = {
        "description": body["description"],
        "anyOf": [ref(f"{name}Request") for name in _ANSWERS],
    }
    step = schemas["Step"]["properties"]
    given = step["answer"]["description"]
    found["GivenAnswer"] = {"description": given, "anyOf": [ref(name) for name in _ANSWERS]}
    step["answer"] = {"anyOf": [ref("GivenAnswer"), {"type": "null"}]}
    return found


def _certain(schema: Schema) -> Schema:
    """The schema of a value that is not null."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return dict(schema)
    others = [kind for kind in kinds if kind != "null"]
    return {**schema, "type": others[0] if len(others) == 1 else others}
