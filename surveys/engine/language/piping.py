"""[tokens] in prompts and feedback → text (decisions 6.10 and 14.19)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import regex

from surveys.engine.language import names
from surveys.engine.script import title_case

# Variables that are known to prompts alone, in any case; skip logic has no use for them.
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
_TOKEN = regex.compile(r"\[\s*+(\p{L}[\p{L}\p{M}\p{Nd}_ \-]*+)\]")


def tokens(text: str) -> tuple[str, ...]:
    """The names in [brackets], in the order of the text, as written. What is no name is no token."""
    return tuple(name.rstrip() for name in _TOKEN.findall(text))


def fill(text: str, text_of: Callable[[str], str | None]) -> str:
    """Put values in place of tokens, in one pass: brackets within a value are left as they are.

    A token for which `text_of` knows nothing stays as written. The outcome is text, not markup:
    whoever puts it on a page escapes it there.
    """

    def value(found: regex.Match[str]) -> str:
        known = text_of(found[1].rstrip())
        return found[0] if known is None else known

    return _TOKEN.sub(value, text)


def rename(text: str, renames: Mapping[str, str], *, variables: Collection[str] | None = None) -> str:
    """Write new block names into tokens; `renames` and `variables` are as in `expressions.rename`.

    Variables that only prompts have are left alone in any case.
    """

    def renamed(found: regex.Match[str]) -> str:
        name = found[1].rstrip()
        if names.is_position(name) or _is_variable(name, variables):
            return found[0]
        new = renames.get(title_case(name))
        return found[0] if new is None else f"[{token_form(new)}]"

    return _TOKEN.sub(renamed, text)


def token_form(name: str) -> str:
    """A block's name as a token writes it: in title case where it would be a position or a variable.

    A block with the name of a prompt's variable, such as `UserName`, cannot be shown by a token.
    """
    if names.is_position(name) or _is_variable(name, None):
        return title_case(name)
    return name.strip()


def is_prompt_variable(name: str) -> bool:
    """Whether a token of this name is a variable that only prompts have, and never a block."""
    return name.strip().lower() in PROMPT_VARIABLES


def _is_variable(name: str, variables: Collection[str] | None) -> bool:
    if is_prompt_variable(name):
        return True
    return names.looks_like_variable(name) if variables is None else name in variables
