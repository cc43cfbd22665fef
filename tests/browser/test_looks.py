import gzip
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.utils import timezone
from playwright.sync_api import expect

from surveys.engine.script import Scale
from tests.support.browser.animations import END_MOTION
from tests.support.browser.controls import choose, go_on, question
from tests.support.browser.surveys import EVERYTHING, everything
from tests.support.pictures import copied
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = [block for block in EVERYTHING if block["type"] not in ("content_block", "action_block")]
KINDS = [{key: value for key, value in block.items() if key != "precondition"} for block in KINDS]

NPS = {"type": "nps", "prompt": "Would you recommend us?", "required": False}
LARGEST_PAINT = """() => new Promise(done => {
  new PerformanceObserver(list => done(list.getEntries().at(-1).toJSON()))
    .observe({ type: "largest-contentful-paint", buffered: true });
})"""
TARGETS = ".option:visible, .star:visible, .move:visible, .button:visible, .entry:visible"


def to_the_end(page):
    """Every step of a survey whose questions are all optional, the current one first."""
    while page.locator("#answer").count():
        yield page
        shown = page.locator("#answer").element_handle()
        page.locator(".button.second, .button.main").last.click()
        shown.wait_for_element_state("hidden")
    yield page


def test_on_a_phone_nothing_is_cut_off_and_all_can_be_hit(windows):
    made = scenario.project(*[{**block, "required": False} for block in KINDS])
    page = windows.open(f"/s/{made.slug}", phone=True, viewport={"width": 320, "height": 700})

    for each in to_the_end(page):
        where = each.inner_text("#question")
        assert each.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
        targets = each.locator(TARGETS).evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().height)"
        )
        assert min(targets) > 43.9, where


def test_on_a_phone_a_finger_hits_each_point_of_a_long_scale(windows):
    """Rules 6.443, 6.740 and 6.861."""
    ends = {"label_left": "Strongly disagree", "label_right": "Strongly agree"}
    words = Scale(**ends, label_center="Neither agree nor disagree")
    scale = {"type": "opinion_scale", "prompt": "How sure?", "min": 1, "scale": words, "required": False}
    stars = {"type": "rating", "prompt": "How was it?", "min": 1, "max": 10, "required": False}
    made = scenario.project(*[{**scale, "max": points} for points in (7, 10, 11)], NPS, stars)
    page = windows.open(f"/s/{made.slug}", phone=True)

    for each in to_the_end(page):
        for width in (320, 390):
            each.set_viewport_size({"width": width, "height": 700})
            boxes = each.locator(".cells:visible .option, .star:visible").evaluate_all(
                "all => all.map(one => one.getBoundingClientRect()).map(({ top, width }) => [top, width])"
            )
            rows = 1 if len(boxes) == 7 and width == 390 else 2
            assert len({top for top, _ in boxes}) == (rows if boxes else 0)
            assert min((wide for _, wide in boxes), default=44) >= 44
            assert each.evaluate("document.documentElement.scrollWidth <= innerWidth")
            ends = each.locator("[data-point]").evaluate_all(
                "all => all.map(one => getComputedStyle(one, '::before').content !== 'none')"
            )
            assert set(ends) <= {rows == 2}
            left = "all => all.map(one => one.getBoundingClientRect().left)"
            lefts = each.locator(".cells:visible, .cells:visible + .scale-labels").evaluate_all(left)
            assert len(set(lefts)) <= 1
            assert min(lefts, default=44) >= (32 if width == 390 else 20)
            lines = each.locator(".scale-labels span").evaluate_all(
                "all => all.map(one => one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight))"
            )
            assert max(lines, default=0) < 2.5, lines


