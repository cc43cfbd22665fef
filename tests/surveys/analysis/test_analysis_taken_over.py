"""Analyses whose workers die or return too late, and projects that are deleted meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from surveys.models import Analysis
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ai_work.analysis import text_analysis, text_reader, worker
from surveys.services.ground import jobs
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.kills import die, in_a_process_that_dies
from tests.support.moments import NOON
from tests.support.surveys import scenario
from tests.support.surveys.analyses import (
    DOWN,
    LATER,
    Failing,
    Killed,
    Reads,
    analysed,
    ask,
    asked_for,
    by_marks,
    clock,
    connecting,  # noqa: F401
    credits_of,
    give,
    rich,
    several,
    survey,
    themes,
    told,
    wrote,
)
from tests.support.surveys.event_log import bodies, heard, listener

pytestmark = pytest.mark.django_db


def test_a_worker_that_takes_over_goes_on_where_the_other_stopped(connect: Any) -> None:
    """Rule 10.9."""
    first = connect(Failing(None, None, Killed()))
    caller = Caller()
    job = asked_for(caller, *several("#slow", 7))
    with pytest.raises(Killed):
        analysis.run(analysis_id=job.pk, now=clock(NOON))
    between = told(caller, job)
    second = connect(Reads(max_batch_size=2))

    analysis.run(analysis_id=job.pk, now=clock(NOON + timedelta(seconds=60)))
    assert not second.was_asked  # the lease still runs
    analysis.run(analysis_id=job.pk, now=clock(LATER))

    said = [answer for provider in (first, second) for batch in provider.batches for answer in batch.answers]
    assert said == list(several("#slow", 7))
    assert [theme.title for theme in second.batches[0].themes] == ["Slow"]
    assert second.samples == []
    assert (between["status"], 0.05 < between["progress"] < 0.9) == ("running", True)
    assert (themes(told(caller, job)), told(caller, job)["credits_used"]) == ({"Slow": 7}, 1)
    assert credits_of(caller.community) == 9


def test_progress_only_grows(connect: Any) -> None:
    caller = Caller()
    job = asked_for(caller, *several("#slow", 6))
    seen: list[float] = []

    def looked(batch: Any) -> Any:
        seen.append(told(caller, job)["progress"])
        return by_marks(batch)

    connect(Reads(looked, max_batch_size=2))
    analysis.run(analysis_id=job.pk)

    assert seen == sorted(seen) == pytest.approx([0.05, 0.333, 0.617])
    assert told(caller, job)["progress"] == 1.0


def test_who_comes_back_too_late_changes_nothing(connect: Any) -> None:
    caller = Caller()
    listener(caller.community.pk, "analysis.completed", "analysis.failed")
    job = asked_for(caller, "#slow")
    quick = Reads()

    def slow(batch: Any) -> Any:
        connect(quick)
        analysis.run(analysis_id=job.pk, now=clock(LATER))
        return by_marks(batch)

    connect(Reads(slow))
    analysis.run(analysis_id=job.pk, now=clock(NOON))

    assert len(heard(caller.community.pk)) == 1
    assert (len(quick.batches), told(caller, job)["status"]) == (1, "completed")


def test_who_fails_too_late_changes_nothing(connect: Any) -> None:
    def slow(_batch: Any) -> Any:
        connect(Reads())
        analysis.run(analysis_id=job.pk, now=clock(LATER))
        raise DOWN

    connect(Reads(slow))
    caller = Caller()
    job = asked_for(caller, "#slow")

    analysis.run(analysis_id=job.pk, now=clock(NOON))

    assert (told(caller, job)["status"], credits_of(caller.community)) == ("completed", 9)


def test_one_whose_workers_all_died_is_given_up_with_its_credits(connect: Any) -> None:
    connect(Failing(Killed()))
    caller = Caller()
    listener(caller.community.pk, "analysis.failed")
    job = asked_for(caller, "#slow")
    at = NOON
    for _ in range(jobs.MOST_DEATHS + 1):
        with pytest.raises(Killed):
            analysis.run(analysis_id=job.pk, now=clock(at))
        analysis.take_up(at=at)  # too early
        at += jobs.LEASE

    analysis.run(analysis_id=job.pk, now=clock(at))
    assert told(caller, job)["status"] == "running"
    assert jobs.abandoned(Analysis, at=at) == [job.pk]
    for _ in range(2):
        analysis.take_up(at=at)

    assert (told(caller, job)["status"], told(caller, job)["error"]) == ("failed", worker.ANALYSIS_FAILED)
    assert credits_of(caller.community) == 10
    assert len(heard(caller.community.pk)) == 1


def test_the_sweep_wakes_what_waits_and_ends_what_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller()
    ids = {name: asked_for(caller, "#slow").pk for name in ("new", "running", "left", "lost")}
    soon, past = NOON + timedelta(seconds=1), NOON - timedelta(seconds=1)
    leases = {"running": (0, soon), "left": (0, past), "lost": (jobs.MOST_DEATHS, past)}
    for name, (deaths, until) in leases.items():
        Analysis.objects.filter(pk=ids[name]).update(
            status="running", attempt=1, deaths=deaths, leased_until=until
        )
    woken: list[Any] = []
    monkeypatch.setattr(analysis, "wake", lambda task, analysis_id: woken.append((task, analysis_id)))

    analysis.take_up(at=NOON)

    assert woken == [("surveys.run_analysis", ids[name]) for name in ("new", "left")]
    assert Analysis.objects.get(pk=ids["lost"]).status == "failed"


def test_one_whose_worker_gets_on_while_the_sweep_looks_is_not_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = asked_for(Caller(), "#slow")
    running = {"status": "running", "attempt": 1, "deaths": jobs.MOST_DEATHS, "leased_until": LATER}
    Analysis.objects.update(**running)
    monkeypatch.setattr(jobs, "abandoned", lambda _kind, *, at: [job.pk])

    analysis.take_up(at=NOON)

    assert Analysis.objects.values(*running).get() == running


def test_a_worker_that_gets_on_may_die_as_often_as_it_likes(connect: Any) -> None:
    reads = Reads(max_batch_size=1)
    caller = Caller()
    job = asked_for(caller, *several("#slow", 6))
    at = NOON
    for _ in range(jobs.MOST_DEATHS + 3):  # each time one more is read before it dies
        connect(Failing(None, Killed(), max_batch_size=1))
        with pytest.raises(Killed):
            analysis.run(analysis_id=job.pk, now=clock(at))
        at += jobs.LEASE

    connect(reads)
    analysis.run(analysis_id=job.pk, now=clock(at))

    assert told(caller, job)["status"] == "completed"


def test_a_long_one_lets_others_have_their_turn(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Reads(max_batch_size=2)
    connect(reads)
    monkeypatch.setattr(text_reader, "TURN", timedelta(0))
    woken: list[Any] = []
    monkeypatch.setattr(text_analysis, "wake", lambda task, analysis_id: woken.append((task, analysis_id)))
    caller = Caller()
    job = asked_for(caller, *several("#slow", 5))

    statuses = []
    for _ in range(3):
        analysis.run(analysis_id=job.pk)
        statuses.append(told(caller, job)["status"])

    assert statuses == ["running", "running", "completed"]
    assert woken == [("surveys.run_analysis", job.pk)] * 2
    assert [len(batch.answers) for batch in reads.batches] == [2, 2, 1]


def test_a_project_deleted_meanwhile_leaves_nothing(connect: Any, caplog: pytest.LogCaptureFixture) -> None:
    caller = Caller()
    job = asked_for(caller, *several("#slow", 4))

    def deleting(batch: Any) -> Any:
        caller.post(f"/projects/{job.project_id}/close")
        assert caller.delete(f"/projects/{job.project_id}").status_code == 204
        return by_marks(batch)

    connect(Reads(deleting, max_batch_size=2))
    analysis.run(analysis_id=job.pk)

    assert not Analysis.objects.exists()
    assert "fault" not in caplog.text
    analysis.run(analysis_id=job.pk)
    analysis.take_up(at=LATER)


def test_texts_that_are_gone_when_it_comes_to_reading_cost_nothing(connect: Any) -> None:
    provider = connect(Reads())
    caller = Caller()
    job = asked_for(caller, "#slow")
    response = caller.get(f"/projects/{job.project_id}/responses").json()["data"][0]
    caller.delete(f"/responses/{response['id']}")

    analysis.run(analysis_id=job.pk)

    assert not provider.was_asked
    assert (told(caller, job)["credits_used"], credits_of(caller.community)) == (0, 10)


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_held_while_a_provider_works(connect: Any) -> None:
    caller = Caller()
    job = asked_for(caller, "#slow")
    held: list[bool] = []

    def watched(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def watch(asked: Any) -> Any:
            held.append(connection.connection is not None)
            return work(asked)

        return watch

    provider = Reads()
    for name in ("name_themes", "assign_themes", "summarize_texts", "summarize_analysis"):
        setattr(provider, name, watched(getattr(provider, name)))
    connect(provider)

    analysis.run(analysis_id=job.pk)

    assert held == [False] * 4
    assert told(caller, job)["status"] == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_is_really_killed_is_followed_by_another(connect: Any) -> None:
    caller = Caller()
    job = asked_for(caller, *several("#slow", 6))

    def deadly(batch: Any) -> Any:
        return die() if any("4" in answer for answer in batch.answers) else by_marks(batch)

    connect(Reads(deadly, max_batch_size=2))
    in_a_process_that_dies(lambda: analysis.run(analysis_id=job.pk, now=clock(NOON)))
    provider = connect(Reads(max_batch_size=2))
    analysis.run(analysis_id=job.pk, now=clock(LATER))

    assert [list(batch.answers) for batch in provider.batches] == [["#slow 4", "#slow 5"]]
    assert themes(told(caller, job)) == {"Slow": 6}


def test_a_kept_checkpoint_is_small_however_many_answers(connect: Any) -> None:
    caller = Caller()
    connect(Failing(None, None, Killed(), max_batch_size=20))
    job = asked_for(caller, *several("#slow " + "x" * 190, 60))
    with pytest.raises(Killed):
        analysis.run(analysis_id=job.pk, now=clock(NOON))

    job.refresh_from_db()

    assert job.checkpoint is not None
    assert job.checkpoint["read"] == 40
    assert len(str(job.checkpoint)) < 200


def test_the_questions_already_read_are_not_read_again(connect: Any) -> None:
    caller = Caller()
    give(caller.community, 10)
    project = survey(caller, TEXT, {**TEXT, "prompt": "What else?"}, CHOICE)
    for n in range(3):
        scenario.say(scenario.begin(project), f"#slow {n}", f"#dear {n}")
    connect(Failing(None, None, None, Killed()))
    job = Analysis.objects.get(pk=ask(caller, project).json()["id"])
    with pytest.raises(Killed):
        analysis.run(analysis_id=job.pk, now=clock(NOON))

    provider = connect(Reads())
    analysis.run(analysis_id=job.pk, now=clock(LATER))

    assert [(batch.prompt, list(batch.answers)) for batch in provider.batches] == [
        ("What else?", ["#dear 2"])
    ]
    assert [block["open_text"]["answer_count"] for block in told(caller, job)["blocks"][:2]] == [3, 3]


def test_webhooks_are_told_in_order_of_the_analyses() -> None:
    caller = Caller()
    listener(caller.community.pk, "analysis.completed")
    project = survey(caller)

    first, second = analysed(caller, project), analysed(caller, project, "?ai=false")

    assert [body["data"]["analysis"]["id"] for body in bodies(caller.community.pk)] == [
        first["id"],
        second["id"],
    ]


@pytest.mark.django_db(transaction=True)
def test_the_feed_tells_responses_that_were_read(connect: Any) -> None:
    connect(Reads())
    caller = rich()
    project = survey(caller)
    wrote(project, "#slow")
    feed = f"/projects/{project.pk}/responses/changes"
    cursor = caller.get(feed).json()["cursor"]
    analysed(caller, project)

    changed = caller.get(f"{feed}?cursor={cursor}").json()["data"]

    assert [answer["themes"] for row in changed for answer in row["answers"]] == [["Slow"]]
