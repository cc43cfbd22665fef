"""A block with its place: what a rule looks at, and how it tells of a fault there."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from surveys.engine.intake.places import Place, is_faulty
from surveys.engine.script import Block, Violation


@dataclass(frozen=True, slots=True)
class Spot:
    block: Block
    place: Place
    faulty: Set[str]

    def sound(self, *keys: str) -> bool:
        """Whether these fields could be read, so that a rule may draw on them."""
        if not self.faulty:
            return True
        return not any(is_faulty(self.place.at(key), self.faulty) for key in keys)

    def fault(self, key: str, code: str, message: str) -> Violation:
        return Violation(self.place.at(key), code, message)

    def option_fault(self, n: int, key: str | None, code: str, message: str) -> Violation:
        return Violation(self.place.option(n, key), code, message)
