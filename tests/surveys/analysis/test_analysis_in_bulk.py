"""Analyses whose answers the provider reads in bulk, by the real SDK over a loopback with message batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from surveys.ai.claude import TEXT_MODEL, ClaudeProvider
from surveys.ai.local import LocalProvider
from surveys.ai.models import prices
from surveys.ai.models.prices import TokenUsage
from surveys.ai.openai import OpenAIProvider
from surveys.ai.provider import ProviderError
from surveys.models import Analysis, Answer, Project, Reading
from surveys.services.ai_work.analysis import bulk_readings, worker
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.projects import removal
from surveys.tasks import cancel_bulk
from tests.support.ai.api_key import KEY
from tests.support.ai.improvisation import data_in
from tests.support.ai.loopback import BulkLoopback
from tests.support.caller import Caller
from tests.support.surveys.analyses import (
    ask,
    clock,
    connecting,  # noqa: F401
    credits_of,
    give,
    read,
    several,
    survey,
    tags_of,
    texts_of,
    themes,
    wrote,
)

pytestmark = pytest.mark.django_db
MINUTE = bulk_readings.BULK_LOOKS + timedelta(seconds=1)


def answer(body: Any) -> dict[str, Any]:
    """What a careful model answers, by the marks in the answers."""
    data = data_in(body)
    if "room" in data:
        return {"themes": [{"title": "Slow", "description": "It takes long."}]}
    if "answers" not in data:
        return {"summary": "They were read."}
    return {
        "texts": [
            {"n": each["n"], "themes": [0] if "slow" in tags_of(each["text"]) else [], "sentiment": "neutral"}
            for each in data["answers"]
        ]
    }


@pytest.fixture
def anthropic() -> Iterator[BulkLoopback]:
    with BulkLoopback() as loopback:
        loopback.default_to(answer)
        yield loopback


@pytest.fixture
def claude(anthropic: BulkLoopback, connect: Any, settings: Any) -> Iterator[ClaudeProvider]:
    settings.AI_BULK_FROM = 5
    with ClaudeProvider(api_key=KEY, base_url=anthropic.url, pause=lambda _seconds: None) as provider:
        provider.max_batch_size = 4
        yield connect(provider)


@pytest.fixture
def begun(claude: ClaudeProvider) -> tuple[Caller, Project, Analysis]:
    """A paid analysis of ten answers, after the turn in which a worker has sent them."""
    caller = Caller()
    give(caller.community, 10)
    project = survey(caller)
    wrote(project, *several("#slow", 6), *several("fine", 4))
    made = Analysis.objects.get(pk=ask(caller, project).json()["id"])
    analysis.run(analysis_id=made.pk)
    return caller, project, made


def look(caller: Caller, project: Project, made: Analysis, *, after: timedelta = MINUTE) -> dict[str, Any]:
    """The analysis after a worker has looked again."""
    analysis.run(analysis_id=made.pk, now=clock(timezone.now() + after))
    told: dict[str, Any] = read(caller, project).json()
    return told


def singly(anthropic: BulkLoopback) -> list[int]:
    """How many answers each single call has read."""
    calls = [data_in(each.body) for each in anthropic.requests if each.path == anthropic.path]
    return [len(data["answers"]) for data in calls if "answers" in data and "room" not in data]


def test_a_large_analysis_is_read_in_bulk(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback
) -> None:
    """Rule 10.101."""
    caller, project, made = begun
    waiting = read(caller, project).json()
    made.refresh_from_db()
    assert made.leased_until is not None
    assert timedelta(seconds=30) < made.leased_until - timezone.now() <= bulk_readings.BULK_LOOKS
    assert (waiting["status"], waiting["progress"], Reading.objects.count()) == ("running", 0.05, 0)
    assert [len(each) for each in anthropic.batches.values()] == [3]

    told = look(*begun)

    assert (told["status"], themes(told), texts_of(told)["analysed_count"]) == ("completed", {"Slow": 6}, 10)
    assert (told["credits_used"], credits_of(caller.community)) == (1, 9)
    assert singly(anthropic) == []
    assert "elsewhere" not in "".join(each.path for each in anthropic.requests)
    made.refresh_from_db()
    spent = made.spending or {}
    assert spent["calls"] == 1 + 3 + 2  # themes, three requests of the bulk, two summaries
    once = prices.cost_of(TEXT_MODEL, TokenUsage(uncached=1_000, output=200)) or 0
    assert spent["cost_usd"] == pytest.approx(3 * once + 3 * once / 2)


def test_other_providers_begin_no_bulk() -> None:
    """Rule 10.102."""
    with OpenAIProvider(model="any", api_key=KEY, base_url="http://127.0.0.1:9/v1") as provider:
        assert provider.begin_bulk([]) is None
        with pytest.raises(ProviderError):
            provider.look_at_bulk("msgbatch_0")
    assert LocalProvider().begin_bulk([]) is None  # type: ignore[func-returns-value]


def test_small_analyses_are_read_by_single_calls(
    claude: ClaudeProvider, anthropic: BulkLoopback, settings: Any
) -> None:
    """Rule 10.101. Off by default."""
    caller = Caller()
    give(caller.community, 10)
    project = survey(caller)
    wrote(project, *several("#slow", 4))
    first = Analysis.objects.get(pk=ask(caller, project).json()["id"])
    analysis.run(analysis_id=first.pk)
    settings.AI_BULK_FROM = 0
    wrote(project, *several("#slow again", 20))
    second = Analysis.objects.get(pk=ask(caller, project).json()["id"])
    analysis.run(analysis_id=second.pk)

    assert read(caller, project).json()["status"] == "completed"
    assert anthropic.batches == {}
    assert sum(singly(anthropic)) == 24


def test_a_worker_looks_until_the_bulk_is_over(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback
) -> None:
    """Rule 10.101. Many looks are no deaths of workers."""
    anthropic.looks = 4
    states = [look(*begun, after=n * MINUTE)["status"] for n in range(1, 5)]

    assert states == ["running"] * 3 + ["completed"]
    assert len(anthropic.batches) == 1


@pytest.mark.parametrize("outcome", ["expired", "unusable"])
def test_what_a_request_of_a_bulk_leaves_is_read_by_single_calls(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback, outcome: str
) -> None:
    """Rule 10.102. Nothing is counted or paid twice."""
    caller, _, made = begun
    if outcome == "unusable":
        anthropic.queue(answer, {"texts": "none"}, answer)
    else:
        anthropic.outcomes = {1: outcome}

    told = look(*begun)

    assert (told["status"], themes(told), texts_of(told)["analysed_count"]) == ("completed", {"Slow": 6}, 10)
    assert singly(anthropic) == [4]
    assert (told["credits_used"], credits_of(caller.community)) == (1, 9)
    made.refresh_from_db()
    assert (made.checkpoint or {})["read"] == 10


def test_a_bulk_that_cannot_be_begun_is_read_by_single_calls(
    claude: ClaudeProvider, anthropic: BulkLoopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.102. As with a gateway that knows no batches."""
    monkeypatch.setattr(
        anthropic, "_begun", lambda _received: anthropic._error_reply(404, "not_found_error", "", {})
    )
    caller = Caller()
    give(caller.community, 10)
    project = survey(caller)
    wrote(project, *several("#slow", 10))
    made = Analysis.objects.get(pk=ask(caller, project).json()["id"])

    analysis.run(analysis_id=made.pk)

    assert read(caller, project).json()["status"] == "completed"
    assert singly(anthropic) == [4, 4, 2]


