"""The violations of a script as it is sent, found in the same way as by the services."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from surveys.engine.intake import reader
from surveys.engine.intake.ordering import order_blocks
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Bucket, Script, Violation

Raw = dict[str, Any]

CHOICE: Raw = {"type": "single_punch", "prompt": "Which?", "options": [{"value": "a"}, {"value": "b"}]}
TEXT: Raw = {"type": "open_text", "prompt": "Why?"}
CONTENT: Raw = {"type": "content_block", "prompt": "Welcome."}
RATING: Raw = {"type": "rating", "prompt": "How good?"}
RANKING: Raw = {**CHOICE, "type": "ranking"}
MULTI: Raw = {**CHOICE, "type": "multi_punch"}
NUMERIC: Raw = {"type": "open_numeric", "prompt": "How many?"}
OPINION: Raw = {"type": "opinion_scale", "prompt": "How much?"}
NPS: Raw = {"type": "nps", "prompt": "Would you tell a friend?"}
ACTION: Raw = {
    "type": "action_block",
    "prompt": "Here you are.",
    "action_kind": "give_xp",
    "action_config": {"xp_amount": 10},
}
CALCULATED: Raw = {"type": "calculated_block", "prompt": "", "calculated_formula": "1 + 1"}
ONE_OF_EACH = {
    each["type"]: each
    for each in (CHOICE, MULTI, TEXT, NUMERIC, RATING, OPINION, NPS, RANKING, CONTENT, ACTION, CALCULATED)
}


def options(count: int, **more: object) -> list[Raw]:
    return [{"value": f"option {n}", **more} for n in range(count)]


def points(low: int, high: int, **more: object) -> list[Raw]:
    return [{"value": str(n), **more} for n in range(low, high + 1)]


def violations(
    raw: object,
    *,
    chat: bool = False,
    scoring: bool = False,
    bucket_keys: Collection[str] | None = None,
    poll: bool = False,
) -> list[Violation]:
    """The violations of a whole script, shape and rules together."""
    parsed = reader.read_blocks(raw, path="blocks", scoring=scoring)
    arrangement = order_blocks(parsed)
    script = Script(
        blocks=arrangement.blocks,
        is_poll=poll,
        scoring_enabled=scoring,
        buckets=tuple(map(Bucket, bucket_keys or ())),
    )
    return parsed.violations + script_rules.check(
        script,
        block_paths=arrangement.block_paths,
        chat=chat,
        bucket_keys=bucket_keys,
        invalid_fields=parsed.invalid_fields,
    )


def faults(raw: object, **how: Any) -> list[tuple[str, str]]:
    """The same as pairs of field and code."""
    return [(each.field, each.code) for each in violations(raw, **how)]


def block_faults(raw: Raw, **how: Any) -> list[tuple[str, str]]:
    """The violations of one block, alone in its script. Their fields lack the block's path."""
    return [(field.removeprefix("blocks[0]").lstrip("."), code) for field, code in faults([raw], **how)]
