"""What the model's answers have to look like, in the part of JSON schema that the provider holds a model to.

It knows no bounds of lengths and numbers, at most 24 optional properties and 16 unions in a schema: so
nothing is nullable, a block's type decides what else it has, and what a schema cannot say the prompts do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surveys.ai.provider import SENTIMENTS
from surveys.engine.language.conditions import OPERATORS

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
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
_OPTION = _object({"value": _TEXT}, {"emoji": _TEXT, "scores": _list_of(_SCORE), "stays_last": _FLAG})
_ASKED = {"name": _TEXT, "prompt": _TEXT, "required": _FLAG, "show_when": _list_of(_CONDITION)}
_CHOSEN = {**_ASKED, "options": _list_of(_OPTION), "randomize_options": _FLAG}
_ENDS = {"label_left": _TEXT, "label_right": _TEXT}
_RANGE = {"min": _WHOLE, "max": _WHOLE}


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
        "show_when": _list_of(_CONDITION),
    },
)
_GRADED = {"correct_answer_index": _WHOLE, "when_correct": _TEXT, "when_incorrect": _TEXT}
_SINGLE = _block("single_punch", _CHOSEN, _GRADED)
_MULTI = _block("multi_punch", _CHOSEN, _RANGE)
_RATING = _block("rating", {**_ASKED, "max": _WHOLE}, _ENDS)
_OPINION = _block("opinion_scale", {**_ASKED, **_RANGE}, _ENDS)
_NPS = _block("nps", _ASKED)
_OPEN_TEXT = _block("open_text", _ASKED)
_OPEN_NUMERIC = _block("open_numeric", _ASKED, _RANGE)
_RANKING = _block("ranking", _CHOSEN, {"rank_top_n": _WHOLE})
_CALCULATED = _block("calculated_block", {"name": _TEXT, "calculated_formula": _TEXT})


def _script(*blocks: Schema) -> Schema:
    return _object({"scoring_enabled": _FLAG, "blocks": _list_of({"anyOf": list(blocks)})})


_VOTED = (_CONTENT, _SINGLE, _MULTI, _RATING, _OPINION, _NPS)
POLL = _script(*_VOTED)
CONVO = _script(*_VOTED, _OPEN_TEXT, _OPEN_NUMERIC, _RANKING, _CALCULATED)

# --- Texts and summaries --------------------------------------------------------------------------------

# New themes stand first, so that they are named before answers are given to them.
READING = _object(
    {
        "new_themes": _list_of(_object({"title": _TEXT, "description": _TEXT})),
        "texts": _list_of(
            _object(
                {
                    "n": _WHOLE,
                    "themes": _list_of(_TEXT),
                    "sentiment": {"type": "string", "enum": list(SENTIMENTS)},
                },
                {"quote": _TEXT},
            )
        ),
    }
)
SUMMARY = _object({"summary": _TEXT})