def test_a_bulk_that_is_lost_is_given_up_after_a_day(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback
) -> None:
    """Rule 10.102."""
    anthropic.lost = True
    assert look(*begun)["status"] == "running"
    assert singly(anthropic) == []

    told = look(*begun, after=bulk_readings.MAX_WAIT_FOR_BULK + MINUTE)

    assert (told["status"], themes(told)) == ("completed", {"Slow": 6})
    assert sum(singly(anthropic)) == 10


def test_an_answer_that_was_changed_or_deleted_meanwhile_is_not_misread(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback
) -> None:
    """Rule 10.103."""
    changed, deleted, *_ = Answer.objects.filter(value__startswith="#slow").order_by("value")
    Answer.objects.filter(pk=changed.pk).update(value="now fine")
    Answer.objects.filter(pk=deleted.pk).delete()

    told = look(*begun)

    assert (themes(told), texts_of(told)["analysed_count"]) == ({"Slow": 4}, 9)
    assert singly(anthropic) == [1]


def test_more_answers_than_fit_into_a_bulk_are_read_in_several(
    claude: ClaudeProvider, anthropic: BulkLoopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.101. The last few are read by single calls."""
    monkeypatch.setattr(bulk_readings, "MAX_TEXTS_IN_BULK", 8)
    caller = Caller()
    give(caller.community, 10)
    project = survey(caller)
    wrote(project, *several("#slow", 18))
    made = Analysis.objects.get(pk=ask(caller, project).json()["id"])
    analysis.run(analysis_id=made.pk)

    first = look(caller, project, made)
    second = look(caller, project, made, after=2 * MINUTE)

    assert (first["status"], first["progress"]) == ("running", pytest.approx(0.05 + 0.85 * 8 / 18, abs=0.001))
    assert (second["status"], themes(second)) == ("completed", {"Slow": 18})
    sent = [
        [len(data_in(each["params"])["answers"]) for each in batch] for batch in anthropic.batches.values()
    ]
    assert sent == [[4, 4], [4, 4]]
    assert singly(anthropic) == [2]


def test_a_failed_analysis_cancels_its_bulk_and_returns_the_credits(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback
) -> None:
    """Rule 10.103."""
    caller, project, made = begun
    made.refresh_from_db()

    worker.fail(made, None, timezone.now())

    assert anthropic.cancelled == ["msgbatch_0"]
    assert (read(caller, project).json()["credits_used"], credits_of(caller.community)) == (0, 10)


def test_a_deleted_project_cancels_its_bulk(
    begun: tuple[Caller, Project, Analysis], anthropic: BulkLoopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 10.103."""
    caller, project, _ = begun
    woken: list[tuple[str, Any]] = []
    monkeypatch.setattr(removal, "wake", lambda name, **values: woken.append((name, values)))
    assert caller.post(f"/projects/{project.pk}/close").status_code == 200
    assert caller.delete(f"/projects/{project.pk}").status_code == 204

    assert woken == [(cancel_bulk.name, {"bulk_id": "msgbatch_0"})]
    cancel_bulk(**woken[0][1])
    assert anthropic.cancelled == ["msgbatch_0"]
    assert credits_of(caller.community) == 10
