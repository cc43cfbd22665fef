"""Where a block stood in what was sent, so that a violation names the caller's own field."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from surveys.engine.script import Script


@dataclass(frozen=True, slots=True)
class BlockPath:
    """The path of a block (empty when it was sent alone), and each option's index in the array sent."""

    path: str
    options: tuple[int, ...] = ()

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def option(self, n: int, key: str | None = None) -> str:
        """The path of the option that is now the `n`-th."""
        path = self.at(f"options[{self.options[n] if n < len(self.options) else n}]")
        return f"{path}.{key}" if key else path


def stored_paths(script: Script, *, path: str) -> tuple[BlockPath, ...]:
    """The places of a script that was not sent: the order in which a read gives it."""
    return tuple(BlockPath(f"{path}[{n}]") for n in range(len(script.blocks)))


def is_invalid(path: str, faulty: Set[str]) -> bool:
    """Whether a fault has been told of this field already, or of something it is a part of."""
    if not faulty:
        return False
    while path not in faulty:
        cut = max(path.rfind("."), path.rfind("["))
        if cut <= 0:
            return False
        path = path[:cut]
    return True
