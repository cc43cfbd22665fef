"""A provider that reads marks in answers, and projects whose answers have such marks.

In an answer, `#slow` is the theme Slow, and `+` and `-` are its mood. The whole answer is the quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings

from communities.models import Community
from surveys import ai
from surveys.ai.provider import (
    AnalysisOverview,
    ProposedScript,
    ProviderError,
    ScriptRequest,
    TextBatch,
    TextFigures,
    TextReading,
    TextSample,
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
LATER = NOON + jobs.LEASE + timedelta(seconds=1)  # after the expiry of a lease taken at noon


class Killed(BaseException):
    """Stands for the end of the process: none of our code catches it."""


def tags_of(answer: str) -> list[str]:
    return [tag.casefold() for tag in re.findall(r"#(\w+)", answer)]


def by_marks(batch: TextBatch) -> list[TextReading | None]:
    """The readings of a careful provider for each answer, as indexes into the themes of the batch."""
    places = {theme.title.casefold(): place for place, theme in enumerate(batch.themes)}
    readings: list[TextReading | None] = []
    for answer in batch.answers:
        mood: Any = "positive" if "+" in answer else "negative" if "-" in answer else "neutral"
        named = tuple(places[tag] for tag in tags_of(answer) if tag in places)
        readings.append(TextReading(named, mood, answer))
    return readings


def named_by_marks(sample: TextSample) -> list[TextTheme]:
    """The themes that a careful provider names: all marks that no known theme has, in their order."""
    known = {theme.title.casefold() for theme in sample.known_themes}
    tags = dict.fromkeys(tag for answer in sample.answers for tag in tags_of(answer) if tag not in known)
    return [TextTheme(tag.capitalize(), f"About {tag}.") for tag in tags][: sample.max_new_themes]


Reading = Callable[[TextBatch], Sequence[TextReading | None]]
Naming = Callable[[TextSample], Sequence[TextTheme]]


class Reads:
    """Reads with `read` and names themes with `name`; both may raise. It stores its requests.

    Batches are stored in the order of their answers.
    """

    name = "anthropic"

    def __init__(
        self, read: Reading = by_marks, *, name_by: Naming = named_by_marks, max_batch_size: int = 100
    ) -> None:
        self.read, self.name_by, self.max_batch_size = read, name_by, max_batch_size
        self.samples: list[TextSample] = []
        self.batches: list[TextBatch] = []
        self.counted: list[TextFigures] = []
        self.overviews: list[AnalysisOverview] = []

    def draft_script(self, request: ScriptRequest, correction: Any = None) -> ProposedScript:
        raise AssertionError("No script is asked for here.")

    def name_themes(self, sample: TextSample) -> Sequence[TextTheme]:
        self.samples.append(sample)
        return self.name_by(sample)

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
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
        return bool(self.samples or self.batches or self.counted or self.overviews)


class Failing(Reads):
    """Fails by a list: each item is the exception to raise, or None for success; the last item repeats."""

    def __init__(self, *faults: BaseException | None, max_batch_size: int = 2) -> None:
        super().__init__(max_batch_size=max_batch_size)
        self.faults = list(faults)

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
        fault = self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]
        if fault is not None:
            raise fault
        return super().assign_themes(batch)


@contextmanager
def connected(provider: Any) -> Iterator[None]:
    """Replace the installation's provider while a scene of many tests is made."""
    with (
        override_settings(AI_PROVIDER="anthropic", AI_CALLS_AT_ONCE=1),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(ai, "get_provider", lambda: provider)
        yield


@pytest.fixture(name="connect")
def connecting(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[[Any], Any]:
    """Replaces the installation's provider by another one, which counts as paid."""

    def connect(provider: Any) -> Any:
        settings.AI_PROVIDER = "anthropic"
        settings.AI_CALLS_AT_ONCE = 1
        monkeypatch.setattr(ai, "get_provider", lambda: provider)
        return provider

    return connect


def survey(caller: Caller, *blocks: Any, **fields: Any) -> Project:
    """An open project; with one open question if there are no `blocks`."""
    made = caller.make_open(*(blocks or (TEXT,)), **{**OPEN_WEB, **fields})
    return Project.objects.get(pk=made["id"])


def wrote(project: Project, *texts: str) -> None:
    """Let one person per text answer the project's first question."""
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
    """A new analysis after its completion, as the interface returns it."""
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
