"""The posted results of a closed project: in words, and as panels of a picture.

A survey's report has the same figures as a page of shared results: nothing about single people, and no texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from communities.ground.words import plural
from surveys.chat import results, words
from surveys.chat.results import Tally
from surveys.engine.flow.wording import heading
from surveys.engine.script import Block
from surveys.engine.statistics import by_points
from surveys.models import Project
from surveys.services.results import poll as poll_results
from surveys.services.results import shared
from surveys.services.scripts import cache as script_cache

MOST_QUESTIONS = 8  # in words; the page of results shows all questions
MOST_PANELS = 4
_PROMPT, _LABEL = 120, 80  # characters
Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Panel:
    """The distribution of one question. `note` is a text with the number of answers."""

    title: str
    note: str
    tallies: Sequence[Tally]


@dataclass(frozen=True, slots=True)
class Report:
    """`words` are in the platform's markup."""

    words: str
    panels: Sequence[Panel]

    @property
    def in_plain_words(self) -> str:
        """The panels for people who do not see the picture."""
        text = "\n".join(
            f"{panel.title} ({panel.note}): "
            + ", ".join(f"{tally.label} {tally.percent}" for tally in panel.tallies)
            for panel in self.panels
        )
        return words.plain(text)


def of_poll(project: Project, question: Block, *, at: datetime) -> Report:
    """The result of a poll; empty if not everybody may see it."""
    if not poll_results.may_be_seen(project=project, has_voted=False, at=at):
        return Report("Thank you to everybody who voted.", ())
    votes = poll_results.count(project=project, block=question, at=at)
    if not votes.voters:
        return Report(results.voters(votes, is_over=True), ())
    tallies = results.tallies(question, votes)
    script = script_cache.script_of(project)
    prompt = heading(question.prompt, script)
    return Report(_winner(tallies, votes.voters), [Panel(prompt, plural(votes.voters, "vote"), tallies)])


def of_survey(project: Project, *, at: datetime) -> Report:
    """The results of a survey, question by question."""
    found = shared.read(project=project, at=at)
    script = script_cache.script_of(project)
    blocks = [
        {**block, "prompt": heading(block["prompt"], script)}
        for block in found.blocks
        if block["response_count"]
    ]
    lines = [f"{plural(found.completion_count, 'person', 'people')} answered to the end."]
    described = [line for block in blocks if (line := _in_words(block))]
    lines += described[:MOST_QUESTIONS]
    if len(described) > MOST_QUESTIONS:
        where = "are under “See all results”" if project.share_results else "are not shown here"
        lines.append(f"_The results of {plural(len(described) - MOST_QUESTIONS, 'more question')} {where}._")
    if found.least_answers and len(lines) == 1:
        lines = [f"Thank you! Results are shown once {found.least_answers} people have answered."]
    charted = [block for block in blocks if block["distribution"]][:MOST_PANELS]
    return Report("\n\n".join(lines), [panel(block) for block in charted])


def _winner(tallies: Sequence[Tally], voters: int) -> str:
    most = max(tally.votes for tally in tallies)
    first = [f"**{words.shown(words.clip(t.label, _LABEL))}**" for t in tallies if t.votes == most]
    if len(first) == 1:
        return f"{first[0]} got the most votes: {most:,} of {voters:,}."
    if len(first) == len(tallies) or len(first) > 3:
        return f"{len(first)} answers got the most votes: {most:,} each, of {voters:,}."
    return f"{', '.join(first[:-1])} and {first[-1]} got the most votes: {most:,} each, of {voters:,}."


def panel(block: Figures) -> Panel:
    """The panel of a question with a distribution."""
    return Panel(block["prompt"], plural(block["response_count"], "answer"), _tallies(block))


def _tallies(block: Figures) -> list[Tally]:
    tallies = [
        Tally(_label(entry), entry["count"], entry["percentage"] / 100) for entry in block["distribution"]
    ]
    adds_up = block["block_type"] != "multi_punch"
    return results.with_percents(tallies, voters=block["response_count"], adds_up=adds_up)


def _in_words(block: Figures) -> str:
    """A question with a short result; empty for a question that has no figures."""
    gist = " · ".join(_gist(block))
    prompt = words.shown(words.clip(" ".join(block["prompt"].split()), _PROMPT))
    return f"**{prompt}**\n{gist}" if gist else ""


def _gist(block: Figures) -> Iterator[str]:
    stats, nps, ranking = block["stats"] or {}, block["nps"] or {}, block["ranking"] or []
    if nps.get("score") is not None:
        yield f"NPS {nps['score']:+.0f}"
    elif stats.get("mean") is not None:
        yield f"on average {stats['mean']:.3g}"
    elif ranking:
        ranked = [entry for entry in ranking if entry["average_rank"] is not None]
        first = by_points(ranked)[:3]
        yield " ".join(f"{n}. {_escaped(entry)}" for n, entry in enumerate(first, start=1))
    elif block["distribution"]:
        most = sorted(_tallies(block), key=lambda tally: -tally.votes)[:3]
        yield ", ".join(f"{words.escape(words.clip(each.label, _LABEL))} {each.percent}" for each in most)
    yield plural(block["response_count"], "answer")


def _label(entry: Figures) -> str:
    return str(entry["label"] or entry["value"])


def _escaped(entry: Figures) -> str:
    return words.shown(words.clip(_label(entry), _LABEL))
