"""Conditions as rows, in Delivery and above results and responses, and the way through sections and lists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from surveys.models import Project
from tests.support.browser.sizes import expect_to_fit_everywhere
from tests.support.browser.staff_results import unfold_filters
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.read_answers import read_survey
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")
COLOUR = {**CHOICE, "name": "colour", "prompt": "Which colour?"}
SEVERAL = {"type": "multi_punch", "options": ["chess", "go"], "name": "games", "prompt": "Which **games**?"}


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the page in the folder SHOTS, if that is set."""
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def staff() -> Staff:
    return project_staff()


@pytest.fixture
def open_as(windows) -> Callable[..., Page]:
    """Opens a page of the admin, signed in."""

    def opened(staff: Staff, path: str, **options: object) -> Page:
        page = windows.open("", **options)
        session = staff.client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": windows.address}]
        )
        page.set_default_timeout(30_000)
        page.goto(path)
        return page

    return opened


def unfold(page: Page, title: str) -> None:
    """Open a folded section."""
    page.get_by_role("heading", name=title).click()


def survey(staff: Staff, **fields: Any) -> Project:
    made = scenario.project(COLOUR, SEVERAL, TEXT, community=staff.community, **fields)
    Project.objects.filter(pk=made.pk).update(status="inactive")
    return made


def stored(made: Project) -> Project:
    return Project.objects.get(pk=made.pk)


def test_a_quota_is_built_from_rows(staff, open_as, check_every_look) -> None:
    made = survey(staff)
    page = open_as(staff, tab(made.pk, "delivery"))
    unfold(page, "How many")
    quota = page.locator(".row-of-inputs").first

    quota.get_by_role("button", name="Add a condition").click()
    quota.get_by_label("Block or variable").select_option(label="Which colour?")
    quota.get_by_label("Value", exact=True).select_option("green")
    quota.get_by_role("button", name="Add a condition").click()
    quota.get_by_label("Block or variable").nth(1).select_option(label="Language")
    quota.get_by_label("Value", exact=True).nth(1).fill("en")
    quota.get_by_label("At most").fill("50")
    check_every_look(page)
    shoot(page, "quota")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_text("Set here: Quotas")).to_be_visible()
    unfold(page, "How many")
    [saved] = stored(made).quotas
    assert (saved["where"], saved["limit"]) == ('colour = "green" AND language = "en"', 50)
    quota = page.locator(".row-of-inputs").first
    expect(quota.get_by_label("Block or variable")).to_have_count(2)
    expect(quota.get_by_text("0 of 50 are taken.")).to_be_visible()


def test_rows_and_text_lead_to_each_other(staff, open_as) -> None:
    where = "colour = games"
    made = survey(staff, quotas=[{"where": where, "limit": 3, "message": None}])
    page = open_as(staff, tab(made.pk, "delivery"))
    unfold(page, "How many")
    quota = page.locator(".row-of-inputs").first

    text = quota.get_by_label("Responses with").last
    expect(quota.get_by_text("Rows cannot say this text.")).to_be_visible()
    text.fill('"chess" in games')
    quota.get_by_role("button", name="Build it from rows").click()
    expect(quota.get_by_label("Block or variable")).to_have_count(1)
    quota.get_by_role("button", name="Write it as text").click()
    expect(text).to_have_value('"chess" in games')


def test_what_is_not_finished_is_said(staff, open_as) -> None:
    made = survey(staff)
    page = open_as(staff, tab(made.pk, "delivery"))
    unfold(page, "How many")
    quota = page.locator(".row-of-inputs").first

    quota.get_by_role("button", name="Add a condition").click()
    quota.get_by_label("Block or variable").select_option(label="Language")
    quota.get_by_label("At most").fill("50")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("heading", name="There is a problem")).to_be_visible()
    assert stored(made).quotas == []


def test_a_long_page_has_a_list_of_its_sections(staff, open_as) -> None:
    made = survey(staff, quotas=[{"where": 'colour = "red"', "limit": 3, "message": None}])
    page = open_as(staff, tab(made.pk, "delivery"))

    contents = page.get_by_role("navigation", name="Sections of this page")
    shoot(page, "contents")
    contents.get_by_role("link", name="Robots and crowds").click()

    expect(page.get_by_label("Responses begun in a minute")).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Robots and crowds")).to_be_in_viewport()
    expect(contents).to_be_in_viewport()  # it stays beside the sections
    expect_to_fit_everywhere(page)


