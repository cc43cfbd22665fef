"""An analysis as a job: taken once, taken up again, ended in one transaction with event and credits."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, transaction

from surveys.services import events
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ai_work.analysis import worker
from surveys.services.ai_work.analysis.texts import WRITTEN_BY_US
from surveys.tasks import run_analysis
from tests.support.caller import Caller
from tests.support.moments import NOON
from tests.support.surveys.analyses import (
    DOWN,
    LATER,
    Failing,
    Killed,
    Reads,
    analysed,
    ask,
    asked_for,
    clock,
    connecting,  # noqa: F401
    credits_of,
    give,
    statuses,
    survey,
    texts_of,
    told,
    wrote,
)
from tests.support.surveys.event_log import heard, listener

pytestmark = pytest.mark.django_db


# --- Its end --------------------------------------------------------------------------------------


def test_the_task_makes_it_to_its_end(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    job = asked_for(caller, "#slow")

    run_analysis(analysis_id=job.pk, something_later=True)

    assert told(caller, job)["status"] == "completed"


def test_it_is_woken_once_it_is_written(connect: Any, django_capture_on_commit_callbacks: Any) -> None:
    caller = Caller()
    woken: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "wake", lambda task, **kwargs: woken.append((task, kwargs)))
        job = asked_for(caller, "#slow")
        ask(caller, job.project)

    assert woken == [("surveys.run_analysis", {"analysis_id": job.pk})]


def test_without_its_event_there_is_no_completion(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(Reads())
    caller = Caller()
    job = asked_for(caller, "#slow")

    def refuse(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(events, "analysis_ended", refuse)
        with pytest.raises(Killed), transaction.atomic():
            analysis.run(analysis_id=job.pk)

    assert told(caller, job)["status"] == "pending"


def test_the_finished_ones_before_it_go_unless_they_differ(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 100)
    project = survey(caller)
    for text in ("#one", "#two", "#three"):
        wrote(project, text)
        for query in ("", "?ai=false", "?status=completed"):
            analysed(caller, project, query)

    assert statuses(project) == ["completed"] * 3


# --- Failure --------------------------------------------------------------------------------------


def test_a_provider_that_fails_gives_the_credits_back_and_says_why(connect: Any) -> None:
    connect(Failing(DOWN))
    caller = Caller()
    listener(caller.community.pk, "analysis.completed", "analysis.failed")
    job = asked_for(caller, "#slow")
    assert credits_of(caller.community) == 9

    analysis.run(analysis_id=job.pk)

    failed = told(caller, job)
    assert {key: failed[key] for key in ("status", "error", "credits_used", "blocks", "summary")} == {
        "status": "failed",
        "error": "The provider is down.",
        "credits_used": 0,
        "blocks": [],
        "summary": None,
    }
    assert credits_of(caller.community) == 10
    data = {"project_id": str(job.project_id), "analysis": failed}
    assert heard(caller.community.pk) == [("analysis.failed", data)]


@pytest.mark.parametrize("step", ["summarize_texts", "summarize_analysis"])
def test_a_summary_that_a_model_fails_to_write_is_ours_and_says_so(step: str, connect: Any) -> None:
    """Rule 10.70."""

    def fails(*_: Any) -> Any:
        raise DOWN

    provider = connect(Reads())
    setattr(provider, step, fails)
    caller = Caller()
    job = asked_for(caller, "#slow")

    analysis.run(analysis_id=job.pk)

    done = told(caller, job)
    summaries = {"summarize_texts": texts_of(done)["summary"], "summarize_analysis": done["summary"]}
    assert (done["status"], done["credits_used"], credits_of(caller.community)) == ("completed", 1, 9)
    assert [name for name, text in summaries.items() if text.endswith(WRITTEN_BY_US)] == [step]
    assert summaries[step] != f" {WRITTEN_BY_US}"


@pytest.mark.parametrize("step", ["name_themes", "assign_themes"])
def test_it_fails_as_a_whole_at_whatever_step(step: str, connect: Any) -> None:
    def fails(*_: Any) -> Any:
        raise DOWN

    provider = connect(Reads())
    setattr(provider, step, fails)
    caller = Caller()
    job = asked_for(caller, "#slow")

    analysis.run(analysis_id=job.pk)

    assert (told(caller, job)["status"], credits_of(caller.community)) == ("failed", 10)


def test_a_failed_one_may_be_asked_for_again(connect: Any) -> None:
    connect(Failing(DOWN, None))
    caller = Caller()
    job = asked_for(caller, "#slow")
    analysis.run(analysis_id=job.pk)

    again = ask(caller, job.project)
    analysis.run(analysis_id=int(again.json()["id"]))

    assert (again.status_code, again.json()["status"]) == (202, "pending")
    assert (told(caller, job)["status"], credits_of(caller.community)) == ("completed", 9)
    assert statuses(job.project) == ["completed"]


def test_failures_do_not_pile_up_and_leave_what_was_completed(connect: Any) -> None:
    caller = Caller()
    connect(Reads())
    job = asked_for(caller, "#slow")
    analysis.run(analysis_id=job.pk)
    wrote(job.project, "#dear")
    connect(Failing(DOWN))
    for _ in range(3):
        analysed(caller, job.project)

    assert statuses(job.project) == ["completed", "failed"]


def test_a_fault_of_ours_fails_it_too_and_its_words_are_not_logged(
    connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    connect(Failing(ValueError("I am Ann and my telephone is 555-0173")))
    caller = Caller()
    job = asked_for(caller, "I am Ann and my telephone is 555-0173")

    analysis.run(analysis_id=job.pk)

    failed = told(caller, job)
    assert (failed["status"], failed["error"]) == ("failed", worker.ANALYSIS_FAILED)
    assert credits_of(caller.community) == 10
    assert "analysis.fault" in caplog.text
    assert "ValueError" in caplog.text
    assert "555-0173" not in caplog.text


def test_nothing_of_an_answer_is_logged(connect: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    connect(Reads())
    caller = Caller()
    job = asked_for(caller, "I am Ann and my #telephone is 555-0173")

    analysis.run(analysis_id=job.pk)

    (theme,) = texts_of(told(caller, job))["themes"]
    assert (theme["title"], theme["quotes"]) == ("Telephone", [])  # a number points to a person
    assert not [word for word in ("I am Ann", "555-0173", "elephone") if word in caplog.text]


def test_a_database_that_goes_away_leaves_it_to_the_next_worker(connect: Any) -> None:
    connect(Failing(OperationalError("gone"), None))
    caller = Caller()
    job = asked_for(caller, "#slow")

    with pytest.raises(OperationalError):
        analysis.run(analysis_id=job.pk, now=clock(NOON))
    between = told(caller, job)["status"]
    analysis.run(analysis_id=job.pk, now=clock(LATER))

    assert (between, told(caller, job)["status"]) == ("running", "completed")
