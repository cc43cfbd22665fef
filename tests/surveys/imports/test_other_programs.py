"""Files with responses as Qualtrics, REDCap and Typeform write them (rules 6.435 and 6.436)."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from surveys.services.imports import tables
from tests.support.caller import Caller
from tests.support.surveys.import_files import csv_of, stored, table_of, take

pytestmark = pytest.mark.django_db
TOOLS = [
    {"value": "saw", "label": "Saw"},
    {"value": "axe", "label": "Axe"},
    {"value": "file", "label": "File"},
]
FORM: list[dict[str, Any]] = [
    {
        "type": "single_punch",
        "name": "Q1",
        "prompt": "Which team?",
        "options": [
            {"value": "r", "label": "Red, the first"},
            {"value": "g", "label": "Green"},
            {"value": "o", "label": "Another", "is_other": True},
        ],
    },
    {"type": "multi_punch", "name": "Q2", "prompt": "Which tools?", "options": TOOLS},
    {"type": "open_numeric", "name": "Q3", "prompt": "How old are you?", "whole": True},
    {"type": "open_text", "name": "Q4", "prompt": "Why?", "required": False},
]
BEGUN, ENDED = "2026-01-05 10:21:33", "2026-01-05 10:24:10"


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def project(caller: Caller) -> dict[str, Any]:
    return caller.make_open(*FORM)


def answers_in(project: dict[str, Any]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table_of(project, by_name=True).decode("utf-8-sig"))))


def told(project: dict[str, Any], *names: str) -> list[list[str]]:
    return [[row[name] for name in names] for row in answers_in(project)]


def qualtrics(*rows: list[str], zone: str = "America/Denver", **columns: tuple[str, str]) -> bytes:
    beside = {
        "StartDate": ("Start Date", f'{{"ImportId":"startDate","timeZone":"{zone}"}}'),
        "EndDate": ("End Date", f'{{"ImportId":"endDate","timeZone":"{zone}"}}'),
        "Status": ("Response Type", '{"ImportId":"status"}'),
        "Progress": ("Progress", '{"ImportId":"progress"}'),
        "Finished": ("Finished", '{"ImportId":"finished"}'),
        "ResponseId": ("Response ID", '{"ImportId":"_recordId"}'),
    }
    all_columns = {**beside, **columns}
    return csv_of(
        [*all_columns],
        [text for text, _ in all_columns.values()],
        [mark for _, mark in all_columns.values()],
        *rows,
    )


def row_of(number: int, *cells: str, finished: str = "True") -> list[str]:
    return [BEGUN, ENDED, "IP Address", "100", finished, f"R_{number}abcDEF", *cells]


def test_the_three_headers_of_qualtrics_are_read(caller: Caller, project: dict[str, Any]) -> None:
    """Rule 6.435."""
    data = qualtrics(
        row_of(1, "Green", "", "Saw,File", "34", "It’s fun"),
        row_of(2, "Another", "Blue", "Axe", "51", ""),
        row_of(3, "Red, the first", "", "", "", "", finished="False"),
        Q1=("Which team? - Selected Choice", '{"ImportId":"QID1"}'),
        Q1_3_TEXT=("Which team? - Another - Text", '{"ImportId":"QID1_3_TEXT"}'),
        Q2=("Which tools?", '{"ImportId":"QID2"}'),
        Q3=("How old are you?", '{"ImportId":"QID3_TEXT"}'),
        Q4=("Why?", '{"ImportId":"QID4_TEXT"}'),
    )

    checked = take(caller, project, data)

    assert checked.faults == []
    assert checked.table.notes == [
        "The first three rows were read as headers of Qualtrics, its times as those of America/Denver."
    ]
    assert (checked.row.counts["new"], checked.row.counts["partial"]) == (3, 1)
    stored(caller, project)
    assert sorted(told(project, "started_at", "Q1", "Q3", "Q4")) == sorted(
        [
            ["2026-01-05T17:21:33Z", "Green", "34", "It’s fun"],
            ["2026-01-05T17:21:33Z", "Another", "51", ""],
            ["2026-01-05T17:21:33Z", "Red, the first", "", ""],
        ]
    )
    again = take(caller, project, data)
    assert again.row.counts["known"] == 3


def test_columns_and_numbers_of_options_are_read(caller: Caller, project: dict[str, Any]) -> None:
    """Rule 6.435."""
    data = qualtrics(
        row_of(1, "2", "1", "", "1", "34", finished="1"),
        row_of(2, "1", "", "1", "", "51", finished="1"),
        zone="Z",
        Q1=("Which team? - Selected Choice", '{"ImportId":"QID1"}'),
        Q2_1=("Which tools? - Selected Choice - Saw", '{"ImportId":"QID2","choiceId":"1"}'),
        Q2_2=("Which tools? - Selected Choice - Axe", '{"ImportId":"QID2","choiceId":"2"}'),
        Q2_3=("Which tools? - Selected Choice - File", '{"ImportId":"QID2","choiceId":"3"}'),
        Q3=("A text that has changed since", '{"ImportId":"QID3_TEXT"}'),
    )

    checked = take(caller, project, data)

    assert checked.faults == []
    stored(caller, project)
    assert sorted(told(project, "started_at", "Q1", "Q2.saw", "Q2.axe", "Q2.file", "Q3")) == [
        ["2026-01-05T10:21:33Z", "Green", "1", "0", "1", "34"],
        ["2026-01-05T10:21:33Z", "Red, the first", "0", "1", "0", "51"],
    ]


@pytest.mark.parametrize("third", ['{"ImportId":"QID1"}x', '{"ImportId"', '{"ImportId":1', "[1]"])
def test_other_rows_are_no_headers(third: str) -> None:
    """Rule 6.435."""
    table = tables.read(csv_of(["Why?", "Who?"], ["a", "b"], [third, ""], ["c", "d"]))

    assert [cells for _, cells in table.rows] == [["a", "b"], [third, ""], ["c", "d"]]
    assert (table.names, table.zone) == ([], "")


def test_a_file_of_qualtrics_without_responses_is_refused() -> None:
    with pytest.raises(Exception, match="rows below it"):
        tables.read(qualtrics(Q1=("Why?", '{"ImportId":"QID1"}')))


@pytest.mark.parametrize("is_raw", [True, False])
def test_instruments_of_redcap_are_read(caller: Caller, project: dict[str, Any], is_raw: bool) -> None:
    """Rule 6.436."""
    raw = csv_of(
        [
            "record_id",
            "team_survey_timestamp",
            "q1",
            "q2___1",
            "q2___2",
            "q2___3",
            "q3",
            "team_survey_complete",
        ],
        ["1", ENDED, "2", "1", "0", "1", "34", "2"],
        ["2", "", "1", "0", "1", "0", "", "0"],
    )
    choices = [f"Which tools? (choice={each['label']})" for each in TOOLS]
    labelled = csv_of(
        ["Record ID", "Survey Timestamp", "Which team?", *choices, "How old are you?", "Complete?"],
        ["1", ENDED, "Green", "Checked", "Unchecked", "Checked", "34", "Complete"],
        ["2", "", "Red, the first", "Unchecked", "Checked", "Unchecked", "", "Incomplete"],
    )

    checked = take(caller, project, raw if is_raw else labelled)

    assert checked.faults == []
    assert (checked.row.counts["new"], checked.row.counts["partial"]) == (2, 1)
    stored(caller, project)
    assert sorted(told(project, "Q1", "Q2.saw", "Q2.axe", "Q2.file", "Q3", "status")) == [
        ["Green", "1", "0", "1", "34", "completed"],
        ["Red, the first", "0", "1", "0", "", "partial"],
    ]


def test_a_table_of_typeform_is_read(caller: Caller, project: dict[str, Any]) -> None:
    """Rule 6.436."""
    data = csv_of(
        [
            *("#", "Which team?", "Saw", "Axe", "File", "How old are you?", "Why?"),
            *(
                "Response Type",
                "Start Date (UTC)",
                "Stage Date (UTC)",
                "Submit Date (UTC)",
                "Network ID",
                "Tags",
            ),
        ],
        ["k1", "Green", "Saw", "", "File", "34", "Fun", "completed", BEGUN, "", ENDED, "ab12", ""],
        ["k2", "Red, the first", "", "Axe", "", "51", "", "completed", BEGUN, "", ENDED, "cd34", ""],
    )

    checked = take(caller, project, data)

    assert checked.faults == []
    stored(caller, project)
    assert sorted(told(project, "submitted_at", "Q1", "Q2.saw", "Q2.axe", "Q2.file", "Q3", "Q4")) == [
        ["2026-01-05T10:24:10Z", "Green", "1", "0", "1", "34", "Fun"],
        ["2026-01-05T10:24:10Z", "Red, the first", "0", "1", "0", "51", ""],
    ]


def test_headers_name_fields_and_times_as_people_write_them(caller: Caller) -> None:
    """Rule 6.953."""
    project = caller.make_open(*FORM[2:3], settings={"hidden_fields": ["city", "sent_by"]})

    opened = take(
        caller, project, csv_of(["City", "Sent By", "Begun at", "Submitted", "Town", "Q3"], ["Kiel"] * 6)
    )

    targets = opened.matching.columns
    assert targets[:5] == ["f:city", "f:sent_by", "started_at", "submitted_at", ""]
