"""A provider that reads by plain marks, and projects whose answers carry them.

In an answer `#slow` names the theme Slow, `+` and `-` its mood; all of it is the quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings

from communities.models import Community
from surveys import ai
from surveys.ai.provider import (
    AnalysisOverview,
    BatchReading,
    ProposedScript,
    ProviderError,
    ScriptRequest,
    TextBatch,
    TextFigures,
    TextReading,
    TextTheme,
)
from surveys.models import Analysis, Project
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ground import jobs
from tests.support.caller import TEXT, Caller
from tests.support.moments import NOON
from tests.support.surveys import scenario

OPEN_WEB = {"delivery": {"audience": {"participation": "open_web"}}}
DOWN = ProviderError("The provider is down.")
LATER = NOON + jobs.LEASE + timedelta(seconds=1)  # once a lease that was taken at noon has run out


class Killed(BaseException):
    """As if the process were gone: nothing of ours catches it."""


def by_marks(batch: TextBatch) -> BatchReading:
    """What a careful provider makes of a batch: known themes keep their titles."""
    titles = {theme.title.casefold(): theme.title for theme in batch.known_themes}
    new: dict[str, TextTheme] = {}
    texts = []
    for answer in batch.answers:
        tags = [tag.casefold() for tag in re.findall(r"#(\w+)", answer)]
        for tag in tags:
            if tag not in titles and len(new) < batch.max_new_themes:
                titles[tag] = tag.capitalize()
                new[tag] = TextTheme(titles[tag], f"About {tag}.")
        mood = "positive" if "+" in answer else "negative" if "-" in answer else "neutral"
        named = tuple(titles[tag] for tag in tags if tag in titles)
        texts.append(TextReading(named, mood, answer))  # type: ignore[arg-type]
    return BatchReading(tuple(new.values()), texts)


class Reads:
    """Answers by `read`, which may also raise. It keeps what it was asked."""

    name = "anthropic"

    def __init__(
        self, read: Callable[[TextBatch], BatchReading] = by_marks, *, max_batch_size: int = 100
    ) -> None:
        self.read, self.max_batch_size = read, max_batch_size
        self.batches: list[TextBatch] = []
        self.counted: list[TextFigures] = []
        self.overviews: list[AnalysisOverview] = []

    def draft_script(self, request: ScriptRequest, correction: Any = None) -> ProposedScript:
        raise AssertionError("No script is asked for here.")

    def read_texts(self, batch: TextBatch) -> BatchReading:
        self.batches.append(batch)
        return self.read(batch)

    def summarize_texts(self, figures: TextFigures) -> str:
        self.counted.append(figures)
        return f"{figures.answer_count} answers to {figures.prompt}"

    def summarize_analysis(self, overview: AnalysisOverview) -> str:
        self.overviews.append(overview)
        return f"{overview.conversation_count} people answered."

    @property
    def was_asked(self) -> bool:
        return bool(self.batches or self.counted or self.overviews)


class Failing(Reads):
    """Its answers by number: what is to be raised, or None for a good one; the last for ever."""

    def __init__(self, *faults: BaseException | None, max_batch_size: int = 2) -> None:
        super().__init__(max_batch_size=max_batch_size)
        self.faults = list(faults)

    def read_texts(self, batch: TextBatch) -> BatchReading:
        fault = self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]
        if fault is not None:
            raise fault
        return super().read_texts(batch)


@pytest.fixture(name="connect")
def connecting(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[[Any], Any]:
    """Puts a provider in the place of the installation's, as one that is paid."""

    def connect(provider: Any) -> Any:
        settings.AI_PROVIDER = "anthropic"
        monkeypatch.setattr(ai, "get_provider", lambda: provider)
        return provider

    return connect


def survey(caller: Caller, *blocks: Any, **fields: Any) -> Project:
    """An open project; one open question where no blocks are named."""
    made = caller.make_open(*(blocks or (TEXT,)), **{**OPEN_WEB, **fields})
    return Project.objects.get(pk=made["id"])


def wrote(project: Project, *texts: str) -> None:
    """As many people answered the project's first question."""
    for text in texts:
        scenario.say(scenario.begin(project), text)


def give(community: Community, credits: int) -> None:
    Community.objects.filter(pk=community.pk).update(bot_credits=credits)


def credits_of(community: Community) -> int:
    return Community.objects.values_list("bot_credits", flat=True).get(pk=community.pk)


def rich() -> Caller:
    caller = Caller()
    give(caller.community, 1_000)
    return caller


def clock(at: datetime) -> Callable[[], datetime]:
    return lambda: at


def ask(caller: Caller, project: Project, query: str = "", **headers: str) -> Any:
    return caller.post(f"/projects/{project.pk}/analysis{query}", **headers)


def read(caller: Caller, project: Project, query: str = "") -> Any:
    return caller.get(f"/projects/{project.pk}/analysis{query}")


def analysed(caller: Caller, project: Project, query: str = "") -> dict[str, Any]:
    """A new analysis, made to its end, as it is told then."""
    asked = ask(caller, project, query)
    assert asked.status_code == 202, asked.content
    analysis.run(analysis_id=int(asked.json()["id"]))
    told = read(caller, project).json()
    assert told["id"] == asked.json()["id"]
    return told


def asked_for(caller: Caller, *texts: str) -> Analysis:
    """A paid analysis of these answers that waits for a worker, of a community that had 10 credits."""
    give(caller.community, 10)
    project = survey(caller)
    wrote(project, *texts)
    with override_settings(AI_PROVIDER="anthropic"):
        return Analysis.objects.get(pk=ask(caller, project).json()["id"])


def told(caller: Caller, job: Analysis) -> Any:
    return read(caller, job.project).json()


def texts_of(told: dict[str, Any]) -> dict[str, Any]:
    """`open_text` of the first question that has one."""
    return next(block["open_text"] for block in told["blocks"] if block["open_text"])


def themes(told: dict[str, Any]) -> dict[str, int]:
    return {theme["title"]: theme["count"] for theme in texts_of(told)["themes"]}


def quotes(told: dict[str, Any]) -> list[str]:
    return [quote for theme in texts_of(told)["themes"] for quote in theme["quotes"]]


def statuses(project: Project) -> list[str]:
    return list(Analysis.objects.filter(project=project).order_by("pk").values_list("status", flat=True))


def several(text: str, count: int) -> Iterable[str]:
    return (f"{text} {n}" for n in range(count))
