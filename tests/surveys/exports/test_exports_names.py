"""Tables whose columns are headed by names: they stay when a prompt is reworded."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from tests.support.caller import Caller, faults, refusal
from tests.support.surveys.imports import imported, past

pytestmark = pytest.mark.django_db

BLOCKS: list[dict[str, Any]] = [
    {"type": "single_punch", "name": "colour", "prompt": "Which?", "options": [{"value": "red"}]},
    {
        "type": "multi_punch",
        "name": "fruits",
        "prompt": "Which?",
        "options": [{"value": "a", "label": "Apple"}, {"value": "p", "label": "Pear"}],
    },
    {"type": "open_text", "prompt": "=Why?"},
]
ANSWERS = (("colour", "red"), {"block_name": "fruits", "value": "p"}, ("q2", "So."))
NAMES = ["colour", "fruits.a", "fruits.p", "q2"]


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> Any:
    made = caller.make(*BLOCKS)
    imported(caller, made, past(*ANSWERS, metadata={"campaign": "mail"}))
    return made


def exported(caller: Caller, project: Any, query: str) -> bytes:
    answer = caller.get(f"/projects/{project['id']}/responses/export?{query}")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)


def rows(caller: Caller, project: Any, query: str = "headers=names") -> list[list[str]]:
    return list(csv.reader(exported(caller, project, query).decode().splitlines()))


def test_columns_are_headed_by_blocks_and_the_values_of_options(caller: Caller, project: Any) -> None:
    header, cells = rows(caller, project)

    assert header[8:] == [*NAMES, "field.campaign"]
    assert cells[8:] == ["red", "0", "1", "So.", "mail"]


def test_a_reworded_prompt_changes_no_header(caller: Caller, project: Any) -> None:
    before = rows(caller, project)[0]
    block = project["script"]["blocks"][0]["id"]

    changed = caller.patch(f"/projects/{project['id']}/script/blocks/{block}", {"prompt": "Which colour?"})

    assert changed.status_code == 200, changed.content
    assert rows(caller, project)[0] == before
    assert rows(caller, project, "headers=prompts")[0][8] == "Which colour?"


def test_a_name_that_equals_another_column_is_told_apart(caller: Caller) -> None:
    made = caller.make({**BLOCKS[0], "name": "provider"}, BLOCKS[2])
    block = made["script"]["blocks"][0]["id"]

    assert rows(caller, made)[0][7:9] == ["provider", f"provider (block {block})"]


@pytest.mark.parametrize("query", ["headers=names", "headers=names&values=codes"])
def test_a_question_that_was_removed_and_asked_anew_keeps_its_name(
    caller: Caller, project: Any, query: str
) -> None:
    before = rows(caller, project, query)[0]
    old = [each["id"] for each in project["script"]["blocks"]]

    written = caller.put(f"/projects/{project['id']}/script", {"blocks": BLOCKS})

    assert written.status_code == 200, written.content
    after = rows(caller, project, query)[0]
    assert after[: len(before) - 1] == before[:-1]
    assert f"colour (block {old[0]})" in after


@pytest.mark.parametrize("other", ["format=json", "format=ndjson", "format=sav", "form=long"])
def test_where_headers_are_fixed_there_is_no_choice(caller: Caller, project: Any, other: str) -> None:
    path = f"/projects/{project['id']}/responses/export?{other}"

    refused = caller.get(f"{path}&headers=names")

    assert refusal(refused) == (400, "invalid_request")
    assert faults(refused) == {("headers", "not_allowed")}
    assert caller.get(f"{path}&headers=prompts").status_code == 200
