"""An analysis needs memory for the answers that it reads at once, however many there are (rule 10.104)."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from surveys.ai.local import LocalProvider
from surveys.ai.provider import TextBatch, TextReading, TextTheme
from surveys.models import Analysis, Project, Reading
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ai_work.analysis import text_reader
from tests.support.surveys import scenario
from tests.support.surveys.analyses import Reads, connecting  # noqa: F401
from tests.support.surveys.exports import fill
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = [pytest.mark.long, pytest.mark.django_db]
MEGABYTE = 1_000_000


class Forgets(Reads):
    """Reads by marks, and keeps nothing of what it was sent."""

    def assign_themes(self, batch: TextBatch) -> Sequence[TextReading | None]:
        return self.read(batch)


def highest(made: Project) -> int:
    """The bytes that an analysis of all answers takes in addition at most."""
    made.refresh_from_db()
    job = Analysis.objects.create(
        project=made, revision=made.revision, changes=0, credits_used=1_000, created_at=timezone.now()
    )
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        while not Analysis.objects.get(pk=job.pk).is_finished:  # it gives its turn to others
            analysis.run(analysis_id=job.pk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    job.refresh_from_db()
    assert (job.status, job.error) == ("completed", None)
    return peak - before


def test_three_times_the_answers_take_no_more_memory(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 10.104."""
    monkeypatch.setattr(text_reader, "MAX_TEXTS_PER_BATCH", 100)
    connect(Forgets())
    projects = [scenario.project(CHOICE, {"type": "nps"}, TEXT) for _ in range(3)]
    for made, size in zip(projects, (100, 2_000, 6_000), strict=True):
        fill(made, size)
    highest(projects[0])  # what the first loads stays

    of_few, of_many = (highest(made) for made in projects[1:])

    assert Reading.objects.count() == 8_100
    assert of_many < of_few + MEGABYTE


def test_text_statistics_keep_nothing_of_what_they_have_read() -> None:
    """Rule 10.104."""
    provider, numbers = LocalProvider(), count()
    theme = TextTheme("Price", "What it costs.", ("too expensive",))

    def read(batches: int) -> int:
        """The bytes that are left after some batches of answers that nobody has given before."""
        for _ in range(batches):
            answers = [f"Word{next(numbers)} was too expensive, and the staff was rude." for _ in range(50)]
            provider.assign_themes(TextBatch("How was it?", answers, [theme]))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    read(1)  # what the first loads stays
    tracemalloc.start()
    try:
        before = read(1)
        after = read(6)
    finally:
        tracemalloc.stop()

    assert after < before + MEGABYTE // 10
