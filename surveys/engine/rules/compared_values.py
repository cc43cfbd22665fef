"""Comparisons that look like mistakes: unknown values, and orderings that are never true
(rules 3.34 and 3.35).

    Comparisons(script).findings(n)          the path, code and message of each, in block `n`
    Comparisons(script).findings_in(text, …)    the same of an expression over a whole response

    unknown_value    a choice is compared with a value that none of its options has, a scale with a number
                     that is none of its points, a number with something that is none or is out of its range
    never_true       `<`, `>`, `<=` or `>=` with something that is never a number, or with a number that no
                     point of the scale, no value of the options, or no number of the range can satisfy; and
                     `in` with an empty list, or `=` with one where no answer is a list

A path begins at the block. In a formula a missing answer counts as 0, and so does a text in an ordering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from surveys.engine.language import (
    comparisons,
    conditions,
    expressions,
    formulas,
    names,
    references,
    values,
)
from surveys.engine.language.expression_tree import Literal, Name
from surveys.engine.language.formula_tree import Negative, NumberLiteral, TextLiteral, Variable
from surveys.engine.language.lexer import ParseError, quoted
from surveys.engine.language.values import Value
from surveys.engine.rules.answer_values import AnswerValues, DateValues, ListedValues, NumberValues
from surveys.engine.script import CALCULATED, SCALES, WITH_ITEMS, Block, Script

Finding = tuple[str, str, str]
_Judged = tuple[str, AnswerValues, type, str]  # a path and a subject; the type and the text of a value

MOST = 10  # of one condition or formula
# By all `in` of a script: searches for one text in all options, or for one option in a text
MAX_SEARCHES = 2_000
_SHOWN_OPTIONS = 5
_SHOWN_LENGTH = 40
_ORDERINGS = frozenset({"<", "<=", ">", ">="})
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DATES = "dates such as 2026-01-31"
_ZERO = Decimal(0)


# --- What is compared -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compared:
    """A comparison with its field, and the path of its value: `show_when.any[1].value`."""

    sign: str
    left: Any
    right: Any
    field: str
    path: str
    is_formula: bool = False


class Comparisons:
    """The comparisons of a script. The values of each block, and each name's meaning, are computed once."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._meanings: dict[str, int | str | None] = {}
        self._answers: dict[int, ListedValues] = {}
        self._parts: dict[tuple[AnswerValues, str], bool] = {}
        self._wholes: dict[tuple[AnswerValues, str], bool] = {}
        self._searches = 0

    def findings(self, n: int) -> Iterator[Finding]:
        """The comparisons in the condition and in the formula of block `n` that look like mistakes, at most
        10 of each.
        """
        block = self.script.blocks[n]
        for compared in (_in_condition(block), _in_formula(block)):
            yield from self._of(compared, n)

    def findings_in(self, text: str, *, path: str, apart_from: str) -> Iterator[Finding]:
        """The same of a valid expression over a whole response. The name `apart_from` is no block's."""
        key = path.rpartition(".")[2]
        for node in comparisons.of_tree(expressions.parse(text).tree):
            sides = (node.left, node.right)
            if not any(isinstance(side, Name) and side.name == apart_from for side in sides):
                compared = _Compared(node.sign, node.left, node.right, key, path)
                yield from self._of([compared], len(self.script.blocks))

    def _of(self, compared: Iterable[_Compared], n: int) -> Iterator[Finding]:
        found, judged = set[Finding](), set[_Judged]()
        for finding in (each for one in compared for each in _Check(self, n, one, judged).findings()):
            if finding not in found:
                yield finding
                found.add(finding)
            if len(found) == MOST:
                break

    def meaning(self, name: str) -> int | str | None:
        """The meaning of a name (`references.resolve`)."""
        if name not in self._meanings:
            self._meanings[name] = references.resolve(name, self.script)
        return self._meanings[name]

    def answers_to(self, index: int) -> ListedValues:
        """The values of a choice, a ranking or a scale."""
        if index not in self._answers:
            self._answers[index] = ListedValues(self.script.blocks[index])
        return self._answers[index]

    def has_part(self, answers: AnswerValues, part: str) -> bool:
        """Whether an answer may contain this text; always true after MAX_SEARCHES searches."""
        key = answers, part
        if key not in self._parts:
            if not self._may_search(1):
                return True
            self._parts[key] = answers.has_part(part)
        return self._parts[key]

    def has_within(self, answers: AnswerValues, whole: str) -> bool:
        """Whether this text may contain an answer; always true after MAX_SEARCHES searches.

        Each value is one search.
        """
        key = answers, whole
        if key not in self._wholes:
            if not self._may_search(len(answers.texts) if isinstance(answers, ListedValues) else 1):
                return True
            self._wholes[key] = answers.has_within(whole)
        return self._wholes[key]

    def _may_search(self, times: int) -> bool:
        self._searches += times
        return self._searches <= MAX_SEARCHES


