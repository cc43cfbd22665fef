"""Ends that screen out and questions that were added later, as staff see them in a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from surveys.models import Project
from tests.support.browser import editor
from tests.support.browser.sizes import expect_to_fit_everywhere
from tests.support.browser.staff_results import for_staff
from tests.support.caller import Caller
from tests.support.surveys.participants import Talk
from tests.support.surveys.places import open_to_all

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages
AGE: dict[str, Any] = {"type": "open_numeric", "name": "age", "prompt": "How old are you?", "required": True}
GAME: dict[str, Any] = {
    "type": "single_punch",
    "name": "game",
    "prompt": "What do you play?",
    "options": [{"value": "blitz", "label": "Blitz"}, {"value": "long", "label": "Long games"}],
}
WHY: dict[str, Any] = {"type": "open_text", "name": "why", "prompt": "Why?", "precondition": 'game != "long"'}
ENDS = [
    {"where": "age < 18", "message": "Adults only. Thank you!", "screen_out": True},
    {"where": 'game = "blitz"', "url": "https://example.com/blitz", "label": "To the tournament"},
]


def picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_the_flow_tells_the_ends(windows: Any, check_every_look: Any) -> None:
    """Rule 6.418."""
    page = editor.opened(windows, AGE, GAME, WHY, settings={"ends": ENDS})
    page.get_by_role("button", name="Flow").click()
    dialog = page.get_by_role("dialog", name="Flow of the script")

    ends = dialog.get_by_role("list", name="Ends").get_by_role("listitem")
    expect(ends).to_have_text(
        [
            "When age is less than 18: Screened out after 1 · age. Shows “Adults only. Thank you!”.",
            "When game is Blitz: Shows the thanks, with a button to https://example.com/blitz.",
            "Otherwise: Shows the thanks.",
        ]
    )
    check_every_look(page)
    picture(page, "flow")
    dialog.get_by_role("button", name="List").click()
    expect(dialog).to_contain_text("Leads to Screened out when age is less than 18; 2 · game")
    check_every_look(page)
    picture(page, "flow-other")


def test_staff_find_who_was_screened_out(windows: Any, check_every_look: Any) -> None:
    """Rule 6.417."""
    caller = Caller()
    project = open_to_all(caller, AGE, GAME, WHY, ends=ENDS)
    for age in (17, 12):
        Talk(caller, project, language="de").answer(age)
    Talk(caller, project).answer(30)
    made = Project.objects.get(pk=project["id"])
    page = for_staff(windows, made, tab="delivery")

    expect(page.get_by_text("Screened out: 2.")).to_be_visible()
    check_every_look(page)
    if PICTURES:
        rows = page.get_by_role("group", name="Other ends")
        rows.screenshot(path=Path(PICTURES) / "ends.png")
    page.goto(f"/admin/surveys/project/{made.pk}/responses/")
    picture(page, "responses")
    page.get_by_role("link", name="2 responses").click()
    expect(page.get_by_text("Screened out", exact=True).first).to_be_visible()
    check_every_look(page)
    picture(page, "screened-out")
    page.get_by_role("link", name="Unnamed visitor").first.click()
    expect(page.get_by_text("German")).to_be_visible()
    expect(page.get_by_text("Not shown")).to_have_count(0)
    picture(page, "response")
    page.goto(f"/admin/surveys/project/{made.pk}/results/over-time/")
    expect(page.get_by_text("2 responses were screened out.")).to_be_visible()
    picture(page, "over-time")


def test_results_say_since_when_a_question_is_asked(windows: Any, check_every_look: Any) -> None:
    """Rule 6.420."""
    caller = Caller()
    project = open_to_all(caller, GAME, share_results=True)
    Talk(caller, project).answer("blitz")
    [game] = project["script"]["blocks"]
    more = {**game, "options": [*game["options"], {"value": "blind", "label": "Blindfold"}]}
    caller.put(f"/projects/{project['id']}/script", {"blocks": [more, {**AGE, "required": False}]})
    talk = Talk(caller, project)
    talk.answer("blind")
    talk.answer(30)
    made = Project.objects.get(pk=project["id"])
    page = for_staff(windows, made)

    age = page.get_by_role("region", name="How old are you?")
    expect(age).to_contain_text("1 answer · asked since")
    expect(age).to_contain_text("1 response could see it")
    expect(page.get_by_role("region", name="What do you play?")).to_contain_text("Blindfold (since")
    check_every_look(page)
    picture(page, "since")
    page.goto(f"/r/{made.results_token}")
    expect(page.get_by_role("region", name="How old are you?")).to_contain_text("asked since")
    expect_to_fit_everywhere(page)
    picture(page, "since-shared")
