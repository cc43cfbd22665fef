"""After each step in a frame, the page around it keeps the frame's top in view."""

import pytest
from playwright.sync_api import expect

from tests.support.browser.sizes import DESK, PHONE
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

LONG = {**CHOICE, "options": [f"option {n}" for n in range(40)], "prompt": "Which?"}
SHORT = {**TEXT, "prompt": "Why?", "required": False}
WORDS = "<p>Words of the site around. " * 60  # more than a window
FEW_WORDS = "<p>Words of the site around. " * 12  # less than a window: frames out of sight do not lay out
TOP = "document.querySelector('iframe').getBoundingClientRect().top"


def open_host(windows, other_site, made, *, size=DESK, **options):
    page = windows.open(viewport=size, **options)
    page.goto(other_site.address)
    return page


def answer_the_long_one(page, *, box="document.scrollingElement"):
    """Answer a question that is taller than the window, after its top was scrolled out of it."""
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name="option 39").check()
    page.evaluate(f"{box}.scrollBy(0, {TOP} + 60)")
    assert page.evaluate(TOP) < 0
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Why?")


@pytest.mark.parametrize(
    ("size", "before", "after"),
    [(DESK, WORDS, WORDS), (PHONE, WORDS, WORDS), (DESK, WORDS, ""), (PHONE, "", WORDS)],
)
def test_a_short_question_after_a_long_one_is_in_view(windows, other_site, size, before, after):
    made = scenario.project(LONG, SHORT)
    other_site.show(made, before=before, after=after)
    page = open_host(windows, other_site, made, size=size)

    answer_the_long_one(page)

    page.wait_for_function(f"{TOP} >= -1")
    expect(page.frame_locator("iframe").locator("#question")).to_be_in_viewport()


def test_it_moves_by_keyboard_too(windows, other_site):
    made = scenario.project(LONG, SHORT)
    other_site.show(made, before=WORDS, after=WORDS)
    page = open_host(windows, other_site, made)
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name="option 39").check()

    page.keyboard.press("Enter")

    expect(frame.locator("#question")).to_contain_text("Why?")
    page.wait_for_function(f"{TOP} >= -1")
    expect(frame.locator("#question")).to_be_in_viewport()


def test_loading_does_not_move_the_page(windows, other_site):
    made = scenario.project(LONG, SHORT)
    other_site.show(made, before=FEW_WORDS, after=WORDS)
    page = open_host(windows, other_site, made)

    page.wait_for_function("document.querySelector('iframe').style.blockSize !== '480px'")

    assert page.evaluate("scrollY") == 0


def test_coming_back_does_not_move_the_page(windows, other_site):
    made = scenario.project(SHORT, LONG)
    other_site.show(made, before=FEW_WORDS, after=WORDS)
    page = open_host(windows, other_site, made)
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Continue").click()
    expect(frame.locator("#question")).to_contain_text("Which?")
    page.evaluate("scrollTo(0, 0)")

    page.reload()

    expect(frame.locator(".note")).to_have_text("Welcome back, you were here.")
    page.wait_for_function("document.querySelector('iframe').style.blockSize !== '480px'")
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_top_in_view_does_not_move(windows, other_site, size):
    made = scenario.project(SHORT, {**SHORT, "prompt": "Else?"})
    other_site.show(made, before="<p>A few words.", after=WORDS * 3)
    page = open_host(windows, other_site, made, size=size)
    frame = page.frame_locator("iframe")
    expect(frame.locator("#question")).to_contain_text("Why?")
    page.evaluate("scrollTo(0, 40)")
    before = page.evaluate("scrollY")

    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator("#question")).to_contain_text("Else?")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("scrollY") == before == 40


@pytest.mark.parametrize(
    "style",
    [
        ".colloquy { scroll-margin-top: 90px }",
        "html { scroll-padding-top: 90px }",
        "html { scroll-padding-top: 60px } script + iframe { scroll-margin-top: 30px }",
    ],
)
def test_a_header_that_sticks_leaves_the_top_in_view(windows, other_site, style):
    header = '<div style="position: sticky; top: 0; height: 90px; background: silver">Header</div>'
    made = scenario.project(LONG, SHORT, {**SHORT, "prompt": "Else?"})
    other_site.show(made, before=header + WORDS, after=WORDS * 3, style=style)
    page = open_host(windows, other_site, made)

    answer_the_long_one(page)

    page.wait_for_function(f"Math.abs({TOP} - 90) < 2")
    page.evaluate("scrollBy(0, 30)")  # the top is under the header now
    page.frame_locator("iframe").get_by_role("button", name="Continue").click()
    page.wait_for_function(f"Math.abs({TOP} - 90) < 2")


