"""The meaning of names in one script, and the names that are invalid at a block."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from communities.ground.sent_text import composed
from surveys.engine.language import expressions, formulas, names, piping
from surveys.engine.language.expressions import Expression
from surveys.engine.language.formulas import Formula
from surveys.engine.language.lexer import Mention, ParseError
from surveys.engine.script import STATEMENTS, Block, Script, title_case

TEXTS_WITH_TOKENS = ("prompt", "description", "when_correct", "when_incorrect")
MAX_SUGGESTIONS = 2  # per expression, because the search for similar names is slow
MAX_COMPARED = (
    10  # names that are compared in full for one suggestion; the time grows with the square of their length
)
_SIMILAR = 0.6  # share of common letters in both names, from 0 to 1


@dataclass(frozen=True, slots=True)
class ReferenceProblem:
    """One invalid reference: a violation's code and message, and the column from 1."""

    code: str
    message: str
    column: int


def variables(script: Script) -> frozenset[str]:
    """The variables of this script: `answer`, and the score variables if it is scored."""
    return names.script_variables(scoring_enabled=script.scoring_enabled, bucket_keys=script.bucket_keys)


def resolve(name: str, script: Script) -> int | str | None:
    """The meaning of a name: an index into `script.blocks`, a variable's name, or None if it is unknown.

    `q1` is always a position, and `field.…` a metadata field, in any script; a variable is in lower case; any
    other name is a block's in title case.
    """
    if names.field_key(name) is not None:
        return name
    if names.is_position(name):
        index = names.index_of_position(name)
        return index if index is not None and index < len(script.blocks) else None
    if (variable := composed(name)) in variables(script):
        return variable
    return script.index_by_title.get(title_case(name))


def check(
    expression: Expression, *, script: Script, at: int, suggestions: int = MAX_SUGGESTIONS
) -> list[ReferenceProblem]:
    """Find the invalid references in the expression of block `at`; each name is reported once (rule 4.7).

    `suggestions` is the number of unknown names for which a similar one is searched.
    """
    problems: list[ReferenceProblem] = []
    seen: set[str] = set()
    for mention in expression.mentions:
        if mention.name in seen:
            continue
        seen.add(mention.name)
        meaning = resolve(mention.name, script)
        if meaning is None:
            message = _unknown(mention.name, script, at, suggests=suggestions > 0)
            suggestions -= 1
            problems.append(ReferenceProblem("unknown_reference", message, mention.column))
        elif isinstance(meaning, int):
            hint = naming_hint(mention.name, script)
            problems += [
                replace(problem, message=f"{problem.message} {hint}".strip())
                for problem in _misplaced(mention, script.blocks[meaning], meaning, at)
            ]
    return problems


def unknown_names(formula: Formula, script: Script, at: int) -> list[Mention]:
    """The names in the formula of block `at` that always count as 0, each at its first mention.

    These are unknown names, this block itself, later blocks, and blocks that have no answer.
    """
    first = {mention.name: mention for mention in reversed(formula.mentions)}
    return [
        mention
        for mention in sorted(first.values(), key=lambda mention: mention.column)
        if _has_no_value(resolve(mention.name, script), script, at)
    ]


def mentions(block: Block) -> Iterator[tuple[str, Sequence[Mention]]]:
    """The texts of a block that can name blocks and variables: the field of each, and the names in it.

    A text that cannot be parsed contains no names here; the rules report it.
    """
    if block.precondition:
        yield condition_key(block), named_by_condition(block)
    for key in TEXTS_WITH_TOKENS:
        text = getattr(block, key)
        if text and "[" in text:
            yield key, piping.mentions(text)
    if block.calculated_formula:
        yield "calculated_formula", named_by_formula(block)


def named_by_condition(block: Block) -> Sequence[Mention]:
    """The names in a block's condition."""
    return _mentions(expressions.parse, block.precondition) if block.precondition else ()


def named_by_formula(block: Block) -> Sequence[Mention]:
    """The names in a block's formula."""
    return _mentions(formulas.parse, block.calculated_formula) if block.calculated_formula else ()


def _mentions(parse: Callable[[str], Expression | Formula], text: str) -> Sequence[Mention]:
    try:
        return parse(text).mentions
    except ParseError:
        return ()


def condition_key(block: Block) -> str:
    """The field in which the author of a block wrote its condition."""
    return next((key for key in ("show_when", "hide_when") if getattr(block, key)), "precondition")


def fields_in(block: Block) -> frozenset[str]:
    """The fields (`field.…`, without that prefix) that a block's condition, formula and texts refer to."""
    found = (names.field_key(mention.name) for _, named in mentions(block) for mention in named)
    return frozenset(key for key in found if key is not None)


def behind_conditions(script: Script) -> dict[int, set[int]]:
    """The indexes of blocks with a condition, each with those of all blocks that the condition needs."""
    return {n: needed(block, script, n) for n, block in enumerate(script.blocks) if block.precondition}


def needed(block: Block, script: Script, at: int) -> set[int]:
    """The indexes of the blocks on which the condition, the formula and the gift of block `at` depend: also
    through formulas, scores and the conditions of these blocks.
    """
    found: set[int] = set()
    waiting = [(block, at)]
    while waiting:
        each, place = waiting.pop()
        named = [mention.name for mention in (*named_by_condition(each), *named_by_formula(each))]
        if each.action_config and each.action_config.source_key:
            named.append(each.action_config.source_key)
        new = {n for name in named for n in meant(name, script, place)} - found
        found |= new
        waiting += [(script.blocks[n], n) for n in new]
    return found - {at}


