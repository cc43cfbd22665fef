"""Sorts submitted blocks into the order in which respondents walk them, and gives each its position and name.

    order_blocks(parsed, before=stored)     a whole script was sent
    order_patch(parsed, before=stored)      one block was sent; the others stay as they are

Order (rule 3.16): intro before main; then by `position`, or by the index in the array for a block
without one; ties keep the array's order. Automatic names (rule 3.8) count intro blocks and take the next
number. A block sent with its id but without a name keeps its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.reader import ParsedBlocks
from surveys.engine.script import SECTIONS, Block, Script, title_case


@dataclass(frozen=True)
class OrderedBlocks:
    """The blocks of a script in order; `block_paths[n]` and `sent_keys[n]` belong to `blocks[n]`.

    `outro` contains the submitted outro blocks, unchanged; the caller decides what to do with them.
    """

    blocks: tuple[Block, ...]
    block_paths: tuple[BlockPath, ...]
    sent_keys: tuple[frozenset[str], ...]
    outro: tuple[Block, ...] = ()
    outro_paths: tuple[BlockPath, ...] = ()
    outro_sent_keys: tuple[frozenset[str], ...] = ()


def order_blocks(parsed: ParsedBlocks, *, before: Script | None = None) -> OrderedBlocks:
    """Sort the blocks of a whole script, number them, and name those without a name."""
    walked = [n for n, block in enumerate(parsed.blocks) if block.section != "outro"]
    outro = [n for n, block in enumerate(parsed.blocks) if block.section == "outro"]
    walked.sort(key=lambda n: _rank(parsed.blocks[n], n))
    return OrderedBlocks(
        blocks=_named(_with_stored_names([parsed.blocks[n] for n in walked], before)),
        block_paths=tuple(parsed.block_paths[n] for n in walked),
        sent_keys=tuple(parsed.sent_keys[n] for n in walked),
        outro=tuple(parsed.blocks[n] for n in outro),
        outro_paths=tuple(parsed.block_paths[n] for n in outro),
        outro_sent_keys=tuple(parsed.sent_keys[n] for n in outro),
    )


def order_patch(parsed: ParsedBlocks, *, before: Script) -> OrderedBlocks:
    """Insert the block read by `read_patch` into its script, at its position.

    The block is removed and inserted again, so that its final position is the submitted one. Its path has no
    prefix; the paths of the others are their indexes in the stored script.
    """
    (block,), (block_path,), (sent_keys,) = parsed.blocks, parsed.block_paths, parsed.sent_keys
    was = before.index_by_id[block.id or 0]
    blocks = [*before.blocks[:was], *before.blocks[was + 1 :]]
    block_paths = [BlockPath(f"blocks[{n}]") for n in range(len(before.blocks)) if n != was]
    keys: list[frozenset[str]] = [frozenset()] * len(blocks)
    at = min(was if block.position is None else block.position, len(blocks))
    blocks.insert(at, block)
    block_paths.insert(at, block_path)
    keys.insert(at, sent_keys)
    order = sorted(range(len(blocks)), key=lambda n: SECTIONS.index(blocks[n].section))
    return OrderedBlocks(
        blocks=_named([blocks[n] for n in order]),
        block_paths=tuple(block_paths[n] for n in order),
        sent_keys=tuple(keys[n] for n in order),
    )


def _rank(block: Block, n: int) -> tuple[int, int, int]:
    return SECTIONS.index(block.section), n if block.position is None else block.position, n


def _with_stored_names(blocks: Iterable[Block], before: Script | None) -> list[Block]:
    stored = {block.id: block.name for block in before.blocks} if before else {}
    return [
        replace(block, name=stored[block.id])
        if block.name is None and block.id is not None and stored.get(block.id)
        else block
        for block in blocks
    ]


def _named(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks with their positions, and with automatic names for those that have none."""
    taken = {block.title for block in blocks if block.name}
    named = []
    for n, block in enumerate(blocks):
        name = block.name or _free_name(n, taken)
        if name != block.name or n != block.position:
            block = replace(block, name=name, position=n)
        named.append(block)
    return tuple(named)


def _free_name(number: int, taken: set[str]) -> str:
    while (title := title_case(f"q{number}")) in taken:
        number += 1
    taken.add(title)
    return f"q{number}"
