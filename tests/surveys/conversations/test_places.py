"""Limits of completed responses by `max_completes`, and what those read who come too late."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from surveys.models import Conversation
from surveys.services.conversations import places
from tests.support.caller import Caller
from tests.support.concurrency import run_together
from tests.support.surveys import scenario
from tests.support.surveys.participants import Talk
from tests.support.surveys.places import COLOUR, RED, WHY, begin, figures, is_full, open_to_all, pages  # noqa: F401
from tests.support.surveys.scenario import TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_beginning_is_refused_once_all_places_are_taken() -> None:
    caller = Caller()
    project = open_to_all(caller, max_completes=2)

    for _ in range(2):
        Talk(caller, project).answer()

    assert is_full(begin(caller, project), "settings.max_completes")


def test_one_who_began_before_is_refused_at_the_end_and_stays_a_partial_response() -> None:
    caller = Caller()
    project = open_to_all(caller, WHY, COLOUR, max_completes=1)
    late, early = Talk(caller, project), Talk(caller, project)
    for talk in (late, early):
        talk.answer("because")
    early.answer()

    refused = caller.post(f"{late.path}/answers", {"block_id": late.block["id"], "value": "red"})

    assert is_full(refused, "settings.max_completes")
    found = caller.get(f"/projects/{project['id']}/responses?status=partial").json()["data"]
    assert [(each["id"], len(each["answers"])) for each in found] == [(late.told["id"], 1)]


def test_deleting_a_response_frees_its_place_also_for_one_who_waits() -> None:
    caller = Caller()
    project = open_to_all(caller, max_completes=1)
    waiting, done = Talk(caller, project), Talk(caller, project)
    done.answer()

    assert caller.delete(f"/responses/{done.told['id']}").status_code == 204

    waiting.answer()
    assert waiting.told["status"] == "completed"


@pytest.mark.parametrize(
    ("settings", "privacy"),
    [
        ({"max_completes": 3}, "transparent"),
        ({"max_completes": 3}, "anonymous"),
        ({"quotas": [{**RED, "limit": 3, "message": None}]}, "transparent"),
        ({"quotas": [{"where": 'NOT field.x = "other"', "limit": 3, "message": None}]}, "anonymous"),
    ],
)
def test_eight_at_one_time_do_not_exceed_the_limit(settings: dict[str, Any], privacy: str) -> None:
    caller = Caller()
    project = open_to_all(caller, privacy_mode=privacy, **settings)
    talks = [Talk(caller, project) for _ in range(8)]

    def finish(talk: Talk) -> int:
        body = {"block_id": talk.block["id"], "value": "red"}
        return caller.in_another_thread().post(f"{talk.path}/answers", body).status_code

    statuses = run_together(*[partial(finish, talk) for talk in talks])

    assert sorted(statuses) == [200] * 3 + [409] * 5
    assert Conversation.objects.filter(completed_at__isnull=False).count() == 3
    assert [filled for *_, filled in figures(caller, project)] == [3]


def test_a_project_without_limits_locks_and_counts_nothing() -> None:
    made = scenario.project(TEXT)
    told = scenario.begin(made)

    with scenario.at_most(3):  # the conversation, its move, its event
        scenario.say(told, "a")


@pytest.mark.usefixtures("pages")
def test_a_full_project_says_so_before_anything_is_typed() -> None:
    made = scenario.project(TEXT, participation="open_web", max_completes=1)
    Visitor(made).look().send(value="a")

    visitor = Visitor(made).look()

    assert places.WORDS in visitor.page
    assert "Nothing more is stored." in visitor.page
    assert 'name="value"' not in visitor.page


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize("htmx", [False, True])
def test_who_comes_too_late_reads_the_quotas_message_and_what_happens_to_the_answers(htmx: bool) -> None:
    quota = {"where": 'q1 != ""', "limit": 1, "message": "Enough of those, thanks."}
    made = scenario.project(TEXT, TEXT, participation="open_web", quotas=[quota])
    late = Visitor(made, htmx=htmx).look().send(value="first")
    Visitor(made).look().send(value="a").send(value="b")

    late.send(value="a long thought")

    assert "Enough of those, thanks." in late.page
    assert "kept as an unfinished response" in late.page
    assert "a long thought" in late.page
    assert scenario.counts(made)["completed"] == 1
