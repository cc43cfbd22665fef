"""The ends of a script's project in words: which end follows which answers (rule 6.418)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surveys.engine.flow import titles
from surveys.engine.flow.wording import MAX_WORDS, Wording
from surveys.engine.language import expressions
from surveys.engine.rules import dependence
from surveys.engine.script import Script

THANKS = "the thanks"


@dataclass(frozen=True, slots=True)
class Ending:
    """One end. `words` are its condition; None for the end that all others reach.

    `shows` says what respondents see. `after` is the index of the block after which a respondent is screened
    out, -1 at the beginning; None if the end only follows the last block.
    """

    words: str | None
    shows: str
    screens_out: bool = False
    after: int | None = None


def of(
    script: Script, ends: Sequence[Mapping[str, Any]], end: Mapping[str, Any] | None
) -> tuple[Ending, ...]:
    """The ends in their order, and the last one; empty for a project with the thanks alone."""
    wording, found = Wording(script), list[Ending]()
    places: list[int | None] = []
    for each in ends:
        places.append(dependence.decided_at(each["where"], script=script))
        screens_out = bool(each.get(dependence.SCREEN_OUT))
        is_early = screens_out and None not in places
        latest = max(place for place in places if place is not None) if is_early else 0
        found.append(
            Ending(
                f"when {wording.words(expressions.parse(each['where']).tree, most=MAX_WORDS)}",
                _shows(each),
                screens_out,
                latest - 1 if is_early and latest < len(script.blocks) else None,
            )
        )
    return (*found, Ending(None, _shows(end or {}))) if found or end else ()


def _shows(end: Mapping[str, Any]) -> str:
    message = end.get("message")
    words = f"“{titles.shortened(message)}”" if message else THANKS
    if not (url := end.get("url")):
        return words
    return f"{words}, and leads to {url}" if end.get("redirect") else f"{words}, with a button to {url}"
