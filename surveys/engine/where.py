"""An expression over a whole response (`where`): its faults, whether a response satisfies it, and renaming.

It may name all blocks of the script, its variables, `field.<name>` and `language`. A block without an answer
has no value, as in conditions (rule 4.8). Readers of single responses may also name `themes.<block>` and
`sentiment.<block>`, which only the database knows (rule 6.963).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from surveys.engine.language import expressions, names, references
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.values import Value
from surveys.engine.rules import carrying, logic
from surveys.engine.rules.compared_values import Comparisons
from surveys.engine.rules.dependence import LANGUAGE, column_of_answer
from surveys.engine.script import Block, Script, Violation
from surveys.engine.walk import counting, runner
from surveys.engine.walk.runner import State

MAX_NAMES = 50  # in one expression: each is looked up in each response
MAX_FIELDS = 20  # different names of fields: a conversation has no more (rule 11.28)
MAX_SEARCHED = 5_000  # characters that one expression searches for in texts, as conditions of a script do
_ANSWER = "answer"


def faults(text: str, *, script: Script, path: str, readings: bool = False) -> Iterator[Violation]:
    """Yield the faults of an expression, each with its column. `path` is that of its field.

    With `readings` it may name what an analysis read.
    """
    key = path.rpartition(".")[2]
    try:
        expression = expressions.parse(text)
    except ParseError as error:
        yield Violation(path, error.code, f"`{key}`: {error.message}", error.column)
        return
    own = {
        mention.column
        for mention in expression.mentions
        if mention.name == LANGUAGE or (readings and read_block(mention.name, script))
    }
    of_readings = {
        mention.column: mention.name
        for mention in expression.mentions
        if readings and names.reading_parts(mention.name)
    }
    for problem in references.check(expression, script=script, at=len(script.blocks)):
        if problem.column in own:
            continue
        message = problem.message
        if name := of_readings.get(problem.column):
            message = f"{name} names no open question whose answers an analysis reads."
        yield Violation(path, problem.code, f"`{key}`: {message}", problem.column)
    if searched(text, script=script) > MAX_SEARCHED:
        message = (
            f"`{key}` looks for more than {MAX_SEARCHED:,} characters in texts by `in`. {logic.COUNTED_AS}"
        )
        yield Violation(path, "too_long", message)
    mentions = expression.mentions
    if len(mentions) > MAX_NAMES:
        message = f"`{key}` may have at most {MAX_NAMES} names; this one has {len(mentions)}."
        yield Violation(path, "too_many", message, mentions[MAX_NAMES].column)
    fields = {mention.name: mention for mention in reversed(mentions) if names.field_key(mention.name)}
    if len(fields) > MAX_FIELDS:
        message = f"`{key}` may have at most {MAX_FIELDS} names `field.…`; this one has {len(fields)}."
        columns = sorted(each.column for each in fields.values())
        yield Violation(path, "too_many", message, columns[MAX_FIELDS])
    for mention in mentions:
        if references.resolve(mention.name, script) == _ANSWER:
            message = f"`{key}` cannot use `answer`, the answer before a block. Please name a question."
            yield Violation(path, "not_allowed", message, mention.column)


def read_block(name: str, script: Script) -> Block | None:
    """The open question of a name such as `themes.why`; None for other names, and for other blocks."""
    _, block_name = names.reading_parts(name) or ("", "")
    meaning = references.resolve(block_name, script)
    block = script.blocks[meaning] if isinstance(meaning, int) else None
    return block if block is not None and block.is_read else None


def searched(text: str, *, script: Script) -> int:
    """The number of characters that a valid expression searches for in texts by `in`."""
    return logic.searched_by(expressions.parse(text).tree, script)


def doubts(text: str, *, comparisons: Comparisons, path: str) -> Iterator[Violation]:
    """Yield what looks like a mistake in a valid expression, as the warnings of a script (rule 6.250)."""
    for field, code, message in comparisons.findings_in(text, path=path, apart_from=LANGUAGE):
        yield Violation(field, code, message)


def holds(text: str, *, script: Script, state: State) -> bool:
    """Whether a response satisfies the expression, by the answers that count. Never raises for a valid one.

    The script may have changed since the state was stored.
    """
    return judge(script=script, state=state)(text)


def judge(*, script: Script, state: State) -> Callable[[str], bool]:
    """`holds` for any number of expressions over one response, whose values are computed once."""
    path = tuple(block_id for block_id in state.path if block_id in script.index_by_id)
    at = min(state.at, len(script.blocks))
    counted = replace(state, at=at, path=path, replies=state.counted, left=frozenset())
    known = runner.path_values(script, counting.looked_ahead(script, counted))

    def value_of(name: str) -> Value:
        return state.language or None if name == LANGUAGE else known.value(name)

    return lambda text: expressions.parse(text).holds(value_of)


def is_known_at_start(text: str) -> bool:
    """Whether the expression names nothing that an answer could change."""
    return column_of_answer(text) is None


def carried(text: str, *, before: Script, after: Sequence[Block]) -> str:
    """The expression after a write of the script: with the new names of blocks and values of options."""
    return carrying.carried_expression(text, before=before, after=after, own_variables=(LANGUAGE,))
