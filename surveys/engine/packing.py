"""All answers of one conversation as a few bytes; figures are counted from them without the answer rows.

    pack(replies)        the bytes stored on the conversation's row, written together with its state
    key(id, kind)        what identifies an option, or a block's answers of one kind

There is one record for each answer row: a 64-bit integer of an id, a kind and a small number, which are
`id << 8 | kind << 5 | small`.

    OPTION   id of the option, small: its place among those chosen, at most 31
    PLAIN    id of the block: a text
    POINT    id of the block, small: a whole number from 0 to 20, such as a point of a scale
    NUMBER   id of the block: another number, whose upper and lower half (as a 64-bit float) are the ids of
             two further records, UPPER and LOWER

A record is never 0, so that 0 can separate conversations. The order of records has no meaning, except that
these three stay together. A new form of records needs a migration that packs all stored answers again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import cast

MAX_POINT = 20
MAX_SMALL = 31
OPTION, PLAIN, POINT, NUMBER, UPPER, LOWER = range(1, 7)
SEPARATOR = bytes(8)


def key(id: int, kind: int) -> int:
    """The part of a record without its small number."""
    return id << 3 | kind


def pack(replies: Mapping[int, Mapping[str, object]]) -> bytes:
    """The records of replies by block id (`surveys.engine.walk.answers`); a skip has none."""
    records = [record for block_id, reply in replies.items() for record in _records(block_id, reply)]
    return struct.pack(f">{len(records)}q", *records)


def _records(block_id: int, reply: Mapping[str, object]) -> Iterator[int]:
    if "option_ids" in reply:
        for ordinal, option_id in enumerate(cast("list[int]", reply["option_ids"])):
            yield option_id << 8 | OPTION << 5 | min(ordinal, MAX_SMALL)
    elif "number" in reply:
        number = float(str(reply["number"]))
        if 0 <= number <= MAX_POINT and number.is_integer():
            yield block_id << 8 | POINT << 5 | int(number)
        else:
            upper, lower = struct.unpack(">II", struct.pack(">d", number))
            yield from (block_id << 8 | NUMBER << 5, upper << 8 | UPPER << 5, lower << 8 | LOWER << 5)
    elif "text" in reply:
        yield block_id << 8 | PLAIN << 5
