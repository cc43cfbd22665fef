"""Points, maxima and correct answers of the blocks passed so far → the score variables.

    score, max_score                     points earned, and the most that was possible (rules 5.6 and 5.7)
    score_correct, max_score_correct     the same for graded questions, where only correct answers count
    correct_answers, max_correct_answers graded questions answered correctly, and all of them

The first four also exist for each bucket (`score_<bucket>`); without a bucket they are the sums over all
buckets (rule 5.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from surveys.engine.language.names import SCORES
from surveys.engine.language.values import json_number
from surveys.engine.script import CHOICES, SCALES, Block, Option, Script
from surveys.engine.walk import answers
from surveys.engine.walk.answers import Reply

Passed = tuple[Block, Reply | None]  # a block that was shown, with its reply
ZERO = Decimal(0)


class Sums:
    """The scores over the blocks passed so far. Each block adds its points in a time that does not grow.

    If scoring was enabled after the script was written, every bucket scores 0.
    """

    def __init__(self, script: Script) -> None:
        self._buckets = frozenset(script.bucket_keys if script.is_scored else ())
        self._by_score = {score: dict.fromkeys(script.bucket_keys, ZERO) for score in SCORES}
        self._correct = self._graded = 0

    def add(self, block: Block, reply: Reply | None) -> None:
        """Add a block that was shown, with its reply."""
        is_graded = answers.is_graded(block)
        is_correct = is_graded and reply is not None and answers.is_correct(block, reply) is True
        self._graded += is_graded
        self._correct += is_correct
        keys = block.scored_buckets & self._buckets
        if not keys:
            return
        score, max_score, score_correct, max_score_correct = self._by_score.values()
        for key, points in points_by_bucket(block, reply).items():
            if key in keys:
                score[key] += points
                if is_correct:
                    score_correct[key] += points
        for key in keys:
            if key not in block.max_points:
                block.max_points[key] = max_points(block, key), max_correct_points(block, key)
            most, most_correct = block.max_points[key]
            max_score[key] += most
            if is_graded:
                max_score_correct[key] += most_correct

    def variables(self) -> dict[str, Decimal]:
        """Every score variable, by its lower-case name."""
        sums = {score: sum(by_key.values(), ZERO) for score, by_key in self._by_score.items()}
        for score, by_key in self._by_score.items():
            for key, amount in by_key.items():
                for variable in {f"{score}_{key}", f"{score}_{key.replace('-', '_')}"}:
                    sums[variable] = sums.get(variable, ZERO) + amount
        return {
            **sums,
            "correct_answers": Decimal(self._correct),
            "max_correct_answers": Decimal(self._graded),
        }


def variables(script: Script, passed: Iterable[Passed]) -> Mapping[str, Decimal]:
    """Every score variable over the blocks passed, by its lower-case name."""
    sums = Sums(script)
    for block, reply in passed:
        sums.add(block, reply)
    return sums.variables()


def by_bucket(script: Script, variables: Mapping[str, Decimal]) -> dict[str, list[int | float]]:
    """The four scores of each bucket, by its key, in the order of `SCORES`."""
    return {key: [json_number(variables[f"{score}_{key}"]) for score in SCORES] for key in script.bucket_keys}


def points_by_bucket(block: Block, reply: Reply | None) -> Mapping[str, Decimal]:
    """The points of a reply: the sum of its options in each bucket. A skip or a ranking has none."""
    earned = dict[str, Decimal]()
    if reply is not None and block.type in CHOICES | SCALES:
        for option in answers.chosen_options(block, reply):
            for key, weight in (option.score_values or {}).items():
                earned[key] = earned.get(key, ZERO) + weight
    return earned


def max_points(block: Block, bucket: str) -> Decimal:
    """The most points that any answer to a block can have in a bucket (rules 5.6 and 5.7).

    For a multi punch it is the sum of the best positive options, up to the largest number that may be chosen,
    or the points of an exclusive option. If fewer options are positive than must be chosen, the best others
    count too. For a question that may be skipped it is never below 0.
    """
    weights = sorted((weight(option, bucket) for option in block.options), reverse=True)
    if block.type == "multi_punch":
        best_sum = max(_sums_of_choices(block, bucket), default=ZERO)
    elif block.type in CHOICES | SCALES and weights:
        best_sum = weights[0]
    else:
        return ZERO
    return best_sum if block.required else max(best_sum, ZERO)


def _sums_of_choices(block: Block, bucket: str) -> Iterator[Decimal]:
    """The best sum of options that can be chosen together, and the points of each exclusive option."""
    weights = sorted((weight(option, bucket) for option in block.together), reverse=True)
    if weights:
        least = max(block.min or 0, 1 if block.required else 0)
        most = len(weights) if block.max is None else block.max
        positive = sum(points > 0 for points in weights)
        yield sum(weights[: max(least, min(most, positive))], ZERO)
    for option in block.options:
        if option.is_exclusive:
            yield weight(option, bucket)


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
