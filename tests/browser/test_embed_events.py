"""What the page around a frame is told, how it chooses the look, and that the button stays in view."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from communities.ground import brands
from tests.support.browser.host_site import HostSite
from tests.support.browser.sizes import PHONE
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
LISTENER = """
<script>
  const told = [], posted = [];
  for (const name of ["started", "answered", "completed"]) {
    document.addEventListener(`colloquy:${name}`, ({ target, detail }) => {
      told.push(target.className === "colloquy" && detail === null ? name : "?");
    });
  }
  addEventListener("message", ({ data }) => posted.push(data));
</script>
"""
SMALL_DESK = {"width": 1280, "height": 800}
WORDS = "<p>Words of the site around. " * 40
LONG = {**CHOICE, "options": [f"option {n}" for n in range(30)], "prompt": "Which?"}


def told(page: Page) -> list[str]:
    names: list[str] = page.evaluate("told")
    return names


def test_the_page_around_is_told_what_happens_without_answers(windows: Any, other_site: HostSite) -> None:
    """Rule 6.234."""
    made = scenario.project({**CHOICE, "prompt": "Which?"}, {**TEXT, "prompt": "Why?", "required": False})
    other_site.show(made, before=LISTENER)
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")

    frame.get_by_role("radio", name="green").check()
    assert told(page) == []
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Why?")
    page.wait_for_function("told.length === 2")
    assert told(page) == ["started", "answered"]
    frame.get_by_role("button", name="Back").click()
    expect(frame.locator("#question")).to_contain_text("Which?")
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Why?")
    frame.get_by_role("button", name="Skip").click()
    expect(frame.locator("#question")).to_contain_text("Thank you.")

    page.wait_for_function("told.length === 5")
    assert told(page) == ["started", "answered", "answered", "answered", "completed"]
    assert "green" not in str(page.evaluate("posted"))
    page.reload()
    expect(page.frame_locator("iframe").locator("#question")).to_contain_text("Thank you.")
    assert told(page) == []


def test_a_page_that_does_not_answer_the_frame_is_told_nothing_of_answers(
    windows: Any, other_site: HostSite
) -> None:
    """Rule 6.234."""
    made = scenario.project(CHOICE, {**TEXT, "prompt": "Why?"})
    other_site.write(
        f'{LISTENER}<iframe src="{other_site.site}/s/{made.slug}?embed=1" title="Survey"></iframe>'
    )
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")

    frame.get_by_role("radio", name="red").check()
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Why?")

    types = set(page.evaluate("posted.map(({ type }) => type)"))
    assert types == {"colloquy:ready", "colloquy:height", "colloquy:step"}


def test_other_pages_and_frames_cannot_play_the_frame(windows: Any, other_site: HostSite) -> None:
    made = scenario.project(CHOICE)
    other_site.show(made, before=LISTENER)
    page = windows.open(other_site.address)
    expect(page.frame_locator("iframe").locator("#question")).to_be_visible()

    page.evaluate("postMessage({ type: 'colloquy:completed' }, '*')")
    page.evaluate(
        "new Promise(done => { addEventListener('message', done, { once: true }); postMessage(1) })"
    )

    assert told(page) == []


def test_a_theme_is_chosen_by_attribute_and_stays_from_step_to_step(
    windows: Any, other_site: HostSite
) -> None:
    """Rule 6.235."""
    made = scenario.project(CHOICE, {**TEXT, "prompt": "Why?"}, presentation={"theme_id": 2})
    other_site.show(made, more='data-theme="5"')
    page = windows.open(other_site.address)
    frame = page.frame_locator("iframe")

    expect(frame.locator("html")).to_have_attribute("data-theme", "5")
    frame.get_by_role("radio", name="red").check()
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Why?")
    action = frame.locator("#answer").get_attribute("action")

    assert action == f"/s/{made.slug}?embed=1&colloquy-theme=5"


def test_an_accent_that_is_chosen_by_attribute_can_be_read(windows: Any, other_site: HostSite) -> None:
    """Rule 6.235."""
    made = scenario.project(CHOICE, presentation={"theme_id": 2, "accent_color": "bf2352"})
    other_site.show(made, more='data-accent="#FFEE00"')
    page = windows.open(other_site.address, color_scheme="light")
    frame = page.frame_locator("iframe")
    expect(frame.locator("#question")).to_be_visible()

    button = frame.get_by_role("button", name="Continue")
    ground, ink = button.evaluate(
        "each => [getComputedStyle(each).backgroundColor, getComputedStyle(each).color]"
    )

    assert ground != "rgb(191, 35, 82)"
    assert brands.contrast(_hex(ground), _hex(ink)) >= 4.5


def _hex(colour: str) -> str:
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])


@pytest.mark.parametrize(
    ("block", "size"), [(CHOICE, PHONE), (TEXT, SMALL_DESK), (LONG, PHONE), (LONG, SMALL_DESK)]
)
def test_the_button_stays_in_view(windows: Any, other_site: HostSite, size: Any, block: Any) -> None:
    """Rule 6.236."""
    made = scenario.project(
        {**TEXT, "prompt": "First?", "required": False}, {**block, "prompt": "Which one?"}
    )
    other_site.show(made, before=WORDS, after=WORDS)
    page = windows.open(viewport=size)
    page.goto(other_site.address)
    page.locator("iframe").scroll_into_view_if_needed()
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator("#question")).to_contain_text("Which one?")
    expect(frame.locator("#question")).to_be_in_viewport()
    expect(frame.locator(".button.main")).to_be_in_viewport(ratio=0.99)


def test_the_last_option_is_not_hidden_below_the_button(windows: Any, other_site: HostSite) -> None:
    made = scenario.project(LONG)
    other_site.show(made, after=WORDS)
    page = windows.open(other_site.address, phone=True)
    frame = page.frame_locator("iframe")

    frame.get_by_role("radio", name="option 0").focus()
    for _ in range(29):
        page.keyboard.press("ArrowDown")

    last = frame.locator("label.option").last.bounding_box()
    button = frame.locator(".button.main").bounding_box()
    assert last is not None
    assert button is not None
    assert last["y"] + last["height"] <= button["y"]
