"""A text means the same however it is typed: in answers, logic, imports and addresses (rules 1.6 to 1.8)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from surveys.engine.walk import prefill
from surveys.engine.walk.prefill import Prefill
from tests.support.caller import CHOICE, TEXT, Caller, faults
from tests.support.engine import script_builder
from tests.support.surveys.imports import past
from tests.support.surveys.results import OPEN_WEB

CAFE, IN_PARTS = "Caf\u00e9", "Cafe\u0301"
PLACE = {
    "type": "single_punch",
    "name": "Place",
    "prompt": "Where?",
    "options": [{"value": f"{IN_PARTS} "}, {"value": "Bar"}],
}
ONLY_IN_CAFE = {**TEXT, "name": "Why", "required": False}

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller()


def begin(caller: Caller, project: dict[str, Any]) -> dict[str, Any]:
    return dict(caller.post(f"/projects/{project['id']}/conversations").json())


def answer(caller: Caller, talk: dict[str, Any], value: object) -> Any:
    path, block_id = f"/conversations/{talk['id']}/answers", talk["step"]["block"]["id"]
    raw = value if isinstance(value, bytes) else orjson.dumps(value)
    body = b'{"block_id": %d, "value": %s}' % (block_id, raw)
    return caller.client.generic(
        "POST",
        f"/v1/communities/{caller.community.pk}{path}",
        body,
        "application/json",
        headers={"X-API-Key": caller.secret},
    )


def stored(caller: Caller, project: dict[str, Any]) -> list[str]:
    (response,) = caller.get(f"/projects/{project['id']}/responses?status=all").json()["data"]
    return [each["value"] for each in response["answers"]]


@pytest.mark.parametrize("value", [CAFE, IN_PARTS, f"{IN_PARTS} "])
@pytest.mark.parametrize("compared", [CAFE, IN_PARTS, f" {IN_PARTS}"])
@pytest.mark.parametrize("is_row", [True, False])
def test_an_answer_meets_its_condition_however_both_are_typed(
    caller: Caller, value: str, compared: str, is_row: bool
) -> None:
    row = {"show_when": {"block": "Place", "op": "eq", "value": compared}}
    logic = row if is_row else {"precondition": f'NOT((Place = "{compared}"))'}
    project = caller.make_open(PLACE, {**ONLY_IN_CAFE, **logic}, delivery=OPEN_WEB)

    moved = answer(caller, begin(caller, project), value)

    assert moved.status_code == 200, moved.content
    assert moved.json()["step"]["block"]["name"] == "Why"


def test_options_that_differ_only_in_their_form_are_the_same(caller: Caller) -> None:
    options = [{"value": CAFE}, {"value": f"{IN_PARTS} "}]

    refused = caller.post(
        "/projects", {"name": "S", "type": "convo", "script": {"blocks": [{**CHOICE, "options": options}]}}
    )

    assert faults(refused) == {("script.blocks[0].options[1].value", "duplicate")}


@pytest.mark.parametrize("blank", ["\u200b", " \u3164", "\u2800\n\u2060"])
def test_a_required_question_is_not_answered_by_what_nobody_sees(caller: Caller, blank: str) -> None:
    project = caller.make_open({**TEXT, "required": True}, delivery=OPEN_WEB)

    refused = answer(caller, begin(caller, project), blank)

    assert (refused.status_code, faults(refused)) == (400, {("value", "required")})


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (b"3.0", "3"),
        (b"1e3", "1000"),
        (b"-0.0", "0"),
        (b'"3.50"', "3.5"),
        (b"0.1234567890123456789", "0.1234567890123456789"),
        (b'"0.1234567890123456789"', "0.1234567890123456789"),
        (b"123456789012345.5", "123456789012345.5"),
        (b"999999999999999.1234567", "999999999999999.1234567"),
    ],
)
def test_a_number_is_stored_in_one_form_with_every_digit(caller: Caller, sent: bytes, kept: str) -> None:
    """Rule 6.24."""
    project = caller.make_open({"type": "open_numeric", "prompt": "How many?"}, delivery=OPEN_WEB)

    assert answer(caller, begin(caller, project), sent).status_code == 200

    assert stored(caller, project) == [kept]


def test_an_import_finds_options_and_keeps_numbers_as_answers_do(caller: Caller) -> None:
    count = {"type": "open_numeric", "name": "count", "prompt": "How many?"}
    project = caller.make_open(PLACE, count, delivery=OPEN_WEB)
    line = past({"block_name": "Place", "value": f" {IN_PARTS}"}, {"block_name": "count", "value": "@"})
    body = orjson.dumps({"data": [line]}).replace(b'"@"', b"0.12345678901234567890")

    made = caller.client.generic(
        "POST",
        f"/v1/communities/{caller.community.pk}/projects/{project['id']}/responses",
        body,
        "application/json",
        headers={"X-API-Key": caller.secret},
    )

    assert made.status_code == 201, made.content
    assert stored(caller, project) == [CAFE, "0.1234567890123456789"]


def test_a_conversation_keeps_what_is_sent_along_in_one_form(caller: Caller) -> None:
    project = caller.make_open(PLACE, delivery=OPEN_WEB)
    along = {"external_id": f"{IN_PARTS} ", "metadata": {"place": f" {IN_PARTS}"}}

    first = caller.post(f"/projects/{project['id']}/conversations", along).json()
    again = caller.post(f"/projects/{project['id']}/conversations", {"external_id": CAFE}).json()
    answer(caller, first, "Bar")

    assert again["id"] == first["id"]
    listed = caller.get(f"/projects/{project['id']}/responses?field.place={IN_PARTS}").json()["data"]
    assert [(each["platform_id"], each["metadata"]) for each in listed] == [(CAFE, {"place": CAFE})]


@pytest.mark.parametrize("typed", [CAFE, IN_PARTS, "CAFE\u0301", f" {IN_PARTS}"])
def test_an_address_fills_in_an_option_however_it_is_typed(typed: str) -> None:
    script = script_builder.script({"type": "single_punch", "options": [CAFE, "Bar"]})

    assert prefill.reply_to(script, script.blocks[0], Prefill({1: [typed]})) == {"option_ids": [10]}


def test_a_project_and_a_member_are_found_however_they_are_typed(caller: Caller) -> None:
    caller.make(TEXT, name=f" {IN_PARTS}")
    caller.post("/members", {"nick": IN_PARTS})

    assert [each["name"] for each in caller.get(f"/projects?search={IN_PARTS}").json()["data"]] == [CAFE]
    assert [each["nick"] for each in caller.get(f"/members?search={IN_PARTS}").json()["data"]] == [CAFE]
