"""What the names in an expression mean in one script, and which of them may not stand there."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from surveys.engine.language import names
from surveys.engine.language.expressions import Expression, Mention
from surveys.engine.language.formulas import Formula
from surveys.engine.language.names import VARIABLES
from surveys.engine.script import STATEMENTS, Block, Script, normalized, title_case

__all__ = ["VARIABLES", "ReferenceProblem", "check", "resolve", "unknown_names", "variables"]

_SUGGESTIONS = 2  # per expression; looking for near names is slow


@dataclass(frozen=True, slots=True)
class ReferenceProblem:
    """One reference that cannot stand: a code of the violation vocabulary, a sentence, the column from 1."""

    code: str
    message: str
    column: int


def variables(script: Script) -> frozenset[str]:
    """The variables known in this script: `answer`, and where it is scored the score and its kin."""
    return names.script_variables(scoring_enabled=script.scoring_enabled, bucket_keys=script.bucket_keys)


def resolve(name: str, script: Script) -> int | str | None:
    """What a name means: the index into `script.blocks`, a variable's name, or None for nothing known.

    `q1` is always a position; a variable is in lower case; any other name is a block's in title case.
    """
    if names.is_position(name):
        index = names.index_of_position(name)
        return index if index is not None and index < len(script.blocks) else None
    if (variable := normalized(name)) in variables(script):
        return variable
    return script.index_by_title.get(title_case(name))


def check(
    expression: Expression, *, script: Script, at: int, suggestions: int = _SUGGESTIONS
) -> list[ReferenceProblem]:
    """What is wrong with the references of the expression on block `at`, each name told once.

    `suggestions`: for how many unknown names a near one may be looked for.
    """
    faults: list[ReferenceProblem] = []
    seen: set[str] = set()
    for mention in expression.mentions:
        if mention.name in seen:
            continue
        seen.add(mention.name)
        meant = resolve(mention.name, script)
        if meant is None:
            message = _unknown(mention.name, script, at, suggests=suggestions > 0)
            suggestions -= 1
            faults.append(ReferenceProblem("unknown_reference", message, mention.column))
        elif isinstance(meant, int):
            faults += _misplaced(mention, script.blocks[meant], meant, at)
    return faults


def unknown_names(formula: Formula, script: Script, at: int) -> list[Mention]:
    """The names in the formula of block `at` that always count as 0, each once, where it stands first.

    That is what means nothing, this block itself or a later one, and what has no answer.
    """
    first = {mention.name: mention for mention in reversed(formula.mentions)}
    return [
        mention
        for mention in sorted(first.values(), key=lambda mention: mention.column)
        if _is_unknown(resolve(mention.name, script), script, at)
    ]


def _is_unknown(meant: int | str | None, script: Script, at: int) -> bool:
    if isinstance(meant, int):
        return meant >= at or script.blocks[meant].type in STATEMENTS
    return meant is None


def _misplaced(mention: Mention, block: Block, index: int, at: int) -> list[ReferenceProblem]:
    name = mention.name
    if index == at:
        message = f"{name} is this block itself: a block is decided before it is answered."
        return [ReferenceProblem("self_reference", message, mention.column)]
    if block.type in STATEMENTS:
        kind = "a content block" if block.type == "content_block" else "an action block"
        message = f"{name} is {kind}, which has no answer to compare."
        return [ReferenceProblem("not_allowed", message, mention.column)]
    if index > at:
        message = f"{name} stands later in the script: only earlier blocks can be referred to."
        return [ReferenceProblem("later_reference", message, mention.column)]
    return []


def _unknown(name: str, script: Script, at: int, *, suggests: bool) -> str:
    if names.is_position(name):
        count = len(script.blocks)
        message = f"{name} is a position, and the positions here are q1 to q{count}." if count else ""
        if title_case(name) in script.index_by_title:
            message += f" The block named {name} is written {title_case(name)}."
        return message.strip() or f"{name} is a position, and the script has no blocks."
    position = names.index_of_position(name.lower())
    if position is not None and position < len(script.blocks):
        return f"No block is named {name}. The block at that position is written {name.lower()}."
    if name.lower() in variables(script):
        return f"No block is named {name}. The variable is written {name.lower()}."
    if names.looks_like_variable(name) and not script.scoring_enabled:
        return f"{name} is a variable only where scoring is enabled, and no block is named {name}."
    near = _nearest(name, script, at) if suggests else None
    hint = f" Did you mean {near}?" if near else ""
    return f"No block or variable is named {name}.{hint}"


def _nearest(name: str, script: Script, at: int) -> str | None:
    """The most similar name that could stand here, as an expression writes it."""
    if len(name) > 64:
        return None
    known = {
        block.title: names.expression_form(block.name)
        for block in script.blocks[:at]
        if block.name and block.type not in STATEMENTS and not names.is_reserved(block.name)
    }
    known |= {title_case(variable): variable for variable in variables(script)}
    near = difflib.get_close_matches(title_case(name), known, n=1)
    return known[near[0]] if near else None
