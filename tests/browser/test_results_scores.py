"""Scores, calculated results and fields on the results tab, in a browser."""

import os
from itertools import pairwise, product
from pathlib import Path

import pytest
from playwright.sync_api import expect

from surveys.models import Project
from tests.support.browser.sizes import DESK, PHONE, expect_to_fit, expect_to_fit_everywhere
from tests.support.browser.staff_results import for_staff, unfold_filters
from tests.support.caller import Caller
from tests.support.instruments.blocks import choice, computes, option
from tests.support.instruments.respondent import build
from tests.support.surveys.results import OPEN_WEB
from tests.support.surveys.scored_projects import TWO, script

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages
ANSWERS = ["red", "blue", "green", "red", "red", "blue"]


def picture(page, name):
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.fixture
def made():
    caller = Caller()
    weights = [("red", 3), ("blue", 2), ("green", 0)]
    blocks = [
        choice(
            f"Question {n}",
            f"Which colour is number {n}?",
            [option(value, {"fire_mage": weight + n, "sea": weight * n * 700}) for value, weight in weights],
            correct_answer_index=0,
        )
        for n in range(3)
    ]
    blocks += [
        computes("Average", "[score] / 3"),
        computes("Level", 'if [score] > 30 then "An expert of every sea" else "A beginner"'),
    ]
    project = build(
        caller, script(*blocks, scoring=TWO["scoring"], delivery={"audience": OPEN_WEB["audience"]})
    )
    for n in range(14):
        sent = {"metadata": {"customer": ["acme", "bolt"][n % 2]}} if n % 3 else {}
        talk = caller.post(f"/projects/{project['id']}/conversations", sent).json()
        for place in range(3):
            block = talk["step"]["block"]
            body = {"block_id": block["id"], "value": ANSWERS[(n * (place + 1) + n // 4) % 6]}
            talk = caller.post(f"/conversations/{talk['id']}/answers", body).json()
            if talk["step"] and talk["step"]["block"]["type"] == "content_block":
                talk = caller.post(f"/conversations/{talk['id']}/continue").json()
    return Project.objects.get(pk=int(project["id"]))


def test_scores_stand_on_the_tab_with_the_same_numbers_as_a_table(windows, made):
    page = for_staff(windows, made)

    fire = page.locator("#score-1")
    expect(fire.get_by_role("heading", name="Fire Mage")).to_be_visible()
    expect(fire).to_contain_text("14 responses")
    fire.get_by_text("Show as a table").click()
    expect(fire.get_by_role("table")).to_be_visible()
    expect(page.locator("#score-3")).to_contain_text("Total")
    expect(page.get_by_role("heading", name="Level")).to_be_visible()
    expect_to_fit_everywhere(page)
    picture(page, "scores")


def test_a_field_filters_and_divides(windows, made):
    page = for_staff(windows, made)
    unfold_filters(page)

    page.get_by_label("customer", exact=True).select_option("bolt")
    page.get_by_label("Compare by").select_option("field.customer")
    page.get_by_role("button", name="Apply").click()

    expect(page.locator("#score-1")).to_contain_text("5 responses")
    expect(page.locator("#score-1")).to_contain_text("Compared by: customer")
    unfold_filters(page)
    page.get_by_label("customer", exact=True).select_option("")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#score-1")).to_contain_text("Not given")
    expect_to_fit_everywhere(page)
    picture(page, "fields")


def test_on_paper_nothing_overlaps_the_heading_of_the_scores(windows, made):
    page = for_staff(windows, made, viewport={"width": 688, "height": 1001})

    page.emulate_media(media="print")

    heading = page.get_by_role("heading", name="Scores and calculated results").bounding_box()
    below = page.get_by_text("Of completed responses, as they stood at the end.").bounding_box()
    assert below["y"] >= heading["y"] + heading["height"]
    expect_to_fit(page)
    picture(page, "scores-on-paper")


def test_no_label_below_a_column_covers_another(windows, made):
    page = for_staff(windows, made)

    charts = page.locator("#scores .columns").all()
    for size, chart in product((DESK, PHONE), charts):
        page.set_viewport_size(size)
        expect(chart).to_be_visible()
        starts = chart.locator(".at").evaluate_all(
            "all => all.map(one => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])"
        )
        is_aslant = "aslant" in (chart.get_attribute("class") or "")
        edge = page.locator("#score-1").bounding_box()["x"]
        assert starts == sorted(starts)
        assert starts[0][0] >= edge
        assert is_aslant or all(right < left for (_, right), (left, _) in pairwise(starts))


def test_declared_fields_stand_on_the_tab_with_their_values(windows, made):
    made.hidden_fields = ["customer"]
    made.save(update_fields=["hidden_fields"])
    page = for_staff(windows, made)

    card = page.locator("#field-customer")
    expect(card.get_by_role("heading", name="customer")).to_be_visible()
    expect(card).to_contain_text("Not given")
    card.get_by_text("Show as a table").click()
    expect(card.get_by_role("table")).to_be_visible()
    expect_to_fit_everywhere(page)
    picture(page, "declared")
