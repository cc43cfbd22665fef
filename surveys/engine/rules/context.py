"""A block with its place: what a rule looks at, and how it tells of a fault there."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.script import Block, Violation


@dataclass(frozen=True, slots=True)
class RuleContext:
    block: Block
    place: BlockPath
    faulty: Set[str]

    def sound(self, *keys: str) -> bool:
        """Whether these fields could be read, so that a rule may draw on them."""
        if not self.faulty:
            return True
        return not any(is_invalid(self.place.at(key), self.faulty) for key in keys)

    def fault(self, key: str, code: str, message: str) -> Violation:
        return Violation(self.place.at(key), code, message)

    def option_fault(self, n: int, key: str | None, code: str, message: str) -> Violation:
        return Violation(self.place.option(n, key), code, message)
