"""Converts the blocks of a draft to blocks of a script, and back.

A block or option of a draft may contain `key`, a text by which the editor identifies the block or option
before it has an id. The engine never sees the key. The order of a draft is the order of its array; `position`
and `display_order` are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from surveys.engine.intake.field_paths import BlockPath
from surveys.engine.intake.ordering import OrderedBlocks

KEY = "key"
_INDEX = re.compile(r"blocks\[(\d+)\]")


def as_sent(blocks: Sequence[object]) -> list[object]:
    """Return the blocks of a draft in the form of a request body that writes a script."""
    return [_as_sent(block) for block in blocks]


def _as_sent(block: object) -> object:
    if not isinstance(block, dict):
        return block
    plain = {name: value for name, value in block.items() if name not in (KEY, "position")}
    if isinstance(plain.get("options"), list):
        plain["options"] = [
            {name: value for name, value in option.items() if name not in (KEY, "display_order")}
            if isinstance(option, dict)
            else option
            for option in plain["options"]
        ]
    return plain


def numbered(blocks: Sequence[object]) -> list[Any]:
    """Return the blocks of a draft with negative ids for blocks and options without an id."""
    ids = count(-1, -1)
    return [_numbered(block, ids) for block in blocks if isinstance(block, dict)]


def _numbered(block: Mapping[str, Any], ids: Iterator[int]) -> dict[str, Any]:
    options = [{**option, "id": option.get("id") or next(ids)} for option in block.get("options") or ()]
    return {**block, "id": block.get("id") or next(ids), "options": options or None}


def unnumbered(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The blocks without the ids that `numbered` gave; right answers are then named by their indexes."""
    return [_unnumbered(block) for block in blocks]


def _unnumbered(block: Mapping[str, Any]) -> dict[str, Any]:
    plain, options = dict(block), block.get("options")
    if _is_made(block.get("id")):
        plain["id"] = None
    if not isinstance(options, list):
        return plain
    right = block.get("correct_answer_ids") or []
    plain["options"] = [
        {**option, "id": None} if _is_made(option.get("id")) else option for option in options
    ]
    if any(map(_is_made, right)):
        ids = [option.get("id") for option in options]
        places = sorted(ids.index(each) for each in right)
        plain |= {
            "correct_answer_ids": None,
            "correct_answer_index": places[0],
            "correct_answer_indexes": places,
        }
    return plain


def _is_made(id_: object) -> bool:
    return isinstance(id_, int) and id_ < 0


def with_keys(
    saved: Sequence[dict[str, Any]], *, sent: Sequence[object], ordered: OrderedBlocks
) -> list[dict[str, Any]]:
    """Saved blocks as JSON; each block and option has the key under which it was sent.

    `saved` are the blocks in the order of the script, followed by its outro; `ordered` contains their indexes
    in `sent`. Blocks and options that were sent without a key have none.
    """
    by_id = dict(_outro_places(ordered))
    walked = len(ordered.blocks)
    places = [*ordered.block_paths, *(by_id.get(block["id"]) for block in saved[walked:])]
    return [
        _with_key(block, sent, place) if place else dict(block)
        for block, place in zip(saved, places, strict=True)
    ]


def _outro_places(ordered: OrderedBlocks) -> Iterator[tuple[int | None, BlockPath]]:
    for block, place in zip(ordered.outro, ordered.outro_paths, strict=True):
        yield block.id, place


def _with_key(block: Mapping[str, Any], sent: Sequence[object], place: BlockPath) -> dict[str, Any]:
    index = index_of(place.path)
    was = sent[index] if index is not None else None
    if not isinstance(was, dict):
        return dict(block)
    keyed = {**block, **_key_of(was)}
    sent_options = was.get("options")
    if block["options"] and isinstance(sent_options, list):
        keyed["options"] = [
            {**option, **_key_of(sent_options[place.options[n]])}
            if n < len(place.options) and place.options[n] < len(sent_options)
            else option
            for n, option in enumerate(block["options"])
        ]
    return keyed


def _key_of(sent: object) -> dict[str, str]:
    key = sent.get(KEY) if isinstance(sent, dict) else None
    return {KEY: key} if isinstance(key, str) else {}


def index_of(path: str) -> int | None:
    """`blocks[2]` → 2."""
    match = _INDEX.fullmatch(path)
    return int(match[1]) if match else None
