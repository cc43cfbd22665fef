"""Conversion of scripts as the model writes them to the blocks of our API. The engine's rules check them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from surveys.ai.models.json_values import (
    JsonObject,
    as_flag,
    as_integer,
    as_line,
    as_list,
    as_number,
    as_objects,
    as_text,
    malformed,
)
from surveys.ai.provider import ProposedScript, ScriptRequest
from surveys.engine.intake.fields import MAX_DESCRIPTION, MAX_GROUP, MAX_OPTIONS
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language import names
from surveys.engine.language.references import TEXTS_WITH_TOKENS
from surveys.engine.rules import naming
from surveys.engine.script import FORMATS, GROUPED, Bucket, title_case

_MAX_CONDITIONS = 20
_MAX_SENTENCE, _MAX_SENTENCES = 200, 12
_MAX_WISH = 100
_WISHES = {
    "privacy_mode": re.compile(r"anonymous|transparent"),
    "type": re.compile(r"poll|convo"),
    "closing": re.compile(r".+"),
    "language": re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*"),
}
FEEDBACK = ("when_correct", "when_incorrect")
# The special role of an option, by the type of its block. An option with its own text and an exclusive option
# are never shuffled.
OPTION_KINDS = {
    "single_punch": ("plain", "last", "other"),
    "multi_punch": ("plain", "last", "other", "exclusive"),
    "ranking": ("plain", "last"),
}
_POSITION = re.compile(r"\[(q[0-9]+)\]")

LABELS = ("label_left", "label_center", "label_right")

Fields = dict[str, Any]  # The fields of a block, an option or a condition.


def read_script(response: JsonObject, request: ScriptRequest) -> ProposedScript:
    """Convert the model's response to a draft. Raises UnusableResponseError if it is not a script."""
    raw_blocks = as_objects(response.get("blocks"), most=MAX_BLOCKS)
    if not raw_blocks:
        raise malformed()
    block_names = frozenset(as_text(raw.get("name")) for raw in raw_blocks)
    blocks = naming.named([read_block(raw, block_names) for raw in raw_blocks])
    scoring = request.scoring
    if scoring is None:
        scoring = as_flag(response.get("scoring_enabled")) or any(map(is_scored, blocks))
    if not scoring:
        for block in blocks:
            for option in block.get("options", ()):
                option.pop("score_values", None)
    return ProposedScript(
        blocks,
        scoring_enabled=scoring,
        understood=read_sentences(response.get("understood")),
        unmet=read_sentences(response.get("unmet")),
        confidence=_read_share(response.get("confidence")),
        wishes=_read_wishes(response.get("wishes")),
    )


def read_sentences(raw: object) -> tuple[str, ...]:
    """Return short sentences about a draft, such as the wishes that it does not meet."""
    lines = (as_line(item, most=_MAX_SENTENCE) for item in as_list(raw, most=100))
    return tuple(line for line in lines if line)[:_MAX_SENTENCES]


def _read_share(raw: object) -> float | None:
    number = as_number(raw)
    return None if number is None else min(1.0, max(0.0, float(number)))


def _read_wishes(raw: object) -> dict[str, str]:
    """Return the known settings that the intent wishes. Of two wishes for one setting, the first counts."""
    wishes: dict[str, str] = {}
    for wish in as_objects(raw, most=100):
        setting, value = as_text(wish.get("setting")), as_line(wish.get("value"), most=_MAX_WISH)
        allowed = _WISHES.get(setting)
        if allowed is not None and allowed.fullmatch(value):
            wishes.setdefault(setting, value)
    return wishes


def is_scored(block: Fields) -> bool:
    """Whether a block gives points or has a correct answer."""
    has_points = any(option.get("score_values") for option in block.get("options") or ())
    has_answer = block.get("correct_answer_index") is not None
    has_answers = bool(block.get("correct_answer_ids") or block.get("correct_answer_indexes"))
    return has_points or has_answer or has_answers


def read_block(raw: JsonObject, block_names: frozenset[str]) -> Fields:
    """Convert one block. `block_names` are the names of all blocks of its script."""
    type_ = as_text(raw.get("type"))
    if type_ not in _READERS:
        raise malformed()
    conditions = as_objects(raw.get("show_when"), most=_MAX_CONDITIONS)
    block: Fields = {
        "type": type_,
        "name": as_text(raw.get("name")) or None,
        "prompt": as_text(raw.get("prompt")),
        "description": as_text(raw.get("description"))[:MAX_DESCRIPTION] or None,
        "show_when": _all_of([_read_condition(condition, block_names) for condition in conditions]),
        "group": as_text(raw.get("group"))[:MAX_GROUP].strip() or None if type_ in GROUPED else None,
        **_READERS[type_](raw),
    }
    for key in (*TEXTS_WITH_TOKENS, "calculated_formula"):
        if block.get(key):
            block[key] = _POSITION.sub(partial(_as_name, block_names), block[key])
    return _without_nulls(block)


def _as_name(block_names: frozenset[str], match: re.Match[str]) -> str:
    """Return the token in title case if it names a block: `[q3]` becomes `[Q3]`. The model knows no
    positions, so `q3` is a name.
    """
    return f"[{title_case(match[1])}]" if match[1] in block_names else match[0]


def _all_of(conditions: list[Fields]) -> Fields | None:
    if len(conditions) > 1:
        return {"all": conditions}
    return conditions[0] if conditions else None


