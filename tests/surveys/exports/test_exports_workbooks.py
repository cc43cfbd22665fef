"""The times and numbers of a workbook, which spreadsheets filter, sort and count as such."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import openpyxl
import pytest

from surveys.models import Conversation
from surveys.services.exports import xlsx
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.exports import FIXED, answered, content, lines, sheets
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db

STARTED, SUBMITTED = FIXED.index("started_at"), FIXED.index("submitted_at")
MOMENT = datetime(2026, 11, 22, 13, 39, 44, 999_999, tzinfo=UTC)


NUMBER = {"type": "open_numeric"}


def opened(made: Any, **told: Any) -> Any:
    """The workbook's only sheet."""
    return openpyxl.load_workbook(io.BytesIO(content(made, "xlsx", **told))).active


@pytest.mark.parametrize("is_long", [False, True])
def test_times_are_cells_of_date_and_time_in_utc(is_long: bool) -> None:
    made = scenario.project(TEXT, TEXT)
    scenario.say(scenario.begin(made, at=MOMENT), "a", "b", at=MOMENT + timedelta(hours=1))

    (_, row, *_) = opened(made, is_long=is_long).iter_rows()

    assert row[STARTED].value == MOMENT.replace(tzinfo=None, microsecond=0)
    assert row[SUBMITTED].value == datetime.fromisoformat("2026-11-22T14:39:44")
    assert {row[place].data_type for place in (STARTED, SUBMITTED)} == {"d"}
    assert {row[place].number_format for place in (STARTED, SUBMITTED)} == {xlsx.TIME_FORMAT}


def test_columns_of_times_are_as_wide_as_a_time() -> None:
    """Otherwise spreadsheets show ##### instead of the time."""
    made = scenario.project(TEXT)
    answered(made, "a")

    shown = {
        place: column.width
        for column in opened(made).column_dimensions.values()
        for place in range(column.min - 1, column.max)
    }

    assert min(shown[STARTED], shown[SUBMITTED]) > len("2026-11-22 13:39:44 UTC")


def test_a_response_that_goes_on_has_no_time_of_its_end() -> None:
    made = scenario.project(TEXT, TEXT)
    answered(made, "a")

    ((_, row),) = sheets(content(made, "xlsx"))

    assert row[SUBMITTED] is None


@pytest.mark.parametrize(
    ("moment", "cell"),
    [
        (datetime(1900, 12, 31, 23, 59, 59, tzinfo=UTC), "1900-12-31T23:59:59Z"),
        (datetime(1901, 1, 1, tzinfo=UTC), datetime.fromisoformat("1901-01-01")),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), datetime.fromisoformat("1970-01-01T00:00:01")),
    ],
)
def test_a_time_that_no_spreadsheet_counts_right_is_a_text(moment: datetime, cell: object) -> None:
    made = scenario.project(TEXT)
    answered(made, "a")
    Conversation.objects.update(started_at=moment)

    ((_, row),) = sheets(content(made, "xlsx"))

    assert row[STARTED] == cell


def test_a_csv_has_times_as_texts_as_before() -> None:
    made = scenario.project(TEXT)
    answered(made, "a")

    _, row = lines(content(made))

    assert row[STARTED] == LUNCHTIME.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_numbers_are_numbers_and_what_only_looks_like_one_is_a_text() -> None:
    made = scenario.project(NUMBER, TEXT)
    answered(made, "-4.5", "12")

    ((_, row),) = sheets(content(made, "xlsx"))

    assert row[len(FIXED) :] == [-4.5, "12"]


def test_a_time_that_somebody_wrote_stays_a_text() -> None:
    made = scenario.project(TEXT)
    answered(made, "2026-11-22T12:39:44Z")

    ((_, row),) = sheets(content(made, "xlsx"))

    assert row[len(FIXED) :] == ["2026-11-22T12:39:44Z"]
