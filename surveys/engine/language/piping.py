"""Piping: [tokens] in prompts and feedback → text (decisions 6.10 and 14.19)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import regex

from surveys.engine.language import names
from surveys.engine.language.lexer import FIELD_PATTERN
from surveys.engine.script import title_case

# Variables that exist only in prompts, in any case; skip logic cannot use them.
PROMPT_VARIABLES = frozenset(
    {
        "username",
        "xp_points",
        "xp_name",
        "earned_xp",
        "month_total_xp",
        "xp_to_next_level",
        "next_xp_level",
    }
)
_TOKEN = regex.compile(rf"\[\s*+({FIELD_PATTERN}\s*+|\p{{L}}[\p{{L}}\p{{M}}\p{{Nd}}_ \-]*+)\]")


def tokens(text: str) -> tuple[str, ...]:
    """The names in [brackets] as written, in the order of the text. Brackets without a name are no token."""
    return tuple(name.rstrip() for name in _TOKEN.findall(text))


def fill(text: str, text_of: Callable[[str], str | None]) -> str:
    """Replace tokens by their values, in one pass: brackets inside a value stay.

    A token for which `text_of` returns None stays as written. The result is plain text, not markup: pages
    must escape it.
    """

    def replacement(match: regex.Match[str]) -> str:
        value = text_of(match[1].rstrip())
        return match[0] if value is None else value

    return _TOKEN.sub(replacement, text)


def rename(text: str, renames: Mapping[str, str], *, variables: Collection[str] | None = None) -> str:
    """Replace block names in tokens; for `renames` and `variables` see `expressions.rename`.

    Variables of prompts stay in any case.
    """

    def renamed(match: regex.Match[str]) -> str:
        name = match[1].rstrip()
        if names.is_position(name) or _is_variable(name, variables):
            return match[0]
        new = renames.get(title_case(name))
        return match[0] if new is None else f"[{token_form(new)}]"

    return _TOKEN.sub(renamed, text)


def token_form(name: str) -> str:
    """A block's name as a token writes it: in title case if it would be a position or a variable.

    No token can refer to a block named like a variable of prompts, such as `UserName`.
    """
    if names.is_position(name) or _is_variable(name, None):
        return title_case(name)
    return name.strip()


def is_prompt_variable(name: str) -> bool:
    """Whether a token of this name is a variable of prompts, and never a block."""
    return name.strip().lower() in PROMPT_VARIABLES


def _is_variable(name: str, variables: Collection[str] | None) -> bool:
    if is_prompt_variable(name):
        return True
    return names.looks_like_variable(name) if variables is None else name in variables
