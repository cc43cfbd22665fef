"""An export of a project, imported into a copy of the project, gives the same export (rule 6.67)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.caller import Caller
from tests.support.surveys.imports import LINES, answers_of, listed, send_lines
from tests.support.surveys.participants import Talk
from tests.support.surveys.round_trips import (
    BLOCKS,
    SCORED,
    WEB,
    answered_by_many,
    copied,
    exported,
    option,
    walk,
)

pytestmark = pytest.mark.django_db

SAME = ("status", "started_at", "submitted_at", "session_number", "platform_id", "user_id", "metadata")


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.mark.parametrize(("format", "media_type"), [("ndjson", LINES), ("json", "application/json")])
def test_an_export_is_imported_into_a_copy_and_exported_alike(
    caller: Caller, format: str, media_type: str
) -> None:
    """Rule 6.68."""
    project = answered_by_many(caller)
    copy = copied(caller, project)
    sent = exported(caller, project, format)

    answer = caller.client.generic(
        "POST",
        f"/v1/communities/{caller.community.pk}/projects/{copy['id']}/responses",
        sent,
        media_type,
        headers={"X-API-Key": caller.secret},
    )

    assert (answer.status_code, answer.json()) == (201, {"imported": 5}), answer.content
    assert "X-Ignored-Fields" not in answer
    was, now = listed(caller, project), listed(caller, copy)
    for before, after in zip(was, now, strict=True):
        assert answers_of(after) == answers_of(before)
        assert {name: after[name] for name in SAME} == {name: before[name] for name in SAME}
        assert (after["variables"], after["scores"]) == (before["variables"], before["scores"])
        assert [each["label"] for each in after["answers"]] == [each["label"] for each in before["answers"]]
        assert after["provider"] == "import"
    assert {each["block_id"] for each in now[0]["answers"]}.isdisjoint(
        each["block_id"] for each in was[0]["answers"]
    )
    first = [each["variables"]["double"] for each in now if each["platform_id"] == "ann"]
    assert first == [5, 2_000_000]


def test_an_import_is_exported_and_imported_once_more(caller: Caller) -> None:
    project = answered_by_many(caller)
    copy, other = copied(caller, project), copied(caller, project)
    send_lines(caller, copy, exported(caller, project, "ndjson"))

    answer = send_lines(caller, other, exported(caller, copy, "ndjson"))

    assert answer.json() == {"imported": 5}
    was, now = listed(caller, project), listed(caller, other)
    assert [each["user_id"] for each in now] == [each["user_id"] for each in was]
    assert list(map(answers_of, now)) == list(map(answers_of, was))


def test_an_export_is_imported_into_the_same_project_again(caller: Caller) -> None:
    project = answered_by_many(caller)

    answer = send_lines(caller, project, exported(caller, project, "ndjson"))

    assert answer.json() == {"imported": 5}
    anns = [each["session_number"] for each in listed(caller, project) if each["platform_id"] == "ann"]
    assert sorted(anns) == [1, 2, 3, 4]


def went_back(caller: Caller, project: dict[str, Any], stop: str, **said: Any) -> None:
    """A conversation up to `stop` that goes back to the question `one` and answers `green` there."""
    walk(caller, project, {**said, "stop": stop}, external_id="ann")
    talk = Talk(caller, project, external_id="ann")
    while talk.block["name"] != "one":
        talk.back()
    talk.answer("green")


def answer_to(project: dict[str, Any], name: str) -> dict[str, Any]:
    match name:
        case "many":
            return {"option_ids": option(project, "many", 2, 0)}
        case "order":
            return {"ranking": option(project, "order", 1, 2, 0)}
    return {"value": {"why": "So.", "count": "2.50", "stars": 4, "scale": 0, "nps": 10}[name]}


@pytest.mark.parametrize("kind", ["many", "count", "order"])
def test_an_answer_that_a_step_back_has_hidden_is_neither_exported_nor_imported(
    caller: Caller, kind: str
) -> None:
    blocks = [{**block} for block in BLOCKS if block.get("name") in ("one", kind)]
    hidden = blocks[1] | {"show_when": {"variable": "one", "op": "eq", "value": "red"}}
    project = caller.make_open(blocks[0], hidden, {**blocks[0], "name": "last"}, name="Original", **WEB)
    went_back(caller, project, "last", one={"value": "red"}, **{kind: answer_to(project, kind)})
    copy = copied(caller, project)

    answer = send_lines(caller, copy, exported(caller, project, "ndjson"))

    [was], [now] = listed(caller, project), listed(caller, copy)
    assert (answer.status_code, answer.json()) == (201, {"imported": 1})
    assert {name for name, _ in answers_of(was)} == {"one"}
    assert answers_of(now) == answers_of(was)
    assert (now["variables"], now["scores"]) == (was["variables"], was["scores"])
    counts = [caller.get(f"/projects/{each['id']}").json()["info"] for each in (project, copy)]
    assert counts[0]["response_count"] == counts[1]["response_count"] == 1


def test_a_step_back_to_a_required_question_that_was_hidden_is_imported_too(caller: Caller) -> None:
    shown = {"show_when": {"variable": "one", "op": "eq", "value": "green"}}
    one, stars = BLOCKS[1], BLOCKS[5]
    blocks = [one, {**stars, "name": "new", **shown}, stars, {**one, "name": "last"}]
    project = caller.make_open(*blocks, name="Original", **WEB)
    went_back(caller, project, "last", one={"value": "red"}, stars={"value": 3})
    copy = copied(caller, project)

    answer = send_lines(caller, copy, exported(caller, project, "ndjson"))

    assert answer.json() == {"imported": 1}
    assert answers_of(*listed(caller, copy)) == [("one", "green"), ("stars", "3")]


def test_a_step_back_that_leaves_nothing_to_ask_is_imported_as_partial(caller: Caller) -> None:
    shown = {"show_when": {"variable": "one", "op": "eq", "value": "red"}}
    one, stars = BLOCKS[1], BLOCKS[5]
    project = caller.make_open(one, stars, {**one, "name": "last", **shown}, name="Original", **WEB)
    went_back(caller, project, "last", one={"value": "red"}, stars={"value": 3})
    copy = copied(caller, project)

    answer = send_lines(caller, copy, exported(caller, project, "ndjson"))

    [now] = listed(caller, copy)
    assert answer.json() == {"imported": 1}
    assert (now["status"], answers_of(now)) == ("partial", [("one", "green"), ("stars", "3")])


def test_scores_are_computed_anew(caller: Caller) -> None:
    quiz = {"type": "single_punch", "name": "quiz", "prompt": "Quiz?", "options": SCORED}
    scoring = {"scoring": {"enabled": True, "buckets": [{"name": "Skill", "order": 0}]}}
    project = caller.make_open(quiz, name="Quiz", **WEB, **scoring)
    walk(caller, project, {"quiz": {"value": "right"}})
    walk(caller, project, {"quiz": {"value": "wrong"}})
    copy = copied(caller, project)

    send_lines(caller, copy, exported(caller, project, "ndjson"))

    assert [each["scores"]["skill"]["score"] for each in listed(caller, copy)] == [3, 1]
    assert [each["scores"] for each in listed(caller, copy)] == [
        each["scores"] for each in listed(caller, project)
    ]


def test_the_figures_of_a_copy_are_those_of_the_original(caller: Caller) -> None:
    project = answered_by_many(caller)
    copy = copied(caller, project)
    send_lines(caller, copy, exported(caller, project, "ndjson"))

    def figures(of: Any, query: str = "") -> Any:
        body = caller.get(f"/projects/{of['id']}/analysis/results{query}").json()
        return [
            {name: value for name, value in block.items() if name in ("response_count", "stats", "nps")}
            for block in body["blocks"]
        ]

    assert figures(copy) == figures(project)
    assert figures(copy, "?status=completed") == figures(project, "?status=completed")
    assert figures(copy, "?provider=import") == figures(project)
    told = caller.get(f"/projects/{copy['id']}").json()["info"]
    was = caller.get(f"/projects/{project['id']}").json()["info"]
    counts = ("response_count", "completion_count")
    assert [told[name] for name in counts] == [was[name] for name in counts]
