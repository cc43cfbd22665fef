"""Scores and calculated results, and their place in a response (rules 5.12, 5.13 and 6.62)."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from tests.support.caller import Caller
from tests.support.instruments.blocks import choice, computes, option
from tests.support.instruments.respondent import Sitting, build, sit
from tests.support.surveys import event_log
from tests.support.surveys.participants import Talk, a_member
from tests.support.surveys.scored_projects import TWO, script

pytestmark = pytest.mark.django_db
GRADED = choice(
    "Colour",
    "Which?",
    [option("red", {"fire_mage": 3, "sea": 0.5}), option("blue", {"sea": 2})],
    correct_answer_index=0,
    required=False,
)
SECOND = choice("Shape", "Which?", [option("a", {"sea": 4}), option("b", {"sea": 1})], required=False)
TOTAL = computes("Total", "[score] * 2")
KIND = computes("Kind", 'if [score] > 5 then "much" else "little"')


def quiz(caller: Caller) -> dict[str, Any]:
    return build(caller, script(GRADED, TOTAL, SECOND, KIND, scoring=TWO["scoring"]))


def the_response(caller: Caller, project: dict[str, Any]) -> dict[str, Any]:
    (response,) = caller.get(f"/projects/{project['id']}/responses").json()["data"]
    return dict(response)


def exported(caller: Caller, project: dict[str, Any], query: str = "") -> str:
    return b"".join(caller.get(f"/projects/{project['id']}/responses/export{query}")).decode()


def test_a_response_tells_every_bucket_and_every_calculated_block() -> None:
    caller = Caller()
    project = quiz(caller)
    sit(caller, project, {"Colour": "red", "Shape": "a"})

    response = the_response(caller, project)

    assert response["scores"] == {
        "fire_mage": {
            "name": "Fire Mage",
            "score": 3,
            "max_score": 3,
            "score_correct": 3,
            "max_score_correct": 3,
        },
        "sea": {
            "name": "Sea",
            "score": 4.5,
            "max_score": 6,
            "score_correct": 0.5,
            "max_score_correct": 0.5,
        },
    }
    assert response["variables"] == {"Total": 7, "Kind": "much"}


def test_of_a_partial_response_they_are_told_as_they_stand_so_far() -> None:
    caller = Caller()
    project = quiz(caller)
    Sitting(caller, project).walk({"Colour": "blue"}, until="Shape")

    response = the_response(caller, project)

    assert response["scores"]["sea"] == {
        "name": "Sea",
        "score": 2,
        "max_score": 2,
        "score_correct": 0,
        "max_score_correct": 0.5,
    }
    assert response["variables"] == {"Total": 4, "Kind": None}


def test_scores_stay_as_they_were_when_the_points_change_later() -> None:
    caller = Caller()
    project = quiz(caller)
    sit(caller, project, {"Colour": "red", "Shape": "a"})
    before = the_response(caller, project)
    caller.post(f"/projects/{project['id']}/close")
    (block,) = (each for each in project["script"]["blocks"] if each["name"] == "Shape")
    options = [{**each, "score_values": {"sea": 100}} for each in block["options"]]

    changed = caller.patch(f"/projects/{project['id']}/script/blocks/{block['id']}", {"options": options})

    assert changed.status_code == 200, changed.content
    assert the_response(caller, project) == before


def test_a_member_who_may_be_asked_to_answer_reads_neither() -> None:
    caller = Caller()
    project = quiz(caller)
    sit(caller, project, {"Colour": "red", "Shape": "a"})
    member = caller.beside("member")

    listed = the_response(member, project)
    one = member.get(f"/responses/{listed['id']}").json()
    line = json.loads(exported(member, project, "?format=ndjson"))
    table = exported(member, project)

    for response in (listed, one, line):
        assert (response["scores"], response["variables"]) == (None, {})
    assert "score." not in table
    assert "variable." not in table


def test_anonymous_responses_tell_scores_as_they_tell_answers() -> None:
    caller = Caller()
    project = build(caller, {**script(GRADED, TOTAL, scoring=TWO["scoring"]), "privacy_mode": "anonymous"})
    Talk(caller, project, member_id=a_member(caller)).answer("red")

    response = the_response(caller, project)

    assert response["scores"]["fire_mage"]["score"] == 3
    assert response["variables"] == {"Total": 7}


def test_the_table_has_a_column_for_each() -> None:
    caller = Caller()
    project = quiz(caller)
    sit(caller, project, {"Colour": "red", "Shape": "a"})
    Sitting(caller, project).walk({"Colour": "blue"}, until="Shape")

    first, second = csv.DictReader(exported(caller, project).splitlines())
    names = ("score.fire_mage", "score.sea", "variable.Total", "variable.Kind")
    assert list(first)[-4:] == list(names)
    assert [first[name] for name in names] == ["3", "4.5", "7", "much"]
    assert [second[name] for name in names] == ["0", "2", "4", ""]


def test_the_event_tells_them_as_the_interface_does() -> None:
    caller = Caller()
    event_log.listener(caller.community.pk, "response.submitted")
    project = quiz(caller)
    sit(caller, project, {"Colour": "red", "Shape": "a"})

    ((_, data),) = event_log.heard(caller.community.pk)

    assert data["response"] == the_response(caller, project)
    assert data["response"]["scores"]
