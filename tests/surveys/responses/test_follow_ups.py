"""Further questions are shown with their answer, and are deleted with it (rule 10.64)."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyreadstat
import pytest
from django.test import Client
from pyarrow import parquet

from communities.models import Member
from surveys.ai.provider import TextReading
from surveys.models import Codebook, Conversation, Reading, Theme
from surveys.services.ai_work import readings
from surveys.services.people import own_data
from tests.support.caller import Caller
from tests.support.moments import NOON
from tests.support.surveys.event_log import heard, listener
from tests.support.surveys.exports import content, lines, sheets
from tests.support.surveys.follow_ups import (
    CHANGE,
    COLOUR,
    QUESTION,
    SECOND,
    asks,
    caller_with_credits,
    model,
    survey,
    write,
)
from tests.support.surveys.imports import send

pytestmark = pytest.mark.django_db

TOLD = [{"question": QUESTION, "answer": "They end late"}, {"question": SECOND, "answer": None}]


@pytest.fixture
def caller() -> Caller:
    return caller_with_credits()


@pytest.fixture
def response(settings: Any, caller: Caller) -> Iterator[Conversation]:
    """A member's complete response: one further question is answered, one skipped."""
    with model(settings) as anthropic:
        anthropic.queue(asks(QUESTION), asks(SECOND))
        project_id = survey(caller, CHANGE, COLOUR)
        listener(caller.community.pk, "response.submitted")
        member = Member.objects.get(community=caller.community, user=caller.user)
        begun = caller.post(f"/projects/{project_id}/conversations", {"member_id": str(member.pk)}).json()
        block_id = begun["step"]["block"]["id"]

        def answer(**fields: Any) -> Any:
            return caller.post(f"/conversations/{begun['id']}/answers", fields).json()

        answer(block_id=block_id, value="The evenings")
        write(begun["id"])
        answer(block_id=block_id, value="They end late", follow_up=1)
        write(begun["id"], asked=2)
        step = answer(block_id=block_id, skip=True, follow_up=2)["step"]
        answer(block_id=step["block"]["id"], value="Blue")
        yield Conversation.objects.select_related("project").get(pk=begun["id"])


def asked_in(response: Any) -> list[Any]:
    return [answer.get("follow_ups") for answer in response["answers"]]


def test_the_list_the_response_and_the_event_tell_them(caller: Caller, response: Conversation) -> None:
    path = f"/projects/{response.project_id}/responses"
    (listed,) = caller.get(path).json()["data"]
    fed = caller.get(f"/responses/{response.pk}").json()
    ((_, data),) = heard(caller.community.pk)

    assert [asked_in(each) for each in (listed, fed, data["response"])] == [[TOLD, None]] * 3


@pytest.mark.parametrize("format", ["json", "ndjson"])
def test_exports_in_json_tell_them(format: str, response: Conversation) -> None:
    written = json.loads(content(response.project, format))

    (told,) = written["data"] if format == "json" else [written]
    assert asked_in(told) == [TOLD, None]


def test_tables_have_columns_for_them(response: Conversation) -> None:
    header, row = lines(content(response.project))
    (sheet,) = sheets(content(response.project, "xlsx"))
    places = [place for place, text in enumerate(header) if " further " in text]

    assert [(header[place], row[place]) for place in places] == [
        ("change further question 1", QUESTION),
        ("change further answer 1", "They end late"),
        ("change further question 2", SECOND),
        ("change further answer 2", ""),
    ]
    assert [sheet[0][place] for place in places] == [header[place] for place in places]
    assert sheet[1][places[1]] == "They end late"


def test_files_for_statistics_have_them_too(response: Conversation, tmp_path: Path) -> None:
    columns = parquet.read_table(io.BytesIO(content(response.project, "parquet"))).to_pydict()
    (tmp_path / "made.sav").write_bytes(content(response.project, "sav"))
    _, meta = pyreadstat.read_sav(str(tmp_path / "made.sav"))

    assert columns["change further answer 1"] == ["They end late"]
    assert columns["change further answer 2"] == [None]
    assert "change further question 2" in meta.column_labels


