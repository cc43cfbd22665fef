"""A poll's results as bars and as a table of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from communities.words import plural
from surveys.engine.script import SCALES, Block
from surveys.engine.walk.answers import Reply
from surveys.pages.respondent.widgets import emoji, typed_of
from surveys.pages.words import share
from surveys.services.results.poll import PollResults


@dataclass(frozen=True, slots=True)
class ResultBar:
    """The votes for one option. `width` is the share in percent, formatted for SVG."""

    text: str
    emoji: str
    count: int
    share: str
    width: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class ResultsView:
    """A poll question with its results. `summary` is the number of votes and, for scales, their mean."""

    prompt: str
    bars: Sequence[ResultBar]
    summary: str


def draw_results(block: Block, results: PollResults, *, own: Reply | None) -> ResultsView:
    """Return bars in script order and mark the `own` choice. Multi-punch shares may add up to over 100%."""
    chosen = typed_of(own).chosen
    if block.type in SCALES:
        return _scale(block, results, chosen)
    bars = []
    for option in block.options:
        votes = results.by_option.get(option.id or 0, 0)
        bars.append(_bar(option.display_text, emoji(option), votes, results, str(option.id) in chosen))
    return ResultsView(block.prompt, bars, _voters(results))


def _scale(block: Block, results: PollResults, chosen: frozenset[str]) -> ResultsView:
    low, high = block.points
    by_value = {option.value: option for option in block.options}
    bars = []
    for point in range(low, high + 1):
        option = by_value.get(str(point))
        text, sign = (option.display_text, emoji(option)) if option else (str(point), "")
        bars.append(_bar(text, sign, results.by_number.get(point, 0), results, str(point) in chosen))
    summary = _voters(results)
    if results.voters:
        mean = sum(point * votes for point, votes in results.by_number.items()) / results.voters
        summary = f"{summary}, {mean:.1f} on average"
    return ResultsView(block.prompt, bars, summary)


def _bar(text: str, sign: str, votes: int, results: PollResults, is_own: bool) -> ResultBar:
    percentage = votes / results.voters * 100 if results.voters else 0.0
    return ResultBar(text, sign, votes, share(percentage), f"{percentage:.2f}", is_own)


def _voters(results: PollResults) -> str:
    if results.voters:
        return plural(results.voters, "vote")
    return f"Shown once there are {results.least_answers} votes" if results.least_answers else "No votes yet"
