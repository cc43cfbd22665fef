"""Which blocks are always shown, sometimes, or never: what can be proved from conditions alone.

An expression is evaluated for every combination of the answers that matter to it. Where the answers cannot
be listed (texts, calculated results, scores), or are too many, a comparison counts as unknown: then nothing
is claimed. So `never` and `always` are certain, and `sometimes` may be either.
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
from surveys.engine.language.values import Value
from surveys.engine.script import CALCULATED, SCALES, STATEMENTS, Block, Script

Reach = Literal["always", "sometimes", "never"]

WORK = 200_000  # evaluations of a node for a whole script; each block has an equal share
MAX_COMBINATIONS = 512  # of answers, for one expression
_MAX_POINTS = 50  # of a scale; a valid one has at most 11
_MAX_MENTIONED = 6  # options of a multi punch in one expression: with more, none of its answers are tried


class _Unknown:
    """Stands for a value that may be anything."""


_UNKNOWN: Final = _Unknown()
_Known = Value | _Unknown
_ValueOf = Callable[[str], _Known]
_Comparison = Comparison[ExpressionNode]
_Domain = Sequence[Value] | None  # every answer that matters; None if they cannot be listed


def of_blocks(script: Script) -> tuple[Reach, ...]:
    """The reach of each block, in order. A block whose condition cannot be read is `sometimes` shown."""
    reach: list[Reach] = []
    for at, block in enumerate(script.blocks):
        if block.precondition is None:
            reach.append("always")
            continue
        try:
            tree = expressions.parse(block.precondition).tree
        except ParseError:
            reach.append("sometimes")
            continue
        hidden = set(_outcomes(tree, script, at, reach))
        reach.append("never" if hidden == {True} else "always" if hidden == {False} else "sometimes")
    return tuple(reach)


def _outcomes(tree: ExpressionNode, script: Script, at: int, reach: Sequence[Reach]) -> Iterator[bool | None]:
    """What the expression can be; None where that is not known."""
    nodes = tuple(_nodes(tree))
    comparisons = _by_name(nodes)
    work = WORK // len(script.blocks)
    listed: list[tuple[str, Sequence[Value]]] = []
    combined = 1
    for name in dict.fromkeys(node.name for node in nodes if isinstance(node, Name)):
        if combined * 2 * len(nodes) > work:
            break  # not even two answers of another block can be tried
        compared = comparisons.get(name, ())
        answers = _domain(name, compared, script, at, reach)
        work -= len(answers or ()) * (1 + len(compared))
        answers = _distinct(answers, compared) if work > 0 else None
        if answers is not None and combined * len(answers) <= min(MAX_COMBINATIONS, work // len(nodes)):
            listed.append((name, answers))
            combined *= len(answers)
    for chosen in product(*(answers for _, answers in listed)):
        known: Mapping[str, Value] = {name: value for (name, _), value in zip(listed, chosen, strict=True)}
        yield _truth(tree, lambda name, known=known: known.get(name, _UNKNOWN))  # type: ignore[misc]


def _by_name(nodes: Iterable[ExpressionNode]) -> Mapping[str, Sequence[_Comparison]]:
    """The comparisons in which each name is a side."""
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
    """Whether the node is true; None if that depends on a value that is not known."""
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
                return False if sign == "in" and second == () else None
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
        case LiteralNode(value):
            return value
    truth = _truth(node, value_of)
    return _UNKNOWN if truth is None else truth


# --- The answers that matter ------------------------------------------------------------------------


def _domain(
    name: str, compared: Sequence[_Comparison], script: Script, at: int, reach: Sequence[Reach]
) -> _Domain:
    """Every value that a name can have at block `at`, as far as comparisons can tell them apart."""
    meaning = references.resolve(name, script)
    if meaning is None:
        return (None,)
    if isinstance(meaning, str):
        return None  # a variable
    block = script.blocks[meaning]
    if meaning >= at or block.type in STATEMENTS or reach[meaning] == "never":
        return (None,)
    answers = None if block.type == CALCULATED else _answers(block, name, compared)
    if answers is None:
        return None
    return answers if block.required and reach[meaning] == "always" else (None, *answers)


def _answers(block: Block, name: str, comparisons: Sequence[_Comparison]) -> _Domain:
    if block.type == "single_punch":
        return tuple(option.value for option in block.options) or None
    if block.type in SCALES:
        lowest, highest = block.points
        in_bounds = 0 <= highest - lowest < _MAX_POINTS
        return tuple(map(Decimal, range(lowest, highest + 1))) if in_bounds else None
    if block.type == "multi_punch":
        compared = _compared_with(name, comparisons, is_list=True)
        return None if compared is None else _chosen(block, compared)
    if block.type == "open_numeric":
        compared = _compared_with(name, comparisons, is_list=False)
        return None if compared is None else _numbers(block, compared)
    return None


def _compared_with(name: str, comparisons: Sequence[_Comparison], *, is_list: bool) -> list[Value] | None:
    """The literals that are compared with a name; of a list, its elements too.

    None if it is compared with anything else, or as a part of a text, which tells apart more answers than
    equality does.
    """
    compared: list[Value] = []
    for node in comparisons:
        match node:
            case Comparison("in", Name(left), LiteralNode(value)) if left == name:
                if not isinstance(value, tuple):
                    return None
                compared += value
            case Comparison("in", LiteralNode(value), Name(right)) if right == name:
                if not is_list:
                    return None
                compared += value if isinstance(value, tuple) else (value,)
            case Comparison(_, Name(subject), LiteralNode(value)) | Comparison(
                _, LiteralNode(value), Name(subject)
            ) if subject == name:
                compared += value if isinstance(value, tuple) else (value,)
            case _:
                return None
    return compared


def _numbers(block: Block, compared: Sequence[Value]) -> _Domain:
    """The numbers that are compared with, and one between each two of them, below and above."""
    bounds = [Decimal(bound) for bound in (block.min, block.max) if bound is not None]
    marks = sorted({number for value in compared if (number := values.number(value)) is not None} | {*bounds})
    if not marks:
        return (Decimal(1), Decimal(0))
    between = [(low + high) / 2 for low, high in pairwise(marks)]
    candidates = [marks[0] - 1, *marks, *between, marks[-1] + 1, Decimal(0), Decimal(1)]
    fitting = [
        number
        for number in candidates
        if (block.min is None or number >= block.min) and (block.max is None or number <= block.max)
    ]
    return fitting or None


def _chosen(block: Block, compared: Sequence[Value]) -> _Domain:
    """Every choice of the options that are compared with; the others count only as none or some."""
    options = [option.value for option in block.options]
    operands = [values.operand(value) for value in compared]
    alike = {form for each in operands if len(each.elements) == 1 for form in each.forms}  # as `values.equal`
    mentioned = [option for option in options if not values.operand(option).forms.isdisjoint(alike)]
    if not options or len(mentioned) > _MAX_MENTIONED:
        return None
    others = [option for option in options if option not in mentioned]
    least, most = max(block.min or 1, 1), len(options) if block.max is None else block.max
    subsets = chain.from_iterable(combinations(mentioned, size) for size in range(len(mentioned) + 1))
    choices = []
    for subset in subsets:
        fewest = max(least - len(subset), 0)
        for count in {fewest, max(fewest, 1)}:
            if count <= len(others) and len(subset) + count <= most:
                chosen = {*subset, *others[:count]}
                choices.append(tuple(option for option in options if option in chosen))
    return choices or None


def _distinct(domain: _Domain, comparisons: Sequence[_Comparison]) -> _Domain:
    """The domain with one value of those that no comparison with a literal tells apart."""
    if domain is None:
        return None
    if not all(
        isinstance(node.left, LiteralNode) or isinstance(node.right, LiteralNode) for node in comparisons
    ):
        return domain  # compared with another name, whose values are not known here
    by_outcome = {
        (values.is_true(value), *(_truth(node, lambda _, value=value: value) for node in comparisons)): value  # type: ignore[misc]
        for value in domain
    }
    return tuple(by_outcome.values())
