"""Times before 1970 and after 9999 are refused by their field's name, everywhere (rule 1.5)."""

from __future__ import annotations

import pytest

from communities.gate.fields import UtcDateTimeField
from tests.support.caller import Caller
from tests.support.text_fields import text_fields
from tests.support.trouble_texts import send, trouble_place

IMPOSSIBLE = (
    "0001-01-01T00:00:00Z",
    "0999-12-31T00:00:00+14:00",
    "1969-12-31T23:59:59Z",
    "1970-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-12:00",
    "10000-01-01T00:00:00Z",
)
POSSIBLE = ("1970-01-01T00:00:00Z", "2026-01-31t09:30:00z", "9999-12-31T23:59:59z")
FIELDS = [field for field in text_fields() if field.format == "date-time"]


@pytest.mark.django_db
def test_every_time_is_between_1970_and_9999() -> None:
    place = trouble_place(Caller("admin"))

    wrong = [
        (field.name, time, outcome.status)
        for field in FIELDS
        for time in IMPOSSIBLE
        if (outcome := send(field, time, place)).status != 400 or not outcome.is_right(field, "signs")
    ]
    failed = [
        (field.name, time, outcome.status)
        for field in FIELDS
        for time in POSSIBLE
        if (outcome := send(field, time, place)).status >= 500
    ]

    assert wrong == []
    assert failed == []
    assert len(FIELDS) > 15


@pytest.mark.django_db
def test_every_time_needs_an_offset() -> None:
    """Rule 1.4."""
    place = trouble_place(Caller("admin"))

    outcomes = [(field, send(field, "2026-01-31T09:30:00", place)) for field in FIELDS]

    assert [(field.name, outcome.status) for field, outcome in outcomes if outcome.status != 400] == []
    assert [field.name for field, outcome in outcomes if not outcome.is_right(field, "signs")] == []


def test_letters_of_a_time_may_be_small() -> None:
    field = UtcDateTimeField()

    assert field.run_validation("2026-01-31t09:30:00z") == field.run_validation("2026-01-31T09:30:00Z")
