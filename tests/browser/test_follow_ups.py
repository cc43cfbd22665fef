"""Further questions in a browser: the page continues by itself, and the editor has a field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from surveys.models import Conversation, Project
from tests.support.ai.loopback import Loopback
from tests.support.browser import editor
from tests.support.browser.controls import go_on, question
from tests.support.caller import TEXT, Caller
from tests.support.surveys.follow_ups import QUESTION, asks, caller_with_credits, model, survey, write

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def anthropic(settings: Any) -> Iterator[Loopback]:
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    with model(settings) as loopback:
        yield loopback


def test_the_page_leads_to_the_question_and_on_by_itself(
    windows: Any, check_accessibility: Any, anthropic: Loopback
) -> None:
    anthropic.queue(asks(QUESTION), {"is_clear": True, "question": ""})
    project = Project.objects.get(pk=survey(caller_with_credits()))
    page = windows.open(f"/s/{project.slug}")
    page.evaluate("window.isTheSamePage = true")

    page.get_by_label("What should we change?").fill("The evenings")
    go_on(page)
    question(page, "One moment, please.")
    check_accessibility(page)
    write(Conversation.objects.get().pk)
    question(page, QUESTION)
    check_accessibility(page)
    expect(page.get_by_label(QUESTION)).to_have_value("")
    expect(page.locator("#history")).to_contain_text("The evenings")

    page.get_by_label(QUESTION).fill("They end la")
    page.reload()
    expect(page.get_by_label(QUESTION)).to_have_value("They end la")
    page.get_by_label(QUESTION).fill("They end late")
    go_on(page)
    question(page, "One moment, please.")
    write(Conversation.objects.get().pk, asked=2)
    question(page, "Which colour?")
    expect(page.get_by_label("Which colour?")).to_have_value("")
    past = page.locator("#history")
    for text in ("What should we change?", "The evenings", QUESTION, "They end late"):
        expect(past.get_by_text(text, exact=True)).to_have_count(1)


@pytest.mark.parametrize("has_model", [True, False])
def test_the_editor_has_the_field_where_a_model_is_at_work(
    windows: Any, request: pytest.FixtureRequest, has_model: bool
) -> None:
    if has_model:
        request.getfixturevalue("anthropic")
    caller = Caller()
    project = editor.new_project(caller, {**TEXT, "name": "why"})
    page = editor.open_editor(windows, caller, project)
    field = page.get_by_label("Further questions")

    if not has_model:
        expect(page.get_by_label("An answer is required")).to_be_visible()
        expect(field).to_have_count(0)
        return
    words = "An AI asks up to two further questions about an answer of less than 200 characters."
    expect(field).to_have_accessible_description(re.compile(rf"^{re.escape(words)} Each ten cost 1 credit\."))
    field.fill("3")
    expect(page.get_by_text("“Further questions” must be at most 2.").first).to_be_visible()
    field.fill("2")
    editor.save(page)

    assert [block["follow_ups"] for block in editor.stored(caller, project)] == [2]