def _in_condition(block: Block) -> Iterator[_Compared]:
    if block.precondition is None:
        return
    key = references.condition_key(block)
    condition = getattr(block, key)
    if not isinstance(condition, str):
        for path, leaf in conditions.leaves(condition, key):
            name, value = Name(conditions.subject_of(leaf)), conditions.value_of(leaf.get("value"))
            sign = conditions.OPERATORS.get(str(leaf.get("op")), "=")
            yield _Compared(sign, name, Literal(value), key, f"{path}.value")
        return
    try:
        tree = expressions.parse(condition).tree
    except ParseError:  # stored before expressions were checked
        return
    for node in comparisons.of_tree(tree):
        yield _Compared(node.sign, node.left, node.right, key, key)


def _in_formula(block: Block) -> Iterator[_Compared]:
    key = "calculated_formula"
    try:
        tree = formulas.parse(block.calculated_formula).tree if block.calculated_formula else None
    except ParseError:  # stored before formulas were checked
        return
    if tree is None:
        return
    for node in comparisons.of_tree(tree):
        sign = "=" if node.sign == "==" else node.sign
        yield _Compared(sign, _plain(node.left), _plain(node.right), key, key, is_formula=True)


def _plain(node: Any) -> Any:
    """An operand of a formula's comparison as an operand of an expression: a name, or a value; others
    unchanged.
    """
    match node:
        case Variable(name):
            return Name(name)
        case TextLiteral(value) | NumberLiteral(value):
            return Literal(value)
        case Negative(NumberLiteral(value)):
            return Literal(-value)
    return node


# --- Checks ---------------------------------------------------------------------------------------


