"""The values of the names in conditions, formulas and texts at one point of a walk, and the hidden blocks.

Each value is found and prepared for comparison once, however often a script names it, and each passed block
adds its points to the scores. So the time of a walk grows with the size of the script plus the number of
answers, and not with their product.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from decimal import Decimal

from communities.ground.cached import cached_property
from surveys.engine.language import expressions, formulas, names, references
from surveys.engine.language.formulas import Operand
from surveys.engine.language.values import Value
from surveys.engine.script import CALCULATED, Block, Script
from surveys.engine.walk import answers, scoring
from surveys.engine.walk.answers import Reply

_NO_VALUE = Operand(None)


class PathValues(dict[str, Operand]):
    """The values by name after the blocks passed so far. `pass_block` adds a block.

    Conditions compare with these values: results are rounded to the digits of formulas. A value that was
    found before is a plain lookup in the dictionary.

    `results` are the results of calculated blocks, in the form of replies. The walk adds to them.
    """

    def __init__(
        self,
        script: Script,
        *,
        path: Iterable[int],
        replies: Mapping[int, Reply],
        results: Mapping[int, Reply],
        fields: Mapping[str, str],
    ) -> None:
        self.script, self.results = script, results
        self._fields = fields
        self._passed = {block_id: replies.get(block_id) for block_id in path}
        self._meanings = script.meanings
        self._operands: dict[int | str, Operand] = {}
        self._rounded: dict[int, Operand] = {}
        self._sums: scoring.Sums | None = None  # computed on first use, which most walks do not need
        self._scores: Mapping[str, Operand] | None = None

    def pass_block(self, block_id: int, reply: Reply | None) -> None:
        """Add a block that the walk passes, with its reply."""
        index = self.script.index_by_id[block_id]
        block = self.script.blocks[index]
        self._passed[block_id] = reply
        self.clear()
        self._operands.pop(index, None)
        if reply is not None and "skipped" not in reply:
            self.latest = block, reply
            self._operands.pop("answer", None)
        if self._sums is not None:
            self._sums.add(block, reply)
            self._scores = None

    def hides(self, block: Block) -> bool:
        """Whether the condition of a block hides it."""
        condition = block.precondition
        return condition is not None and expressions.parse(condition).holds(self.__getitem__)

    def questions_ahead(self, at: int) -> tuple[int, int]:
        """The fewest and the most questions from block `at` on, including `at`.

        A condition that uses only earlier blocks is decided: its block is shown or hidden. A question whose
        condition uses later blocks counts towards the most only, even if two such questions exclude each
        other.
        """
        decided = set(range(at))  # the blocks whose values do not change any more
        fewest = most = 0
        for index, block in enumerate(self.script.blocks[at:], at):
            if index == at or block.precondition is None:
                fewest += block.asks
            elif not self.is_decided(block.precondition, decided):
                pass
            elif self.hides(block):
                decided.add(index)
                continue
            else:
                fewest += block.asks
            most += block.asks
        return fewest, most

    def is_decided(self, condition: str, decided: Container[int]) -> bool:
        """Whether only the values of `decided` blocks, and fields, decide a condition."""
        for mention in expressions.parse(condition).mentions:
            meaning = self.meaning(mention.name)
            if isinstance(meaning, int):
                if meaning not in decided:
                    return False
            elif meaning is not None and names.field_key(meaning) is None:
                return False
        return True

    def __missing__(self, name: str) -> Operand:
        found = self._rounded_value(self.meaning(name))
        if found is not _NO_VALUE:  # a calculated block that is not reached yet has a value later
            self[name] = found
        return found

    def _rounded_value(self, meaning: int | str | None) -> Operand:
        if not isinstance(meaning, int) or self.script.blocks[meaning].type != CALCULATED:
            return self._operand(meaning)
        if meaning not in self._rounded:
            exact = self._operand(meaning)
            if exact is _NO_VALUE or not isinstance(exact.value, Decimal):
                return exact
            self._rounded[meaning] = Operand(formulas.rounded(exact.value))
        return self._rounded[meaning]

    def exact(self, name: str) -> Operand:
        """The value that formulas use."""
        return self._operand(self.meaning(name))

    def value(self, name: str) -> Value:
        """The rounded value; None if the name has no value."""
        return self[name].value

    def meaning(self, name: str) -> int | str | None:
        """The meaning of the name (`references.resolve`)."""
        if name not in self._meanings:
            self._meanings[name] = references.resolve(name, self.script)
        return self._meanings[name]

    def reply_on_path(self, index: int) -> Reply | None:
        """The reply to a block, if the walk has passed it."""
        return self._passed.get(self.script.blocks[index].id or 0)

    def label(self, variable: str) -> str:
        """The label that `argmax` returns for a variable: its bucket's name, or its block's."""
        if variable in self._bucket_labels:
            return self._bucket_labels[variable]
        meaning = self.meaning(variable)
        return self.script.blocks[meaning].name or variable if isinstance(meaning, int) else variable

    @cached_property
    def _bucket_labels(self) -> Mapping[str, str]:
        """The bucket names by variable. The first of two buckets with the same variable counts."""
        buckets = reversed(self.script.buckets)
        return {variable: each.name for each in buckets for variable in names.bucket_variables(each.key)}

    @cached_property
    def latest(self) -> tuple[Block, Reply] | None:
        """The last answered block on the path, with its reply."""
        for block_id in reversed(self._passed):
            reply = self._passed[block_id]
            if reply is not None and "skipped" not in reply:
                return self._block(block_id), reply
        return None

    def _block(self, block_id: int) -> Block:
        return self.script.blocks[self.script.index_by_id[block_id]]

    def _score(self, variable: str) -> Operand:
        if self._sums is None:
            self._sums = scoring.Sums(self.script)
            for block_id, reply in self._passed.items():
                self._sums.add(self._block(block_id), reply)
        if self._scores is None:
            self._scores = {name: Operand(value) for name, value in self._sums.variables().items()}
        return self._scores.get(variable, _NO_VALUE)

    def _operand(self, meaning: int | str | None) -> Operand:
        if meaning is None:
            return _NO_VALUE
        if meaning in self._operands:
            return self._operands[meaning]
        if isinstance(meaning, int):
            return self._operand_of_block(meaning)
        if meaning == "answer":
            value = answers.value(*self.latest) if self.latest else None
            return self._operands.setdefault(meaning, Operand(value))
        if (key := names.field_key(meaning)) is not None:
            return self._operands.setdefault(meaning, Operand(self._fields.get(key)))
        return self._score(meaning)

    def _operand_of_block(self, index: int) -> Operand:
        block = self.script.blocks[index]
        if block.type == CALCULATED:
            reply = self.results.get(block.id or 0)
            if reply is None:  # not reached yet, or hidden
                return _NO_VALUE
        else:
            reply = self.reply_on_path(index)
        return self._operands.setdefault(index, Operand(answers.value(block, reply)))