def test_the_long_form_has_rows_for_them(response: Conversation) -> None:
    header, *rows = lines(content(response.project, is_long=True))
    item, value = header.index("item"), header.index("value")

    assert [(row[item], row[value]) for row in rows] == [
        ("", "The evenings"),
        (QUESTION, "They end late"),
        (SECOND, ""),
        ("", "Blue"),
    ]


def test_the_persons_data_hold_them(response: Conversation) -> None:
    assert response.user_id is not None
    archive = zipfile.ZipFile(io.BytesIO(b"".join(own_data.export(user_id=response.user_id, at=NOON))))
    rows = list(csv.reader(io.StringIO(archive.read("responses.csv").decode())))
    (community,) = json.loads(archive.read("data.json"))["communities"]

    assert asked_in(community["responses"][0]) == [TOLD, None]
    assert [row[4:] for row in rows[1:]] == [
        ["change", "The evenings"],
        [QUESTION, "They end late"],
        [SECOND, ""],
        ["colour", "Blue"],
    ]


def test_the_respondent_reads_them_in_their_account(caller: Caller, response: Conversation) -> None:
    browser = Client()
    browser.force_login(caller.user)
    text = browser.get(f"/account/responses/{response.pk}/").content.decode()

    places = [
        text.index(each) for each in ("The evenings", QUESTION, "They end late", SECOND, "Skipped", "Blue")
    ]
    assert places == sorted(places)


def test_a_deleted_response_leaves_nothing_of_them(caller: Caller, response: Conversation) -> None:
    assert caller.delete(f"/responses/{response.pk}").status_code == 204

    assert not Conversation.objects.filter(pk=response.pk).exists()


def test_an_analysis_reads_them_with_the_answer(response: Conversation) -> None:
    project, block = response.project, response.project.blocks.get(name="change")
    codebook = Codebook.objects.create(block=block, project=project, version=1)
    theme = Theme.objects.create(block=block, title="Evenings", since=1)
    texts = readings.to_read(
        project_id=project.pk, block_id=block.pk, covers="all", after=None, length=9, older_than=None
    )
    written = readings.store(
        project=project,
        block_id=block.pk,
        version=codebook.version,
        against=[theme],
        texts=texts,
        readings=[TextReading((0,))],
        quotes=["They end late"],
        generated_by="anthropic",
        at=NOON,
    )

    assert [text.text for text in texts] == ["The evenings\nThey end late"]
    assert readings.sample(block_id=block.pk) == ["The evenings\nThey end late"]
    assert written == 1


@pytest.mark.parametrize("is_corrected", [False, True])
def test_a_further_answer_outdates_what_was_read_before_but_no_correction(
    response: Conversation, caller: Caller, is_corrected: bool
) -> None:
    change = response.project.blocks.get(name="change")
    further = {"block_id": change.pk, "number": 2, "until": 9e9, "question": SECOND}
    state = response.state | {"at": 0, "path": [], "further": further}
    state["follow_ups"] = {str(change.pk): TOLD[:1]}
    Conversation.objects.filter(pk=response.pk).update(state=state, completed_at=None)
    Reading.objects.create(
        conversation=response,
        block=change,
        themes=[],
        version=1,
        generated_by="local",
        is_corrected=is_corrected,
    )

    body = {"block_id": change.pk, "value": "Nine"}
    assert caller.post(f"/conversations/{response.pk}/answers", body).status_code == 200
    assert Reading.objects.exists() == is_corrected


def test_an_import_of_an_export_leaves_them_out(caller: Caller, response: Conversation) -> None:
    exported = json.loads(content(response.project, "json"))["data"]
    copy = caller.post(f"/projects/{response.project_id}/clone").json()
    sent = send(caller, copy, *exported)

    assert sent.status_code in (200, 201), sent.json()
    (told,) = caller.get(f"/projects/{copy['id']}/responses").json()["data"]
    assert asked_in(told) == [None, None]
