"""The input of a rule: a block, its path in the request, and the fields that are already reported."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from surveys.engine.intake.field_paths import BlockPath, is_invalid
from surveys.engine.script import Block, Violation


@dataclass(frozen=True, slots=True)
class RuleContext:
    """A block to check. `invalid_fields` are the paths of fields that already have a violation."""

    block: Block
    block_path: BlockPath
    invalid_fields: Set[str]

    def is_valid(self, *keys: str) -> bool:
        """Whether all these fields could be read, so that a rule may rely on them."""
        if not self.invalid_fields:
            return True
        return not any(is_invalid(self.block_path.field(key), self.invalid_fields) for key in keys)

    def violation(self, key: str, code: str, message: str) -> Violation:
        """A violation of a field of this block."""
        return Violation(self.block_path.field(key), code, message)

    def option_violation(self, n: int, key: str | None, code: str, message: str) -> Violation:
        """A violation of the `n`-th option, or of one of its fields."""
        return Violation(self.block_path.option(n, key), code, message)
