"""The rules of a script's hide expressions and formulas: their syntax, and what expressions refer to.

A hide expression may refer only to blocks before its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from surveys.engine.language import conditions, expressions, formulas, references
from surveys.engine.language.expressions import Expression
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.references import MAX_SUGGESTIONS, ReferenceProblem
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import CALCULATED, Script, Violation

_MAX_SCRIPT_SUGGESTIONS = 20  # because the search for similar names is slow


def check(script: Script, contexts: Sequence[RuleContext], readable: Sequence[bool]) -> Iterator[Violation]:
    """Check the syntax and references of every precondition, and the syntax of every formula.

    A violation of a precondition has its column; one of a condition has the path of the part at fault.
    Unknown names in formulas count as 0 and are no violation.
    """
    suggestions = _MAX_SCRIPT_SUGGESTIONS
    for at, context in enumerate(contexts):
        if readable[at]:
            yield from _formula(context)
        text = context.block.precondition
        is_sound = readable[at] and context.is_valid("precondition", "show_when", "hide_when")
        if text is None or not is_sound:
            continue
        condition_key = _condition_key(context)
        try:
            expression = expressions.parse(text)
        except ParseError as error:
            key = condition_key or "precondition"
            column = None if condition_key else error.column
            field = context.block_path.field(key)
            yield Violation(field, error.code, f"`{key}`: {error.message}", column)
            continue
        problems = references.check(
            expression, script=script, at=at, suggestions=min(suggestions, MAX_SUGGESTIONS)
        )
        unknown = sum(problem.code == "unknown_reference" for problem in problems[:MAX_SUGGESTIONS])
        suggestions = max(0, suggestions - unknown)
        if condition_key is None:
            yield from _in_precondition(context, problems)
        elif problems:
            yield from _in_condition(context, condition_key, expression, problems)


def _formula(context: RuleContext) -> Iterator[Violation]:
    text = context.block.calculated_formula
    if context.block.type != CALCULATED or text is None or not text.strip():
        return  # reported by another rule
    try:
        formulas.parse(text)
    except ParseError as error:
        message = f"`calculated_formula`: {error.message}"
        yield Violation(context.block_path.field("calculated_formula"), error.code, message, error.column)


def _condition_key(context: RuleContext) -> str | None:
    if context.block.show_when is not None:
        return "show_when"
    return "hide_when" if context.block.hide_when is not None else None


def _in_precondition(context: RuleContext, problems: Sequence[ReferenceProblem]) -> Iterator[Violation]:
    field = context.block_path.field("precondition")
    for problem in problems:
        yield Violation(field, problem.code, f"`precondition`: {problem.message}", problem.column)


def _in_condition(
    context: RuleContext, key: str, expression: Expression, problems: Sequence[ReferenceProblem]
) -> Iterator[Violation]:
    """The same problems at the leaf of the condition that the caller wrote, not in the compiled text."""
    name_at = {mention.column: mention.name for mention in expression.mentions}
    by_name = {name_at[problem.column]: problem for problem in problems}
    condition: Mapping[str, object] = getattr(context.block, key)
    for path, part, name in _subjects(condition, key):
        problem = by_name.get(name)
        if problem is not None:
            field = context.block_path.field(f"{path}.{part}")
            yield Violation(field, problem.code, f"`{part}`: {problem.message}")


def _subjects(condition: Mapping[str, object], path: str) -> Iterator[tuple[str, str, str]]:
    """The subject of each leaf: the leaf's path, `block` or `variable`, and the name in the expression."""
    for place, leaf in conditions.leaves(condition, path):
        part = "variable" if leaf.get("block") is None else "block"
        yield place, part, conditions.subject_of(leaf)
