"""The most XP that the `give_xp` blocks of a script can give in one completion (rule 3.39).

    most(script)                               the sum over all blocks
    violations(script, block_paths, limit=…)   the block with which it exceeds a limit

No completion gives more, whatever the conditions are. A block counts even if its condition excludes another
block, and a block that gives a score counts with the best score that any answers have. Points count whether
scoring is on or not, because scoring is switched without a write of the script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.language.names import COUNTS, SCORES, bucket_variables
from surveys.engine.script import Block, Script, Violation
from surveys.engine.walk import scoring


def most(script: Script) -> int:
    """The most XP in one completion.

    The outro is left out, because the community's settings decide its amount.
    """
    return sum(_most_of(block, script) for block in script.blocks)


def violations(script: Script, block_paths: Sequence[BlockPath], *, limit: int | None) -> list[Violation]:
    """The violation at the block with which the sum exceeds the limit; none if the sum does not.

    None means no limit.
    """
    if limit is None or (total := most(script)) <= limit:
        return []
    so_far = 0
    for block, block_path in zip(script.blocks, block_paths, strict=True):
        so_far += _most_of(block, script)
        if so_far > limit:
            config = block.action_config
            key = "source_key" if config and config.source_key is not None else "xp_amount"
            message = (
                f"The `give_xp` blocks of this script can give {total:,} XP in one completion. In scripts of "
                f"creators the sum is at most {limit:,}; an admin can write more."
            )
            return [Violation(block_path.field(f"action_config.{key}"), "too_large", message)]
    return []


def _most_of(block: Block, script: Script) -> int:
    config = block.action_config
    if block.action_kind != "give_xp" or config is None:
        return 0
    if config.source_key is None:
        return config.xp_amount or 0
    most = max(_best(config.source_key, script), Decimal(0))
    return int(most.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _best(variable: str, script: Script) -> Decimal:
    """The highest possible value of a score variable."""
    if variable in COUNTS:
        return Decimal(sum(block.has_correct_answer for block in script.blocks))
    keys = {key for block in script.blocks for key in block.scored_buckets}
    if variable not in SCORES:
        keys = {key for key in keys if variable in bucket_variables(key)}
    return sum(_points(script.blocks, keys), Decimal(0))


def _points(blocks: Sequence[Block], keys: set[str]) -> Iterator[Decimal]:
    for block in blocks:
        for key in keys & block.scored_buckets:
            yield max(scoring.max_points(block, key), scoring.max_correct_points(block, key), Decimal(0))
