"""JSON schemas of the model's responses. They use only the parts of JSON schema that the API enforces.

The API supports no limits on lengths and numbers, and at most 24 optional properties and 16 unions in a
schema. So nothing is nullable, and the type of a block decides its fields. Texts that may be missing are
required and may be empty. One `kind` names the special role of an option. The prompts state all other limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from surveys.ai.models.assignment import NO_OPINION
from surveys.ai.models.scripts import OPTION_KINDS
from surveys.ai.provider import SENTIMENTS, RemarkCode
from surveys.engine.language.conditions import OPERATORS
from surveys.engine.script import FORMATS, SCALES

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_INTEGER: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


# --- Scripts ------------------------------------------------------------------------------------------

_CONDITION = _object(
    {
        "block": _TEXT,
        "op": {"type": "string", "enum": list(OPERATORS)},
        "value": {"anyOf": [_TEXT, _NUMBER, _list_of(_TEXT)]},
    }
)
_SCORE = _object({"bucket": _TEXT, "points": _NUMBER})
_QUESTION = {
    "name": _TEXT,
    "prompt": _TEXT,
    "description": _TEXT,
    "required": _FLAG,
    "show_when": _list_of(_CONDITION),
}
_RANGE = {"min": _INTEGER, "max": _INTEGER}
# Neighbours with the same group share a title.
_GROUPED = {**_QUESTION, "group": _TEXT}
_LABELLED = {**_GROUPED, "label_left": _TEXT, "label_center": _TEXT, "label_right": _TEXT}


def _choice(type_: str, question: Mapping[str, Schema]) -> Mapping[str, Schema]:
    kind = {"type": "string", "enum": list(OPTION_KINDS[type_])}
    option = _object({"value": _TEXT}, {"emoji": _TEXT, "scores": _list_of(_SCORE), "kind": kind})
    return {**question, "options": _list_of(option), "randomize_options": _FLAG}


def _block(
    type_: str, required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None
) -> Schema:
    return _object({"type": {"type": "string", "const": type_}, **required}, optional)


_CONTENT = _block(
    "content_block",
    {
        "name": _TEXT,
        "section": {"type": "string", "enum": ["intro", "main"]},
        "prompt": _TEXT,
        "description": _TEXT,
        "show_when": _list_of(_CONDITION),
    },
)
_FEEDBACK = {"when_correct": _TEXT, "when_incorrect": _TEXT}
_SINGLE = _block(
    "single_punch", _choice("single_punch", _GROUPED), {"correct_answer_index": _INTEGER, **_FEEDBACK}
)
_MULTI = _block(
    "multi_punch",
    _choice("multi_punch", _GROUPED),
    {**_RANGE, "correct_answer_indexes": _list_of(_INTEGER), **_FEEDBACK},
)
_RATING = _block("rating", {**_LABELLED, "max": _INTEGER})
_OPINION = _block("opinion_scale", {**_LABELLED, **_RANGE})
_NPS = _block("nps", _GROUPED)
_OPEN_TEXT = _block("open_text", {**_QUESTION, "format": {"type": "string", "enum": ["text", *FORMATS]}})
_OPEN_NUMERIC = _block("open_numeric", {**_QUESTION, "whole": _FLAG}, _RANGE)
_RANKING = _block("ranking", _choice("ranking", _QUESTION), {"rank_top_n": _INTEGER})
_CALCULATED = _block("calculated_block", {"name": _TEXT, "calculated_formula": _TEXT})


_WISH = _object(
    {
        "setting": {"type": "string", "enum": ["privacy_mode", "type", "closing", "language"]},
        "value": _TEXT,
    }
)


def _script(*blocks: Schema) -> Schema:
    return _object(
        {
            "scoring_enabled": _FLAG,
            "blocks": _list_of({"anyOf": list(blocks)}),
            "understood": _list_of(_TEXT),
            "unmet": _list_of(_TEXT),
            "wishes": _list_of(_WISH),
            "confidence": _NUMBER,
        }
    )


_POLL_BLOCKS = (_CONTENT, _SINGLE, _MULTI, _RATING, _OPINION, _NPS)
_CONVO_BLOCKS = (*_POLL_BLOCKS, _OPEN_TEXT, _OPEN_NUMERIC, _RANKING, _CALCULATED)
POLL = _script(*_POLL_BLOCKS)
CONVO = _script(*_CONVO_BLOCKS)

# --- Changes of scripts -----------------------------------------------------------------------------------

_KEPT = _object({"type": {"type": "string", "const": "kept"}, "id": _INTEGER})


def _with_id(block: Schema) -> Schema:
    """Return the schema of a block with ids for the block and its options. A new block or option has the id
    0.

    A scale may have labels on its points.
    """
    properties = {"id": _INTEGER, **block["properties"]}
    required = ["id", *block["required"]]
    if "options" in properties:
        option = properties["options"]["items"]
        properties["options"] = _list_of(
            {
                **option,
                "properties": {"id": _INTEGER, **option["properties"]},
                "required": ["id", *option["required"]],
            }
        )
    if properties["type"]["const"] in SCALES:
        properties["point_labels"] = _list_of(_object({"point": _INTEGER, "label": _TEXT}))
        required.append("point_labels")
    return {**block, "properties": properties, "required": required}


def _revision(*blocks: Schema) -> Schema:
    return _object(
        {
            "blocks": _list_of({"anyOf": [_KEPT, *map(_with_id, blocks)]}),
            "understood": _list_of(_TEXT),
            "unmet": _list_of(_TEXT),
        }
    )


REVISED_POLL = _revision(*_POLL_BLOCKS)
REVISED_CONVO = _revision(*_CONVO_BLOCKS)
REVIEW = _object(
    {
        "remarks": _list_of(
            _object(
                {
                    "position": _INTEGER,
                    "code": {"type": "string", "enum": list(get_args(RemarkCode))},
                    "message": _TEXT,
                }
            )
        )
    }
)

# --- Texts, summaries and questions ---------------------------------------------------------------------

THEMES = _object({"themes": _list_of(_object({"title": _TEXT, "description": _TEXT}))})
ASSIGNMENT = _object(
    {
        "texts": _list_of(
            _object(
                {
                    "n": _INTEGER,
                    "themes": _list_of(_INTEGER),
                    "sentiment": {"type": "string", "enum": [*SENTIMENTS, NO_OPINION]},
                },
                {"quote": _TEXT},
            )
        ),
    }
)
SUMMARY = _object({"summary": _TEXT})
CLAIMS = _object({"claims": _list_of(_object({"text": _TEXT, "references": _list_of(_TEXT)}))})
FURTHER_QUESTION = _object({"is_clear": _FLAG, "question": _TEXT})
