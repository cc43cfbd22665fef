"""Changes of the outro by script writes: the presentation of blocks that are sent back by id (rule 3.27)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.ordering import OrderedBlocks
from surveys.engine.rules import revision as revisions
from surveys.engine.rules import script as script_rules
from surveys.engine.script import Block, Script, Violation


def known_by_id(blocks: tuple[Block, ...], before: Script) -> tuple[Block, ...]:
    """The submitted blocks; those with the id of an outro block belong to the outro."""
    ids = {block.id for block in before.outro}
    return tuple(replace(block, section="outro") if block.id in ids else block for block in blocks)


def paths_of(script: Script, ordered: OrderedBlocks) -> list[BlockPath]:
    """The path of each outro block in the request, or in the response to a read."""
    sent = {
        block.id: block_path for block, block_path in zip(ordered.outro, ordered.outro_paths, strict=True)
    }
    numbered = enumerate(script.outro, len(script.blocks))
    return [sent.get(block.id) or BlockPath(f"blocks[{n}]") for n, block in numbered]


def resubmitted(
    ordered: OrderedBlocks, before: Script, invalid_fields: Set[str]
) -> tuple[tuple[Block, ...], list[Violation]]:
    """The outro after a write, and its violations. Resubmitted blocks change their presentation."""
    outro = {block.id: block for block in before.outro}
    violations: list[Violation] = []
    seen: set[int] = set()
    sent = zip(ordered.outro, ordered.outro_paths, ordered.outro_sent_keys, strict=True)
    for block, block_path, sent_keys in sent:
        if block.id is None:
            continue  # The intake has already reported this block.
        if block.id not in outro:
            message = f"`id` {block.id} is no outro block of this script."
            violations.append(Violation(block_path.field("id"), "not_found", message))
            continue
        if block.id in seen:
            message = f"`id` {block.id} is sent twice."
            violations.append(Violation(block_path.field("id"), "duplicate", message))
        seen.add(block.id)
        outro[block.id] = revisions.with_presentation(outro[block.id], block, sent_keys=sent_keys)
        violations += violations_of(outro[block.id], block, block_path, invalid_fields)
    return tuple(outro.values()), violations


def violations_of(
    block: Block, sent: Block, block_path: BlockPath, invalid_fields: Set[str]
) -> list[Violation]:
    """Check an outro block. Also checks `continue` as submitted, including parts we do not store."""
    return script_rules.check_outro(
        replace(block, continue_=sent.continue_ or block.continue_), block_path, invalid_fields=invalid_fields
    )
