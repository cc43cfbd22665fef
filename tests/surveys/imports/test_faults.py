"""Refused imports name the line of each fault, and store nothing."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from surveys.api import imports
from surveys.api.imports import MAX_RESPONSES, MAX_WITH_XP
from surveys.models import Conversation
from surveys.services.imports import walking
from surveys.services.imports.sent import MOST_VIOLATIONS
from surveys.services.imports.walking import MOST_SECONDS
from tests.support.caller import Caller, refusal
from tests.support.cases import try_each
from tests.support.surveys.imports import (
    STARTED,
    SUBMITTED,
    as_lines,
    faults,
    imported,
    partial,
    past,
    send,
    send_lines,
)

pytestmark = pytest.mark.django_db

ITEMS = [{"value": "a", "label": "Same"}, {"value": "b", "label": "Same"}, {"value": "c", "label": "Third"}]
BLOCKS: list[dict[str, Any]] = [
    {"type": "content_block", "name": "welcome", "prompt": "Welcome."},
    {
        "type": "single_punch",
        "name": "one",
        "prompt": "One?",
        "required": True,
        "options": [{"value": "red"}, {"value": "green"}],
    },
    {
        "type": "multi_punch",
        "name": "many",
        "prompt": "Many?",
        "options": [{"value": "x"}, {"value": "y"}, {"value": "z"}],
        "min": 2,
        "max": 2,
    },
    {
        "type": "open_text",
        "name": "why",
        "prompt": "Why?",
        "show_when": {"variable": "one", "op": "eq", "value": "red"},
    },
    {"type": "open_numeric", "name": "count", "prompt": "Count?", "min": 0, "max": 10},
    {"type": "rating", "name": "stars", "prompt": "Stars?"},
    {"type": "ranking", "name": "order", "prompt": "Rank.", "options": ITEMS, "rank_top_n": 2},
    {"type": "calculated_block", "name": "double", "prompt": "", "calculated_formula": "[count] * 2"},
]
ONE = ("one", "red")


@pytest.fixture(scope="module")
def caller(kept_rows: None) -> Caller:
    return Caller()


def test_a_response_that_would_be_deleted_at_once_is_refused(caller: Caller) -> None:
    """Rule 6.274."""
    keeping = caller.make(*BLOCKS, settings={"keep_responses_days": 30})
    now = timezone.now()
    young, old = ((now - timedelta(days=days)).isoformat() for days in (29, 31))
    lines = [past(ONE, started_at=each, submitted_at=each) for each in (young, old)]
    lines.append(partial(ONE))  # is kept after its import

    for query in ("", "?dry_run=true"):
        refused = send(caller, keeping, *lines, query=query)
        assert faults(refused) == [(2, "data[1].submitted_at", "too_small")]
    assert send(caller, keeping, lines[0], lines[2]).status_code == 201


@pytest.fixture(scope="module")
def project(caller: Caller) -> Any:
    return caller.make(*BLOCKS)


def option_id(project: Any, name: str, place: int) -> int:
    block = next(each for each in project["script"]["blocks"] if each["name"] == name)
    return int(block["options"][place]["id"])


def item(rank: object, **names: Any) -> dict[str, Any]:
    return {"block_name": "order", "value": rank, **names}


@try_each(
    ("answers", "field", "code"),
    [
        ([], "answers", "required"),  # the required question
        ([("two", "red")], "answers[0].block_name", "not_found"),
        ([{"block_id": 2**62, "value": "red"}], "answers[0].block_id", "not_found"),
        ([{"value": "red"}], "answers[0].block_id", "required"),
        ([("welcome", "red")], "answers[0].block_name", "not_allowed"),
        ([ONE, ("double", 4)], "answers[1].block_name", "not_allowed"),
        ([("one", "blue")], "answers[0].value", "not_found"),
        ([("one", None)], "answers[0].value", "null"),
        ([{"block_name": "one", "option_id": 2**62}], "answers[0].option_id", "not_found"),
        ([("one", "red"), ("one", "green")], "answers[1].value", "too_many"),
        ([("one", "red"), ("one", "red")], "answers[1].value", "too_many"),
        ([ONE, ("many", "x")], "answers[1].block_id", "too_few"),
        ([ONE, ("many", "x"), ("many", "y"), ("many", "z")], "answers[1].block_id", "too_many"),
        ([ONE, ("many", "x"), ("many", "x")], "answers[1].block_id", "duplicate"),
        ([("one", "green"), ("why", "So.")], "answers[1].block_id", "not_allowed"),
        ([ONE, ("why", "x" * 10_001)], "answers[1].value", "too_long"),
        ([ONE, ("why", None)], "answers[1].value", "null"),
        ([ONE, ("count", -1)], "answers[1].value", "too_small"),
        ([ONE, ("count", 11)], "answers[1].value", "too_large"),
        ([ONE, ("count", "many")], "answers[1].value", "invalid"),
        ([ONE, ("count", "NaN")], "answers[1].value", "invalid"),
        ([ONE, ("stars", 0)], "answers[1].value", "too_small"),
        ([ONE, ("stars", 6)], "answers[1].value", "too_large"),
        ([ONE, ("stars", 4.5)], "answers[1].value", "invalid"),
        ([ONE, item(1, label="Third")], "answers[1].block_id", "too_few"),
        ([ONE, item(1, label="Third"), item(2, label="Third")], "answers[1].block_id", "duplicate"),
        ([ONE, item(1, label="Third"), item(2, label="Same")], "answers[2].label", "conflicting"),
        ([ONE, item(1, label="Third"), item(2, label="None")], "answers[2].label", "not_found"),
        ([ONE, item(1, label="Third"), item(2)], "answers[2].option_id", "required"),
        ([ONE, item(1, label="Third"), item(1, label="a")], "answers[2].value", "duplicate"),
        ([ONE, item(0, label="Third"), item(1, label="a")], "answers[1].value", "invalid"),
        ([ONE, item(1, label="Third"), item(3, label="a")], "answers[2].value", "invalid"),
        ([ONE, item("x", label="Third"), item(2, label="a")], "answers[1].value", "invalid"),
        ([ONE, item("9" * 5_000, label="Third"), item(2, label="a")], "answers[1].value", "invalid"),
    ],
)
def test_answers_that_a_respondent_could_not_have_given(
    caller: Caller, project: Any, answers: list[Any], field: str, code: str
) -> None:
    answer = send_lines(caller, project, as_lines(past(ONE), past(*answers)))

    assert faults(answer) == [(2, field, code)]
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    "answers",
    [
        [ONE],
        [("one", "green")],
        [("ONE", "red")],  # names are compared as in expressions
        [ONE, ("many", "x"), ("many", "z")],
        [ONE, ("why", "x" * 10_000)],
        [ONE, ("why", "")],  # as on a page, an empty text skips
        [ONE, ("count", 0), ("stars", 1)],
        [ONE, ("count", "10"), ("stars", "5")],
        [("count", 3), ONE],  # in any order
        [ONE, item(2, label="Third"), item("1", label="a")],
        [ONE, item(1, label="a"), item(2, label="b")],
    ],
)
def test_answers_that_a_respondent_could_have_given(caller: Caller, project: Any, answers: list[Any]) -> None:
    [response] = imported(caller, project, past(*answers))

    given = [each for each in answers if not (isinstance(each, tuple) and each[1] == "")]
    assert (response["status"], len(response["answers"])) == ("completed", len(given))


def test_an_id_and_a_name_that_contradict_each_other_are_refused(caller: Caller, project: Any) -> None:
    blocks = {each["name"]: each["id"] for each in project["script"]["blocks"]}
    red, green = option_id(project, "one", 0), option_id(project, "one", 1)

    answer = send_lines(
        caller,
        project,
        as_lines(
            past({"block_id": blocks["one"], "block_name": "many", "value": "red"}),
            past({"block_id": blocks["one"], "value": "red", "option_id": green}),
            past({"block_id": blocks["one"], "block_name": "renamed", "value": "renamed", "option_id": red}),
            past({"block_id": 2**62, "block_name": "one", "value": "red", "option_id": 2**62}),
        ),
    )

    assert faults(answer) == [
        (1, "answers[0].block_name", "conflicting"),
        (2, "answers[0].value", "conflicting"),
    ]


def test_an_option_of_another_block_is_refused(caller: Caller, project: Any) -> None:
    other = option_id(project, "many", 0)

    answer = send_lines(caller, project, as_lines(past({"block_name": "one", "option_id": other})))

    assert faults(answer) == [(1, "answers[0].option_id", "not_found")]


@try_each(
    ("fields", "field", "code"),
    [
        ({"started_at": None}, "started_at", "null"),
        ({"started_at": "2025-05-01T08:00:00"}, "started_at", "invalid"),
        ({"started_at": "yesterday"}, "started_at", "invalid"),
        ({"started_at": 5}, "started_at", "invalid"),
        ({"submitted_at": "2025-05-01"}, "submitted_at", "invalid"),
        ({"submitted_at": "2025-05-01T07:59:59Z"}, "submitted_at", "conflicting"),
        ({"status": "partial"}, "submitted_at", "conflicting"),
        ({"status": "completed", "submitted_at": None}, "submitted_at", "conflicting"),
        ({"status": "done"}, "status", "invalid_choice"),
        ({"provider": "mail"}, "provider", "invalid_choice"),
        ({"platform_id": 5}, "platform_id", "invalid_type"),
        ({"platform_id": "x" * 129}, "platform_id", "too_long"),
        ({"metadata": []}, "metadata", "invalid_type"),
        ({"metadata": {"A": "x"}}, "metadata.A", "invalid"),
        ({"metadata": {"a": "x" * 501}}, "metadata.a", "too_long"),
        ({"answers": None}, "answers", "null"),
        ({"answers": {}}, "answers", "invalid_type"),
        ({"answers": [5]}, "answers[0]", "invalid_type"),
        ({"answers": [{"block_id": "1"}]}, "answers[0].block_id", "invalid_type"),
        ({"answers": [{"block_id": True}]}, "answers[0].block_id", "invalid_type"),
        ({"answers": [{"block_name": "x" * 201}]}, "answers[0].block_name", "too_long"),
        ({"answers": [{"value": True}]}, "answers[0].value", "invalid_type"),
        ({"answers": [{"value": []}]}, "answers[0].value", "invalid_type"),
        ({"answers": [{"value": "9" * 10_001}]}, "answers[0].value", "too_long"),
    ],
)
def test_values_of_a_wrong_kind(
    caller: Caller, project: Any, fields: dict[str, Any], field: str, code: str
) -> None:
    as_line = send_lines(caller, project, b"\n" + as_lines(past(ONE) | fields))
    as_list = send(caller, project, past(ONE), past(ONE) | fields)

    assert faults(as_line) == [(2, field, code)]
    assert faults(as_list) == [(2, f"data[1].{field}", code)]


def test_times_begin_with_those_of_ids(caller: Caller, project: Any) -> None:
    first, before = "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z"

    refused = send(caller, project, past(ONE, started_at=first), past(ONE, started_at=before))
    taken = send(caller, project, past(ONE, started_at=first))

    assert faults(refused) == [(2, "data[1].started_at", "too_small")]
    assert taken.status_code == 201


def test_times_are_not_in_the_future(caller: Caller, project: Any) -> None:
    later = (timezone.now() + timedelta(minutes=1)).isoformat()
    now = timezone.now().isoformat()

    answer = send(
        caller,
        project,
        past(ONE, started_at=now, submitted_at=now),
        past(ONE, submitted_at=later),
        partial(ONE, started_at=later),
    )

    assert faults(answer) == [
        (2, "data[1].submitted_at", "too_large"),
        (3, "data[2].started_at", "too_large"),
    ]


def test_a_partial_response_ends_at_its_last_answer(caller: Caller, project: Any) -> None:
    [response] = imported(caller, project, partial(ONE, ("count", 3)))

    assert (response["status"], response["submitted_at"]) == ("partial", None)
    conversation = Conversation.objects.get()
    names = {each["id"]: each["name"] for each in project["script"]["blocks"]}
    assert [names[each] for each in conversation.state["path"]] == ["welcome", "one", "many", "why", "count"]


RANKED = (item(1, label="a"), item(2, label="b"))


@pytest.mark.parametrize(
    ("answers", "path", "at"),
    [
        ([("many", "x"), ("many", "y")], [], "welcome"),  # behind a required question
        ([ONE, ("why", "So.")], ["welcome", "one", "many", "why"], "count"),
        ([ONE, *RANKED], ["welcome", "one", "many", "why", "count", "stars"], "order"),  # the last question
    ],
)
def test_a_partial_response_keeps_all_answers_and_ends_where_they_lead(
    caller: Caller, project: Any, answers: list[Any], path: list[str], at: str
) -> None:
    [response] = imported(caller, project, partial(*answers))

    names = {each["id"]: each["name"] for each in project["script"]["blocks"]}
    state = Conversation.objects.get().state
    assert (response["status"], len(response["answers"])) == ("partial", len(answers))
    assert [names[each] for each in state["path"]] == path
    assert project["script"]["blocks"][state["at"]]["name"] == at


@pytest.mark.parametrize(
    ("answers", "field", "code"),
    [
        ([], "answers", "required"),
        ([("why", "")], "answers", "required"),  # a skip
        ([("one", "green"), ("why", "x" * 10_001)], "answers[1].value", "too_long"),  # hidden, and no answer
        ([("one", "green"), ("many", "x")], "answers[1].block_id", "too_few"),
        ([("one", "green"), ("why", "So.")], "answers[1].block_id", "not_allowed"),  # hidden by the other
        ([("why", "So."), ("one", "green"), *RANKED], "answers[0].block_id", "not_allowed"),
    ],
)
def test_a_partial_response_that_cannot_be_one(
    caller: Caller, project: Any, answers: list[Any], field: str, code: str
) -> None:
    assert faults(send_lines(caller, project, as_lines(partial(*answers)))) == [(1, field, code)]


def test_every_fault_is_told_by_its_line_and_nothing_is_stored(caller: Caller, project: Any) -> None:
    lines = as_lines(past(ONE), past(("one", "blue"))) + b"\n\n  \nno json\n[1]\n\r\n"
    lines += as_lines(past(ONE), past(ONE, started_at="x"), {"answers": [], "started_at": STARTED})

    answer = send_lines(caller, project, lines)

    assert faults(answer) == [
        (2, "answers[0].value", "not_found"),
        (5, "", "invalid"),
        (6, "", "invalid"),
        (9, "started_at", "invalid"),
        (10, "answers", "required"),
    ]
    words = [each["message"] for each in answer.json()["violations"]]
    assert words[1].startswith("The line is not valid JSON: ")
    assert words[2] == "The line must be a JSON object."
    assert answer.json()["message"].startswith("Line 2: `one` has no such option")
    assert answer.json()["message"].endswith("There are 4 more violations.")
    assert not Conversation.objects.exists()


def test_of_one_response_not_all_faults_are_listed(caller: Caller, project: Any) -> None:
    wrong = past(*[(f"none{n}", "x") for n in range(MOST_VIOLATIONS + 1)])
    shapeless = past(*[5] * (MOST_VIOLATIONS + 1))

    found = faults(send(caller, project, wrong, shapeless))

    assert [line for line, _, _ in found] == [1] * MOST_VIOLATIONS + [2] * MOST_VIOLATIONS


@pytest.mark.parametrize("text", ['"a\\u0000b"', '"\\ud800"', "NaN", "1e999", "9" * 30])
def test_values_that_cannot_be_stored_are_told_by_their_line(caller: Caller, project: Any, text: str) -> None:
    lines = as_lines(past(ONE), past(("one", "TEXT"))).replace(b'"TEXT"', text.encode())

    as_line = send_lines(caller, project, lines)
    as_list = caller.client.generic(
        "POST",
        f"/v1/communities/{caller.community.pk}/projects/{project['id']}/responses",
        b'{"data": [' + lines.replace(b"\n", b",") + b"]}",
        "application/json",
        headers={"X-API-Key": caller.secret},
    )

    assert [each[:2] for each in faults(as_line)] == [(2, "answers[0].value")]
    assert [each[:2] for each in faults(as_list)] == [(2, "data[1].answers[0].value")]


@pytest.mark.parametrize("body", [{}, {"data": None}, {"data": {}}, {"data": "x"}, {"data": []}])
def test_a_body_without_responses(caller: Caller, project: Any, body: Any) -> None:
    answer = caller.post(f"/projects/{project['id']}/responses", body)

    assert [field for _, field, _ in faults(answer)] == ["data"]


def test_a_thousand_responses_and_one_more(caller: Caller, project: Any) -> None:
    line = as_lines(past(ONE)) + b"\n"

    one_more = send_lines(caller, project, line * (MAX_RESPONSES + 1))
    thousand = send_lines(caller, project, (line + b"\n") * MAX_RESPONSES, query="?dry_run=true")

    assert faults(one_more) == [(None, "data", "too_many")]
    assert (thousand.status_code, thousand.json()) == (200, {"imported": 0, "valid": MAX_RESPONSES})


@pytest.mark.parametrize("query", ["?give_xp=true", "?give_xp=true&dry_run=true"])
def test_with_xp_a_hundred_responses_and_one_more(caller: Caller, project: Any, query: str) -> None:
    allowed = send_lines(caller, project, as_lines(*[past(ONE)] * MAX_WITH_XP), query=query)
    refused = send_lines(caller, project, as_lines(*[past(ONE)] * (MAX_WITH_XP + 1)), query=query)

    dry = "dry_run" in query
    assert allowed.json() == ({"imported": 0, "valid": MAX_WITH_XP} if dry else {"imported": MAX_WITH_XP})
    assert faults(refused) == [(None, "give_xp", "too_many")]
    assert "at most 100 responses" in refused.json()["message"]


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_walks_that_take_too_long_are_refused_with_what_to_do(
    caller: Caller, project: Any, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    answers = []
    for last in (MOST_SECONDS, MOST_SECONDS + 0.01):
        clock = iter([5, 5, 5 + last])  # at the beginning, and before each response
        monkeypatch.setattr(walking, "time", SimpleNamespace(thread_time=clock.__next__))
        answers.append(send(caller, project, past(ONE), past(ONE), query=query))

    dry = "dry_run" in query
    assert answers[0].json() == ({"imported": 0, "valid": 2} if dry else {"imported": 2})
    assert faults(answers[1]) == [(None, "data", "too_many")]
    assert "only 1 of 2 responses could be checked within 10 seconds" in answers[1].json()["message"]


def test_a_dry_run_finds_the_same_faults_and_stores_nothing(caller: Caller, project: Any) -> None:
    wrong = as_lines(past(("one", "blue")))

    dry = send_lines(caller, project, wrong, query="?dry_run=true")
    right = send(caller, project, past(ONE, platform_id="ann"), query="?dry_run=true")

    assert faults(dry) == faults(send_lines(caller, project, wrong))
    assert (right.status_code, right.json()) == (200, {"imported": 0, "valid": 1})
    assert not Conversation.objects.exists()


def test_unknown_fields_are_named_once_and_read_only_ones_are_not(caller: Caller, project: Any) -> None:
    read_only = {"id": "x", "project_id": 1, "session_number": 9, "updated_at": "x", "user_id": "1"}
    derived = {"scores": {"a": 1}, "variables": {"b": 2}}
    answer: dict[str, Any] = {
        "block_name": "one",
        "value": "red",
        "themes": [],
        "sentiment": None,
        "colour": "x",
    }
    sent = past(answer, **read_only, **derived, mood="x")

    told = send(caller, project, sent, sent)

    assert told.status_code == 201
    assert set(told["X-Ignored-Fields"].split(", ")) == {"mood", "answers[0].colour"}


def test_very_many_unknown_fields_are_not_all_named(caller: Caller, project: Any) -> None:
    told = send(caller, project, past(ONE, **{f"field{n}": 1 for n in range(5_000)}))

    assert told.status_code == 201
    assert len(told["X-Ignored-Fields"]) < 5_000


def test_very_many_answers_are_refused_before_each_is_looked_at(
    caller: Caller, project: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_ANSWERS", 3)

    one_more = send(caller, project, past(ONE, ("count", 1)), past(ONE, ("count", 1)))
    just_so = send(caller, project, past(ONE, ("count", 1)), past(ONE))

    assert faults(one_more) == [(None, "data", "too_many")]
    assert just_so.status_code == 201


def test_a_project_without_questions_takes_no_responses(caller: Caller) -> None:
    empty = caller.make()
    silent = caller.make({"type": "content_block", "prompt": "Hello."})

    assert refusal(send(caller, empty, past())) == (409, "conflict")
    assert refusal(send(caller, silent, past())) == (409, "conflict")


def test_whatever_the_state_of_the_project_is_responses_are_imported(caller: Caller) -> None:
    draft = caller.make(*BLOCKS, name="Draft")
    live = caller.make_open(*BLOCKS, name="Live")
    closed = caller.make_open(*BLOCKS, name="Closed")
    caller.post(f"/projects/{closed['id']}/close")

    for project in (draft, live, closed):
        [response] = imported(caller, project, past(ONE))
        assert (response["started_at"], response["submitted_at"]) == (STARTED, SUBMITTED)
        assert response["provider"] == "import"


def test_another_communitys_project_is_not_there(caller: Caller, project: Any) -> None:
    stranger = Caller()

    assert refusal(send(stranger, project, past(ONE))) == (404, "not_found")
    assert refusal(send(caller, {"id": "999999"}, past(ONE))) == (404, "not_found")
    assert refusal(send(caller.beside("member"), project, past(ONE)))[0] in (403, 404)
    assert refusal(send(caller.beside("creator"), project, past(ONE))) == (403, "forbidden")


def test_a_retry_under_the_same_key_stores_nothing_twice(caller: Caller, project: Any) -> None:
    lines = as_lines(past(ONE))

    first = send_lines(caller, project, lines, **{"Idempotency-Key": "import-1"})
    again = send_lines(caller, project, lines, **{"Idempotency-Key": "import-1"})

    assert (first.status_code, again.status_code) == (201, 201)
    assert again["Idempotency-Replayed"] == "true"
    assert Conversation.objects.count() == 1