def meant(name: str, script: Script, at: int) -> Sequence[int]:
    """The indexes of the blocks whose answers give a name its value in block `at`."""
    meaning = resolve(name, script)
    if isinstance(meaning, int):
        return (meaning,)
    if meaning is None or names.field_key(meaning) is not None:
        return ()
    return [
        n
        for n, block in enumerate(script.blocks[:at])
        if block.asks and (meaning == "answer" or block.scored_buckets or block.has_correct_answer)
    ]


def readings(name: str, script: Script) -> tuple[int | None, int] | None:
    """The two blocks that a name like `q3` may refer to: the third block, if it exists, and the block with
    that name.

    None if the name is no position, or if no other block has it (rules 3.9 and 4.20).
    """
    if not names.is_position(name):
        return None
    named, index = script.index_by_title.get(title_case(name)), resolve(name, script)
    if named is None or named == index:
        return None
    return index if isinstance(index, int) else None, named


def variable_like(block: Block, script: Script) -> str | None:
    """The variable that has the same name as a block, in any case; None if there is none
    (rules 3.9 and 4.20).

    It may be a variable of the script, such as `score`, or of texts only, such as `username`.
    """
    return _by_title(variables(script)).get(block.title) if block.name else None


def shadowed(name: str, script: Script, *, in_text: bool) -> int | None:
    """The block that has the same name as a variable; None if the name is no variable here, or no block's."""
    is_variable = resolve(name, script) in variables(script)
    if is_variable or (in_text and piping.is_prompt_variable(name)):
        return script.index_by_title.get(title_case(name))
    return None


@lru_cache(maxsize=256)
def _by_title(known: frozenset[str]) -> Mapping[str, str]:
    return {title_case(variable): variable for variable in (*known, *piping.PROMPT_VARIABLES)}


def naming_hint(name: str, script: Script) -> str:
    """A sentence about a name that reads like a block's automatic name; empty if it does not.

    Blocks without a name get the names `q0`, `q1` …, but in expressions `q1` is a position. A capital letter
    distinguishes the name from the position.
    """
    if not names.is_position(name) or title_case(name) not in script.index_by_title:
        return ""
    return f"The block named {name} is written {title_case(name)}."


def _has_no_value(meaning: int | str | None, script: Script, at: int) -> bool:
    if isinstance(meaning, int):
        return meaning >= at or script.blocks[meaning].type in STATEMENTS
    return meaning is None


def _misplaced(mention: Mention, block: Block, index: int, at: int) -> list[ReferenceProblem]:
    name = mention.name
    if index == at:
        message = f"{name} is this block itself: its condition is evaluated before it is answered."
        return [ReferenceProblem("self_reference", message, mention.column)]
    if block.type in STATEMENTS:
        kind = "a content block" if block.type == "content_block" else "an action block"
        message = f"{name} is {kind}, which has no answer to compare."
        return [ReferenceProblem("not_allowed", message, mention.column)]
    if index > at:
        message = f"{name} comes later in the script: only earlier blocks can be referred to."
        return [ReferenceProblem("later_reference", message, mention.column)]
    return []


def _unknown(name: str, script: Script, at: int, *, suggests: bool) -> str:
    if names.is_position(name):
        count = len(script.blocks)
        message = f"{name} is a position, and the positions here are q1 to q{count}." if count else ""
        message = f"{message} {naming_hint(name, script)}"
        return message.strip() or f"{name} is a position, and the script has no blocks."
    position = names.index_of_position(name.lower())
    if position is not None and position < len(script.blocks):
        return f"No block is named {name}. The block at that position is written {name.lower()}."
    if name.lower() in variables(script):
        return f"No block is named {name}. The variable is written {name.lower()}."
    if names.looks_like_variable(name) and not script.scoring_enabled:
        return f"{name} is a variable only if scoring is enabled, and no block is named {name}."
    if names.reading_parts(name) is not None:
        return f"{name} selects responses that an analysis has read, and nothing else."
    suggestion = _nearest(name, script, at) if suggests else None
    hint = f" Did you mean {suggestion}?" if suggestion else ""
    return f"No block or variable is named {name}.{hint}"


def nearest_token(name: str, script: Script, at: int) -> str | None:
    """The most similar name that the texts of a block may contain in brackets; None if none is similar."""
    return _nearest(name, script, at, others=piping.PROMPT_VARIABLES)


def _nearest(name: str, script: Script, at: int, *, others: Collection[str] = ()) -> str | None:
    """The most similar valid name, as an expression writes it, or one of the `others`."""
    if len(name) > 64:
        return None
    known = {
        block.title: names.expression_form(block.name)
        for block in script.blocks[:at]
        if block.name and block.type not in STATEMENTS and not names.is_reserved(block.name)
    }
    known |= {title_case(variable): variable for variable in (*variables(script), *sorted(others))}
    nearest = _most_similar(title_case(name), known)
    return None if nearest is None else known[nearest]


def _most_similar(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most similar; None if none is similar.

    The letters of two names, in any order, give a fast upper limit of their similarity. Only names that can
    be the most similar are compared in full, and at most MAX_COMPARED.
    """
    matcher = difflib.SequenceMatcher(b=name)
    possible: list[tuple[float, str]] = []
    for each in known:
        matcher.set_seq1(each)
        if matcher.real_quick_ratio() >= _SIMILAR and (most := matcher.quick_ratio()) >= _SIMILAR:
            possible.append((most, each))
    nearest = (_SIMILAR, "")
    for most, each in heapq.nlargest(MAX_COMPARED, possible):
        if most < nearest[0]:
            break
        matcher.set_seq1(each)
        nearest = max(nearest, (matcher.ratio(), each))
    return nearest[1] or None
