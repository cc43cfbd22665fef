"""Points, maxima and correct answers of the blocks passed so far → the score variables.

    score, max_score                     points earned, and the most that was possible (decisions 7.2)
    score_correct, max_score_correct     the same for graded questions, where only correct answers count
    correct_answers, max_correct_answers graded questions answered correctly, and all of them

The first four also exist for each bucket (`score_<bucket>`); without a bucket they are the sums over all
buckets (decisions 7.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from surveys.engine.language.names import SCORES, bucket_variables
from surveys.engine.language.values import json_number
from surveys.engine.script import CHOICES, SCALES, Block, Option, Script
from surveys.engine.walk import answers
from surveys.engine.walk.answers import Reply

Passed = tuple[Block, Reply | None]  # a block that was shown, with its reply
ZERO = Decimal(0)


def variables(script: Script, passed: Iterable[Passed]) -> Mapping[str, Decimal]:
    """Every score variable over the blocks passed, by its lower-case name.

    If scoring was enabled after the script was written, every bucket scores 0.
    """
    buckets = frozenset(script.bucket_keys if script.is_scored else ())
    sums = dict.fromkeys(SCORES, ZERO)
    for key in script.bucket_keys:
        sums |= dict.fromkeys(bucket_variables(key), ZERO)
    correct = graded = 0
    for block, reply in passed:
        is_graded = answers.is_graded(block)
        is_correct = is_graded and reply is not None and answers.is_correct(block, reply) is True
        graded += is_graded
        correct += is_correct
        for key in block.scored_buckets & buckets:
            if key not in block.max_points:
                block.max_points[key] = max_points(block, key), max_correct_points(block, key)
            earned, (most, most_correct) = points(block, reply, key), block.max_points[key]
            gained = {"score": earned, "max_score": most}
            if is_graded:
                gained["score_correct"] = earned if is_correct else ZERO
                gained["max_score_correct"] = most_correct
            for score, amount in gained.items():
                sums[score] += amount
                for variable in {f"{score}_{key}", f"{score}_{key.replace('-', '_')}"}:
                    sums[variable] += amount
    return {**sums, "correct_answers": Decimal(correct), "max_correct_answers": Decimal(graded)}


def by_bucket(script: Script, variables: Mapping[str, Decimal]) -> dict[str, list[int | float]]:
    """The four scores of each bucket, by its key, in the order of `SCORES`."""
    return {key: [json_number(variables[f"{score}_{key}"]) for score in SCORES] for key in script.bucket_keys}


def points(block: Block, reply: Reply | None, bucket: str) -> Decimal:
    """The points of a reply in a bucket: the sum of its options. A skip or a ranking has none."""
    if reply is None or block.type not in CHOICES | SCALES:
        return ZERO
    return sum((weight(option, bucket) for option in answers.chosen_options(block, reply)), ZERO)


def max_points(block: Block, bucket: str) -> Decimal:
    """The most points that any answer to a block can have in a bucket (decisions 7.2).

    For a multi punch these are its best positive options, as many as may be chosen, and others if more must
    be. For a question that may be skipped it is never below 0.
    """
    weights = sorted((weight(option, bucket) for option in block.options), reverse=True)
    if block.type == "multi_punch":
        least = max(block.min or 0, 1 if block.required else 0)
        most = len(weights) if block.max is None else block.max
        positive = sum(points > 0 for points in weights)
        best_sum = sum(weights[: max(least, min(most, positive))], ZERO)
    elif block.type in CHOICES | SCALES and weights:
        best_sum = weights[0]
    else:
        return ZERO
    return best_sum if block.required else max(best_sum, ZERO)


def max_correct_points(block: Block, bucket: str) -> Decimal:
    """The most that a graded block adds to `score_correct`: the points of its correct answer, at least 0."""
    return max(ZERO, sum((weight(option, bucket) for option in _correct(block)), ZERO))


def weight(option: Option, bucket: str) -> Decimal:
    """An option's points in a bucket; 0 by default."""
    return (option.score_values or {}).get(bucket, ZERO)


def _correct(block: Block) -> Iterator[Option]:
    for option_id in block.correct_answer_ids or ():
        if option_id in block.option_by_id:
            yield block.option_by_id[option_id]
