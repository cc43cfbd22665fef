"""Finds the blocks and options of a preview again after a save has given them ids.

A new block has an id of its own only in the preview (`source.FIRST_NEW_ID`). Its name stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surveys.engine.script import Block, Script
from surveys.engine.walk.answers import Reply

if TYPE_CHECKING:
    from surveys.services.previews.walk import Walk

FIRST_NEW_ID = 2**52  # above all stored ids; with 48 bits more still below 2**53


def names_of(script: Script) -> dict[int, str]:
    """The names of blocks, and the values of options, that have no stored id."""
    numbered = [(block.id or 0, block.title) for block in script.blocks]
    numbered += [(option.id or 0, option.value) for block in script.blocks for option in block.options]
    return {number: name for number, name in numbered if number >= FIRST_NEW_ID}


def renumbered(walk: Walk, script: Script) -> Walk:
    """The walk with the stored ids of blocks and options that had none. Blocks that are gone are left out."""
    ids = _block_ids(walk.names, script)
    state = walk.state
    blocks = {block.id: block for block in script.blocks}
    path = [ids.get(block_id, block_id) for block_id in state.path]
    replies = {
        ids.get(block_id, block_id): _reply(reply, walk.names, blocks.get(ids.get(block_id, block_id)))
        for block_id, reply in state.replies.items()
    }
    state = replace(state, path=tuple(block_id for block_id in path if block_id in blocks), replies=replies)
    return replace(
        walk,
        state=state,
        current=ids.get(walk.current or 0, walk.current),
        forced=ids.get(walk.forced or 0, walk.forced),
    )


def _block_ids(names: Mapping[int, str], script: Script) -> dict[int, int]:
    by_title = {block.title: block.id or 0 for block in script.blocks}
    known = script.index_by_id
    return {
        number: by_title[name] for number, name in names.items() if number not in known and name in by_title
    }


def _reply(reply: Reply, names: Mapping[int, str], block: Block | None) -> Reply:
    chosen = reply.get("option_ids")
    if not isinstance(chosen, list) or block is None:
        return reply
    by_value = {option.value: option.id or 0 for option in block.options}
    option_ids: list[Any] = [
        option_id if option_id in block.option_by_id else by_value.get(names.get(option_id, ""), 0)
        for option_id in chosen
    ]
    return {"option_ids": option_ids}
