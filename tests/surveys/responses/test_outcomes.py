"""How responses ended: completed, or refused by a limit (rules 6.290 to 6.292)."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from surveys.models import Conversation
from surveys.services.conversations import places
from surveys.services.ground import lookup
from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
COLOUR = {**QUESTION, "name": "colour"}
WHY = {"type": "open_text", "prompt": "Why?", "name": "why"}
RED = {"where": 'colour = "red"', "limit": 1}
ASKED = ({**scenario.TEXT, "name": "why"}, {**scenario.CHOICE, "name": "colour"})
WEB = {"audience": {"participation": "open_web"}}


@pytest.fixture
def caller() -> Caller:
    return Caller()


def opened(caller: Caller, *blocks: Any, **settings: Any) -> Any:
    return caller.make_open(*(blocks or (WHY, COLOUR)), delivery=WEB, settings=settings)


def finished(caller: Caller, project: Any, **headers: Any) -> tuple[Talk, int]:
    """A respondent who gives all answers, and the status of the last one."""
    talk = Talk(caller, project)
    talk.answer("because")
    return talk, last(caller, talk, **headers)


def last(caller: Caller, talk: Talk, **headers: Any) -> int:
    body = {"block_id": talk.block["id"], "value": "red"}
    return caller.post(f"{talk.path}/answers", body, **headers).status_code


def listed(caller: Caller, project: Any, query: str = "") -> list[tuple[str, str | None]]:
    found = caller.get(f"/projects/{project['id']}/responses?{query}").json()["data"]
    return [(each["status"], each["outcome"]) for each in found]


def refused(caller: Caller, project: Any) -> list[int]:
    stored = lookup.get(community_id=caller.community.pk, project_id=int(project["id"]))
    return [each.refused for each in places.figures(stored)]


@pytest.mark.parametrize("settings", [{"max_completes": 1}, {"quotas": [RED]}])
@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "k"}])
def test_a_response_that_a_limit_refuses_says_so(caller: Caller, settings: Any, headers: Any) -> None:
    """Rule 6.290."""
    project = opened(caller, **settings)
    early, late, waiting = (Talk(caller, project) for _ in range(3))
    for talk in (early, late, waiting):
        talk.answer("because")
    assert [last(caller, early), last(caller, late, **headers)] == [200, 409]

    assert listed(caller, project) == [("completed", "completed"), ("partial", "full"), ("partial", None)]
    assert listed(caller, project, "outcome=full") == [("partial", "full")]
    assert listed(caller, project, "outcome=completed") == [("completed", "completed")]
    assert len(listed(caller, project, "status=partial")) == 2


def test_another_outcome_is_refused(caller: Caller) -> None:
    """Rule 6.290."""
    for path in ("responses", "responses/export"):
        answer = caller.get(f"/projects/{opened(caller)['id']}/{path}?outcome=partial")
        assert (answer.status_code, answer.json()["violations"][0]["field"]) == (400, "outcome")


def test_the_mark_goes_with_the_next_move_and_is_a_change_in_the_feed(caller: Caller) -> None:
    """Rule 6.291."""
    project = opened(caller, max_completes=1)
    talk, done = Talk(caller, project), Talk(caller, project)
    for each in (talk, done):
        each.answer("because")
    last(caller, done)
    feed = f"/projects/{project['id']}/responses/changes"
    cursor = caller.get(feed).json()["cursor"]

    def changed() -> list[str | None]:
        return [each["outcome"] for each in caller.get(f"{feed}?cursor={cursor}").json()["data"]]

    last(caller, talk)
    assert changed() == ["full"]
    talk.back()
    assert changed() == [None]
    talk.answer("because")
    last(caller, talk)
    caller.delete(f"/responses/{done.told['id']}")

    assert last(caller, talk) == 200
    assert listed(caller, project) == [("completed", "completed")]
    assert refused(caller, project) == [0]


def test_a_refusal_again_changes_nothing(caller: Caller) -> None:
    """Rule 6.291."""
    project = opened(caller, max_completes=1)
    talk, done = Talk(caller, project), Talk(caller, project)
    for each in (talk, done):
        each.answer("because")
    last(caller, done)
    last(caller, talk)
    before = Conversation.objects.get(outcome="full").updated_at

    assert last(caller, talk) == 409
    assert Conversation.objects.get(outcome="full").updated_at == before


def test_each_limit_counts_those_that_it_refused(caller: Caller) -> None:
    """Rule 6.292."""
    project = opened(caller, quotas=[{"where": 'colour = "green"', "limit": 9}, RED])
    assert [status for _, status in (finished(caller, project) for _ in range(3))] == [200, 409, 409]

    assert refused(caller, project) == [0, 2]


def test_one_without_an_answer_is_no_response_and_is_not_counted(caller: Caller) -> None:
    """Rule 6.292."""
    project = opened(caller, COLOUR, quotas=[RED])
    assert [last(caller, Talk(caller, project)) for _ in range(2)] == [200, 409]

    assert refused(caller, project) == [0]


def test_on_anonymous_projects_no_quota_is_named(caller: Caller) -> None:
    """Rule 6.292."""
    oslo = {"city": "Oslo"}
    quotas = [{"where": 'field.city = "Oslo"', "limit": 1}]
    fields = {"city": ["Oslo"]}
    project = opened(caller, privacy_mode="anonymous", quotas=quotas, hidden_fields=fields)
    for talk in [Talk(caller, project, metadata=oslo) for _ in range(2)]:
        talk.answer("because")
        last(caller, talk)

    row = Conversation.objects.get(outcome__isnull=False)
    assert (row.outcome, refused(caller, project)) == ("full:quotas", [0])
    assert (row.is_settled, row.changed_in, row.updated_at.minute) == (False, 0, 0)
    stored = lookup.get(community_id=caller.community.pk, project_id=int(project["id"]))
    assert places.refused(stored) == 1


def test_tables_have_a_column_if_a_response_was_refused(caller: Caller) -> None:
    """Rule 6.290."""
    project = opened(caller, quotas=[RED])

    def rows() -> list[dict[str, str]]:
        file = caller.get(f"/projects/{project['id']}/responses/export?missing=marked")
        return list(csv.DictReader(b"".join(file.streaming_content).decode().splitlines()))

    finished(caller, project)
    assert "outcome" not in rows()[0]
    finished(caller, project)
    Talk(caller, project).answer("because")
    assert [row["outcome"] for row in rows()] == ["completed", "full", ""]
    file = caller.get(f"/projects/{project['id']}/responses/export?outcome=full&format=ndjson")
    assert b"".join(file.streaming_content).count(b'"outcome":"full"') == 1


def test_an_import_takes_the_outcome_of_an_export_and_does_not_store_it(caller: Caller) -> None:
    """Rule 6.291."""
    project = opened(caller, quotas=[RED])
    for _ in range(2):
        finished(caller, project)
    lines = caller.get(f"/projects/{project['id']}/responses?outcome=full").json()["data"]

    answer = caller.post(f"/projects/{project['id']}/responses", {"data": lines})

    assert (answer.status_code, "X-Ignored-Fields" in answer) == (201, False)
    assert Conversation.objects.filter(outcome__isnull=False).count() == 1


def test_pages_and_staff_say_it(settings: Any) -> None:
    """Rules 6.290 and 6.292."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0.0
    staff: Staff = project_staff()
    made = scenario.project(
        *ASKED, community=staff.community, participation="open_web", quotas=[{**RED, "message": None}]
    )
    for text in ("of the first", "of the second"):
        visitor = Visitor(made).look().send(value=text)
        visitor.send(option=scenario.option_id(made, "colour", 0))

    page = staff.read(tab(made.pk, "responses"))
    full = staff.read(f"{tab(made.pk, 'responses')}?status=full")

    assert "1 response</a>" in " ".join(page.split())
    assert ("of the second" in full, "of the first" in full) == (True, False)
    assert '<span class="badge">Refused: full</span>' in full
    assert "1 of 1 are taken. They are full. Refused at the end: 1." in staff.read(tab(made.pk, "delivery"))
