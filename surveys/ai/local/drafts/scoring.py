"""Points in a draft: questions with a right answer, personality quizzes, and drafts without any points."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from surveys.ai.local.drafts.length import MutableBlock, references_of, without_blocks
from surveys.ai.local.english import truncate
from surveys.engine.intake.fields import MAX_BUCKET_NAME
from surveys.engine.language import names
from surveys.engine.language.lexer import NAME_PATTERN
from surveys.engine.rules import buckets
from surveys.engine.script import Bucket, title_case

_QUIZ_FIELDS = ("correct_answer_index", "when_correct", "when_incorrect")


def quiz_placeholder(number: int, *, options: int = 4) -> MutableBlock:
    """Return a question with one right answer. The author writes the texts."""
    wrong = [f"⟦Wrong answer {chr(ord('A') + n)}⟧" for n in range(options - 1)]
    return {
        "name": f"question_{number}",
        "type": "single_punch",
        "prompt": f"⟦Question {number} about {{topic}}⟧",
        "randomize_options": True,
        "options": [{"value": value} for value in ("⟦Right answer⟧", *wrong)],
        "correct_answer_index": 0,
        "when_correct": "That's right!",
        "when_incorrect": "Not quite.",
    }


def personality_placeholder(number: int, outcomes: Sequence[str]) -> MutableBlock:
    """Return a question with one answer for each outcome. The author writes the texts."""
    return {
        "name": f"question_{number}",
        "type": "single_punch",
        "prompt": f"⟦Question {number}⟧",
        "randomize_options": True,
        "options": _answers_for(outcomes),
    }


def usable_outcomes(wanted: Iterable[str], *, declared: Collection[str]) -> tuple[str, ...]:
    """Return the outcomes that a personality quiz can have; no outcomes if fewer than two are usable.

    An outcome is usable if formulas can refer to its bucket. The project's `declared` buckets come before the
    `wanted` names, and keep their spelling; a wanted name is spelled as its bucket will be.
    """
    usable: dict[str, str] = {}
    for name in declared or wanted:
        key = Bucket(" ".join(name.split()) if not declared else name).key
        outcome = name if declared else buckets.name_of(key)
        is_valid = names.bucket_name_problem(outcome) is None and len(outcome) <= MAX_BUCKET_NAME
        if is_valid and NAME_PATTERN.fullmatch(f"score_{key}"):
            usable.setdefault(key.replace("-", "_"), outcome)
    return tuple(usable.values()) if len(usable) > 1 else ()


def with_outcomes(
    blocks: Iterable[MutableBlock], outcomes: Sequence[str], *, result: str
) -> list[MutableBlock]:
    """Turn the blocks into a personality quiz with these outcomes.

    The questions remain. The author writes their answers and the descriptions of the outcomes. `result` names
    the calculated block that finds the outcome.
    """
    all_blocks = list(blocks)
    told = next(block for block in all_blocks if _depends_on(block, result))
    descriptions = [
        told
        | {
            "name": f"told_outcome_{n}",
            "description": f"⟦Tell here what “{outcome}” stands for⟧",
            "show_when": {"block": result, "op": "eq", "value": outcome},
        }
        for n, outcome in enumerate(outcomes, 1)
    ]
    quiz = [block for block in all_blocks if not _depends_on(block, result)]
    scores = ", ".join(f"[score_{Bucket(outcome).key}]" for outcome in outcomes)
    for n, block in enumerate(quiz):
        if block["name"] == result:
            quiz[n] = block | {"calculated_formula": f"argmax({scores})"}
        elif any("score_values" in option for option in block.get("options", ())):
            quiz[n] = block | {"options": _answers_for(outcomes)}
    return [*quiz, *descriptions]


def without_points(blocks: Iterable[MutableBlock]) -> list[MutableBlock]:
    """Remove points and right answers, and all blocks that refer to a score."""
    plain = [
        {key: value for key, value in block.items() if key not in _QUIZ_FIELDS} | _options_with_points(block)
        for block in blocks
    ]
    dependent = [block["name"] for block in plain if any(map(_is_score, references_of(block)))]
    return without_blocks(plain, dependent)


def with_points_for(blocks: Iterable[MutableBlock], bucket_keys: Collection[str]) -> list[MutableBlock]:
    """Keep points for these buckets only."""
    return [block | _options_with_points(block, bucket_keys) for block in blocks]


def _answers_for(outcomes: Sequence[str]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for n, outcome in enumerate(outcomes, 1):
        value = f"⟦Answer for {truncate(outcome, length=16)}⟧"
        if any(answer["value"] == value for answer in answers):
            value = f"⟦Answer {n}⟧"
        answers.append({"value": value, "score_values": {Bucket(outcome).key: 1}})
    return answers


def _depends_on(block: MutableBlock, result: str) -> bool:
    condition = block.get("show_when") or {}
    return title_case(condition.get("block") or "") == title_case(result)


def _options_with_points(block: MutableBlock, bucket_keys: Collection[str] = ()) -> dict[str, Any]:
    """The `options` of a block with points for these buckets only; empty if the block has no options."""
    if "options" not in block:
        return {}
    options = []
    for option in block["options"]:
        points = {key: n for key, n in option.get("score_values", {}).items() if key in bucket_keys}
        plain = {key: value for key, value in option.items() if key != "score_values"}
        options.append(plain | {"score_values": points} if points else plain)
    return {"options": options}


def _is_score(reference: str) -> bool:
    return names.looks_like_score(reference.lower())
