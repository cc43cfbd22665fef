"""Results pages in a browser: shared and for staff, on a desk, on a phone and on paper."""

import gzip
import json

import pytest
from playwright.sync_api import expect

from surveys.drawing import theme
from surveys.models import Analysis, Generation
from surveys.services.ai_work import generation
from surveys.services.results import figures
from tests.support.browser import answered_surveys
from tests.support.browser.sizes import expect_to_fit, expect_to_fit_everywhere
from tests.support.browser.staff_results import for_staff, unfold_filters
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE

pytestmark = pytest.mark.django_db(transaction=True)

RECTS = "all => all.map(one => one.getBoundingClientRect().width)"
PIXELS_OF_A4 = {"width": 688, "height": 1001}  # between the margins, at 96 dots an inch


@pytest.fixture
def made():
    return answered_surveys.answered(share_results=True, presentation={"theme_id": 2})


def shared(made):
    return f"/r/{made.results_token}"


def analysed(made, **fields):
    block = scenario.script(made).blocks[-1]
    theme = {
        "title": "More lessons",
        "description": "Wishes to be taught.",
        "count": 12,
        "percentage": 35.29,
        "sentiment": "positive",
        "quotes": ["More lessons."],
    }
    open_text = {
        "summary": "People ask for lessons.",
        "themes": [theme, {**theme, "title": "Cold coffee", "sentiment": "negative", "quotes": []}],
        "sentiment": {"positive": 12, "neutral": 14, "negative": 8},
        "answer_count": 34,
        "analysed_count": 34,
    }
    return Analysis.objects.create(
        **{
            "project": made,
            "status": "completed",
            "revision": made.revision,
            "changes": figures.changes(made.pk),
            "created_at": LUNCHTIME,
            "completed_at": LUNCHTIME,
            "generated_by": "local",
            "summary": "Most members are content.",
            "blocks_as_json": json.dumps([{"block_id": block.id, "open_text": open_text}]),
            **fields,
        }
    )


# --- Shared -----------------------------------------------------------------------------------------


def test_shared_results_are_drawn_as_counted_in_every_look_and_weigh_less_than_30_kilobytes(
    windows, check_every_look, check_contrast, made
):
    loaded: list[bytes] = []
    page = windows.open()

    def note(response):
        loaded.append(response.body())

    page.on("response", note)
    page.goto(shared(made), wait_until="networkidle")
    page.remove_listener("response", note)
    assert len(loaded) >= 3  # page and two style sheets
    assert sum(len(gzip.compress(body)) for body in loaded) < 30_000

    # Tables open by keyboard.
    page.keyboard.press("Tab")
    expect(page.locator("summary").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("table").first).to_be_visible()
    rows = page.locator("table").first.locator("tbody tr").all_inner_texts()
    assert rows[0].split("\t") == ["From a friend", "23", "57.50%"]

    # Bars and columns are as long as what they tell.
    blocks = scenario.script(made).blocks
    choice, scale, nps = (page.locator(f"#question-{blocks[n].id}") for n in (1, 3, 5))
    whole = choice.locator(".bars svg").first.bounding_box()["width"]
    bars = [width / whole for width in choice.locator(".bars rect").evaluate_all(RECTS)]
    heights = scale.locator(".columns > rect").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    parts = nps.locator(".stacked-bar > rect:not([fill])").evaluate_all(RECTS)
    assert bars == pytest.approx([23 / 40, 11 / 40, 6 / 40, 0], abs=0.01)
    assert [each / heights[2] for each in heights] == pytest.approx([5 / 15, 4 / 15, 1, 14 / 15], abs=0.02)
    assert [each / sum(parts) for each in parts] == pytest.approx([9 / 36, 8 / 36, 19 / 36], abs=0.01)

    # The mean is marked where it belongs.
    drawing = scale.locator(".columns").bounding_box()
    marker = scale.locator(".mean path").bounding_box()
    expect(scale.locator(".mean text")).to_have_text("mean 4")
    middle = marker["x"] + marker["width"] / 2 - drawing["x"]
    assert middle / drawing["width"] == pytest.approx(0.7, abs=0.01)  # the middle of the fourth of five

    analysed(made)
    page.reload()
    expect(page.locator(".chart")).to_have_count(8)
    check_every_look(page)
    for summary in page.locator("summary").all():
        summary.click()
    check_every_look(page)

    # Every pair of colours of every theme is computed elsewhere; here the charts use no other pair.
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for number in (5, theme.THEMES):
            page.evaluate("theme => document.documentElement.dataset.theme = theme", str(number))
            check_contrast(page)


def test_nothing_of_it_needs_a_script_but_times_in_the_zone_of_the_visitor(windows, made):
    page = windows.open(shared(made), java_script_enabled=False)

    page.locator("summary").first.click()

    expect(page.locator("table").first).to_be_visible()
    expect(page.locator("script")).to_have_count(1)
    expect(page.locator('script[src*="local-times"]')).to_have_count(1)
    expect(page.locator(".foot time")).to_contain_text("UTC")
    assert page.context.cookies() == []
    page = windows.open(shared(made), timezone_id="Asia/Kolkata", locale="en-IN")
    expect(page.locator(".foot time")).to_contain_text("GMT+5:30")

    # On paper no card of a chart is cut.
    page.set_viewport_size(PIXELS_OF_A4)
    page.emulate_media(media="print")
    for card in page.locator(".chart").all():
        expect(card).to_have_css("break-inside", "avoid")
        assert card.bounding_box()["height"] < PIXELS_OF_A4["height"]


