"""Changes the number of questions in a script: the least important questions are dropped, or further
questions are added.

    resize(blocks, 5, template, placeholder=…)

Only questions count. Other blocks are dropped only if they refer to a question that was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from surveys.ai.local.drafts import library
from surveys.ai.local.drafts.library import RawBlock, Template
from surveys.ai.local.drafts.stems import stems
from surveys.engine.language import piping
from surveys.engine.script import QUESTIONS, title_case

MutableBlock = dict[str, Any]
# Makes a question for the author to write, from the question's number.
PlaceholderFactory = Callable[[int], MutableBlock]

_MAX_OVERLAP = 0.6  # Two prompts that share more than this part of their words ask the same.


def resize(
    blocks: Sequence[MutableBlock],
    count: int,
    template: Template,
    *,
    placeholder: PlaceholderFactory | None,
    is_wanted: Callable[[RawBlock], bool] = lambda block: True,
) -> list[MutableBlock]:
    """Return the blocks with exactly `count` questions. Further questions are added if the intent wants more.

    `placeholder` makes the questions that neither the template nor the library has. Without `placeholder` the
    script has fewer questions.
    """
    resized = list(blocks)
    for name in reversed(template.importance):
        if _question_count(resized) <= count:
            break
        resized = without_blocks(resized, {name})
    missing = count - _question_count(resized)
    return _with_more(resized, missing, template, placeholder, is_wanted) if missing > 0 else resized


def without_blocks(blocks: Iterable[MutableBlock], names: Iterable[str]) -> list[MutableBlock]:
    """Drop the named blocks, and all blocks that refer to them, directly or through others."""
    dropped = {title_case(name) for name in names}
    remaining = list(blocks)
    while True:
        kept = [
            block
            for block in remaining
            if title_case(block["name"]) not in dropped and not references_of(block) & dropped
        ]
        if len(kept) == len(remaining):
            return kept
        dropped |= {title_case(block["name"]) for block in remaining if block not in kept}
        remaining = kept


def references_of(block: RawBlock) -> set[str]:
    """Return the names to which a block refers, in title case: other blocks, and variables such as scores."""
    references = set(piping.tokens(f"{block.get('prompt', '')} {block.get('calculated_formula') or ''}"))
    for key in ("show_when", "hide_when"):
        references |= set(_subjects(block.get(key) or {}))
    return {title_case(name) for name in references}


def _subjects(condition: Mapping[str, Any]) -> Iterator[str]:
    for part in (*condition.get("all", ()), *condition.get("any", ())):
        yield from _subjects(part)
    if subject := condition.get("block") or condition.get("variable"):
        yield subject


def _question_count(blocks: Iterable[RawBlock]) -> int:
    return sum(block["type"] in QUESTIONS for block in blocks)


def _with_more(
    blocks: list[MutableBlock],
    missing: int,
    template: Template,
    placeholder: PlaceholderFactory | None,
    is_wanted: Callable[[RawBlock], bool],
) -> list[MutableBlock]:
    candidates: list[RawBlock] = list(template.more)
    if not template.scoring_enabled:
        candidates += library.further_questions()
    added: list[MutableBlock] = []
    names = {title_case(block["name"]) for block in blocks}
    for question in candidates:
        is_new = is_wanted(question) and not any(
            asks_the_same(question, block) for block in (*blocks, *added)
        )
        if len(added) < missing and title_case(question["name"]) not in names and is_new:
            added.append(dict(question))
    next_number = _question_count(blocks) + len(added) + 1
    if placeholder:
        added += [placeholder(number) for number in range(next_number, next_number + missing - len(added))]
    position = position_for_more(blocks)
    return [*blocks[:position], *added, *blocks[position:]]


def asks_the_same(one: RawBlock, other: RawBlock) -> bool:
    """Whether two questions in English have almost the same words."""
    words, other_words = set(stems(one["prompt"])), set(stems(other["prompt"]))
    return bool(words) and len(words & other_words) > _MAX_OVERLAP * len(words | other_words)


def position_for_more(blocks: Sequence[RawBlock]) -> int:
    """Return the index for new questions: after the last question, but before an open question that closes
    the script.
    """
    positions = [position for position, block in enumerate(blocks) if block["type"] in QUESTIONS]
    if not positions:
        return len(blocks)
    last = blocks[positions[-1]]
    is_closing = last["type"] == "open_text" and "show_when" not in last and len(positions) > 1
    return positions[-1] if is_closing else positions[-1] + 1
