"""A poll's results as bars and as a table of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from communities.ground.translation import count, number, say
from communities.ground.words import percent, percents
from surveys.drawing.widgets import emoji, point_in_words, spoken_point, typed_of
from surveys.engine.script import SCALES, Block
from surveys.engine.walk.answers import Reply
from surveys.services.results.poll import PollResults


@dataclass(frozen=True, slots=True)
class ResultBar:
    """The votes for one option. `width` is the share in percent, formatted for SVG.

    `spoken` are words for screen readers if the text is stars, or an emoji without words.
    """

    text: str
    emoji: str
    count: int
    share: str
    width: str
    is_own: bool
    spoken: str = ""


@dataclass(frozen=True, slots=True)
class ResultsView:
    """A poll question with its results. `summary` is the number of votes and, for scales, their mean."""

    prompt: str
    bars: Sequence[ResultBar]
    summary: str


def draw_results(block: Block, results: PollResults, *, own: Reply | None, is_over: bool) -> ResultsView:
    """Return bars in script order and mark the `own` choice. Multi-punch shares may add up to over 100%.

    If the votes are not shown yet there are no bars, because bars would look as if nobody voted. `is_over`
    means that no more votes are accepted.
    """
    chosen = typed_of(own).chosen
    if results.is_withheld:
        return ResultsView(block.prompt, (), _voters(results, is_over))
    if block.type in SCALES:
        return _scale(block, results, chosen, is_over)
    votes = [results.by_option.get(option.id or 0, 0) for option in block.options]
    bars = [
        _bar(option.display_text, emoji(option), votes_for_it, results, str(option.id) in chosen)
        for option, votes_for_it in zip(block.options, votes, strict=True)
    ]
    bars += [
        _bar(
            say("{option} (removed)", option=option.display_text),
            emoji(option),
            votes_for_it,
            results,
            str(option.id) in chosen,
        )
        for option, votes_for_it in results.for_removed
    ]
    if block.type != "multi_punch":
        bars = _adding_up(bars, results.voters)
    return ResultsView(block.prompt, bars, _voters(results, is_over))


def voters(results: PollResults) -> str:
    """A sentence with the number of people who voted in a closed poll."""
    if results.is_withheld:
        return say("Fewer than {n} people voted.", n=results.least_answers)
    return (
        count(results.voters, "{n} person voted.", "{n} people voted.")
        if results.voters
        else say("Nobody voted.")
    )


def _scale(block: Block, results: PollResults, chosen: frozenset[str], is_over: bool) -> ResultsView:
    low, high = block.points
    by_value = {option.value: option for option in block.options}
    bars = []
    for point in range(low, high + 1):
        text, sign = point_in_words(block, str(point)), emoji(by_value.get(str(point)))
        bar = _bar(text, sign, results.by_number.get(point, 0), results, str(point) in chosen)
        if words := spoken_point(block, str(point)):
            bar = replace(bar, emoji="", spoken=words)
        bars.append(bar)
    summary = _voters(results, is_over)
    if results.voters:
        mean = sum(point * votes for point, votes in results.by_number.items()) / results.voters
        summary = say("{votes}, {mean} on average", votes=summary, mean=number(round(mean, 1)))
    return ResultsView(block.prompt, _adding_up(bars, results.voters), summary)


def _bar(text: str, sign: str, votes: int, results: PollResults, is_own: bool) -> ResultBar:
    percentage = votes / results.voters * 100 if results.voters else 0.0
    return ResultBar(text, sign, votes, percent(percentage), f"{percentage:.2f}", is_own)


def _adding_up(bars: Sequence[ResultBar], voters: int) -> list[ResultBar]:
    """The bars with shares that add up to 100%, together with the votes for removed options."""
    counts = [bar.count for bar in bars]
    shares = percents([*counts, voters - sum(counts)])
    return [replace(bar, share=share) for bar, share in zip(bars, shares, strict=False)]


def _voters(results: PollResults, is_over: bool) -> str:
    if results.voters:
        return count(results.voters, "{n} vote", "{n} votes")
    if results.is_withheld and is_over:
        return say("Fewer than {n} people voted, so no votes are shown", n=results.least_answers)
    if results.is_withheld:
        return say("Shown once there are {n} votes", n=results.least_answers)
    return say("Nobody voted") if is_over else say("No votes yet")
