"""The path of a block in the request body, used in violations to name the submitted field."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from surveys.engine.script import Script

STORED = "script.blocks"  # the path of the blocks of a script that was not sent


@dataclass(frozen=True, slots=True)
class BlockPath:
    """The path of a block (empty if it was sent alone), and each option's index in the submitted array."""

    path: str
    options: tuple[int, ...] = ()

    def field(self, key: str) -> str:
        """The path of a field of this block."""
        return f"{self.path}.{key}" if self.path else key

    def option(self, n: int, key: str | None = None) -> str:
        """The path of the option that is now the `n`-th, or of one of its fields."""
        path = self.field(f"options[{self.options[n] if n < len(self.options) else n}]")
        return f"{path}.{key}" if key else path


def stored_paths(script: Script, *, path: str = STORED) -> tuple[BlockPath, ...]:
    """The paths of a stored script's blocks, in the order in which a read returns them."""
    return tuple(BlockPath(f"{path}[{n}]") for n in range(len(script.blocks)))


def is_invalid(path: str, invalid_fields: Set[str]) -> bool:
    """Whether this field, or an object or list that contains it, already has a violation."""
    if not invalid_fields:
        return False
    while path not in invalid_fields:
        cut = max(path.rfind("."), path.rfind("["))
        if cut <= 0:
            return False
        path = path[:cut]
    return True
