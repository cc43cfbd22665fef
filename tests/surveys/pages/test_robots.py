"""What search engines may list (rules 6.226 and 6.227), and short addresses (rule 6.228)."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
NOINDEX = '<meta name="robots" content="noindex">'


@pytest.mark.parametrize(
    ("fields", "query", "is_listed"),
    [
        ({}, "", False),
        ({"indexed": True}, "", True),
        ({"indexed": True}, "?colour=red", True),
        ({"indexed": True}, "?embed=1", False),
        ({"indexed": True, "participation": "private"}, "", False),
    ],
)
def test_search_engines_list_a_public_page_that_wants_it(settings, fields, query, is_listed):
    """Rule 6.226."""
    made = scenario.project(CHOICE, **fields)

    page = Client().get(f"/s/{made.slug}{query}").content.decode()

    assert (NOINDEX in page) != is_listed
    assert (f'<link rel="canonical" href="{settings.BASE_URL}/s/{made.slug}">' in page) == is_listed


def test_a_page_that_is_not_listed_can_still_be_shared():
    page = Client().get(f"/s/{scenario.project(CHOICE, name='Tea?').slug}").content.decode()

    assert '<meta property="og:title" content="Tea?">' in page


def test_robots_read_the_pages_of_surveys_alone():
    """Rule 6.227."""
    response = Client().get("/robots.txt")

    assert response["Content-Type"] == "text/plain; charset=utf-8"
    lines = response.content.decode().splitlines()
    assert lines[0] == "User-agent: *"
    kept_away = [line.removeprefix("Disallow: ") for line in lines[1:]]
    assert "/admin" in kept_away
    assert not [each for each in kept_away if "/s/x".startswith(each) or "/r/x".startswith(each)]


def test_a_short_address_leads_to_the_page_in_any_case_of_letters():
    """Rule 6.228."""
    made = scenario.project(CHOICE, short_code="k7m2pqd")

    response = Client().get("/q/K7M2pqd?colour=red")

    assert response["Location"] == f"/s/{made.slug}?colour=red"


@pytest.mark.parametrize(("code", "fields"), [("k7m2pqe", {}), ("k7m2pqd", {"participation": "private"})])
def test_others_and_those_of_private_projects_lead_nowhere(code, fields):
    """Rule 6.228."""
    scenario.project(CHOICE, short_code="k7m2pqd", **fields)

    assert Client().get(f"/q/{code}").status_code == 404
