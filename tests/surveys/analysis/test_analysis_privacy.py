"""Analyses of anonymous projects reveal nothing about single people (rules 7.13 and 10.13 to 10.15)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from surveys.models import Analysis, Conversation
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.responses import service as responses
from tests.support.actors import superuser_actor
from tests.support.caller import CHOICE, Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys.analyses import (
    DOWN,
    Failing,
    Reads,
    analysed,
    ask,
    connecting,  # noqa: F401
    give,
    quotes,
    several,
    statuses,
    survey,
    themes,
    wrote,
)
from tests.support.surveys.event_log import bodies, listener
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db


def anonymous(caller: Caller, **fields: Any) -> Any:
    give(caller.community, 50)
    return survey(caller, privacy_mode="anonymous", **fields)


@pytest.mark.parametrize(("answers", "quoted"), [(4, 0), (5, 3)])
def test_nobody_is_quoted_below_five_answers(answers: int, quoted: int, connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    project = anonymous(caller)
    wrote(project, *several("#slow", answers))

    told = analysed(caller, project)

    assert (themes(told), len(quotes(told))) == ({"Slow": answers}, quoted)


def test_the_only_one_with_a_theme_is_not_quoted(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    project = anonymous(caller)
    wrote(project, *several("#slow", 5), "#secret")

    told = analysed(caller, project)

    assert themes(told) == {"Slow": 5, "Secret": 1}
    assert not [quote for quote in quotes(told) if "secret" in quote]


def test_elsewhere_a_single_answer_may_be_quoted(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, privacy_mode="semi-private")
    wrote(project, "#slow")

    assert quotes(analysed(caller, project)) == ["#slow"]


def test_a_response_that_was_deleted_is_quoted_no_more(connect: Any) -> None:
    """Rule 6.50."""
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, privacy_mode="semi-private")
    wrote(project, "#slow one", "#slow two")
    assert sorted(quotes(analysed(caller, project))) == ["#slow one", "#slow two"]

    first = Conversation.objects.filter(project=project).order_by("pk").first()
    assert first is not None
    responses.delete(response_id=first.pk, actor=caller.actor, at=LUNCHTIME)

    latest = analysis.latest(project=project)
    assert latest is not None
    assert quotes(analysis.as_json(latest)) == ["#slow two"]


def test_what_may_not_be_quoted_is_not_kept_either(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    listener(caller.community.pk, "analysis.completed")
    project = anonymous(caller)
    wrote(project, "#slow, says Ann from the harbour")

    analysed(caller, project)

    row = Analysis.objects.values().get()
    assert "harbour" not in json.dumps(row, default=str)
    assert "harbour" not in json.dumps(bodies(caller.community.pk))


def test_nothing_of_an_answer_is_kept_once_it_failed(connect: Any) -> None:
    caller = Caller()
    project = anonymous(caller)
    connect(Failing(None, DOWN, max_batch_size=1))
    wrote(project, "#slow, says Ann from the harbour", "#dear")

    analysed(caller, project)

    row = Analysis.objects.values().get()
    assert (row["status"], row["checkpoint"]) == ("failed", None)
    assert "harbour" not in json.dumps(row, default=str)


def _is_round(at: datetime, *, to_day: bool) -> bool:
    return (at.minute, at.second, at.microsecond) == (0, 0, 0) and (not to_day or at.hour == 0)


@pytest.mark.parametrize(("to_day", "fails"), [(False, False), (True, False), (True, True)])
def test_every_time_beside_it_is_rounded(to_day: bool, fails: bool, connect: Any) -> None:
    connect(Failing(DOWN) if fails else Reads())
    caller = Caller(default_anonymous_mode="more_anonymous" if to_day else "yes")
    give(caller.community, 50)
    listener(caller.community.pk, "analysis.completed", "analysis.failed")
    project = survey(caller)
    assert project.is_anonymous
    wrote(project, *several("#slow", 5))

    analysed(caller, project)

    row = Analysis.objects.get()
    times = [row.created_at, *([] if fails else [row.completed_at])]
    assert all(at is not None and _is_round(at, to_day=to_day) for at in times)
    assert row.leased_until is None
    event, delivery = Event.objects.get(type__startswith="analysis."), Delivery.objects.get()
    assert event.rounding == ("day" if to_day else "hour")
    assert all(_is_round(at, to_day=to_day) for at in (event.created_at, delivery.created_at))
    (body,) = bodies(caller.community.pk)
    assert _is_round(datetime.fromisoformat(body["timestamp"]), to_day=to_day)


def test_no_series_of_aggregates_is_kept(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    project = anonymous(caller)
    for n in range(4):
        wrote(project, f"#slow {n}")
        analysed(caller, project)

    assert statuses(project) == ["completed"]


def test_respondents_are_not_named_in_what_the_provider_gets(connect: Any) -> None:
    provider = connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, {"type": "open_text", "prompt": "Why?"}, CHOICE)
    begun = caller.post(f"/projects/{project.pk}/conversations", {"external_id": "crm-5550"}).json()
    answer = {"block_id": begun["step"]["block"]["id"], "value": "#slow"}
    caller.post(f"/conversations/{begun['id']}/answers", answer)
    job = ask(caller, project).json()

    analysis.run(analysis_id=int(job["id"]))

    sent = f"{provider.batches}{provider.counted}{provider.overviews}"
    assert "#slow" in sent
    assert not [word for word in ("crm-5550", begun["id"], caller.user.name) if word in sent]


@pytest.mark.parametrize("mode", ["semi-private", "anonymous"])
def test_with_whom_it_is_shared_reads_it_in_sum(mode: str, connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, privacy_mode=mode, settings={"share_results": True})
    wrote(project, *(f"#slow {n}" for n in range(5)), "#rare")
    analysed(caller, project)

    told = caller.beside("member").get(f"/projects/{project.pk}/analysis").json()

    is_anonymous = mode == "anonymous"
    themes_told = told["blocks"][0]["open_text"]["themes"]
    assert [theme["title"] for theme in themes_told] == (["Slow"] if is_anonymous else ["Slow", "Rare"])
    assert {(theme["description"], tuple(theme["quotes"])) for theme in themes_told} == {("", ())}
    assert (told["summary"] is None) is is_anonymous
    assert (told["blocks"][0]["open_text"]["summary"] is None) is is_anonymous


def test_of_an_anonymous_project_too_few_answers_are_withheld_from_those_with_whom_it_is_shared(
    connect: Any,
) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, privacy_mode="anonymous", settings={"share_results": True})
    wrote(project, *(f"#slow {n}" for n in range(4)))
    analysed(caller, project)

    (block,) = caller.beside("member").get(f"/projects/{project.pk}/analysis").json()["blocks"]

    assert (block["response_count"], block["open_text"]) == (None, None)


def test_an_anonymous_project_keeps_one_analysis_alone(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, privacy_mode="anonymous")
    wrote(project, "#slow one")
    analysed(caller, project)
    wrote(project, "#slow two")

    asked, _ = analysis.ask(
        actor=superuser_actor(), project=project, with_ai=False, covers="all", at=LUNCHTIME
    )
    analysis.run(analysis_id=asked.pk)

    assert list(Analysis.objects.values_list("pk", flat=True)) == [asked.pk]


def test_another_privacy_forgets_what_was_analysed_before(connect: Any) -> None:
    connect(Reads())
    caller = Caller()
    give(caller.community, 5)
    project = survey(caller, privacy_mode="semi-private")
    wrote(project, "#slow one")
    analysed(caller, project)
    responses.delete(response_id=Conversation.objects.get().pk, actor=caller.actor, at=LUNCHTIME)

    assert caller.patch(f"/projects/{project.pk}", {"privacy_mode": "anonymous"}).status_code == 200

    assert not Analysis.objects.exists()