def test_an_item_of_a_ranking_is_as_high_as_before_when_it_is_chosen(windows):
    """Rule 6.446."""
    openings = ["Italian", "Spanish", {"value": "Dutch", "emoji": "♟️"}, "Scandinavian", "One from far away"]
    made = scenario.project({"type": "ranking", "rank_top_n": 3, "options": openings})
    page = windows.open(f"/s/{made.slug}", phone=True, viewport={"width": 320, "height": 700})
    heights = "all => all.map(one => [one.querySelector('.text').textContent, one.offsetHeight]).sort()"
    before = page.locator(".rank").evaluate_all(heights)

    for _ in range(3):
        page.locator("[data-act=choose]:visible").last.click()

    assert page.locator(".rank").evaluate_all(heights) == before


@pytest.mark.parametrize("blocks", [[SAYING], [TEXT, {**CHOICE, "options": list("abcde")}]])
def test_below_a_picture_the_button_is_in_view(windows, blocks):
    """Rule 6.444."""
    address = "https://author.example/a.png"
    *before, last = blocks
    made = scenario.project(*before, {**last, "prompt": "A question. " * 8, "image_url": address})
    copied(made.community_id, address, width=1200, height=900)
    page = windows.open(f"/s/{made.slug}")
    for _ in before:
        page.locator("#field").fill("Yes")
        go_on(page)
    question(page, "A question.")

    expect(page.locator(".picture")).to_be_in_viewport(ratio=1)
    expect(page.locator(".button.main")).to_be_in_viewport(ratio=1)


def test_friendly_states_are_accessible(windows, check_accessibility):
    page = windows.open()

    for fields, told in (
        ({"status": "inactive"}, "This survey is closed."),
        ({"status": "inactive", "opens_at": timezone.now() + timedelta(days=1)}, "Not open yet."),
        ({"participation": "private"}, "Please sign in first."),
    ):
        page.goto(f"/s/{scenario.project(TEXT, **fields).slug}")
        question(page, told)
        check_accessibility(page)
    page.goto("/s/nothing-here")
    expect(page.locator("h1")).to_have_text("We cannot find this page.")
    check_accessibility(page)


ARABIC = {"options": ["نعم، دائمًا", "لا، أبدًا"], "required": True}
RIGHT_TO_LEFT: tuple[dict[str, Any], ...] = (
    {**ARABIC, "type": "single_punch", "prompt": "One."},
    {**ARABIC, "type": "multi_punch", "prompt": "Some."},
    {**ARABIC, "type": "ranking", "prompt": "All."},
    {"type": "nps", "prompt": "Ends.", "scale": Scale(label_left="نعم", label_right="لا")},
)
# How far each text is from what it belongs to: the control before it, or its end of the scale.
GAPS = """() => {
  const drawn = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return range.getBoundingClientRect();
  };
  const scale = document.querySelector(".cells")?.getBoundingClientRect();
  const ends = [...document.querySelectorAll(".scale-labels span")].filter((end) => end.textContent.trim());
  return [
    ...Array.from(document.querySelectorAll(".option > .text, .rank > .text"), (text) =>
      drawn(text).left - text.previousElementSibling.getBoundingClientRect().right),
    ...ends.map((end, n) => n ? scale.right - drawn(end).right : drawn(end).left - scale.left),
  ];
}"""


def test_a_text_that_is_written_from_right_to_left_stands_next_to_what_it_belongs_to(windows):
    made = scenario.project(*RIGHT_TO_LEFT)
    page = windows.open(f"/s/{made.slug}")
    for block in RIGHT_TO_LEFT:
        question(page, block["prompt"])
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            gaps = page.evaluate(GAPS)
            assert (len(gaps), max(gaps) < 24) == (2, True), (block["type"], gaps)
        if block["type"] == "ranking":
            page.get_by_role("button", name="Keep this order").click()
        elif block["type"] != "nps":
            page.locator(".option").first.click()
        if block["type"] != "nps":
            go_on(page)


