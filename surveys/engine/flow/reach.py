"""Which blocks are always, sometimes or never shown: the result that conditions alone can prove.

An expression is evaluated for every combination of the answers that matter to it. If the answers cannot be
listed (texts, calculated results, scores), or are too many, a comparison counts as unknown: then nothing is
concluded. So `never` and `always` are certain, and `sometimes` may mean any of the three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, combinations, pairwise, product
from typing import Final, Literal

from surveys.engine.language import expressions, references, values
from surveys.engine.language.expression_tree import ExpressionNode, Name
from surveys.engine.language.expression_tree import Literal as LiteralNode
from surveys.engine.language.expressions import COMPARISONS
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.logic_tree import Comparison, Conjunction, Disjunction, Negation
from surveys.engine.language.values import Operand
from surveys.engine.script import CALCULATED, SCALES, STATEMENTS, Block, Script

Reach = Literal["always", "sometimes", "never"]

_PLACES_AT_ONCE = 20  # characters of a text that can be searched in the time of one evaluation of a node
WORK = 200_000  # evaluations of a node for a whole script; each block has an equal share
MAX_COMBINATIONS = 512  # of answers, for one expression
_MAX_POINTS = 50  # of a scale; a valid one has at most 11
_MAX_MENTIONED = 6  # options of a multi punch in one expression: with more options, its answers are not tried


class _Unknown:
    """A placeholder for a value that may be anything."""


_UNKNOWN: Final = _Unknown()
_NO_ANSWER: Final = Operand(None)
_TRUTHS: Final = {truth: Operand(truth) for truth in (False, True)}
_Known = Operand | _Unknown
_ValueOf = Callable[[str], _Known]
_Comparison = Comparison[ExpressionNode]
_Domain = Sequence[Operand] | None  # every answer that matters; None if they cannot be listed


def of_blocks(script: Script) -> tuple[Reach, ...]:
    """The reach of each block, in order. A block whose condition cannot be read is `sometimes` shown."""
    reach: list[Reach] = []
    options = _Options(script)
    for at, block in enumerate(script.blocks):
        if block.precondition is None:
            reach.append("always")
            continue
        try:
            tree = expressions.parse(block.precondition).tree
        except ParseError:
            reach.append("sometimes")
            continue
        hidden = set(_outcomes(tree, options, at, reach))
        reach.append("never" if hidden == {True} else "always" if hidden == {False} else "sometimes")
    return tuple(reach)


class _Options:
    """The options of a script's blocks as operands of comparisons, which many conditions share."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self._by_block: dict[int, tuple[Operand, ...]] = {}

    def of_block(self, index: int) -> tuple[Operand, ...]:
        if index not in self._by_block:
            options = self.script.blocks[index].options
            self._by_block[index] = tuple(values.operand(option.value) for option in options)
        return self._by_block[index]


