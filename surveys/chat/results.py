"""Results of a poll as text in a message: bars of one character, shares and counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from communities.ground.words import percent, percents, plural
from surveys.chat import words
from surveys.engine.script import SCALES, Block
from surveys.engine.walk import defaults
from surveys.engine.walk.answers import Reply
from surveys.models import Project
from surveys.services.results.poll import PollResults

_BAR = "▰"
_LENGTH = 10  # characters of the longest bar
_LABEL = 80


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes for one option or point. `share` is the part of all voters, from 0 to 1."""

    label: str
    votes: int
    share: float
    is_own: bool = False
    percent: str = ""  # the share without decimals


def tallies(block: Block, results: PollResults, *, own: Reply | None = None) -> list[Tally]:
    """The votes in the script's order."""
    votes = list(_tallies(block, results, own or {}))
    return with_percents(votes, voters=results.voters, adds_up=block.type != "multi_punch")


def with_percents(tallies: Sequence[Tally], *, voters: int, adds_up: bool) -> list[Tally]:
    """The tallies with their shares in words. If each voter made one choice, they add up to 100%.

    `voters` includes votes for removed options.
    """
    if not adds_up:
        return [replace(tally, percent=percent(100 * tally.share)) for tally in tallies]
    counts = [tally.votes for tally in tallies]
    texts = percents([*counts, max(voters - sum(counts), 0)])
    return [replace(tally, percent=text) for tally, text in zip(tallies, texts, strict=False)]


def _tallies(block: Block, results: PollResults, own: Reply) -> Iterator[Tally]:
    voters = results.voters or 1
    if block.type in SCALES:
        low, high = block.points
        by_value = {option.value: option for option in block.options}
        for point in range(low, high + 1):
            option, votes = by_value.get(str(point)), results.by_number.get(point, 0)
            label = defaults.words_of_point(block, str(point))
            label = f"{point}: {label}" if option and option.label else label
            sign = f"{option.emoji} " if option and option.emoji and option.emoji != label else ""
            yield Tally(sign + label, votes, votes / voters, own.get("number") == str(point))
        return
    ids = own.get("option_ids")
    chosen = ids if isinstance(ids, list) else []
    for option in block.options:
        votes = results.by_option.get(option.id or 0, 0)
        sign = f"{option.emoji} " if option.emoji else ""
        yield Tally(sign + option.display_text, votes, votes / voters, option.id in chosen)
    if removed := results.for_removed:  # one line for all removed options, because a message has few lines
        label = f"Removed: {', '.join(option.display_text for option, _ in removed)}"
        votes = sum(count for _, count in removed)
        yield Tally(label, votes, votes / voters, any(option.id in chosen for option, _ in removed))


def as_text(project: Project, block: Block, results: PollResults, *, own: Reply | None = None) -> str:
    """Results as lines of text: each option above its bar, and the number of votes.

    If there are too few votes to be shown, the text is one sentence, because rows of 0% would be wrong.
    """
    if results.least_answers and not results.voters:
        return f"_{voters(results)}_"
    sign = (project.presentation or {}).get("chart_emoji") or _BAR
    lines = [_line(tally, sign) for tally in tallies(block, results, own=own)]
    return "\n".join([*lines, f"_{voters(results)}_"])


def _line(tally: Tally, sign: str) -> str:
    label = words.shown(words.clip(tally.label, _LABEL))
    mark = " ← your vote" if tally.is_own else ""
    bar = sign * round(_LENGTH * tally.share)
    figures = f"{tally.percent} ({tally.votes:,})"
    return f"**{label}**{mark}\n{bar} {figures}" if bar else f"**{label}**{mark}\n{figures}"


def voters(results: PollResults, *, is_over: bool = False) -> str:
    """The number of votes, or the reason why it is not shown yet."""
    if results.voters:
        return plural(results.voters, "vote")
    if results.is_withheld and is_over:
        return f"The votes are not shown, because there are fewer than {results.least_answers}."
    if results.is_withheld:
        return f"The results are shown once there are {results.least_answers} votes."
    return "Nobody voted." if is_over else "No votes yet."