def test_the_opening_is_told_in_the_visitors_own_time(windows):
    """With the month's name, so that nobody reads a month as a day."""
    opens_at = datetime(2032, 1, 12, 12, 0, tzinfo=UTC)
    made = scenario.project(TEXT, status="inactive", opens_at=opens_at)

    english = "Monday,? 12 January 2032 at 07:00 GMT-5"  # browsers disagree about the comma
    written = {"en-US": english, "de-DE": "Montag, 12. Januar 2032 um 07:00 GMT-5", "fa-IR": english}

    for locale, words in written.items():
        page = windows.open(f"/s/{made.slug}", timezone_id="America/New_York", locale=locale)
        expect(page.locator("time")).to_have_text(re.compile(f"^{words}$"))

    plain = windows.open(f"/s/{made.slug}", java_script_enabled=False)
    expect(plain.locator("time")).to_have_text("12 January 2032, 12:00 UTC")


def test_done_resumed_and_closed_while_answering(windows, check_accessibility):
    made = scenario.project(TEXT, {**TEXT, "prompt": "Second."}, max_completes_per_user=1)
    page = windows.open(f"/s/{made.slug}")
    page.locator("#field").fill("one")
    go_on(page)
    question(page, "Second.")

    page.goto(f"/s/{made.slug}")
    expect(page.locator(".note")).to_have_text("Welcome back, you were here.")
    check_accessibility(page)

    made.status = "inactive"
    made.save()
    page.locator("#field").fill("a late thought")
    go_on(page)
    question(page, "This survey is closed.")
    expect(page.get_by_label("Your answer, which was not saved")).to_have_value("a late thought")
    check_accessibility(page)

    made.status = "active"
    made.save()
    page.goto(f"/s/{made.slug}")
    page.locator("#field").fill("two")
    go_on(page)
    question(page, "Thank you.")
    page.goto(f"/s/{made.slug}")
    expect(page.locator(".note")).to_have_text("You have answered this already.")
    check_accessibility(page)


def test_the_first_page_weighs_less_than_48_kilobytes_and_waits_for_its_style_sheet_alone(windows):
    """Rule 6.862."""
    made = everything()
    loaded: list[bytes] = []
    page = windows.open()
    page.on("response", lambda response: loaded.append(response.body()))

    page.goto(f"/s/{made.slug}", wait_until="networkidle")

    assert len(loaded) >= 4  # page, style sheet, script, htmx
    assert sum(len(gzip.compress(body)) for body in loaded) < 48_000
    blocking = page.evaluate(
        "performance.getEntriesByType('resource').filter(each => each.renderBlockingStatus === 'blocking')"
        ".map(each => each.name)"
    )
    assert {Path(name).suffix for name in blocking} <= {".css"}
    largest = page.evaluate(LARGEST_PAINT)
    assert largest["url"] == ""  # a text, which came with the page


def test_a_step_comes_without_moving_what_stands(windows):
    made = scenario.project(CHOICE, {**CHOICE, "prompt": "Second."}, {**CHOICE, "prompt": "Third."})
    page = windows.open(f"/s/{made.slug}", reduced_motion="no-preference")
    choose(page, "red")
    go_on(page)
    question(page, "Second.")
    page.evaluate(END_MOTION)
    before = page.locator("#question").bounding_box()["y"]
    choose(page, "red")

    go_on(page)

    question(page, "Third.")
    page.evaluate(END_MOTION)
    assert abs(page.locator("#question").bounding_box()["y"] - before) < 1


def test_an_accent_is_drawn_without_a_style_attribute(windows):
    made = scenario.project({**SAYING, "color": "ff8800"})
    assert windows.open(f"/s/{made.slug}").locator(".stripe").count() == 0
    scenario.community().__class__.objects.update(tier="premium")

    page = windows.open(f"/s/{made.slug}")

    expect(page.locator(".stripe rect")).to_have_css("fill", "rgb(255, 136, 0)")


def test_the_style_sheet_asks_for_nothing_from_elsewhere():
    style = Path(str(finders.find("surveys/survey.css"))).read_text()

    assert re.search(r"url\(|@import|@font-face", style) is None
