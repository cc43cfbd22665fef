"""Blocks as they were sent → blocks as they are walked: in order, numbered, and each with a name.

    arrange(reading, before=stored)          a whole script was sent
    arrange_patch(reading, before=stored)    one block was sent: the others stand as they are

Order (decisions 14.12): intro before main; then `position`, a block without one counting as its index in
the array; ties as in the array. Automatic names (6.1) count intro blocks, and take the next free number.
A block sent with its id but without a name keeps the name it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.reader import ParsedBlocks
from surveys.engine.script import SECTIONS, Block, Script, title_case


@dataclass(frozen=True)
class OrderedBlocks:
    """`places[n]` and `given[n]` tell where `blocks[n]` stood, and which keys it was sent with.

    `outro` holds the outro blocks that were resubmitted, as they were sent; their part in the script
    is for the caller to decide.
    """

    blocks: tuple[Block, ...]
    places: tuple[BlockPath, ...]
    given: tuple[frozenset[str], ...]
    outro: tuple[Block, ...] = ()
    outro_places: tuple[BlockPath, ...] = ()
    outro_given: tuple[frozenset[str], ...] = ()


def order_blocks(reading: ParsedBlocks, *, before: Script | None = None) -> OrderedBlocks:
    """Put the blocks of a whole script in their order and name those without a name."""
    walked = [n for n, block in enumerate(reading.blocks) if block.section != "outro"]
    outro = [n for n, block in enumerate(reading.blocks) if block.section == "outro"]
    walked.sort(key=lambda n: _rank(reading.blocks[n], n))
    return OrderedBlocks(
        blocks=_named(_with_kept_names([reading.blocks[n] for n in walked], before)),
        places=tuple(reading.places[n] for n in walked),
        given=tuple(reading.given[n] for n in walked),
        outro=tuple(reading.blocks[n] for n in outro),
        outro_places=tuple(reading.places[n] for n in outro),
        outro_given=tuple(reading.given[n] for n in outro),
    )


def order_patch(reading: ParsedBlocks, *, before: Script) -> OrderedBlocks:
    """Put the one block that was read by `read_patch` into its script, moved where its position says.

    The block is taken out and put in again, so that it stands at the position it was given. Its place
    is the one read (no prefix); the others are told by their index in the stored script.
    """
    (block,), (place,), (given,) = reading.blocks, reading.places, reading.given
    was = before.index_by_id[block.id or 0]
    blocks = [*before.blocks[:was], *before.blocks[was + 1 :]]
    places = [BlockPath(f"blocks[{n}]") for n in range(len(before.blocks)) if n != was]
    keys: list[frozenset[str]] = [frozenset()] * len(blocks)
    at = min(was if block.position is None else block.position, len(blocks))
    blocks.insert(at, block)
    places.insert(at, place)
    keys.insert(at, given)
    order = sorted(range(len(blocks)), key=lambda n: SECTIONS.index(blocks[n].section))
    return OrderedBlocks(
        blocks=_named([blocks[n] for n in order]),
        places=tuple(places[n] for n in order),
        given=tuple(keys[n] for n in order),
    )


def _rank(block: Block, n: int) -> tuple[int, int, int]:
    return SECTIONS.index(block.section), n if block.position is None else block.position, n


def _with_kept_names(blocks: Iterable[Block], before: Script | None) -> list[Block]:
    stored = {block.id: block.name for block in before.blocks} if before else {}
    return [
        replace(block, name=stored[block.id])
        if block.name is None and block.id is not None and stored.get(block.id)
        else block
        for block in blocks
    ]


def _named(blocks: Sequence[Block]) -> tuple[Block, ...]:
    taken = {block.title for block in blocks if block.name}
    arranged = []
    for n, block in enumerate(blocks):
        name = block.name or _free_name(n, taken)
        if name != block.name or n != block.position:
            block = replace(block, name=name, position=n)
        arranged.append(block)
    return tuple(arranged)


def _free_name(number: int, taken: set[str]) -> str:
    while (title := title_case(f"q{number}")) in taken:
        number += 1
    taken.add(title)
    return f"q{number}"
