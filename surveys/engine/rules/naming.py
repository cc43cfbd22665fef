"""Names for blocks whose author has given none: words of the prompt, or else `question_4` (rule 3.11).

    from_words("How old are you?", number=4, taken=set())    how_old_are_you
    named(blocks)                                            blocks as JSON, with names that are no positions

A write over the interface names such blocks `q0`, `q1`, ... instead (rule 3.8).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

import regex

from surveys.engine.language import conditions, expressions, names, piping
from surveys.engine.language.conditions import ConditionError
from surveys.engine.language.lexer import NAME_PATTERN, ParseError
from surveys.engine.language.references import TEXTS_WITH_TOKENS
from surveys.engine.rules import carrying
from surveys.engine.script import title_case

Json = dict[str, Any]
MAX_WORDS = 40  # characters
_TOKEN = regex.compile(r"\[[^\[\]]*\]")
# The address of a link does not go into the name that is made from a prompt. The editor finds links alike.
_LINK = regex.compile(r"\[([^\[\]]*)\]\((?:https?://|mailto:)[^()\s]*\)", regex.IGNORECASE)
_WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}]+")


def from_words(prompt: str, *, number: int, taken: Collection[str]) -> str:
    """A name for the block with this prompt, which is number `number` of its script, from 1.

    `taken` are the names of the other blocks, in the form of `title_case`.
    """
    stem = ""
    for word in _WORD.findall(_TOKEN.sub(" ", _LINK.sub(r"\1", prompt)).lower()):
        longer = f"{stem}_{word}" if stem else word
        if len(longer) > MAX_WORDS:
            break
        if NAME_PATTERN.fullmatch(longer):  # a digit cannot be first
            stem = longer
    if not stem or means_something_else(stem):
        while title_case(f"question_{number}") in taken:
            number += 1
        return f"question_{number}"
    name, number = stem, 1
    while title_case(name) in taken:
        number += 1
        name = f"{stem}_{number}"
    return name


def means_something_else(name: str) -> bool:
    """Whether a text or expression would read this name, in lower case, as something other than a block."""
    return (
        names.is_position(name)
        or names.looks_like_variable(name)
        or names.is_reserved(name)
        or names.is_page_parameter(name)
        or piping.is_prompt_variable(name)
        or name in names.KEYWORDS
    )


def named(blocks: Iterable[Any]) -> list[Any]:
    """The blocks with a new name for each new block that has no name, or a name like a position.

    References to the old name are updated. Blocks with an id keep their name, because they are stored under
    it. Items that are no blocks stay unchanged.
    """
    given = list(blocks)
    taken = {title_case(name) for block in given if (name := _name(block)) is not None}
    fresh: dict[int, str] = {}
    renamed: dict[str, str] = {}
    for n, block in enumerate(given):
        old = _name(block)
        if not isinstance(block, dict) or block.get("id") is not None or not _needs_name(old):
            continue
        prompt = block.get("prompt")
        name = from_words(prompt if isinstance(prompt, str) else "", number=n + 1, taken=taken)
        fresh[n] = name
        taken.add(title_case(name))
        if old is not None:
            renamed[title_case(old)] = name
    if not fresh:
        return given
    followed = [_followed(block, renamed) if isinstance(block, dict) else block for block in given]
    return [{**block, "name": fresh[n]} if n in fresh else block for n, block in enumerate(followed)]


def _name(block: object) -> str | None:
    """The name of a block in JSON; None if it has no valid name."""
    name = block.get("name") if isinstance(block, dict) else None
    return name if isinstance(name, str) and name.strip() else None


def _needs_name(name: str | None) -> bool:
    return name is None or names.is_position(name.strip().lower())


def _followed(block: Json, renamed: Mapping[str, str]) -> Json:
    """The block with its references updated to the new names. Texts that cannot be read stay unchanged."""
    changed = dict(block)
    for key in TEXTS_WITH_TOKENS:
        if isinstance(block.get(key), str):
            changed[key] = piping.rename(block[key], renamed)
    if isinstance(block.get("calculated_formula"), str):
        changed["calculated_formula"] = carrying.renamed_formula(block["calculated_formula"], renamed, ())
    for key in ("show_when", "hide_when"):
        if isinstance(block.get(key), dict):
            with suppress(ConditionError):
                conditions.compile(block[key], hide=True)  # raises if it cannot be read
                changed[key] = carrying.renamed_condition(block[key], renamed, ())
    if isinstance(block.get("precondition"), str):
        with suppress(ParseError):
            changed["precondition"] = expressions.rename(block["precondition"], renamed)
    return changed
