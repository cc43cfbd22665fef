"""The order of a block's options in one conversation, from the conversation's seed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from surveys.engine.script import Block, Option


def option_order(block: Block, *, seed: int) -> Sequence[Option]:
    """The block's options in the order of this conversation.

    The same seed and block give the same order on every server and Python version, so options are sorted by a
    hash instead of shuffled by a random generator. Options anchored `last` follow in stored order.
    """
    if not block.randomize_options:
        return block.options
    loose = [option for option in block.options if option.anchor_position != "last"]
    pinned = [option for option in block.options if option.anchor_position == "last"]
    return sorted(loose, key=lambda option: _sort_key(seed, block.id, option.id)) + pinned


def _sort_key(seed: int, block_id: int | None, option_id: int | None) -> bytes:
    return hashlib.blake2b(f"{seed}:{block_id}:{option_id}".encode(), digest_size=8).digest()
