"""Days in filters of responses are in the time zone of all other times on the page."""

import re

import pytest

from tests.factories import CommunitySettingsFactory
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import look, respond, superuser, tab
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db

OSLO = "Days are in Europe/Oslo."
ROUNDED = "Days are in UTC, because the times of answers are rounded to days of UTC here."


def in_zone(zone, **fields):
    """A project with one response from LUNCHTIME, in a community with this time zone."""
    made = scenario.project(TEXT, **fields)
    CommunitySettingsFactory.create(community=made.community, time_zone=zone)
    respond(made, "Fine.")
    return made


def counted(page):
    return re.findall(r"<dt>Responses</dt><dd>(\d+)", page)[0]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"privacy_mode": "semi-private"}, OSLO),
        ({"privacy_mode": "anonymous", "rounds_times_to_day": True}, ROUNDED),
    ],
)
def test_pages_name_one_zone_for_days_and_times(fields, expected):
    client, made = superuser(), in_zone("Europe/Oslo", **fields)
    answers = tab(made.pk, "results_answers", scenario.script(made).blocks[0].id)

    pages = [client.get(address) for address in (tab(made.pk), tab(made.pk, "responses"), answers)]

    for page in pages:
        assert expected in page.content.decode()


def test_an_anonymous_answer_is_found_on_the_day_that_its_time_shows():
    """12:34 UTC is after midnight in Auckland, on the first of February."""
    client, made = superuser(), in_zone("Pacific/Auckland", privacy_mode="anonymous")

    found = {
        (page, days): look(client, made, f"?{days}", page=page)
        for page, days in [
            ("results", "submitted_after=2026-02-01"),
            ("results", "submitted_before=2026-01-31"),
            ("responses", "from=2026-02-01"),
            ("responses", "to=2026-01-31"),
        ]
    }

    assert [counted(page) for (tab, _), page in found.items() if tab == "results"] == ["1", "0"]
    assert ["1 Feb 2026, 01:00" in page for (tab, _), page in found.items() if tab == "responses"] == [
        True,
        False,
    ]
