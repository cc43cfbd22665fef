"""The site /docs in Chromium: readable and usable by everybody, and a key that stays in memory alone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.support.browser.sizes import PHONE, expect_to_fit
from tests.support.caller import TEXT, Caller
from tests.support.cases import try_each

pytestmark = pytest.mark.django_db(transaction=True)
LONGEST_LINE = 80  # characters
LINES = """() => [...document.querySelectorAll("main p, main li, main dd")].map((element) => {
  const range = document.createRange(), lengths = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let top = null, count = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (let at = 0; at < node.length; at++) {
      range.setStart(node, at); range.setEnd(node, at + 1);
      const box = range.getBoundingClientRect();
      if (!box.width) continue;
      if (top === null || box.top > top + 12) { lengths.push(count); count = 0; top = box.top; }
      count++;
    }
  }
  return Math.max(count, ...lengths);
})"""


@try_each(
    "path",
    [
        "/docs",
        "/docs/write-a-script",
        "/docs/use-logic",
        "/docs/errors-and-limits",
        "/docs/reference",
        "/docs/reference/conversations",
    ],
)
def test_a_page_is_accessible_and_fits(path: str, windows: Any, check_every_look: Any) -> None:
    page = windows.open(path)

    check_every_look(page)

    assert max(page.evaluate(LINES)) <= LONGEST_LINE


def test_a_page_can_be_read_without_scripts(windows: Any) -> None:
    """Rule 11.60."""
    page = windows.open("/docs", java_script_enabled=False)

    for language in ("curl", "Python", "TypeScript"):
        expect(page.locator("figcaption", has_text=language).first).to_be_visible()
    expect(page.get_by_role("combobox")).to_be_hidden()


def test_the_search_works_by_keyboard_and_offline(windows: Any) -> None:
    """Rule 11.61."""
    page = windows.open("/docs")

    page.keyboard.press("/")
    with page.expect_response("**/docs/search.json"):
        page.keyboard.type("webhook-id")
    expect(page.get_by_role("option").first).to_be_visible()
    page.context.set_offline(True)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("largest anonym")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(page.get_by_role("status").first).to_have_text("Nothing was found")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("rule 11.61")
    expect(page.get_by_role("option").first).to_contain_text("The search runs in the page")
    page.context.set_offline(False)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")

    page.wait_for_url("**/docs/errors-and-limits#rule-11.61")


def test_a_language_is_chosen_for_all_samples_and_remembered(windows: Any) -> None:
    page = windows.open("/docs")

    page.get_by_role("button", name="Python").first.click()
    page.goto("/docs/keep-a-copy")

    expect(page.get_by_text("import sqlite3")).to_be_visible()
    expect(page.get_by_role("button", name="Python").first).to_have_attribute("aria-pressed", "true")


def test_the_menu_opens_on_a_phone(windows: Any) -> None:
    page = windows.open("/docs", phone=True)

    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Keep a copy").first.click()

    expect(page.get_by_role("heading", name="Keep a copy", level=1)).to_be_visible()
    page.set_viewport_size(PHONE)
    expect_to_fit(page)


def typed_key(page: Page, caller: Caller) -> None:
    with page.expect_response("**/v1/communities"):
        page.get_by_label("API key").fill(caller.secret)
        page.get_by_label("API key").blur()


def test_an_operation_is_tried_with_a_key_that_stays_in_memory(windows: Any) -> None:
    """Rule 11.63."""
    caller = Caller("admin")
    project = caller.make_open(TEXT)
    page = windows.open("/docs/reference/projects")
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if request.method != "GET" else None)

    typed_key(page, caller)
    reading = page.locator("section", has=page.locator("#projects_list"))
    reading.get_by_text("Try it").click()
    reading.get_by_role("button", name="Send").click()
    expect(reading.get_by_role("status")).to_have_text("200 OK")
    expect(reading.get_by_label("The response")).to_contain_text(project["name"])

    closing = page.locator("section", has=page.locator("#projects_close"))
    closing.get_by_text("Try it").click()
    closing.get_by_label("project_id").fill(project["id"])
    closing.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Cancel").click()
    assert sent == []
    closing.get_by_role("button", name="Send").click()
    page.get_by_role("dialog").get_by_role("button", name="Send").click()
    expect(closing.get_by_role("status")).to_have_text("200 OK")

    assert [request.method for request in sent] == ["POST"]
    kept = page.evaluate("[JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie]")
    assert not any(caller.secret in each for each in kept)
    page.reload()
    expect(page.get_by_label("API key")).to_have_value("")


def test_a_drawing_is_as_high_as_its_content(windows: Any) -> None:
    """Rule 11.65."""
    page = windows.open("/docs/write-a-script")
    drawing = page.locator("iframe.drawn").first
    drawing.scroll_into_view_if_needed()

    card = page.frame_locator("iframe.drawn").first.locator(".card")
    expect(card.get_by_text("Blitz")).to_be_visible()
    page.wait_for_function("document.querySelector('iframe.drawn').style.blockSize")

    inside, outside = card.bounding_box(), drawing.bounding_box()
    assert inside is not None
    assert outside is not None
    assert 0 < outside["height"] - inside["height"] < 100
