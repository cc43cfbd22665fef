"""Hints for people who edit a script: valid parts that look like mistakes. The API does not return them.

    hints(script)

    unknown_token        a [token] that means nothing in this script, so that it is shown as written
    empty_token          a [token] of a block that has no answer at this place, so that nothing is shown
    unclosed_token       a [ without its ], so that it is shown as written
    counts_as_zero       a calculation with a block that its condition may hide: it counts as 0 then
    no_correct_answer    a choice without a right answer or points, in a script that has right answers

`field` is the path in the script as a read returns it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from surveys.engine.language import names, piping, references
from surveys.engine.rules.warnings import MAX_TOKENS, ScriptWarning, first_of
from surveys.engine.script import CHOICES, STATEMENTS, Block, Script

CODES = ("unknown_token", "empty_token", "unclosed_token", "counts_as_zero", "no_correct_answer")
_UNCLOSED = re.compile(r"\[[^\[\]]*(?=\[|\Z)")
_UNCLOSED_MESSAGE = "This [ is not closed, so it is shown as written: {excerpt}"
_EXCERPT = 24  # characters
_BEFORE_THE_ANSWER = ("prompt", "description")
_AFTER_THE_ANSWER = ("when_correct", "when_incorrect")


def hints(script: Script) -> list[dict[str, object]]:
    """The first hints about a script and its outro, in the order of the blocks: at most as many as warnings.

    Only the first MAX_TOKENS tokens are checked.
    """
    return first_of(_found(script))


def _found(script: Script) -> Iterator[ScriptWarning]:
    is_quiz = script.scoring_enabled and any(block.has_correct_answer for block in script.blocks)
    left = count(MAX_TOKENS, -1)
    for n, block in enumerate((*script.blocks, *script.outro)):
        path = f"blocks[{n}]"
        yield from _tokens(script, n, block, path, left)
        yield from _hidden_operands(script, n, block, path, left)
        if is_quiz and block.type in CHOICES and not (block.has_correct_answer or block.scored_buckets):
            message = "No option of this block is marked as right, as in other questions."
            yield ScriptWarning(f"{path}.correct_answer_ids", "no_correct_answer", message, block)


def _tokens(script: Script, n: int, block: Block, path: str, left: Iterator[int]) -> Iterator[ScriptWarning]:
    """Mistakes in the texts of a block. `left` counts how many more tokens of the script are checked."""
    for key in (*_BEFORE_THE_ANSWER, *_AFTER_THE_ANSWER):
        answered = n + 1 if key in _AFTER_THE_ANSWER else n
        for token in dict.fromkeys(piping.tokens(getattr(block, key) or "")):
            if next(left) <= 0:
                break
            problem = _problem(script, token, answered)
            if problem is not None:
                code, message = problem
                yield ScriptWarning(f"{path}.{key}", code, message, block)
        unclosed = _UNCLOSED.search(getattr(block, key) or "")
        if unclosed is not None:
            message = _UNCLOSED_MESSAGE.format(excerpt=_excerpt(unclosed[0]))
            yield ScriptWarning(f"{path}.{key}", "unclosed_token", message, block)


def _hidden_operands(
    script: Script, n: int, block: Block, path: str, left: Iterator[int]
) -> Iterator[ScriptWarning]:
    """The blocks in a formula that may be hidden while the calculation itself is shown (rule 4.25).

    A calculation with the same condition is hidden together with them, so it never counts a hidden block as
    0.
    """
    formulas = (named for key, named in references.mentions(block) if key == "calculated_formula")
    for name in dict.fromkeys(mention.name for named in formulas for mention in named):
        if next(left) <= 0:
            break
        meaning = references.resolve(name, script)
        if not isinstance(meaning, int) or meaning >= n:
            continue
        condition = script.blocks[meaning].precondition
        if condition and condition != block.precondition:
            message = (
                f"[{name}] is not shown to everybody. For those who do not see it, it counts as 0 here, and "
                "the result counts in averages. Give this calculation the same condition to leave them out."
            )
            yield ScriptWarning(f"{path}.calculated_formula", "counts_as_zero", message, block)


def _excerpt(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[: _EXCERPT - 1].rstrip()}…"


def _problem(script: Script, token: str, answered: int) -> tuple[str, str] | None:
    """A code and a message about a token at the position after the first `answered` blocks."""
    if piping.is_prompt_variable(token):
        return None
    meaning = references.resolve(token, script)
    if meaning is None:
        if references.readings(token, script) is not None:
            return None  # `warnings` says that the name is ambiguous
        if names.looks_like_score(token) and not script.scoring_enabled:
            return (
                "unknown_token",
                f"[{token}] is filled in only while scoring is on.",
            )
        return "unknown_token", f"[{token}] means nothing in this script. It is shown as written."
    if not isinstance(meaning, int):
        return None
    if script.blocks[meaning].type in STATEMENTS:
        return "empty_token", f"[{token}] is a block without an answer, so nothing is shown in its place."
    if meaning >= answered:
        return (
            "empty_token",
            f"[{token}] is answered only after this text, so nothing is shown in its place.",
        )
    return None
