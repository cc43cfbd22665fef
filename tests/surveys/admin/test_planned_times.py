"""A new time zone of a community: planned times stay at the same moment, and the page says so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from surveys.models import Project
from surveys.services.ground import field_groups
from tests.factories import CommunitySettingsFactory, ProjectFactory
from tests.support.staff import Staff, text_of
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab

pytestmark = pytest.mark.django_db

PAGE = "communities_communitysettings_change"
SUMMER, WINTER = datetime(2150, 7, 1, 7, tzinfo=UTC), datetime(2150, 12, 1, 8, tzinfo=UTC)


@pytest.fixture(scope="module")
def staff(kept_rows: None) -> Staff:
    made = project_staff()
    CommunitySettingsFactory.create(community=made.community, time_zone="Europe/Oslo")
    return made


def project(name: str, **fields: Any) -> Project:
    return ProjectFactory.create(**{"community": scenario.community(), "name": name, **fields})


def move_to(staff: Staff, zone: str) -> Any:
    values = {"time_zone": zone, "initial-time_zone": "Europe/Oslo", "name": "C", "initial-name": "C"}
    return staff.post(PAGE, staff.community.pk, follow=True, **values)


def test_planned_openings_and_closings_are_named_with_both_times(staff: Staff) -> None:
    closing = {"closing": {"mode": "scheduled", "time": WINTER}}
    waits = project("Waits", opens_at=SUMMER, closes_at=WINTER)
    project("Draft <b>", delivery=field_groups.merged("delivery", None, closing))
    project(
        "Over", delivery=field_groups.merged("delivery", None, {"closing": {**closing, "mode": "manual"}})
    )
    project("Runs", status="active")

    page = move_to(staff, "America/New_York")

    text = text_of(page)
    assert "at another time of day in America/New_York" in text
    assert "Waits opens 1 Jul 2150, 03:00 EDT (was 1 Jul 2150, 09:00 CEST )" in text
    assert "Waits closes 1 Dec 2150, 03:00 EST (was 1 Dec 2150, 09:00 CET )" in text
    assert "Draft &lt;b&gt; is planned to close 1 Dec 2150, 03:00 EST" in text
    assert "Over" not in text
    assert "Runs" not in text
    assert f'<a href="{tab(waits.pk, "delivery")}">Waits</a>' in page.content.decode()
    waits.refresh_from_db()
    assert (waits.opens_at, waits.closes_at) == (SUMMER, WINTER)
