"""What the hide expressions and formulas of a script must be: in their language, and hide expressions
about blocks before their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from surveys.engine.language import expressions, formulas, names, references
from surveys.engine.language.expressions import Expression
from surveys.engine.language.references import ReferenceProblem
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import CALCULATED, Script, Violation

# Looking for near names is slow: so many for an expression, and so many for a whole script.
_SUGGESTIONS = 2
_ALL_SUGGESTIONS = 20


def check(script: Script, spots: Sequence[RuleContext], readable: Sequence[bool]) -> Iterator[Violation]:
    """Syntax and references of every precondition, told with the column, or in the condition's part; and
    the syntax of every formula, whose unknown names are 0."""
    left = _ALL_SUGGESTIONS
    for at, spot in enumerate(spots):
        if readable[at]:
            yield from _formula(spot)
        text = spot.block.precondition
        if text is None or not readable[at] or not spot.sound("precondition", "show_when", "hide_when"):
            continue
        condition_key = _condition_key(spot)
        try:
            expression = expressions.parse(text)
        except expressions.ParseError as fault:
            key = condition_key or "precondition"
            column = None if condition_key else fault.column
            yield Violation(spot.place.at(key), fault.code, f"`{key}`: {fault.message}", column)
            continue
        faults = references.check(expression, script=script, at=at, suggestions=min(left, _SUGGESTIONS))
        left = max(0, left - sum(fault.code == "unknown_reference" for fault in faults[:_SUGGESTIONS]))
        if condition_key is None:
            for each in faults:
                message = f"`precondition`: {each.message}"
                yield Violation(spot.place.at("precondition"), each.code, message, each.column)
        elif faults:
            yield from _in_condition(spot, condition_key, expression, faults)


def _formula(spot: RuleContext) -> Iterator[Violation]:
    text = spot.block.calculated_formula
    if spot.block.type != CALCULATED or text is None or not text.strip():
        return  # another rule tells of it
    try:
        formulas.parse(text)
    except formulas.ParseError as fault:
        message = f"`calculated_formula`: {fault.message}"
        yield Violation(spot.place.at("calculated_formula"), fault.code, message, fault.column)


def _condition_key(spot: RuleContext) -> str | None:
    if spot.block.show_when is not None:
        return "show_when"
    return "hide_when" if spot.block.hide_when is not None else None


def _in_condition(
    spot: RuleContext, key: str, expression: Expression, faults: Sequence[ReferenceProblem]
) -> Iterator[Violation]:
    """The same faults where the caller wrote them: in the leaf, not in the compiled text."""
    name_at = {mention.column: mention.name for mention in expression.mentions}
    by_name = {name_at[fault.column]: fault for fault in faults}
    condition: Mapping[str, object] = getattr(spot.block, key)
    for path, part, name in _subjects(condition, key):
        fault = by_name.get(name)
        if fault is not None:
            yield Violation(spot.place.at(f"{path}.{part}"), fault.code, f"`{part}`: {fault.message}")


def _subjects(condition: Mapping[str, object], path: str) -> Iterator[tuple[str, str, str]]:
    """What each leaf is about: its path, `block` or `variable`, and the name as the expression has it."""
    for key in ("all", "any"):
        parts = condition.get(key)
        if isinstance(parts, list):
            for n, part in enumerate(parts):
                yield from _subjects(part, f"{path}.{key}[{n}]")
            return
    block = condition.get("block")
    if block is not None:
        yield path, "block", names.expression_form(str(block)).strip("()")
    else:
        yield path, "variable", str(condition.get("variable"))