def test_what_cannot_be_shown_is_said_accessibly(windows, check_accessibility):
    page = windows.open()

    for fields, told in (
        ({"type": "convo"}, "No responses yet."),
        ({"type": "poll", "poll_results_mode": "hidden"}, "The votes are still coming in."),
    ):
        page.goto(shared(scenario.project(CHOICE, share_results=True, **fields)))
        expect(page.locator("h2")).to_have_text(told)
        check_accessibility(page)


# --- For staff --------------------------------------------------------------------------------------


def test_the_staff_page_is_accessible_with_everything_on_it(windows, check_every_look, made):
    analysed(made, changes=0)
    analysed(made, status="failed", error="The model was overloaded.", blocks_as_json=None)
    choice = scenario.script(made).blocks[1].id

    page = for_staff(windows, made, f"?segment_by={choice}")

    expect(page.locator(".segments")).to_have_count(7)
    for segments in page.locator(".segments").all():  # what is not drawn is a table at once
        drawn, table = segments.locator(".group"), segments.locator("table")
        expect(table).to_be_visible(visible=not drawn.count())
    page.locator("main details").evaluate_all("all => all.forEach(each => { each.open = true; })")
    check_every_look(page)
    page.get_by_role("link", name="Read all 34 answers").click()
    expect(page.locator(".written > li")).to_have_count(34)
    check_every_look(page)


def test_filters_are_set_by_keyboard_and_live_in_the_address(windows, check_accessibility, made):
    """Rule 6.434."""
    page = for_staff(windows, made)
    expect(page.get_by_label("Compare by")).to_be_hidden()
    unfold_filters(page)

    page.get_by_label("Responses", exact=True).select_option("Completed")
    page.get_by_label("Submitted from").fill("2026-02-05")
    page.get_by_label("Compare by").select_option("How are the club evenings?")
    page.get_by_role("button", name="Apply").press("Enter")

    expect(page.locator(".facts").first).to_contain_text("25")
    assert "status=completed&submitted_after=2026-02-05" in page.url
    expect(page.locator(".selection summary")).to_have_text("Filter and compare 3 active")
    expect(page.get_by_label("Responses", exact=True)).to_have_value("completed")
    expect(page.locator(".segments").first).to_contain_text("Compared by: How are the club evenings?")
    page.get_by_role("link", name="Reset").click()
    expect(page.locator(".facts").first).to_contain_text("40")

    # A wrong one is told where it stands.
    page.goto(f"{page.url}?submitted_after=2026-02-05&submitted_before=2026-02-01")
    expect(page.get_by_role("alert")).to_contain_text("The last day must not be before the first day.")
    expect(page.get_by_label("to, inclusive")).to_have_attribute("aria-invalid", "true")
    check_accessibility(page)


def test_while_an_analysis_runs_the_page_follows_it_by_itself(windows, check_accessibility, made):
    running = analysed(made, status="running", progress=0.25, completed_at=None, blocks_as_json=None)
    page = for_staff(windows, made)
    expect(page.locator("#analysis-progress")).to_contain_text("25%")
    check_accessibility(page)

    Analysis.objects.filter(pk=running.pk).update(progress=0.5)
    expect(page.locator("#analysis-progress")).to_contain_text("50%")
    running.delete()
    analysed(made)

    expect(page.locator("#analysis")).to_contain_text("Most members are content.")
    expect(page.locator(".themes li").first).to_contain_text("More lessons")


# --- On paper ---------------------------------------------------------------------------------------


def test_on_paper_all_tables_are_told_in_light_colours_and_nothing_is_to_be_pressed(windows, made):
    analysed(made)
    query = "?status=completed&provider=web&submitted_after=2020-01-01"
    page = for_staff(windows, made, query, color_scheme="dark", viewport=PIXELS_OF_A4)
    counted = page.locator(".counted")
    words = "selected here: completed; submitted from 1 January 2020 (UTC); source is Web."
    expect(counted).to_contain_text(words, use_inner_text=True)
    expect(page.locator(".project-name a")).to_be_visible()

    page.emulate_media(media="print", color_scheme="dark")

    expect(counted).to_contain_text(words, use_inner_text=True)
    for summary in page.get_by_text("Show as a table").all():
        expect(summary).to_be_hidden()
    assert all(table.is_visible() for table in page.locator("table").all())
    expect_to_fit(page)
    for hidden in (".selection", ".exports", ".skip-link", ".project-name a"):
        expect(page.locator(hidden)).to_be_hidden()
    expect(page.locator(".chart").first).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.locator(".bars rect").first).to_have_css("fill", "rgb(61, 64, 181)")


def test_a_question_is_answered_on_the_tab_and_its_figure_leads_to_its_card(windows, monkeypatch):
    made = scenario.project({"type": "rating", "name": "evening", "prompt": "How was the evening?"})
    scenario.say(scenario.begin(made), 4)
    monkeypatch.setattr(generation, "wake", lambda name, **ids: None)
    page = for_staff(windows, made)
    field = page.get_by_label("A question about these results")
    field.fill("What is the average of the evening?")
    field.press("Enter")
    expect(page.get_by_role("progressbar", name="Looking for the answer")).to_be_visible()
    expect_to_fit_everywhere(page)

    generation.run(generation_id=Generation.objects.get().pk)

    expect(page.locator("#answer")).to_contain_text("Average of “How was the evening?” (1 to 5): 4.")
    expect_to_fit_everywhere(page)
    page.locator("#answer").get_by_role("link").press("Enter")
    expect(page.locator(":target")).to_contain_text("How was the evening?")
