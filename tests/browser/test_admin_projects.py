"""Projects in the admin, in a real browser: by mouse, by keyboard, on a phone; axe finds nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from communities.models import Community
from surveys.models import Project
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import LIST, project_staff, tab
from tests.support.surveys.scenario import CHOICE, TEXT
from webhooks.models import Webhook

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")


def shoot(page: Page, name: str) -> None:
    """Keep a picture of the page in the folder SHOTS, if that is set."""
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


@pytest.fixture
def staff() -> Staff:
    admin = project_staff()
    Community.objects.update(active_project_count=9)
    return admin


@pytest.fixture
def open_as(windows) -> Callable[..., Page]:
    """Opens a page of the admin, signed in."""

    def opened(staff: Staff, path: str, **options: object) -> Page:
        page = windows.open("", **options)
        session = staff.client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": windows.address}]
        )
        page.set_default_timeout(30_000)  # these pages and axe share the cores with other tests
        page.goto(path)
        return page

    return opened


def projects(staff: Staff) -> list[Project]:
    made = scenario.project(CHOICE, TEXT, name="Your year at the club", author=staff.user)
    for n in range(3):
        scenario.say(scenario.begin(made, f"p{n}"), 0, "Because")
    scenario.say(scenario.begin(made, "p9"), 0)
    poll = scenario.poll(name="Where do we eat on Thursday?", author=staff.user)
    draft = scenario.project(
        CHOICE, name="New members", status="inactive", opened_at=None, participation="private"
    )
    Project.objects.update(delivery=None)  # factories write a part of it, services all
    return [made, poll, draft]


def test_deleting_and_undoing_by_keyboard(staff, open_as, check_accessibility) -> None:
    _, _, draft = projects(staff)
    page = open_as(staff, LIST)
    shoot(page, "list")
    check_accessibility(page)

    page.get_by_label("Select New members").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Delete “New members”?")).to_be_visible()
    shoot(page, "delete")
    check_accessibility(page)
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_text("“New members” is deleted. Until")).to_be_visible()
    shoot(page, "deleted")
    check_accessibility(page)
    page.get_by_role("button", name="Undo").press("Enter")

    expect(page.get_by_role("link", name="New members")).to_be_visible()
    assert Project.objects.filter(pk=draft.pk).exists()


def test_a_new_project_is_opened_on_a_phone(staff, open_as, check_accessibility, check_contrast) -> None:
    draft = projects(staff)[2]
    page = open_as(staff, "/admin/", phone=True)
    page.get_by_role("link", name="New project").click()
    shoot(page, "new")
    check_accessibility(page)
    page.goto(LIST)
    shoot(page, "list-phone")
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#menu > summary").click()
    link = page.locator(".row-title a").last.bounding_box()
    page.mouse.click(380, link["y"] + link["height"] / 2)
    expect(page.locator("#menu")).not_to_have_attribute("open", "")
    expect(page).to_have_url(re.compile(f"{LIST}$"))

    page.goto(tab(draft.pk, "open"))
    shoot(page, "open")
    check_accessibility(page)
    page.emulate_media(color_scheme="dark")
    check_contrast(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Open", exact=True).click()

    expect(page.get_by_text("“New members” is open")).to_be_visible(timeout=30_000)
    assert Project.objects.get(pk=draft.pk).status == "active"


@pytest.mark.parametrize("phone", [False, True])
def test_the_one_button_that_opens_stays_in_view_below_what_its_choices_need(staff, open_as, phone) -> None:
    *_, draft = projects(staff)
    page = open_as(staff, tab(draft.pk, "open"), phone=phone)
    channel, opens = page.locator("#field-post_channel_id"), page.get_by_role("group", name="Opens")

    expect(page.get_by_role("link", name="Open", exact=True)).to_have_count(0)
    button = page.get_by_role("button", name="Open", exact=True)
    expect(button).to_have_count(1)
    opens.scroll_into_view_if_needed()
    expect(button).to_be_in_viewport(ratio=1)

    expect(channel).to_be_hidden()
    page.get_by_role("radio", name="In the chat").check()
    expect(channel).to_be_visible()
    opens.get_by_role("radio", name="At a time").check()
    expect(page.get_by_role("button", name="Schedule the opening", exact=True)).to_be_visible()
    opens.get_by_role("radio", name="Now").check()
    expect(button).to_be_visible()


def test_on_a_phone_the_present_tab_is_in_view(staff, open_as) -> None:
    survey, *_ = projects(staff)
    page = open_as(staff, tab(survey.pk, "delivery"), phone=True)
    last = page.locator(".tabs a").last

    last.click()

    expect(last).to_have_attribute("aria-current", "page")
    expect(last).to_be_in_viewport(ratio=1)


def test_every_tab_of_settings_is_accessible_and_fits(staff, open_as, check_every_look) -> None:
    survey = projects(staff)[0]
    page = open_as(staff, tab(survey.pk, "delivery"))
    for name in ("delivery", "look", "rewards", "share"):
        page.goto(tab(survey.pk, name))
        shoot(page, name)
        check_every_look(page)


def test_the_look_is_previewed_as_it_is_chosen_and_saved(staff, open_as) -> None:
    survey = projects(staff)[0]
    page = open_as(staff, tab(survey.pk, "look"))
    preview = page.frame_locator("iframe")

    page.get_by_label("Rose").check()
    expect(preview.locator('[data-theme="4"]')).to_be_attached(timeout=30_000)
    page.get_by_label("Branding").fill("The harbour club")
    expect(preview.get_by_text("The harbour club")).to_be_attached(timeout=30_000)
    expect(page.get_by_text("Not saved yet")).to_be_visible()
    shoot(page, "look-chosen")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("status").get_by_text("Saved.", exact=True)).to_be_visible(timeout=30_000)
    stored = Project.objects.get(pk=survey.pk).presentation
    assert stored is not None
    assert (stored["theme_id"], stored["branding"]) == (4, "The harbour club")


def test_a_double_click_makes_one_webhook_and_shows_its_secret(open_as, staff: Staff) -> None:
    page = open_as(staff, "/admin/webhooks/webhook/add/")
    page.get_by_label("URL").fill("https://listener.example/hook")

    page.get_by_role("button", name="Create webhook").dblclick()

    expect(page.get_by_text("Signing secret")).to_be_visible()
    assert Webhook.objects.count() == 1


def test_the_preview_of_the_post_follows_what_is_typed(open_as, staff: Staff) -> None:
    made = scenario.project(CHOICE, status="inactive")
    page = open_as(staff, tab(made.pk, "delivery"))

    page.get_by_role("heading", name="Invitation").click()  # opens the section
    page.get_by_label("Message", exact=True).fill("Come **all** <b>of you</b>")

    shown = page.locator("[data-post-preview]")
    expect(shown).to_contain_text("Come all <b>of you</b>")