def _read_condition(raw: JsonObject, block_names: frozenset[str]) -> Fields:
    subject = as_text(raw.get("block"))
    is_variable = names.looks_like_variable(subject) and subject not in block_names
    op = as_text(raw.get("op"))
    value = _read_value(raw.get("value"))
    if op == "in" and not isinstance(value, list):
        value = [value]
    return {"variable" if is_variable else "block": subject, "op": op, "value": value}


def _read_value(raw: object) -> str | int | float | list[str | int | float]:
    if isinstance(raw, list):
        return [_read_single_value(item) for item in as_list(raw, most=MAX_OPTIONS)]
    return _read_single_value(raw)


def _read_single_value(raw: object) -> str | int | float:
    return as_text(raw) if isinstance(raw, str) else _required_number(raw)


def _required_number(raw: object) -> int | float:
    number = as_number(raw)
    if number is None:
        raise malformed()
    return number


def _without_nulls(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


# --- Types of blocks ------------------------------------------------------------------------------------


def _read_content(raw: JsonObject) -> Fields:
    return {"section": "intro" if raw.get("section") == "intro" else None}


def _read_question(raw: JsonObject) -> Fields:
    return {"required": as_flag(raw.get("required"))}


def _read_text(raw: JsonObject) -> Fields:
    format_ = as_text(raw.get("format"))
    return {"format": format_ if format_ in FORMATS else None, **_read_question(raw)}


def _read_range(raw: JsonObject) -> Fields:
    return {"min": as_integer(raw.get("min")), "max": as_integer(raw.get("max")), **_read_question(raw)}


def _read_numeric(raw: JsonObject) -> Fields:
    return {**_read_range(raw), "whole": as_flag(raw.get("whole")) or None}


def _read_rating(raw: JsonObject) -> Fields:
    return {**_read_range(raw), "min": 1, "scale": _read_scale(raw)}


def _read_opinion(raw: JsonObject) -> Fields:
    return {**_read_range(raw), "scale": _read_scale(raw)}


def _read_scale(raw: JsonObject) -> Fields | None:
    labels = {key: as_text(raw.get(key)) for key in LABELS}
    return {key: label for key, label in labels.items() if label} or None


def _read_choice(raw: JsonObject) -> Fields:
    options = as_objects(raw.get("options"), most=MAX_OPTIONS)
    return {
        "options": [_read_option(option, as_text(raw.get("type"))) for option in options],
        "randomize_options": as_flag(raw.get("randomize_options")) or None,
        **_read_question(raw),
    }


def _read_single_punch(raw: JsonObject) -> Fields:
    correct = as_integer(raw.get("correct_answer_index"))
    block = {**_read_choice(raw), "correct_answer_index": correct}
    return block if correct is None else block | _read_feedback(raw)


def _read_multi_punch(raw: JsonObject) -> Fields:
    sent = as_list(raw.get("correct_answer_indexes"), most=MAX_OPTIONS)
    correct = [index for each in sent if (index := as_integer(each)) is not None]
    block = {**_read_choice(raw), **_read_range(raw), "correct_answer_indexes": correct or None}
    return block | _read_feedback(raw) if correct else block


def _read_feedback(raw: JsonObject) -> Fields:
    """Return the texts after an answer, which only a block with a right answer can have."""
    return {key: as_text(raw.get(key)) or None for key in FEEDBACK}


def _read_ranking(raw: JsonObject) -> Fields:
    return {**_read_choice(raw), "rank_top_n": as_integer(raw.get("rank_top_n"))}


def _read_calculated(raw: JsonObject) -> Fields:
    return {"calculated_formula": as_text(raw.get("calculated_formula"))}


def _read_option(raw: JsonObject, type_: str) -> Fields:
    scores = as_objects(raw.get("scores"), most=MAX_OPTIONS)
    points = {
        Bucket(as_text(score.get("bucket"))).key: _required_number(score.get("points"))
        for score in reversed(scores)  # Of two scores for one bucket, the first counts.
    }
    return _without_nulls(
        {
            "value": as_text(raw.get("value")),
            "emoji": as_text(raw.get("emoji")) or None,
            "score_values": points or None,
            **_of_kind(as_text(raw.get("kind")), type_),
        }
    )


def _of_kind(kind: str, type_: str) -> Fields:
    """Return the fields of an option of this kind. If the block's type does not allow the kind, the option
    only stays last.
    """
    if kind in ("other", "exclusive") and kind in OPTION_KINDS[type_]:
        return {f"is_{kind}": True}
    return {} if kind in ("", "plain") else {"anchor_position": "last"}


def kind_of(option: Mapping[str, Any]) -> str:
    """The kind of an option as our API returns it."""
    if option.get("is_other") or option.get("is_exclusive"):
        return "other" if option.get("is_other") else "exclusive"
    return "last" if option.get("anchor_position") == "last" else "plain"


_READERS: Mapping[str, Callable[[JsonObject], Fields]] = {
    "content_block": _read_content,
    "single_punch": _read_single_punch,
    "multi_punch": _read_multi_punch,
    "open_text": _read_text,
    "open_numeric": _read_numeric,
    "rating": _read_rating,
    "opinion_scale": _read_opinion,
    "nps": _read_question,
    "ranking": _read_ranking,
    "calculated_block": _read_calculated,
}
BLOCK_TYPES = frozenset(_READERS)  # The types that a model can write.
