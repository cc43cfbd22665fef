"""The rules of a script's hide expressions and formulas: their syntax, and what expressions refer to.

A hide expression may refer only to blocks before its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surveys.engine.language import comparisons, conditions, expressions, formulas, references, values
from surveys.engine.language.expression_tree import Literal, Name
from surveys.engine.language.expressions import Expression
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.logic_tree import Comparison
from surveys.engine.language.references import MAX_SUGGESTIONS, ReferenceProblem
from surveys.engine.rules.context import RuleContext
from surveys.engine.script import CALCULATED, NUMBERS, WITH_ITEMS, Block, Script, Violation
from surveys.engine.walk.answers import MAX_TEXT

_MAX_SCRIPT_SUGGESTIONS = 20  # because the search for similar names is slow
MAX_SEARCHED = 20_000  # characters that the conditions of a script search for in texts
LEAST_SEARCHED = 10  # characters that each text counts as, because a search for a short one takes as long
NAME_SEARCHED = 100  # characters that a name counts as, for each value that its answer may have
COUNTED_AS = (
    f"A text counts as at least {LEAST_SEARCHED} characters, each value of a name as {NAME_SEARCHED}."
)


def check(
    script: Script, contexts: Sequence[RuleContext], readable: Sequence[bool], path: str
) -> Iterator[Violation]:
    """Check the syntax and references of every precondition, and the syntax of every formula.

    A violation of a precondition has its column; a violation of a condition has the path of the faulty part.
    Unknown names in formulas count as 0 and are no violation. `path` is that of the array of blocks.
    """
    searched = 0
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
        if searched <= MAX_SEARCHED:
            searched += searched_by(expression.tree, script)
        problems = references.check(
            expression, script=script, at=at, suggestions=min(suggestions, MAX_SUGGESTIONS)
        )
        unknown = sum(problem.code == "unknown_reference" for problem in problems[:MAX_SUGGESTIONS])
        suggestions = max(0, suggestions - unknown)
        if condition_key is None:
            yield from _in_precondition(context, problems)
        elif problems:
            yield from _in_condition(context, condition_key, expression, problems)
    if searched > MAX_SEARCHED:
        limit = f"{MAX_SEARCHED:,} characters in texts by `in`"
        message = f"The conditions of a script look for more than {limit}. {COUNTED_AS}"
        yield Violation(path, "too_long", message)


def searched_by(tree: comparisons.AnyNode, script: Script) -> int:
    """The number of characters that the comparisons of an expression search for in texts."""
    return sum(_searched(script, each) for each in comparisons.of_tree(tree))


def _searched(script: Script, node: Comparison[Any]) -> int:
    """The number of characters that a comparison searches for in a text; it is smaller if the text cannot be
    a long answer.

    A search takes time for each character of both sides, and preparation does not make many searches faster.
    Therefore the author's side of this product has a limit.
    """
    if node.sign != "in":
        return 0
    match node.right:
        case Name(name):
            block = _block(script, name)
            if block is not None and block.type in WITH_ITEMS | NUMBERS:
                return 0  # a list, a number, or the value of one option
            return _sought(script, node.left)
        case Literal(str(text)):
            return _sought(script, node.left) * len(text) // MAX_TEXT
    return 0


def _sought(script: Script, node: Any) -> int:
    match node:
        case Literal(value):
            parts = value if isinstance(value, tuple) else (value,)
            return sum(max(LEAST_SEARCHED, len(values.text(part))) for part in parts)
        case Name(name):
            block = _block(script, name)
            if block is None or block.type not in ("multi_punch", "ranking"):
                return NAME_SEARCHED
            return NAME_SEARCHED * len(block.options)
    return LEAST_SEARCHED  # the text of a condition that is true or false


def _block(script: Script, name: str) -> Block | None:
    meaning = references.resolve(name, script)
    return script.blocks[meaning] if isinstance(meaning, int) else None


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
    """Report the same problems at the leaf of the condition that the caller wrote, not in the compiled
    text.
    """
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