def test_in_a_box_that_scrolls_the_box_is_moved(windows, other_site):
    made = scenario.project(LONG, SHORT)
    box = '<div id="box" style="height: 500px; margin-top: 100px; overflow-y: auto">'
    other_site.show(made, before=box + WORDS, after=WORDS * 2 + "</div>")
    page = open_host(windows, other_site, made)

    answer_the_long_one(page, box="document.querySelector('#box')")

    page.wait_for_function(f"{TOP} >= document.querySelector('#box').getBoundingClientRect().top - 1")
    expect(page.frame_locator("iframe").locator("#question")).to_be_in_viewport()


def test_with_motion_it_glides(windows, other_site):
    made = scenario.project(LONG, SHORT)
    other_site.show(made, before=WORDS, after=WORDS)
    page = windows.open(reduced_motion="no-preference")
    page.add_init_script(
        """
        const scroll = Element.prototype.scrollIntoView;
        Element.prototype.scrollIntoView = function (options) {
          window.behavior = options.behavior;
          scroll.call(this, { ...options, behavior: "instant" });
        };
        """
    )
    page.goto(other_site.address)
    answer_the_long_one(page)
    page.wait_for_function("window.behavior === 'smooth'")

    page.emulate_media(reduced_motion="reduce")
    page.reload()
    page.frame_locator("iframe").get_by_role("button", name="Back").click()
    expect(page.frame_locator("iframe").locator("#question")).to_contain_text("Which?")
    answer_the_long_one(page)

    page.wait_for_function("window.behavior === 'instant'")


def test_an_error_at_a_long_question_is_in_view(windows, other_site):
    made = scenario.project({**LONG, "required": True})
    other_site.show(made, before=WORDS, after=WORDS)
    page = open_host(windows, other_site, made)
    frame = page.frame_locator("iframe")
    page.evaluate("document.querySelector('iframe').scrollIntoView()")
    frame.get_by_role("button", name="Continue").scroll_into_view_if_needed()

    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator(".error")).to_be_in_viewport()


def test_an_error_below_a_long_question_is_in_view(windows, other_site):
    """Rule 6.211."""
    made = scenario.project({**TEXT, "prompt": "Why? " * 400, "required": True})
    other_site.show(made, before=WORDS, after=WORDS)
    page = open_host(windows, other_site, made)
    frame = page.frame_locator("iframe")
    page.evaluate("document.querySelector('iframe').scrollIntoView({ block: 'end' })")

    frame.locator("#field").press("Enter")

    expect(frame.locator(".error")).to_be_in_viewport()
    expect(frame.locator("#field")).to_be_in_viewport()


def test_a_frame_without_scripts_is_brought_into_view_after_each_page(windows, other_site):
    made = scenario.project(LONG, SHORT)
    other_site.show(made, before=WORDS, after=WORDS)
    page = windows.open()
    page.route("**/s/*", without_scripts)
    page.goto(other_site.address)
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name="option 39").check(force=True)
    page.evaluate("scrollTo(0, document.querySelector('iframe').offsetTop + 200)")

    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator("#question")).to_contain_text("Why?")
    page.wait_for_function(f"{TOP} >= -1")
    expect(frame.locator("#question")).to_be_in_viewport()
    assert all("Content Security Policy" in text for text in windows.complaints)
    windows.complaints.clear()


def without_scripts(route):
    """The page as a browser shows it whose frames run no scripts."""
    response = route.fetch()
    policy = response.headers["content-security-policy"] + "; script-src 'none'"
    route.fulfill(response=response, headers={**response.headers, "content-security-policy": policy})


def test_in_a_frame_without_our_script_the_step_is_in_view(windows, other_site):
    made = scenario.project(LONG, SHORT)
    frame_source = f"{other_site.site}/s/{made.slug}?embed=1"
    other_site.write(f'<iframe src="{frame_source}" title="Survey" height="480"></iframe>' + WORDS)
    page = open_host(windows, other_site, made)
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name="option 39").check()

    frame.get_by_role("button", name="Continue").click()

    expect(frame.locator("#question")).to_contain_text("Why?")
    expect(frame.locator("#question")).to_be_in_viewport(ratio=1)
