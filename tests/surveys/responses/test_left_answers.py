"""Answers of a branch that was left: no reader has them while their block is hidden (rule 6.29)."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from surveys.models import Answer
from tests.support.caller import Caller
from tests.support.surveys.participants import Talk, a_member

pytestmark = pytest.mark.django_db

WAY = {
    "type": "single_punch",
    "name": "way",
    "prompt": "Which way?",
    "options": [{"value": "long", "score_values": {"steps": 3}}, {"value": "short"}],
}
STARS = {
    "type": "rating",
    "name": "stars",
    "prompt": "Stars?",
    "show_when": {"variable": "way", "op": "eq", "value": "long"},
    "options": [{"value": str(n), "score_values": {"steps": 10 * n}} for n in range(1, 6)],
}
MILES = {
    "type": "single_punch",
    "name": "miles",
    "prompt": "Miles?",
    "options": [{"value": "7", "score_values": {"steps": 1}}, {"value": "8"}],
}
LAST = {"type": "open_text", "name": "last", "prompt": "Last?"}
SCORING = {"scoring": {"enabled": True, "buckets": [{"name": "Steps"}]}}


def read_everywhere(caller: Caller, project: dict[str, Any], member: str) -> dict[str, list[tuple[str, str]]]:
    """The answered blocks with their values, as each reader has them."""
    path = f"/projects/{project['id']}"
    rows = list(csv.DictReader(body(caller.get(f"{path}/responses/export?headers=names")).splitlines()))
    long = csv.DictReader(body(caller.get(f"{path}/responses/export?form=long")).splitlines())
    results = caller.get(f"{path}/analysis/results?status=all").json()
    data = caller.get(f"/members/{member}/data").json()["responses"]
    return {
        "listing": answers_of(caller.get(f"{path}/responses?status=partial").json()["data"]),
        "person": answers_of(data),
        "csv": [(name, rows[0][name]) for name in ("way", "stars", "miles") if rows[0][name]],
        "long": [(row["block"], row["value"]) for row in long],
        "results": [
            (block["block_name"], entry["value"])
            for block in results["blocks"]
            for entry in block["distribution"] or []
            if entry["count"]
        ],
    }


def body(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()


def answers_of(responses: list[Any]) -> list[tuple[str, str]]:
    [response] = responses
    return [(each["block_name"], each["value"]) for each in response["answers"]]


def test_no_reader_has_the_answers_of_a_branch_that_was_left() -> None:
    caller = Caller("admin")
    web = {"audience": {"participation": "open_web"}}
    project = caller.make_open(WAY, STARS, MILES, LAST, delivery=web, **SCORING)
    member = a_member(caller)
    talk = Talk(caller, project, member_id=member)
    for value in ("long", 5, "7"):
        talk.answer(value)
    all_answers = [("way", "long"), ("stars", "5"), ("miles", "7")]

    for _ in range(3):
        talk.back()
    for reader, answers in read_everywhere(caller, project, member).items():
        assert answers == all_answers, reader
    assert score(caller, project) == 54
    talk.answer("short")
    for reader, answers in read_everywhere(caller, project, member).items():
        assert answers == [("way", "short"), ("miles", "7")], reader
    assert score(caller, project) == 1
    assert segment_counts(caller, project) == {"long": 0, "short": 1}
    talk.back()
    talk.answer("long")

    for reader, answers in read_everywhere(caller, project, member).items():
        assert answers == all_answers, reader
    assert score(caller, project) == 54
    assert Answer.objects.count() == 3


def score(caller: Caller, project: dict[str, Any]) -> float:
    [response] = caller.get(f"/projects/{project['id']}/responses").json()["data"]
    return float(response["scores"]["steps"]["score"])


def segment_counts(caller: Caller, project: dict[str, Any]) -> dict[str, int]:
    ids = {block["name"]: block["id"] for block in project["script"]["blocks"]}
    path = f"/projects/{project['id']}/analysis/results?status=all&segment_by={ids['way']}"
    answer = caller.get(path)
    assert answer.status_code == 200, answer.content
    return {each["value"]: each["count"] for each in answer.json()["segment_by"]["segments"]}
