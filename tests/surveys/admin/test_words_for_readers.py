"""What people who read answers see in words: consent, days, groups, and what is counted."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from tests.support.moments import LUNCHTIME
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db
DATE = {"type": "open_text", "format": "date", "prompt": "Which day?"}
MATRIX = {"type": "rating", "min": 1, "max": 3, "group": "How was **it**?"}


@pytest.fixture
def staff() -> Staff:
    return project_staff()


def read(staff: Staff, made: Any, name: str, *args: object) -> str:
    return " ".join(unescape(staff.read(tab(made.pk, name, *args))).split())


def test_a_response_shows_what_was_agreed_to_and_when(staff: Staff) -> None:
    """Rule 6.253."""
    made = scenario.project(TEXT, TEXT, community=staff.community, consent="I agree\nto <this>.")
    other = scenario.project(TEXT, community=staff.community)
    agrees = admission.agreeing(admission.NAMELESS, made.consent or "")
    begun = conversations.begin(project_id=made.pk, respondent=agrees, at=LUNCHTIME)
    response = scenario.say(begun, "x").conversation.pk
    without = scenario.say(scenario.begin(other, "p"), "x").conversation.pk

    page = read(staff, made, "response", response)

    assert re.search(r"Agreed to</h2> <p class=\"agreed\">I agree to <this>.</p>", page)
    assert f'Agreed at <time datetime="{LUNCHTIME:%Y-%m-%dT%H:%M}' in page
    assert "Agreed to" not in read(staff, other, "response", without)


def test_days_are_read_as_people_write_them(staff: Staff) -> None:
    """Rule 6.254."""
    made = scenario.project(DATE, community=staff.community)
    response = scenario.say(scenario.begin(made, "p"), "2026-01-31").conversation.pk
    block_id = scenario.script(made).blocks[0].id

    pages = [
        read(staff, made, "responses"),
        read(staff, made, "response", response),
        read(staff, made, "results"),
        read(staff, made, "results_answers", block_id),
    ]

    assert ["31 Jan 2026" in page for page in pages] == [True] * 4
    assert not any(">2026-01-31<" in page for page in pages)


def test_results_name_the_title_that_questions_share(staff: Staff) -> None:
    """Rule 6.255."""
    made = scenario.project(MATRIX, MATRIX, TEXT, community=staff.community, share_results=True)
    scenario.say(scenario.begin(made, "p"), 1, 2, "x")

    page = read(staff, made, "results")
    public = staff.client.get(f"/r/{made.results_token}").content.decode()

    assert page.count(">How was it?</p>") == 2
    assert public.count(">How was it?</p>") == 2


def test_the_header_says_how_many_responses_are_partial(staff: Staff) -> None:
    """Rule 6.256."""
    made = scenario.project(TEXT, TEXT, community=staff.community)
    for name in ("a", "b"):
        scenario.say(scenario.begin(made, name), "x", "y")
    scenario.say(scenario.begin(made, "c"), "x")

    header = staff.client.get(tab(made.pk)).context["header"]

    assert header.count == "3 responses, 1 of them partial"
