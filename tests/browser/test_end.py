"""The end of a survey: a copy to print or mail, and sharing; and the options above the rows of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.sizes import PHONE
from tests.support.mails import written
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)
SHARED = "window.shared = []; navigator.share = async (what) => { window.shared.push(what); };"
NO_SHARE = "delete Navigator.prototype.share;"
ROW = {**CHOICE, "group": "The evening"}


def ended(windows: Any, made: Any, *, script: str = "", **options: Any) -> Page:
    page: Page = windows.open(**options)
    if script:
        page.add_init_script(script)
    page.goto(f"/s/{made.slug}")
    page.get_by_label("How was it?").fill("Very nice.")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#question")).to_contain_text("Thank you.")
    return page


def test_answers_are_printed_and_mailed_at_the_end(
    windows: Any, check_every_look: Callable[[Page], None]
) -> None:
    """Rules 6.230 and 6.231."""
    made = scenario.project({**TEXT, "prompt": "How was it?"}, mail_copy=True)
    page = ended(windows, made)
    check_every_look(page)

    page.get_by_role("button", name="Keep a copy of my answers").click()
    expect(page.locator("#question")).to_be_focused()
    expect(page.locator("dd")).to_have_text("Very nice.")
    check_every_look(page)
    page.evaluate("window.print = () => { window.printed = true }")
    page.get_by_role("button", name="Print").click()
    assert page.evaluate("window.printed")
    page.get_by_label("Mail a copy to").fill("nobody")
    page.get_by_role("button", name="Send the copy").click()
    expect(page.locator("#field")).to_be_focused()
    expect(page.locator("#field")).to_have_value("nobody")
    expect(page.locator(".error")).to_contain_text("Enter an e-mail address")
    check_every_look(page)
    page.get_by_label("Mail a copy to").fill("ada@example.org")
    page.get_by_role("button", name="Send the copy").click()

    expect(page.get_by_role("status").filter(has_text="on its way")).to_be_visible()
    assert len(written("ada@example.org")) == 1
    page.get_by_role("button", name="Back").click()
    expect(page.locator("#question")).to_contain_text("Thank you.")


def test_paper_shows_the_answers_alone_and_is_white(windows: Any) -> None:
    """Rule 6.230."""
    made = scenario.project({**TEXT, "prompt": "How was it?"}, mail_copy=True)
    page = ended(windows, made, color_scheme="dark")
    page.get_by_role("button", name="Keep a copy of my answers").click()
    expect(page.locator("dd")).to_be_visible()

    page.emulate_media(media="print")

    expect(page.locator("dd")).to_be_visible()
    for hidden in ("button", "input[type=email]", ".progress"):
        expect(page.locator(hidden).first).to_be_hidden()
    colours = (
        "each => [getComputedStyle(each).color, getComputedStyle(document.documentElement).backgroundColor]"
    )
    assert page.locator("dd").evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]


def test_sharing_opens_the_dialog_of_the_system(windows: Any) -> None:
    """Rule 6.233."""
    made = scenario.project({**TEXT, "prompt": "How was it?"})
    page = ended(windows, made, script=SHARED)

    page.get_by_role("button", name="Share").click()

    [shared] = page.evaluate("window.shared")
    assert shared["url"].endswith(f"/s/{made.slug}")


@pytest.mark.parametrize("may_write", [True, False])
def test_without_that_dialog_the_address_is_copied_or_shown(windows: Any, may_write: bool) -> None:
    """Rule 6.233."""
    made = scenario.project({**TEXT, "prompt": "How was it?"})
    write = "async (text) => { window.copied = text; }" if may_write else "async () => { throw 0; }"
    page = ended(windows, made, script=f"{NO_SHARE} navigator.clipboard.writeText = {write};")

    page.get_by_role("button", name="Share").click()

    told = page.locator("[data-share] [role=status]")
    if may_write:
        expect(told).to_have_text("The address is copied.")
        assert page.evaluate("window.copied").endswith(f"/s/{made.slug}")
    else:
        expect(told).to_contain_text(f"/s/{made.slug}")


def test_on_wide_screens_options_stand_once_above_their_columns(
    windows: Any, check_accessibility: Callable[[Page], None]
) -> None:
    """Rule 6.237."""
    options = ["Very dissatisfied", "Dissatisfied", "Neither", "Satisfied", "Very satisfied"]
    asked = {**ROW, "options": options}
    made = scenario.project({**asked, "prompt": "The food?"}, {**asked, "prompt": "The music?"})
    page = windows.open(f"/s/{made.slug}")
    check_accessibility(page)
    lines = "each => each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight)"
    centre = "each => { const box = each.getBoundingClientRect(); return (box.left + box.right) / 2 }"

    heads = [each.evaluate(centre) for each in page.locator(".head span").all()]
    row = page.get_by_role("radiogroup", name="The food?")
    radios = [each.evaluate(centre) for each in row.get_by_role("radio").all()]
    row.get_by_role("radio", name="Neither").check()

    assert len(heads) == 5
    assert max(each.evaluate(lines) for each in page.locator(".head span").all()) < 2.5  # no word is broken
    assert all(abs(head - radio) < 2 for head, radio in zip(heads, radios, strict=True))
    page.set_viewport_size(PHONE)
    expect(page.locator(".head")).to_be_hidden()
    expect(row.get_by_text("Neither")).to_be_in_viewport()
