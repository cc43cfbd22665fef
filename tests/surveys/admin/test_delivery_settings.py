"""The tab Delivery: consent, places, the page, ends, and how long responses are kept."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import Project
from surveys.services.ground import lookup
from surveys.services.representations import script
from surveys.services.representations.project import project_as_json
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import LIST, draft, form_of, project_staff, send, tab
from tests.support.surveys.scenario import CHOICE

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> Staff:
    return project_staff()


def told(made: Project) -> dict[str, Any]:
    stored = lookup.with_details([made.pk])[made.pk]
    return project_as_json(stored, at=timezone.now())


def test_a_project_is_given_all_settings(staff: Staff) -> None:
    made = draft()

    send(
        staff,
        made,
        "delivery",
        consent="I agree.",
        keep_responses_days="90",
        max_completes="30",
        review="on",
        advance_on_choice=None,
        end_url="https://example.com/",
        end_label="Home",
        end_redirect="on",
        **{
            "quotas-0-where": 'language = "de"',
            "quotas-0-limit": "20",
            "quotas-0-message": "Enough.",
            "quotas-1-where": "",
            "ends-1-where": 'language = "en"',
            "ends-1-url": "https://example.com/en",
        },
    )

    settings = told(made)["settings"]
    assert settings["consent"] == "I agree."
    assert (settings["keep_responses_days"], settings["max_completes"]) == (90, 30)
    assert (settings["review"], settings["advance_on_choice"]) == (True, False)
    assert settings["end"] == {"url": "https://example.com/", "label": "Home", "redirect": True}
    assert settings["quotas"] == [{"where": 'language = "de"', "limit": 20, "message": "Enough."}]
    end = {"where": 'language = "en"', "message": None, "url": "https://example.com/en", "label": None}
    assert settings["ends"] == [{**end, "redirect": False, "screen_out": False}]


def test_what_is_set_is_shown_and_saved_again_unchanged(staff: Staff) -> None:
    made = draft()
    quotas = [{"where": 'language = "de"', "limit": 20, "message": None}]
    Project.objects.filter(pk=made.pk).update(quotas=quotas)
    before = told(made)

    form = form_of(staff.client.get(tab(made.pk, "delivery")))
    assert (form["quotas-0-where"], form["quotas-0-limit"]) == ('language = "de"', 20)
    send(staff, made, "delivery")

    assert told(made)["settings"] == before["settings"]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"quotas-0-where": "colr = 1", "quotas-0-limit": "1"}, "Row 1: “where”: No block or variable"),
        ({"ends-0-where": 'language = "de"', "ends-0-url": "http://example.com"}, "begins with https://"),
    ],
)
def test_faults_stand_at_their_fields_and_keep_what_was_typed(
    staff: Staff, typed: dict[str, Any], words: str
) -> None:
    made = draft()
    address = tab(made.pk, "delivery")
    form = form_of(staff.client.get(address))

    answer = staff.client.post(address, {**form, **typed})

    page = answer.content.decode()
    assert words in page.replace("&quot;", '"')
    assert all(value.replace('"', "&quot;") in page for value in typed.values())
    assert told(made)["settings"]["quotas"] == []


def test_the_tab_says_how_far_each_limit_is_used(staff: Staff) -> None:
    made = draft()
    scenario.write(made, CHOICE)
    quotas = [{"where": 'q0 = "a"', "limit": 1, "message": None}]
    Project.objects.filter(pk=made.pk).update(max_completes=5, quotas=quotas)

    page = staff.client.get(tab(made.pk, "delivery")).content.decode()

    assert "Empty: any number. 0 of 5 are taken." in page
    assert "0 of 1 are taken." in page


@pytest.mark.parametrize(
    ("access", "privacy", "count"),
    [
        ("creator", "anonymous", 0),
        ("creator", "transparent", 0),
        ("admin", "anonymous", 2),
    ],
)
def test_people_who_only_edit_see_no_figures_of_limits(
    staff: Staff, access: str, privacy: str, count: int
) -> None:
    """Rule 7.122."""
    made = draft()
    scenario.write(made, CHOICE)
    quotas = [{"where": 'q0 = "a"', "limit": 1, "message": None}]
    Project.objects.filter(pk=made.pk).update(max_completes=5, quotas=quotas, privacy_mode=privacy)

    reader = staff.beside(access)
    if access == "creator":
        reader.given("edit", made.pk)
    page = reader.client.get(tab(made.pk, "delivery")).content.decode()

    assert page.count(" are taken.") == count


def test_a_quota_on_an_unknown_option_warns(staff: Staff) -> None:
    """Rule 6.250."""
    made = draft()
    scenario.write(made, {**CHOICE, "name": "colour"})
    quotas = [{"where": 'colour = "rde" OR language = "xx"', "limit": 1, "message": None}]
    ends = [{"where": 'colour = "green"', "message": "!", "url": None, "label": None, "redirect": False}]
    Project.objects.filter(pk=made.pk).update(quotas=quotas, ends=ends)

    page = unescape(staff.client.get(tab(made.pk, "delivery")).content.decode())
    made.refresh_from_db()
    found = script.warnings_about(made, scenario.script(made))

    assert page.count("Warning: ") == 1
    assert 'compares colour with "rde", which is the value of none of its options.' in page
    assert [(each["field"], each["code"], each["block_id"]) for each in found] == [
        ("settings.quotas[0].where", "unknown_value", None)
    ]


@pytest.mark.parametrize(("most", "word"), [(2, "Open"), (1, "Open, full"), (None, "Open")])
def test_a_full_project_says_so_in_its_header(staff: Staff, most: int | None, word: str) -> None:
    """Rule 6.251."""
    made = scenario.project(CHOICE, community=staff.community, max_completes=most)
    scenario.say(scenario.begin(made, "p"), 0)

    page = staff.client.get(tab(made.pk, "delivery"))
    projects = staff.client.get(LIST).content.decode()

    assert page.context["header"].state.word == word
    assert f">{word}</span>" in projects
