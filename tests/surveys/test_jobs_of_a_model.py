"""A community's limit of jobs of a model in an hour, at every place that begins one (rule 10.17).

The real client talks to a loopback that speaks the provider's wire format and refuses every request. So every
job fails, and its credits are given back.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from surveys.models import Analysis, Project
from surveys.services.ai_work import generation
from surveys.services.ai_work.analysis import service as analysis
from tests.support.ai.at_work import claude_at_work
from tests.support.ai.loopback import Loopback
from tests.support.caller import TEXT, Caller
from tests.support.staff import Staff
from tests.support.surveys.analyses import ask, credits_of, give, survey, wrote
from tests.support.surveys.draft_provider import INTENT, work_while_waiting

pytestmark = pytest.mark.django_db
WORDS = (
    "A community can have 2 scripts, analyses and answers made with AI in an hour. Please try again in 60 "
    "minutes."
)


@pytest.fixture
def anthropic(settings: Any) -> Iterator[Loopback]:
    with claude_at_work(settings) as loopback:
        loopback.default_to_error(400, "invalid_request_error")
        yield loopback


def script_by_api(caller: Caller) -> Any:
    return caller.post("/projects", INTENT)


def analysis_by_api(caller: Caller) -> Any:
    project = survey(caller)
    wrote(project, "The queue was endless.")
    answer = ask(caller, project)
    run_analyses(project)
    return answer


def script_in_the_editor(caller: Caller) -> Any:
    address = f"/admin/surveys/project/{caller.make()['id']}/script/generate/"
    answer = Staff(community=caller.community).send("post", address, {"intent": "Ask how the evening was"})
    if answer.status_code == 202:
        generation.run(generation_id=answer.json()["id"])
    return answer


def analysis_on_the_results_tab(caller: Caller) -> Any:
    project = survey(caller)
    wrote(project, "The queue was endless.")
    staff = Staff(community=caller.community)
    answer = staff.post("surveys_project_results_analyse", project.pk, covers="all", credits="1")
    run_analyses(project)
    return answer


def run_analyses(project: Project) -> None:
    for job in Analysis.objects.filter(project=project):
        analysis.run(analysis_id=job.pk)


def revision_by_api(caller: Caller) -> Any:
    address = f"/projects/{caller.make(TEXT)['id']}/script/revise"
    return caller.post(address, {"instruction": "Shorter"})


def question_by_api(caller: Caller) -> Any:
    address = f"/projects/{survey(caller).pk}/analysis/questions"
    return caller.post(address, {"question": "How many answered?"})


@pytest.mark.parametrize(
    "begin",
    [
        script_by_api,
        revision_by_api,
        question_by_api,
        analysis_by_api,
        script_in_the_editor,
        analysis_on_the_results_tab,
    ],
)
def test_every_place_that_begins_jobs_refuses_more_of_them_in_the_same_words(
    begin: Callable[[Caller], Any], anthropic: Loopback, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AI_JOBS_PER_COMMUNITY_AND_HOUR = 2
    work_while_waiting(monkeypatch)
    caller = Caller()
    give(caller.community, 5)
    for _ in range(2):
        assert begin(caller).status_code != 409

    refused = begin(caller)

    assert refused.status_code == 409
    assert WORDS in html.unescape(refused.content.decode())
    assert len(anthropic.requests) == 2
    assert credits_of(caller.community) == 5


@pytest.mark.long
@pytest.mark.parametrize("begin", [script_by_api, question_by_api, analysis_by_api, script_in_the_editor])
def test_jobs_of_the_local_provider_count_too(
    begin: Callable[[Caller], Any], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.AI_JOBS_PER_COMMUNITY_AND_HOUR = 2
    work_while_waiting(monkeypatch)
    caller = Caller()
    for _ in range(2):
        assert begin(caller).status_code < 300

    refused = begin(caller)

    assert (refused.status_code, refused.json()["message"]) == (409, WORDS)


def test_a_script_counts_that_is_cancelled_before_anybody_looks_at_it(settings: Any) -> None:
    settings.AI_PROVIDER, settings.AI_JOBS_PER_COMMUNITY_AND_HOUR = "anthropic", 2
    caller = Caller()
    give(caller.community, 5)
    staff = Staff(community=caller.community)
    address = f"/admin/surveys/project/{caller.make()['id']}/script/generate/"
    for _ in range(2):
        begun = staff.send("post", address, {"intent": "Ask how the evening was"}).json()
        staff.send("delete", f"{address}{begun['id']}/")

    refused = staff.send("post", address, {"intent": "Ask how the evening was"})

    assert (refused.status_code, refused.json()["message"]) == (409, WORDS)
    assert credits_of(caller.community) == 5
