"""The preview beside the script editor, and the ways to start a draft, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from surveys.ai.provider import ProposedScript, RevisionRequest
from surveys.models import Conversation, Generation
from surveys.services.ai_work import generation
from tests.support.browser import editor
from tests.support.browser.sizes import expect_to_fit, expect_to_fit_everywhere
from tests.support.caller import Caller
from tests.support.surveys.draft_provider import provide

pytestmark = pytest.mark.django_db(transaction=True)

WIDE = {"viewport": {"width": 1500, "height": 1000}}
COLOUR: dict[str, Any] = {
    "type": "single_punch",
    "name": "colour",
    "prompt": "Which colour?",
    "options": [{"value": "red"}, {"value": "green"}],
    "required": True,
}
WHY: dict[str, Any] = {"type": "open_text", "name": "why", "prompt": "Why [Colour]?"}
LEVEL: dict[str, Any] = {"type": "calculated_block", "name": "level", "prompt": "", "calculated_formula": "1"}
BYE: dict[str, Any] = {"type": "content_block", "name": "bye", "prompt": "Goodbye then."}
QUIZ: dict[str, Any] = {
    **COLOUR,
    "options": [{"value": "red", "score_values": {"score": 3}}, {"value": "green"}],
    "correct_answer_index": 0,
}
ORDER: dict[str, Any] = {
    "type": "ranking",
    "name": "order",
    "prompt": "In which order?",
    "options": [{"value": "one"}, {"value": "two"}, {"value": "three"}],
}
PATH = ".preview-path li button"
SAY_BYE = """() => {
  const { store } = colloquyEditor;
  store.changeBlock(store.selected, (block) => { block.prompt = "Bye."; }, "Type");
}"""
ONE_QUESTION = """window.colloquyEditor.store.blocks.filter((block) => block.section !== "outro")
  .map((block) => [block.type, block.prompt, block.options.map((option) => option.value)])"""


def opened(windows: Any, *blocks: dict[str, Any], phone: bool = False, **fields: Any) -> Page:
    caller = Caller()
    project = editor.new_project(caller, *blocks, **fields)
    return editor.open_editor(windows, caller, project, **({"phone": True} if phone else WIDE))


def question(page: Page) -> Any:
    return editor.preview(page).locator("#question")


def test_the_preview_follows_typing_shows_answers_path_and_jumps_and_stores_nothing(
    windows, check_accessibility
):
    page = opened(windows, COLOUR, WHY, BYE)
    expect(question(page)).to_have_text("Which colour?")
    prompt = page.get_by_label("Question", exact=True).or_(page.get_by_label("Prompt", exact=True)).first
    prompt.fill("Which of these colours?")
    expect(question(page)).to_have_text("Which of these colours?")
    expect(prompt).to_be_focused()

    editor.preview(page).get_by_text("green").click()
    editor.preview(page).get_by_role("button", name="Continue").click()
    expect(question(page)).to_contain_text("Why green?")
    expect(page.locator(PATH)).to_have_text(["1 colour", "2 why"])
    editor.select(page, 2)  # the preview follows
    expect(question(page)).to_have_text("Goodbye then.")
    expect(page.locator(".preview-answer")).to_have_text(["green", "skipped"])
    page.locator(PATH).first.click()
    expect(question(page)).to_have_text("Which of these colours?")
    assert Conversation.objects.count() == 0

    # The page is as wide as a phone or a desktop.
    frame = page.locator(".preview-stage iframe")
    assert frame.evaluate("frame => frame.contentWindow.innerWidth") == 390
    page.get_by_role("button", name="Desktop").click()
    assert frame.evaluate("frame => frame.contentWindow.innerWidth") == 1180
    check_accessibility(page)

    # It can be hidden and stays so.
    page.locator(".preview-fold").click()
    editor.expect_kept(page)
    page.reload()
    expect(page.locator(".preview-stage")).to_be_hidden()
    page.locator(".preview-fold").click()
    expect(question(page)).to_have_text("Which of these colours?")


def test_a_ranking_in_the_preview_leaves_nothing_in_the_browser(windows):
    page = opened(windows, ORDER, WHY)
    preview = editor.preview(page)
    expect(preview.locator(".rank")).to_have_count(3)
    second = preview.locator(".rank .text").nth(1).inner_text()

    preview.get_by_role("button", name=f"Move {second} up").click()

    expect(preview.locator(".rank .text").first).to_have_text(second)
    assert "rank" not in preview.locator("body").evaluate("JSON.stringify(sessionStorage)")


def test_following_stops_and_a_calculation_leads_to_what_comes_next(windows):
    page = opened(windows, COLOUR, LEVEL, BYE)
    expect(question(page)).to_have_text("Which colour?")

    page.get_by_label("Follow the block I edit").uncheck()
    editor.select(page, 2)
    page.get_by_label("What it says").fill("Goodbye!")
    editor.expect_kept(page)
    expect(page.locator(PATH)).to_have_text(["1 colour"])
    page.get_by_label("Follow the block I edit").check()
    expect(question(page)).to_have_text("Goodbye!")
    page.locator(PATH).first.click()
    expect(question(page)).to_have_text("Which colour?")
    editor.select(page, 1)

    expect(question(page)).to_have_text("Goodbye!")
    expect(page.locator(".preview-body")).to_contain_text("A calculation shows nothing itself")


def test_a_quiz_shows_its_scores(windows):
    scoring = {"enabled": True, "buckets": [{"name": "Score", "order": 0}]}
    page = opened(windows, QUIZ, BYE, scoring=scoring)

    editor.preview(page).get_by_text("red").click()
    editor.preview(page).get_by_role("button", name="Continue").click()

    expect(page.locator(".preview-figures")).to_contain_text("3 of 3")


def test_on_a_phone_the_preview_is_a_tab(windows, check_accessibility):
    page = opened(windows, COLOUR, phone=True)

    page.locator('[data-show-pane="preview"]').click()

    expect(question(page)).to_have_text("Which colour?")
    expect_to_fit(page)
    check_accessibility(page)


def test_a_new_poll_begins_with_its_question_in_focus(windows):
    page = opened(windows, type="poll")
    page.goto(f"{page.url}?start=question")  # as the form of a new project leads on

    prompt = page.locator("[data-part=form] textarea").first
    expect(prompt).to_be_focused()
    page.keyboard.type("Tea or coffee?")
    expect(prompt).to_have_value("Tea or coffee?")
    assert "start=" not in page.url
    assert page.evaluate(ONE_QUESTION) == [["single_punch", "Tea or coffee?", ["", ""]]]


def test_a_template_is_previewed_and_taken_and_undone(windows, check_accessibility):
    page = opened(windows, COLOUR)
    page.goto(f"{page.url}?start=template")  # as the form of a new project leads on
    page.get_by_label("Search the library").fill("promoter")
    assert "start=" not in page.url
    expect(page.locator(".start [role=status]")).to_have_text("2 found.")
    page.locator(".start-choices button").first.click()
    expect(page.frame_locator(".start-frame iframe").locator("#question")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Use ").click()
    page.get_by_role("button", name="Replace the draft").click()

    assert "Which colour?" not in editor.prompts(page)
    page.get_by_role("button", name="Undo").click()
    assert editor.prompts(page) == ["Which colour?"]


def test_a_sentence_becomes_a_script(windows, monkeypatch, settings, check_accessibility):
    page = opened(windows, COLOUR)
    monkeypatch.setattr(generation, "wake", lambda name, **ids: None)
    page.get_by_role("button", name="Start from…").click()
    # Without a model changes are not offered.
    expect(page.get_by_role("button", name="A template")).to_be_visible()
    expect(page.get_by_role("button", name="A change by AI")).to_have_count(0)
    expect(page.get_by_role("button", name="Change by AI…")).to_have_count(0)
    intent = "Club evening: rate the food and the music, ask why they came. Open until Friday."
    page.get_by_label("What do you want to ask, and whom?").fill(intent)
    expect(page.locator("#start-cost")).to_contain_text("no credits")
    page.get_by_role("button", name="Write the script").click()
    expect(page.locator(".start progress")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Being written…")).to_be_visible()

    generation.run(generation_id=Generation.objects.get().pk)

    page.get_by_role("button", name="Your script is ready").click()
    result = page.locator(".start-result")
    expect(result).to_contain_text("A template fitted to your words")
    expect(result).to_contain_text("What was understood")
    expect(result).to_contain_text("The closing time (Friday) is set when you open the project.")
    expect(page.get_by_role("list", name="The blocks").get_by_role("listitem")).to_have_count(4)
    check_accessibility(page)
    assert editor.prompts(page) == ["Which colour?"]
    page.get_by_role("button", name="Replace the draft").click()
    assert editor.prompts(page)[1:3] == ["How would you rate the food?", "How would you rate the music?"]


def changed_by_ai(request: RevisionRequest) -> ProposedScript:
    """The first block with other words, no second block, the third block unchanged, and a new block."""
    first, _, third = request.blocks
    new = {"type": "open_text", "prompt": "What may it cost?", "name": "price"}
    return ProposedScript(
        [{**first, "prompt": "Which paint?"}, third, new],
        understood=("It asks for paint.",),
        unmet=("It does not rhyme.",),
    )


def test_what_ai_has_changed_is_chosen_by_block_and_can_be_undone(windows, monkeypatch, settings):
    """Rule 10.57."""
    provide(monkeypatch, settings).revise = changed_by_ai
    monkeypatch.setattr(generation, "wake", lambda name, **ids: None)
    settings.CREDITS_FOR_A_SCRIPT = 0
    page = opened(windows, COLOUR, WHY)
    editor.add(page, "Statement")
    page.evaluate(
        "colloquyEditor.store.changeBlock(colloquyEditor.store.selected, (b) => { b.prompt = 'Bye.'; }, 'T')"
    )
    before = editor.prompts(page)
    page.get_by_role("button", name="Change by AI…").click()
    page.get_by_label("What shall AI change?").fill("Paint, in rhymes")
    page.get_by_role("button", name="Change the draft").click()
    expect(page.get_by_role("progressbar", name="The draft is being changed")).to_be_visible()

    generation.run(generation_id=Generation.objects.get().pk)

    expect(page.locator(".start-result")).to_contain_text("It does not rhyme.")
    page.get_by_role("button", name="Review the changes").press("Enter")
    review = page.get_by_role("dialog", name="What AI proposes")
    expect(review.locator(".collision-kind")).to_have_text(["Changed", "Removed", "Added"])
    expect_to_fit_everywhere(page)
    review.get_by_role("group").nth(1).get_by_label("As it is").check()
    review.get_by_role("button", name="Use the result").press("Enter")

    assert editor.prompts(page) == ["Which paint?", "Bye.", "Why [Colour]?", "What may it cost?"]
    page.keyboard.press("Control+z")
    assert editor.prompts(page) == before


def test_a_change_that_is_not_wanted_leaves_the_draft_as_it_is(windows, monkeypatch, settings):
    provide(monkeypatch, settings).revise = changed_by_ai
    monkeypatch.setattr(generation, "wake", lambda name, **ids: None)
    settings.CREDITS_FOR_A_SCRIPT = 0
    page = opened(windows, COLOUR, WHY, BYE)
    before = editor.prompts(page)
    page.get_by_role("button", name="Change by AI…").click()
    page.get_by_label("What shall AI change?").fill("Paint")
    page.get_by_role("button", name="Change the draft").click()
    generation_id = page_job(page)

    generation.run(generation_id=generation_id)

    page.get_by_role("button", name="Review the changes").click()
    page.get_by_role("button", name="Not now").click()
    page.get_by_role("button", name="Your changes are ready").click()
    page.get_by_role("button", name="Review the changes").click()
    page.get_by_role("button", name="Take none").click()
    page.get_by_role("button", name="Use the result").click()
    expect(page.locator("#editor-announcer")).to_have_text("The draft stays as it is.")
    assert editor.prompts(page) == before


def page_job(page: Page) -> int:
    """The job that the page follows, once it does."""
    expect(page.locator(".start progress")).to_be_visible()
    return Generation.objects.get().pk
