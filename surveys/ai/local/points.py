"""What counts in a draft: graded questions, points for buckets, and drafts that do without either."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from surveys.ai.local.phrasing import shortened
from surveys.ai.local.sizing import Block, mentions, without
from surveys.engine.intake.fields import MAX_BUCKET_NAME
from surveys.engine.language import names
from surveys.engine.language.lexer import NAME_PATTERN
from surveys.engine.rules import buckets
from surveys.engine.script import Bucket, title_case

# Marked for their author, who alone can know the facts.
_TO_REPLACE = "(replace)"
_GRADED = ("correct_answer_index", "when_correct", "when_incorrect")


def graded(number: int, *, options: int = 4) -> Block:
    """A graded question whose text and answers are marked for its author to replace."""
    wrong = [f"Wrong answer {chr(ord('A') + n)} {_TO_REPLACE}" for n in range(options - 1)]
    return {
        "name": f"question_{number}",
        "type": "single_punch",
        "prompt": f"Question {number} about {{topic}} (replace this text)",
        "randomize_options": True,
        "options": [{"value": value} for value in (f"Right answer {_TO_REPLACE}", *wrong)],
        "correct_answer_index": 0,
        "when_correct": "That's right!",
        "when_incorrect": "Not quite. (Tell the right answer here.)",
    }


def weighed(number: int, outcomes: Sequence[str]) -> Block:
    """A question with an answer for each outcome, all marked for its author to replace."""
    return {
        "name": f"question_{number}",
        "type": "single_punch",
        "prompt": f"Question {number} (replace this text and the answers)",
        "randomize_options": True,
        "options": _answers_for(outcomes),
    }


def usable_outcomes(wanted: Iterable[str], *, declared: Collection[str]) -> tuple[str, ...]:
    """Names for outcomes of a personality quiz that formulas can write; none where fewer than two can be.

    Declared buckets are used as they are; any other name becomes that of the bucket it makes.
    """
    usable: dict[str, str] = {}
    for name in declared or wanted:
        key = Bucket(" ".join(name.split()) if not declared else name).key
        told = name if declared else buckets.name_of(key)
        is_sound = names.bucket_name_problem(told) is None and len(told) <= MAX_BUCKET_NAME
        if is_sound and NAME_PATTERN.fullmatch(f"score_{key}"):
            usable.setdefault(key.replace("-", "_"), told)
    return tuple(usable.values()) if len(usable) > 1 else ()


def with_outcomes(blocks: Iterable[Block], outcomes: Sequence[str], *, result: str) -> list[Block]:
    """A personality quiz that finds one of these: the questions stay, the answers are left to its author."""
    told = [
        {
            "name": f"told_outcome_{n}",
            "type": "content_block",
            "prompt": f"(Tell here what “{outcome}” stands for.)",
            "show_when": {"block": result, "op": "eq", "value": outcome},
        }
        for n, outcome in enumerate(outcomes, 1)
    ]
    kept = [block for block in blocks if not _tells_outcome(block, result)]
    scores = ", ".join(f"[score_{Bucket(outcome).key}]" for outcome in outcomes)
    for n, block in enumerate(kept):
        if block["name"] == result:
            kept[n] = block | {"calculated_formula": f"argmax({scores})"}
        elif any("score_values" in option for option in block.get("options", ())):
            kept[n] = block | {"options": _answers_for(outcomes)}
    return [*kept, *told]


def without_points(blocks: Iterable[Block]) -> list[Block]:
    """The same without anything that counts, and without what would tell of it."""
    plain = [
        {key: value for key, value in block.items() if key not in _GRADED} | _unweighed(block)
        for block in blocks
    ]
    scored = [block["name"] for block in plain if any(map(_is_score, mentions(block)))]
    return without(plain, scored)


def with_points_of(blocks: Iterable[Block], keys: Collection[str]) -> list[Block]:
    """The same with points for these buckets alone."""
    return [block | _unweighed(block, keys) for block in blocks]


def _answers_for(outcomes: Sequence[str]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for n, outcome in enumerate(outcomes, 1):
        said = f"Answer for {shortened(outcome, length=16)} {_TO_REPLACE}"
        if any(answer["value"] == said for answer in answers):
            said = f"Answer {n} {_TO_REPLACE}"
        answers.append({"value": said, "score_values": {Bucket(outcome).key: 1}})
    return answers


def _tells_outcome(block: Block, result: str) -> bool:
    condition = block.get("show_when") or {}
    return title_case(condition.get("block") or "") == title_case(result)


def _unweighed(block: Block, keys: Collection[str] = ()) -> dict[str, Any]:
    if "options" not in block:
        return {}
    options = []
    for option in block["options"]:
        weights = {key: points for key, points in option.get("score_values", {}).items() if key in keys}
        rest = {key: value for key, value in option.items() if key != "score_values"}
        options.append(rest | {"score_values": weights} if weights else rest)
    return {"options": options}


def _is_score(mention: str) -> bool:
    return names.looks_like_score(mention.lower())