class _Check:
    """One comparison in the script, at block `at`.

    `judged` are the unknown values of earlier comparisons in the same condition or formula. They get no
    second message.
    """

    def __init__(self, within: Comparisons, at: int, compared: _Compared, judged: set[_Judged]) -> None:
        self.within, self.at, self.compared, self.judged = within, at, compared, judged

    def findings(self) -> Iterator[Finding]:
        sign, left, right = self.compared.sign, self.compared.left, self.compared.right
        if any(self.is_empty(side, other) for side, other in ((left, right), (right, left))):
            empty = f"`{self.compared.field}` has a comparison with an empty list, which is never true."
            yield self.finding("never_true", empty)
            return
        if sign in _ORDERINGS:
            message = self.never_true(sign, left, right)
            if message is not None:
                yield self.finding("never_true", message)
            return
        for subject, other, test in ((left, right, self.is_left), (right, left, self.is_right)):
            answers = self.answers_of(subject)
            if answers is not None and isinstance(other, Literal):
                for value in filter(partial(self.is_new, answers), test(answers, other.value)):
                    yield self.finding("unknown_value", self.unknown(answers, value))

    def is_new(self, answers: AnswerValues, value: Value) -> bool:
        """Whether this unknown value is the first of its kind, and so gets a message."""
        judged = self.compared.path, answers, type(value), values.text(value)
        if judged in self.judged:
            return False
        self.judged.add(judged)
        return True

    def finding(self, code: str, message: str) -> Finding:
        return self.compared.path, code, message

    def meaning(self, node: Any) -> int | str | None:
        return self.within.meaning(node.name) if isinstance(node, Name) else None

    def block_of(self, node: Any) -> Block | None:
        """The earlier block that an operand names."""
        meaning = self.meaning(node)
        return self.within.script.blocks[meaning] if isinstance(meaning, int) and meaning < self.at else None

    def items_of(self, node: Any) -> ListedValues | None:
        """The values of the earlier choice, ranking or scale that an operand names."""
        block, meaning = self.block_of(node), self.meaning(node)
        if block is None or not isinstance(meaning, int) or block.type not in WITH_ITEMS | SCALES:
            return None
        return self.within.answers_to(meaning)

    def answers_of(self, node: Any) -> AnswerValues | None:
        """The values of the earlier block or score that an operand names, as far as they are known."""
        block = self.block_of(node)
        if block is not None:
            if block.type == "open_numeric":
                return NumberValues(block.name or "", block.min, block.max, bool(block.whole))
            return DateValues(block.name or "") if block.format == "date" else self.items_of(node)
        meaning = self.meaning(node)
        return NumberValues(meaning) if isinstance(meaning, str) and names.looks_like_score(meaning) else None

    def is_empty(self, side: Any, other: Any) -> bool:
        """Whether one operand is an empty list, so that it has no element in common with the other."""
        if not isinstance(side, Literal) or side.value != ():
            return False
        if self.compared.sign == "in":
            return True
        block = self.block_of(other)
        return self.compared.sign == "=" and block is not None and not ListedValues(block).are_lists

    # Equality and `in`: the values that no answer has.

    def is_left(self, answers: AnswerValues, value: Value) -> Sequence[Value]:
        """The name is on the left: `game = "chess"`, `game in ["chess", "go"]`, `game in "chess, go"`."""
        if self.compared.sign == "in" and not isinstance(value, tuple):
            return () if self.within.has_within(answers, values.text(value)) else (value,)
        return self.unknown_of(answers, value)

    def is_right(self, answers: AnswerValues, value: Value) -> Sequence[Value]:
        """The name is on the right: `"chess" = game`, `"chess" in games`, `"che" in game`."""
        if self.compared.sign == "in" and not answers.are_lists:
            elements = value if isinstance(value, tuple) else (value,)
            return [each for each in elements if not self.within.has_part(answers, values.text(each))]
        return self.unknown_of(answers, value)

    def unknown_of(self, answers: AnswerValues, value: Value) -> Sequence[Value]:
        is_list = isinstance(value, tuple) and not (self.compared.sign != "in" and not answers.are_lists)
        elements = value if isinstance(value, tuple) and is_list else (value,)
        unknown = [each for each in elements if not answers.has(each)]
        if self.compared.is_formula:  # in a formula, 0 is the value of a missing answer
            return [each for each in unknown if values.number(each) != 0]
        return unknown

    def unknown(self, answers: AnswerValues, value: Value) -> str:
        start = f"`{self.compared.field}` compares {answers.name} with {_shown(value)}"
        if isinstance(answers, DateValues):
            return f"{start}, and its values are {_DATES}."
        if isinstance(answers, NumberValues):
            between = f", {answers.range}" if answers.range else ""
            return f"{start}, and its values are {'whole ' if answers.are_whole else ''}numbers{between}."
        block = answers.block
        if block.type in SCALES:
            low, high = block.points
            message = f"{start}, and its points are {low} to {high}."
        else:
            message = f"{start}, which is the value of none of its options."
        meant = answers.meant(value)
        if meant is not None:
            return f"{message} Did you mean the value {_shown(meant.value)}?"
        return message if block.type in SCALES else f"{message} {_list_of(block)}".rstrip()

    # Orderings.

    def never_true(self, sign: str, left: Any, right: Any) -> str | None:
        if not self.compared.is_formula:
            for side, other in ((left, right), (right, left)):
                reason = self.no_number(side, other)
                if reason is not None:
                    start = f"`{self.compared.field}` has a comparison by {sign} that is never true"
                    return f"{start}, because {reason}. Only numbers, and {_DATES}, are greater or less."
        for subject, other, compared in ((left, right, sign), (right, left, _MIRRORED[sign])):
            answers = self.answers_of(subject)
            if answers is None or not isinstance(other, Literal):
                continue
            if isinstance(answers, DateValues) and self.may_be_date(other):
                continue
            number = self.amount(other.value)
            if number is not None and not self.can_satisfy(answers, compared, number):
                reach = f"no answer to {answers.name} is {compared} {values.text(number)}"
                return (
                    f"`{self.compared.field}` has a comparison that is never true: {reach}. {_range(answers)}"
                )
        return None

    def amount(self, value: Value) -> Decimal | None:
        number = values.number(value)
        return _ZERO if number is None and self.compared.is_formula else number

    def can_satisfy(self, answers: AnswerValues, sign: str, number: Decimal) -> bool:
        return answers.can_satisfy(sign, number, (_ZERO,) if self.compared.is_formula else ())

    def no_number(self, side: Any, other: Any) -> str | None:
        """The reason why an operand is never a number; None if it may be one, or if both may be dates."""
        if self.may_be_date(side) and self.may_be_date(other):
            return None
        if isinstance(side, Literal):
            if values.number(side.value) is not None:
                return None
            return f"{_shown(side.value)} is no number"
        if not isinstance(side, Name):
            return "a condition is no number"
        block, items = self.block_of(side), self.items_of(side)
        if block is None or block.type not in WITH_ITEMS or (items and items.numbers):
            return None
        return f"no answer to {block.name} is a number"

    def may_be_date(self, node: Any) -> bool:
        """Whether an operand may be a date: a text that is one, or a name whose values may be such texts."""
        if isinstance(node, Literal):
            return isinstance(node.value, str) and values.is_date(node.value)
        block, meaning = self.block_of(node), self.meaning(node)
        if block is None:
            return isinstance(meaning, str) and not names.looks_like_score(meaning)
        if block.type == "single_punch":
            return any(values.is_date(option.value) for option in block.options)
        return block.type in (CALCULATED, "open_text") and block.format in (None, "line", "name", "date")


# --- Words ----------------------------------------------------------------------------------------


def _shown(value: Value) -> str:
    """A value as an expression writes it, shortened."""
    if isinstance(value, tuple):
        return "a list"
    text = values.text(value)
    text = text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}…"
    return quoted(text) if isinstance(value, str) else text


def _list_of(block: Block) -> str:
    shown = [_shown(option.value) for option in block.options[:_SHOWN_OPTIONS]]
    if not shown:
        return ""
    more = "" if len(block.options) <= _SHOWN_OPTIONS else ", and more"
    return f"Its values are {', '.join(shown)}{more}."


def _range(answers: AnswerValues) -> str:
    if isinstance(answers, DateValues):
        return f"Its values are {_DATES}."
    if isinstance(answers, NumberValues):
        return f"Its numbers are {answers.range}."
    if not answers.extremes:
        return ""
    least, most = map(values.text, answers.extremes)
    what = "points" if answers.block.type in SCALES else "values that are numbers"
    return f"Its {what} are {least} to {most}."