def test_the_list_of_responses_fits_a_desk(staff, open_as) -> None:
    """With long names, answers, scores and marks."""
    made = scenario.project(
        {**COLOUR, "options": [{"value": "a" * 60, "label": "A very long label of an option " * 3}, "green"]},
        SEVERAL,
        TEXT,
        community=staff.community,
        was_open_to_web=True,
        hidden_fields=["campaign"],
    )
    for name in ("Maximiliana Featherstonehaugh-Cholmondeley", "b"):
        scenario.say(scenario.begin(made, name), 0, [0, 1], "because " * 20)
    made.conversations.update(is_suspected=True)
    page = open_as(staff, tab(made.pk, "responses"), viewport={"width": 1280, "height": 800})

    shoot(page, "responses-1280")
    sizes = (
        "table => [table.scrollWidth, table.parentElement.clientWidth, document.documentElement.scrollWidth]"
    )
    table, room, whole = page.locator("table.list").first.evaluate(sizes)
    assert (table <= room, whole <= 1280) == (True, True)


def test_a_condition_selects_responses_on_both_tabs(staff, open_as, check_every_look) -> None:
    """Rule 6.265."""
    made = scenario.project(COLOUR, SEVERAL, TEXT, community=staff.community)
    for n, colour in enumerate((0, 0, 1)):
        scenario.say(scenario.begin(made, f"person {n}"), colour, [0], f"because {n}")
    page = open_as(staff, tab(made.pk, "results"))

    unfold_filters(page)
    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Block or variable").select_option(label="Which colour?")
    page.get_by_label("Value", exact=True).select_option("red")
    check_every_look(page)
    shoot(page, "condition")
    page.get_by_role("button", name="Apply").click()

    page.wait_for_url("**where=colour**")
    expect(page.get_by_label("Block or variable")).to_have_count(1)
    page.get_by_role("link", name="Responses", exact=True).click()
    expect(page.get_by_role("link", name="person")).to_have_count(2)
    expect(page.get_by_label("Block or variable")).to_have_count(1)
    shoot(page, "condition-responses")
    expect_to_fit_everywhere(page)


def test_a_row_selects_by_the_themes_that_an_analysis_has_read(staff, open_as) -> None:
    """Rule 6.963."""
    made = read_survey(community=staff.community)
    page = open_as(staff, tab(made.pk, "responses"))

    page.get_by_role("button", name="Add a condition").click()
    page.get_by_label("Block or variable").select_option(label="Themes: Why?")
    page.get_by_label("Price").check()
    page.get_by_role("form", name="Condition").get_by_role("button", name="Apply").click()

    page.wait_for_url("**where=themes**")
    expect(page.get_by_label("Price")).to_be_checked()
    expect(page.locator("table.list tbody tr")).to_have_count(2)


def test_rare_sections_are_folded_and_say_what_is_set(staff, open_as, check_every_look) -> None:
    """Rule 6.295."""
    made = survey(staff, max_completes=9, consent="I agree.")
    page = open_as(staff, tab(made.pk, "delivery"))

    shoot(page, "folded")
    expect(page.get_by_text("Set here: Completions in all")).to_be_visible()
    expect(page.get_by_text("Set here: Consent")).to_be_visible()
    expect(page.get_by_text("Nothing is set here.")).to_have_count(3)
    expect(page.get_by_label("Completions in all")).to_be_hidden()
    check_every_look(page)
    page.get_by_role("heading", name="How many").click()
    page.get_by_label("Completions in all").fill("0")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Completions in all")).to_be_visible()  # a fault opens its section
    check_every_look(page)


def test_the_theme_of_the_embedded_page_is_chosen_by_name(staff, open_as) -> None:
    """Rule 6.296."""
    page = open_as(staff, tab(survey(staff).pk, "share"))

    page.get_by_label("Theme there").select_option("Rose")
    expect(page.get_by_label("Line to paste")).to_have_value(re.compile('data-theme="4" async'))
    page.get_by_label("Theme there").select_option("As the project")
    expect(page.get_by_label("Line to paste")).not_to_have_value(re.compile("data-theme"))


def test_the_look_is_previewed_by_day_and_by_night(staff, open_as) -> None:
    """Rule 6.296."""
    page = open_as(staff, tab(survey(staff).pk, "look"))
    preview = page.frame_locator("iframe").locator("body")
    expect(preview).to_contain_text("Which colour?")
    ground = "body => getComputedStyle(body).color"

    found = []
    for name in ("Day", "Night"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        shoot(page, f"look-{name}")
        found.append(preview.evaluate(ground))

    assert found[0] != found[1]