def _outcomes(
    tree: ExpressionNode, options: _Options, at: int, reach: Sequence[Reach]
) -> Iterator[bool | None]:
    """The possible results of the expression; None if a result is not known."""
    nodes = tuple(_nodes(tree))
    evaluations = sum(map(_evaluations, nodes))
    comparisons = _by_name(nodes)
    work = WORK // len(options.script.blocks)
    listed: list[tuple[str, Sequence[Operand]]] = []
    combined = 1
    for name in dict.fromkeys(node.name for node in nodes if isinstance(node, Name)):
        if combined * 2 * evaluations > work:
            break  # there is no room for even two answers of another block
        compared = comparisons.get(name, ())
        answers = _domain(name, compared, options, at, reach)
        work -= len(answers or ()) * (1 + sum(map(_evaluations, compared)))
        answers = _distinct(answers, compared) if work > 0 else None
        if answers is not None and combined * len(answers) <= min(MAX_COMBINATIONS, work // evaluations):
            listed.append((name, answers))
            combined *= len(answers)
    for chosen in product(*(answers for _, answers in listed)):
        known: Mapping[str, Operand] = {name: value for (name, _), value in zip(listed, chosen, strict=True)}
        yield _truth(tree, lambda name, known=known: known.get(name, _UNKNOWN))  # type: ignore[misc]


def _evaluations(node: ExpressionNode) -> int:
    """The work of a node, as counted in WORK.

    For `in`, each element of a list on the left is searched in the text. A search in a text counts by its
    length: it may compare each place with a long value.
    """
    match node:
        case Comparison("in", Name(), LiteralNode(str(text))):
            return 1 + len(text) // _PLACES_AT_ONCE
        case Comparison("in", LiteralNode(tuple(elements)), _):
            return max(len(elements), 1)
    return 1


def _by_name(nodes: Iterable[ExpressionNode]) -> Mapping[str, Sequence[_Comparison]]:
    """The comparisons that contain each name as an operand."""
    comparisons: dict[str, list[_Comparison]] = {}
    for node in nodes:
        if isinstance(node, Comparison):
            for name in {side.name for side in (node.left, node.right) if isinstance(side, Name)}:
                comparisons.setdefault(name, []).append(node)
    return comparisons


def _nodes(node: ExpressionNode) -> Iterator[ExpressionNode]:
    yield node
    match node:
        case Negation(part):
            yield from _nodes(part)
        case Conjunction(parts) | Disjunction(parts):
            for part in parts:
                yield from _nodes(part)
        case Comparison(_, left, right):
            yield from _nodes(left)
            yield from _nodes(right)


# --- Evaluation with unknown values -----------------------------------------------------------------


def _truth(node: ExpressionNode, value_of: _ValueOf) -> bool | None:
    """Whether the node is true; None if that depends on an unknown value."""
    match node:
        case Negation(part):
            inner = _truth(part, value_of)
            return None if inner is None else not inner
        case Conjunction(parts):
            return _decided_by(False, (_truth(part, value_of) for part in parts))
        case Disjunction(parts):
            return _decided_by(True, (_truth(part, value_of) for part in parts))
        case Comparison(sign, left, right):
            first, second = _value(left, value_of), _value(right, value_of)
            if isinstance(first, _Unknown) or isinstance(second, _Unknown):
                is_no_list = isinstance(second, Operand) and second.value == ()
                return False if sign == "in" and is_no_list else None
            return COMPARISONS[sign](first, second)
    value = _value(node, value_of)
    return None if isinstance(value, _Unknown) else values.is_true(value)


def _decided_by(decisive: bool, parts: Iterable[bool | None]) -> bool | None:
    """AND is decided by one false part, OR by one true part; else an unknown part leaves it unknown."""
    outcome: bool | None = not decisive
    for part in parts:
        if part is decisive:
            return decisive
        if part is None:
            outcome = None
    return outcome


def _value(node: ExpressionNode, value_of: _ValueOf) -> _Known:
    match node:
        case Name(name):
            return value_of(name)
        case LiteralNode():
            return node.operand
    truth = _truth(node, value_of)
    return _UNKNOWN if truth is None else _TRUTHS[truth]


# --- The answers that matter ------------------------------------------------------------------------


def _domain(
    name: str, compared: Sequence[_Comparison], options: _Options, at: int, reach: Sequence[Reach]
) -> _Domain:
    """Every value that a name can have at block `at`, as far as the comparisons distinguish them."""
    meaning = references.resolve(name, options.script)
    if meaning is None:
        return (_NO_ANSWER,)
    if isinstance(meaning, str):
        return None  # a variable
    block = options.script.blocks[meaning]
    if meaning >= at or block.type in STATEMENTS or reach[meaning] == "never":
        return (_NO_ANSWER,)
    answers = None if block.type == CALCULATED else _answers(block, options.of_block(meaning), name, compared)
    if answers is None:
        return None
    return answers if block.required and reach[meaning] == "always" else (_NO_ANSWER, *answers)


def _answers(
    block: Block, options: Sequence[Operand], name: str, comparisons: Sequence[_Comparison]
) -> _Domain:
    if block.type == "single_punch":
        return options or None
    if block.type in SCALES:
        lowest, highest = block.points
        in_bounds = 0 <= highest - lowest < _MAX_POINTS
        return _numeric(range(lowest, highest + 1)) if in_bounds else None
    if block.type == "multi_punch":
        compared = _compared_with(name, comparisons, is_list=True)
        return None if compared is None else _chosen(block, options, compared)
    if block.type == "open_numeric":
        compared = _compared_with(name, comparisons, is_list=False)
        return None if compared is None else _numbers(block, compared)
    return None


def _compared_with(name: str, comparisons: Sequence[_Comparison], *, is_list: bool) -> list[Operand] | None:
    """The literals to which a name is compared.

    None if the name is compared to anything else, or searched in a text: such a comparison distinguishes more
    answers than equality does.
    """
    compared: list[Operand] = []
    for node in comparisons:
        match node:
            case Comparison("in", Name(left), LiteralNode() as literal) if left == name:
                if not literal.operand.is_list:
                    return None
                compared.append(literal.operand)
            case Comparison("in", LiteralNode() as literal, Name(right)) if right == name:
                if not is_list:
                    return None
                compared.append(literal.operand)
            case Comparison(_, Name(subject), LiteralNode() as literal) | Comparison(
                _, LiteralNode() as literal, Name(subject)
            ) if subject == name:
                compared.append(literal.operand)
            case _:
                return None
    return compared


def _numeric(numbers: Iterable[Decimal | int]) -> tuple[Operand, ...]:
    return tuple(values.operand(Decimal(number)) for number in numbers)


def _numbers(block: Block, compared: Sequence[Operand]) -> _Domain:
    """The numbers in the comparisons, and one number between each two of them, below and above."""
    bounds = [Decimal(bound) for bound in (block.min, block.max) if bound is not None]
    forms = chain.from_iterable(literal.forms for literal in compared)
    marks = sorted({form for form in forms if isinstance(form, Decimal)} | {*bounds})
    if not marks:
        return _numeric((1, 0))
    between = [(low + high) / 2 for low, high in pairwise(marks)]
    candidates = [marks[0] - 1, *marks, *between, marks[-1] + 1, Decimal(0), Decimal(1)]
    fitting = [
        number
        for number in candidates
        if (block.min is None or number >= block.min) and (block.max is None or number <= block.max)
    ]
    return _numeric(fitting) or None


def _chosen(block: Block, options: Sequence[Operand], compared: Sequence[Operand]) -> _Domain:
    """Every choice among the options in the comparisons; the other options count only as none or some."""
    # The same rule as in `values.equal`
    alike = frozenset(form for literal in compared for form in literal.forms)
    mentioned = [n for n, option in enumerate(options) if not option.forms.isdisjoint(alike)]
    if not options or len(mentioned) > _MAX_MENTIONED:
        return None
    others = [n for n in range(len(options)) if n not in mentioned]
    least, most = max(block.min or 1, 1), len(options) if block.max is None else block.max
    subsets = chain.from_iterable(combinations(mentioned, size) for size in range(len(mentioned) + 1))
    choices = []
    for subset in subsets:
        fewest = max(least - len(subset), 0)
        for count in {fewest, max(fewest, 1)}:
            if count <= len(others) and len(subset) + count <= most:
                chosen = sorted((*subset, *others[:count]))
                choices.append(values.joined([options[n] for n in chosen]))
    return choices or None


def _distinct(domain: _Domain, comparisons: Sequence[_Comparison]) -> _Domain:
    """The domain with one value for each group that no comparison with a literal distinguishes."""
    if domain is None:
        return None
    if not all(
        isinstance(node.left, LiteralNode) or isinstance(node.right, LiteralNode) for node in comparisons
    ):
        return domain  # compared to another name, whose values are not known here
    by_outcome = {
        (values.is_true(value), *(_truth(node, lambda _, value=value: value) for node in comparisons)): value  # type: ignore[misc]
        for value in domain
    }
    return tuple(by_outcome.values())
