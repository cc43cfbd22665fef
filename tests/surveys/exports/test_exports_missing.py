"""Different marks for skipped questions and for questions that were not shown (rule 6.64)."""

from __future__ import annotations

import io
from typing import Any

import pandas
import pyreadstat
import pytest

from surveys.models import Conversation, Project
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.exports import FIXED, answered, content, in_sheet, lines, questions, write_again
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db
IF_GREEN = {"precondition": 'Q0 = "red"'}
MULTI = {"type": "multi_punch", "options": ["a", "b"]}
NUMERIC = {"type": "open_numeric"}
SKIPPED, NOT_SHOWN = "[skipped]", "[not shown]"


@pytest.fixture
def made():
    """Answered to the end, once with skips and once along the other branch, and twice in part."""
    made = scenario.project(CHOICE, {**MULTI, **IF_GREEN}, {**NUMERIC, **IF_GREEN}, TEXT)
    answered(made, 1, None, None, "all shown")
    answered(made, 0, None)
    answered(made, 1, [0])
    answered(made, 0)
    return made


def test_cells_without_an_answer_say_why(made) -> None:
    expected: list[list[Any]] = [
        ["green", SKIPPED, SKIPPED, SKIPPED, "all shown"],
        ["red", NOT_SHOWN, NOT_SHOWN, NOT_SHOWN, SKIPPED],
        ["green", 1, 0, None, None],
        ["red", NOT_SHOWN, NOT_SHOWN, NOT_SHOWN, None],
    ]

    assert in_sheet(made, marks_missing=True)[1:] == expected
    as_texts = [["" if cell is None else str(cell) for cell in row] for row in expected]
    assert questions(made, marks_missing=True)[1:] == as_texts
    assert questions(made)[1][1:4] == ["", "", ""]


def test_columns_of_numbers_have_numbers_where_a_file_has_types(made, tmp_path) -> None:
    path = tmp_path / "responses.sav"
    path.write_bytes(content(made, "sav", marks_missing=True))

    frame, meta = pyreadstat.read_sav(path, user_missing=True)
    table = pandas.read_parquet(io.BytesIO(content(made, "parquet", marks_missing=True, codes=True)))

    assert frame[["q1_1", "q1_2", "q2"]].fillna(0).to_numpy().tolist() == [
        [-99, -99, -99],
        [-98, -98, -98],
        [1, 0, 0],
        [-98, -98, -98],
    ]
    assert frame["q3"].tolist() == ["all shown", SKIPPED, "", ""]
    assert meta.missing_ranges["q1_1"] == [{"lo": -99.0, "hi": -99.0}, {"lo": -98.0, "hi": -98.0}]
    assert meta.variable_value_labels["q2"] == {-99: SKIPPED, -98: NOT_SHOWN}
    assert meta.original_variable_types["q1_1"] == "F3.0"
    assert table["Prompt 2."].tolist()[:2] == [-99, -98]
    assert table["Prompt 3."].fillna("").tolist() == ["all shown", SKIPPED, "", ""]


def test_a_single_choice_is_marked_with_its_code() -> None:
    made = scenario.project(TEXT, {**CHOICE, "precondition": 'Q0 = "no"'}, TEXT)
    answered(made, "no", "end")
    answered(made, "yes", None, "end")

    assert questions(made, marks_missing=True, codes=True)[1:] == [
        ["no", NOT_SHOWN, NOT_SHOWN, "end"],
        ["yes", SKIPPED, SKIPPED, "end"],
    ]


def test_what_was_asked_later_or_is_no_longer_asked_was_not_shown() -> None:
    made = scenario.project({**TEXT, "name": "old"}, TEXT)
    answered(made, "x", "y")
    answered(made, "x")
    kept = scenario.script(made).blocks[1]
    write_again(
        made, {"type": "open_text", "prompt": "New?"}, {"id": kept.id, "type": "open_text", "prompt": "P"}
    )
    Project.objects.update(status="active")
    answered(made, None, "z")

    assert questions(made, marks_missing=True)[1:] == [
        [NOT_SHOWN, "y", "x"],
        ["", "", "x"],
        [SKIPPED, "z", NOT_SHOWN],
    ]


def test_a_response_whose_course_is_not_known_has_no_marks() -> None:
    made = scenario.project(TEXT, TEXT)
    answered(made, "x", None)
    Conversation.objects.update(state={})

    assert questions(made, marks_missing=True)[1] == ["x", ""]


def test_marks_and_values_are_asked_for_over_http() -> None:
    caller = Caller("admin")
    web = {"audience": {"participation": "open_web"}}
    choice = {**CHOICE, "prompt": "C?", "options": [{"value": "r", "label": "Red"}]}
    project = caller.make_open(choice, {**TEXT, "prompt": "T?"}, delivery=web)
    answers = [{"block_id": project["script"]["blocks"][0]["id"], "value": "r"}]
    sent = {"started_at": "2025-05-01T08:00:00Z", "submitted_at": "2025-05-01T08:05:00Z", "answers": answers}
    caller.post(f"/projects/{project['id']}/responses", {"data": [sent]})

    export = caller.get(f"/projects/{project['id']}/responses/export?missing=marked&values=values")

    header, row = lines(b"".join(export.streaming_content))
    assert (header[len(FIXED) :], row[len(FIXED) :]) == (["C?", "T?"], ["r", SKIPPED])
