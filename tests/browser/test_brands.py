"""Brands in a real browser: pages are readable, the tab Look shows them, and staff upload pictures."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from PIL import Image, ImageDraw
from playwright.sync_api import Page, expect

from communities.models import CommunitySettings, Picture
from surveys.models import Project
from tests.support.browser import editor
from tests.support.browser.controls import choose, go_on
from tests.support.caller import CHOICE as SENT_CHOICE
from tests.support.caller import Caller
from tests.support.pictures import copied, drawn
from tests.support.staff import Staff
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import project_staff, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")
LOGO, GROUND = "https://club.example/logo.png", "https://club.example/ground.png"
BRANDS: dict[str, dict[str, Any]] = {
    "yellow": {"accent_color": "ffee00", "font": "rounded", "corners": "round", "logo_url": LOGO},
    "picture": {"accent_color": "c2185b", "background_url": GROUND, "font": "serif", "logo_url": LOGO},
    "night": {"accent_color": "8fd0ff", "background_color": "101040", "corners": "square", "logo_url": LOGO},
    "orange": {"background_color": "ff8a3c", "font": "sans"},
}


def shoot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"), full_page=True)


def file_of(width: int, height: int, colours: tuple[str, str]) -> bytes:
    """Stripes of two colours."""
    picture = Image.new("RGB", (width, height), colours[0])
    pen = ImageDraw.Draw(picture)
    for x in range(0, width, 40):
        pen.line((x, 0, x + height, height), fill=colours[1], width=14)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def pictures() -> None:
    community_id = scenario.community().pk
    copied(community_id, LOGO, width=300, height=90)
    row = copied(community_id, GROUND, width=800, height=600)
    Picture.objects.filter(pk=row.pk).update(content=file_of(800, 600, ("#204020", "#f0e0a0")))


@pytest.mark.parametrize("name", BRANDS)
@pytest.mark.usefixtures("pictures")
def test_a_page_with_a_brand_is_readable(
    name: str, windows: Any, check_every_look: Callable[[Page], None]
) -> None:
    """Rule 6.195."""
    CommunitySettings.objects.create(community=scenario.community(), **BRANDS[name])
    made = scenario.project(CHOICE, TEXT, name="Your year at the club", presentation={"branding": "Club"})
    page = windows.open(f"/s/{made.slug}")

    shoot(page, f"{name}-1")
    check_every_look(page)
    choose(page, "red")
    go_on(page)
    expect(page.get_by_text("Prompt 1.")).to_be_visible()
    shoot(page, f"{name}-2")
    check_every_look(page)
    page.emulate_media(color_scheme="dark")
    shoot(page, f"{name}-dark")
    page.emulate_media(color_scheme="light", forced_colors="active")
    shoot(page, f"{name}-forced")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundImage") == "none"


# --- Pages for staff ----------------------------------------------------------------------------------


@pytest.fixture
def staff() -> Staff:
    return project_staff()


@pytest.fixture
def open_as(windows: Any) -> Callable[..., Page]:
    def opened(staff: Staff, path: str, **options: object) -> Page:
        page: Page = windows.open("", **options)
        session = staff.client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies(
            [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": windows.address}]
        )
        page.set_default_timeout(30_000)
        page.goto(path)
        return page

    return opened


def test_a_logo_is_uploaded_and_colours_are_corrected_in_the_preview(
    staff: Staff, open_as: Callable[..., Page], check_every_look: Callable[[Page], None]
) -> None:
    """Rule 6.197."""
    made = scenario.project(CHOICE, name="Your year at the club", author=staff.user)
    Project.objects.update(delivery=None)
    page = open_as(staff, tab(made.pk, "look"))
    preview = page.frame_locator("iframe")

    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Upload a picture: Logo").click()
    chosen.value.set_files(
        {"name": "logo.png", "mimeType": "image/png", "buffer": file_of(300, 90, ("#cc0044", "#ffffff"))}
    )
    expect(preview.locator("img.logo")).to_be_visible(timeout=30_000)
    page.get_by_label("Accent colour", exact=True).fill("#ffee00")
    expect(page.get_by_text("#ffee00 is too light for this page")).to_be_visible(timeout=30_000)
    page.get_by_label("Serif", exact=True).check()
    check_every_look(page)
    shoot(page, "look-tab")
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("status").get_by_text("Saved.", exact=True)).to_be_visible(timeout=30_000)
    stored = Project.objects.get(pk=made.pk).presentation
    assert stored is not None
    assert (stored["accent_color"], stored["font"], stored["theme_id"]) == ("ffee00", "serif", None)
    assert stored["logo_url"] == Picture.objects.get(is_uploaded=True).address


def test_the_page_of_a_community_previews_its_brand(
    staff: Staff, open_as: Callable[..., Page], check_every_look: Callable[[Page], None]
) -> None:
    """Rule 6.197."""
    page = open_as(staff, f"/admin/communities/communitysettings/{staff.community.pk}/change/")
    preview = page.frame_locator("iframe")
    expect(page.get_by_role("heading", name="Brand")).to_be_visible()

    page.get_by_role("textbox", name="Accent colour optional").fill("#ffee00")
    page.get_by_label("Corners").select_option("square")

    expect(page.get_by_text("#ffee00 is too light for this page")).to_be_visible(timeout=30_000)
    expect(preview.get_by_text("What brings you here?")).to_be_visible()
    expect(preview.locator('link[href*="/brands/ffee00.-.-.square"]')).to_be_attached()
    check_every_look(page)
    shoot(page, "brand-of-community")


def test_an_option_gets_an_uploaded_picture_and_a_fault_is_said(windows: Any) -> None:
    """Rule 1.50."""
    caller = Caller()
    project = editor.new_project(caller, SENT_CHOICE)
    page = editor.open_editor(windows, caller, project)
    page.get_by_label("Pictures", exact=True).check()

    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Upload a picture: Option 1").click()
    chosen.value.set_files({"name": "a.svg", "mimeType": "image/svg+xml", "buffer": b"<svg/>"})
    expect(page.get_by_text("The file is no picture that can be shown.").first).to_be_visible()
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Upload a picture: Option 1").click()
    chosen.value.set_files({"name": "a.png", "mimeType": "image/png", "buffer": drawn(size=(90, 60))})
    expect(page.locator(".option-file .thumbnail").first).to_be_visible()
    shoot(page, "editor-option")
    editor.save(page)

    (block,) = editor.stored(caller, project)
    assert block["options"][0]["image_url"] == Picture.objects.get().address


def test_every_section_of_the_tab_is_laid_out_alike(staff: Staff, open_as: Callable[..., Page]) -> None:
    made = scenario.project(CHOICE, author=staff.user)
    page = open_as(staff, tab(made.pk, "look"))
    laid_out = """all => all.map(each => {
        const [body, title] = [".setting-body", "h2"].map(name => each.querySelector(name));
        const [outer, inner] = [each, body].map(one => one.getBoundingClientRect());
        const { fontWeight, fontSize, color } = getComputedStyle(title);
        return [inner.left - outer.left, inner.width - outer.width, fontWeight, fontSize, color].join();
    })"""

    shoot(page, "look-sections")
    sections = page.locator(".setting")

    assert sections.count() > 5
    assert len({*sections.evaluate_all(laid_out)}) == 1
