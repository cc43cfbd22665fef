"""Results say since when a question or an option stands (rules 6.420 and 6.421)."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.models import Conversation, Project
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.staff import Staff
from tests.support.surveys.participants import Talk
from tests.support.surveys.places import WEB, open_to_all

pytestmark = pytest.mark.django_db
FIRST = {**CHOICE, "name": "first", "required": False}
LATER = {**TEXT, "name": "later", "prompt": "And?", "required": False}
BEFORE = {**TEXT, "name": "before", "prompt": "Before?", "required": False}


def blocks_of(caller: Caller, project: Any, query: str = "") -> list[Any]:
    return list(caller.get(f"/projects/{project['id']}/analysis/results{query}").json()["blocks"])


def add(caller: Caller, project: Any, *blocks: Any) -> Any:
    answer = caller.put(f"/projects/{project['id']}/script", {"blocks": list(blocks)})
    assert answer.status_code == 200, answer.content
    return answer.json()["blocks"]


def since(caller: Caller, project: Any) -> list[Any]:
    return [(each["since"] is not None, each["could_see_count"]) for each in blocks_of(caller, project)]


def through(talk: Talk, *values: str) -> None:
    for value in values:
        talk.answer(value)


def test_a_question_that_was_added_later_counts_those_who_could_see_it() -> None:
    """Rules 6.420 and 6.421."""
    caller = Caller()
    project = open_to_all(caller, FIRST)
    through(Talk(caller, project), "red")  # completed without it
    left, under_way, past = Talk(caller, project), Talk(caller, project), Talk(caller, project)
    assert since(caller, project) == [(False, None)]
    [first] = project["script"]["blocks"]
    [first, later] = add(caller, project, first, LATER)[:2]
    assert left.told["status"] == "active"  # without a move since
    through(past, "red")
    add(caller, project, BEFORE, first, later)

    past.told, under_way.told = (caller.get(each.path).json() for each in (past, under_way))
    through(past, "why")  # `before` was added before the place of this one
    through(under_way, "a", "green", "because")
    through(Talk(caller, project), "a", "red", "b")

    found = blocks_of(caller, project)
    assert [each["block_name"] for each in found] == ["before", "first", "later"]
    assert [each["could_see_count"] for each in found] == [2, None, 3]
    assert [each["response_count"] for each in found] == [2, 4, 3]
    assert found[1]["since"] is None
    assert found[0]["since"] >= found[2]["since"]
    chosen = blocks_of(caller, project, "?where=later+%3D+%22b%22")
    assert [each["could_see_count"] for each in chosen] == [1, None, 1]


def test_an_option_that_was_added_later_says_so() -> None:
    """Rule 6.420."""
    caller = Caller()
    project = open_to_all(caller, FIRST)
    [first] = project["script"]["blocks"]
    more = {**first, "options": [*first["options"], {"value": "violet"}]}
    first, *_ = add(caller, project, more, {**CHOICE, "prompt": "Which?", "name": "other"})
    through(Talk(caller, project), "violet")

    found = blocks_of(caller, project)

    [option] = found[0]["added_options"]
    assert option["option_id"] == first["options"][-1]["id"]
    assert found[0]["since"] is None
    assert (found[1]["since"] is None, found[1]["added_options"]) == (False, [])


def test_what_was_added_before_the_opening_or_changed_is_not_later() -> None:
    """Rule 6.420."""
    caller = Caller()
    draft = caller.make(FIRST, delivery=WEB)
    [first] = draft["script"]["blocks"]
    [first, later] = add(caller, draft, first, LATER)[:2]
    assert since(caller, draft) == [(False, None), (False, None)]
    caller.post(f"/projects/{draft['id']}/open", {})
    add(caller, draft, {**first, "prompt": "Which one?"}, later)

    assert since(caller, draft) == [(False, None), (False, None)]


def test_anonymous_totals_say_since_when_and_not_how_many() -> None:
    """Rule 6.421."""
    caller = Caller()
    project = open_to_all(caller, FIRST, privacy_mode="anonymous", share_results=True)
    add(caller, project, project["script"]["blocks"][0], LATER)
    for _ in range(6):
        through(Talk(caller, project), "red", "because")

    shown = blocks_of(caller.beside("member"), project)
    own = blocks_of(caller, project)

    assert [each["could_see_count"] for each in own] == [None, 6]
    assert [(each["since"] is not None, each["could_see_count"]) for each in shown] == [
        (False, None),
        (True, None),
    ]


def test_pages_say_since_when_a_question_is_asked(client: Any) -> None:
    """Rule 6.420."""
    staff = Staff()
    caller = Caller(community=staff.community)
    project = open_to_all(caller, FIRST, share_results=True)
    through(Talk(caller, project), "red")
    [first] = project["script"]["blocks"]
    more = {**first, "options": [*first["options"], {"value": "violet"}]}
    add(caller, project, more, LATER)
    through(Talk(caller, project), "violet", "because")
    day = Conversation.objects.latest("completed_at").completed_at
    assert day is not None
    words = f"asked since {day:%-d %b %Y} · 1 response could see it"

    page = staff.get("surveys_project_results", project["id"]).content.decode()
    stored = Project.objects.get(pk=project["id"])
    shared = client.get(f"/r/{stored.results_token}").content.decode()

    for each in (page, shared):
        assert f"1 answer · {words}" in " ".join(each.split())
        assert f"violet (since {day:%-d %b %Y})" in each
