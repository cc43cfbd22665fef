"""A script as the model writes it → the interface's blocks. What they must be, the engine's rules say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from surveys.ai.claude import shapes
from surveys.ai.claude.shapes import Part
from surveys.ai.provider import Correction, ScriptDraft, ScriptRequest
from surveys.engine.intake.fields import MAX_OPTIONS
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language import names
from surveys.engine.script import Bucket

_MOST_CONDITIONS = 20

Block = dict[str, Any]


def told(request: ScriptRequest, correction: Correction | None) -> dict[str, object]:
    """What the model is given of a request."""
    data: dict[str, object] = {"intent": request.intent, "type": request.type}
    if request.scoring is not None:
        data["scoring"] = request.scoring
    if request.bucket_names:
        data["bucket_keys"] = [Bucket(name).key for name in request.bucket_names]
    if request.for_chat:
        data["for_chat"] = True
    if correction is not None:
        data["draft"] = list(correction.draft.blocks)
        data["violations"] = list(correction.violations)
    return data


def read(answer: Part, request: ScriptRequest) -> ScriptDraft:
    """The draft that the model answered. Raises Unusable where it is none."""
    sent = shapes.parts(answer.get("blocks"), most=MAX_BLOCKS)
    if not sent:
        raise shapes.misshaped()
    own_names = frozenset(shapes.text(each.get("name")) for each in sent)
    blocks = [_block(each, own_names) for each in sent]
    scoring = request.scoring
    if scoring is None:
        scoring = shapes.flag(answer.get("scoring_enabled")) or any(map(_is_scored, blocks))
    if not scoring:
        for block in blocks:
            for option in block.get("options", ()):
                option.pop("score_values", None)
    return ScriptDraft(blocks, scoring_enabled=scoring)


def _is_scored(block: Block) -> bool:
    return "correct_answer_index" in block or any("score_values" in each for each in block.get("options", ()))


def _block(sent: Part, own_names: frozenset[str]) -> Block:
    type_ = shapes.text(sent.get("type"))
    if type_ not in _KINDS:
        raise shapes.misshaped()
    conditions = shapes.parts(sent.get("show_when"), most=_MOST_CONDITIONS)
    block: Block = {
        "type": type_,
        "name": shapes.text(sent.get("name")) or None,
        "prompt": shapes.text(sent.get("prompt")),
        "show_when": _all_of([_condition(each, own_names) for each in conditions]),
        **_KINDS[type_](sent),
    }
    return {key: value for key, value in block.items() if value is not None}


def _all_of(conditions: list[Block]) -> Block | None:
    if len(conditions) > 1:
        return {"all": conditions}
    return conditions[0] if conditions else None


def _condition(sent: Part, own_names: frozenset[str]) -> Block:
    about = shapes.text(sent.get("block"))
    is_variable = names.looks_like_variable(about) and about not in own_names
    op = shapes.text(sent.get("op"))
    value = _value(sent.get("value"))
    if op == "in" and not isinstance(value, list):
        value = [value]
    return {"variable" if is_variable else "block": about, "op": op, "value": value}


def _value(sent: object) -> str | int | float | list[str | int | float]:
    if isinstance(sent, list):
        return [_single(each) for each in shapes.items(sent, most=MAX_OPTIONS)]
    return _single(sent)


def _single(sent: object) -> str | int | float:
    if isinstance(sent, str):
        return shapes.text(sent)
    found = shapes.number(sent)
    if found is None:
        raise shapes.misshaped()
    return found


# --- Kinds of blocks ------------------------------------------------------------------------------------


def _content(sent: Part) -> Block:
    return {"section": "intro" if sent.get("section") == "intro" else None}


def _question(sent: Part) -> Block:
    return {"required": shapes.flag(sent.get("required"))}


def _with_range(sent: Part) -> Block:
    return {"min": shapes.whole(sent.get("min")), "max": shapes.whole(sent.get("max")), **_question(sent)}


def _rating(sent: Part) -> Block:
    return {**_with_range(sent), "min": 1, "scale": _scale(sent)}


def _opinion(sent: Part) -> Block:
    return {**_with_range(sent), "scale": _scale(sent)}


def _scale(sent: Part) -> Block | None:
    ends = {key: shapes.text(sent.get(key)) for key in ("label_left", "label_right")}
    return {key: words for key, words in ends.items() if words} or None


def _with_options(sent: Part) -> Block:
    options = shapes.parts(sent.get("options"), most=MAX_OPTIONS)
    return {
        "options": [_option(each) for each in options],
        "randomize_options": shapes.flag(sent.get("randomize_options")) or None,
        **_question(sent),
    }


def _single_punch(sent: Part) -> Block:
    correct = shapes.whole(sent.get("correct_answer_index"))
    block = {**_with_options(sent), "correct_answer_index": correct}
    if correct is not None:  # feedback goes with it alone
        block |= {key: shapes.text(sent.get(key)) or None for key in ("when_correct", "when_incorrect")}
    return block


def _multi_punch(sent: Part) -> Block:
    return {**_with_options(sent), **_with_range(sent)}


def _ranking(sent: Part) -> Block:
    return {**_with_options(sent), "rank_top_n": shapes.whole(sent.get("rank_top_n"))}


def _calculated(sent: Part) -> Block:
    return {"calculated_formula": shapes.text(sent.get("calculated_formula"))}


def _option(sent: Part) -> Block:
    scores = shapes.parts(sent.get("scores"), most=MAX_OPTIONS)
    weights = {Bucket(shapes.text(each.get("bucket"))).key: _points(each) for each in reversed(scores)}
    option: Block = {
        "value": shapes.text(sent.get("value")),
        "emoji": shapes.text(sent.get("emoji")) or None,
        "score_values": weights or None,
        "anchor_position": "last" if shapes.flag(sent.get("stays_last")) else None,
    }
    return {key: value for key, value in option.items() if value is not None}


def _points(sent: Part) -> int | float:
    found = shapes.number(sent.get("points"))
    if found is None:
        raise shapes.misshaped()
    return found


_KINDS: Mapping[str, Callable[[Part], Block]] = {
    "content_block": _content,
    "single_punch": _single_punch,
    "multi_punch": _multi_punch,
    "open_text": _question,
    "open_numeric": _with_range,
    "rating": _rating,
    "opinion_scale": _opinion,
    "nps": _question,
    "ranking": _ranking,
    "calculated_block": _calculated,
}
