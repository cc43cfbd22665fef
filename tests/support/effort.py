"""The number of generated examples: a part in `make test`, all in `make test-all` (COLLOQUY_THOROUGH)."""

from __future__ import annotations

import os

IS_THOROUGH = "COLLOQUY_THOROUGH" in os.environ
SHARE = 10
LEAST = 4


def examples(count: int) -> int:
    """The number of examples that this run generates, out of `count`."""
    return count if IS_THOROUGH else max(count // SHARE, min(count, LEAST))
