"""A script with as many questions as are wanted: the least important go, further ones come.

    resized(blocks, 5, template, frame=…)

Only questions are counted; what else stands in a script goes only where it refers to a question that went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from surveys.ai.local import library
from surveys.ai.local.library import Template
from surveys.ai.local.stems import stems
from surveys.engine.language import piping
from surveys.engine.script import QUESTIONS, title_case

Block = dict[str, Any]
Frame = Callable[[int], Block]  # from the number of a question to one that its author has to write

_ALIKE = 0.6  # of the words of two prompts: more, and both ask the same


def resized(blocks: Sequence[Block], count: int, template: Template, *, frame: Frame) -> list[Block]:
    """Exactly `count` questions. `frame` makes those for which neither template nor library has any."""
    resized = list(blocks)
    for name in reversed(template.importance):
        if _count(resized) <= count:
            break
        resized = without(resized, {name})
    missing = count - _count(resized)
    return _with_more(resized, missing, template, frame) if missing > 0 else resized


def without(blocks: Iterable[Block], names: Iterable[str]) -> list[Block]:
    """The blocks but those of these names, and but whatever refers to them, in however many steps."""
    gone = {title_case(name) for name in names}
    kept = list(blocks)
    while True:
        stay = [
            block for block in kept if title_case(block["name"]) not in gone and not mentions(block) & gone
        ]
        if len(stay) == len(kept):
            return stay
        gone |= {title_case(block["name"]) for block in kept if block not in stay}
        kept = stay


def mentions(block: Mapping[str, Any]) -> set[str]:
    """What a block refers to, in title case: other blocks, and variables such as scores."""
    found = set(piping.tokens(f"{block.get('prompt', '')} {block.get('calculated_formula') or ''}"))
    for key in ("show_when", "hide_when"):
        found |= set(_subjects(block.get(key) or {}))
    return {title_case(name) for name in found}


def _subjects(condition: Mapping[str, Any]) -> Iterator[str]:
    for part in (*condition.get("all", ()), *condition.get("any", ())):
        yield from _subjects(part)
    if subject := condition.get("block") or condition.get("variable"):
        yield subject


def _count(blocks: Iterable[Block]) -> int:
    return sum(block["type"] in QUESTIONS for block in blocks)


def _with_more(blocks: list[Block], missing: int, template: Template, frame: Frame) -> list[Block]:
    pool: list[Mapping[str, Any]] = list(template.more)
    if not template.scoring_enabled:
        pool += library.further_questions()
    added: list[Block] = []
    taken = {title_case(block["name"]) for block in blocks}
    for question in pool:
        is_new = not any(_asks_the_same(question, block) for block in (*blocks, *added))
        if len(added) < missing and title_case(question["name"]) not in taken and is_new:
            added.append(dict(question))
    first = _count(blocks) + len(added) + 1
    added += [frame(number) for number in range(first, first + missing - len(added))]
    at = _end_of_questions(blocks)
    return [*blocks[:at], *added, *blocks[at:]]


def _asks_the_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    these, those = set(stems(one["prompt"])), set(stems(other["prompt"]))
    return bool(these) and len(these & those) > _ALIKE * len(these | those)


def _end_of_questions(blocks: Sequence[Block]) -> int:
    """Where further questions are put in: behind the last question, but before an open one at the end."""
    asking = [n for n, block in enumerate(blocks) if block["type"] in QUESTIONS]
    if not asking:
        return len(blocks)
    last = blocks[asking[-1]]
    closes = last["type"] == "open_text" and "show_when" not in last and len(asking) > 1
    return asking[-1] if closes else asking[-1] + 1
