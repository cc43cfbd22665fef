"""How much tests make up: a part in `make test`, all with COLLOQUY_THOROUGH, as in `make test-all`."""

from __future__ import annotations

import os

IS_THOROUGH = "COLLOQUY_THOROUGH" in os.environ
SHARE = 10
LEAST = 4


def examples(count: int) -> int:
    """How many of `count` examples this run makes up."""
    return count if IS_THOROUGH else max(count // SHARE, min(count, LEAST))
