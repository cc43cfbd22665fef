"""The editor downloads a script as a file, and “Start from…” imports it."""

from __future__ import annotations

import json
import os

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor
from tests.support.browser.sizes import expect_to_fit_everywhere
from tests.support.caller import CHOICE, SAYING, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller():
    return Caller()


def choose(page, content):
    """Choose a file in “Start from…”."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    if not page.get_by_role("dialog").is_visible():
        page.get_by_role("button", name="Start from…").click()
        page.get_by_role("button", name="A file").click()
    field = page.get_by_label("A script that was exported here")
    field.set_input_files({"name": "script.json", "mimeType": "application/json", "buffer": raw})


def test_an_exported_script_is_taken_into_another_project(windows, caller):
    quiz = CHOICE | {"name": "colour", "correct_answer_index": 1}
    shown = TEXT | {"show_when": {"block": "colour", "op": "eq", "value": "red"}}
    source = editor.new_project(caller, SAYING, quiz, shown, scoring_enabled=True)
    target = editor.new_project(caller, TEXT, scoring_enabled=True)
    page = editor.open_editor(windows, caller, source)
    page.evaluate(
        "() => colloquyEditor.store.changeBlock(colloquyEditor.store.blocks[0].key,"
        " (block) => { block.prompt = 'Just typed.'; }, 'Type')"
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    exported = download.value.path().read_bytes()

    page.goto(editor.address_of(target))
    choose(page, exported)
    page.get_by_role("button", name="Replace the draft").click()
    editor.expect_state(page, "Draft kept")
    editor.save(page)

    blocks = editor.stored(caller, target)
    assert [block["prompt"] for block in blocks] == ["Just typed.", "Which colour?", "Why?"]
    assert blocks[1]["correct_answer_ids"] == [blocks[1]["options"][1]["id"]]
    assert blocks[2]["show_when"] == shown["show_when"]
    assert {block["id"] for block in blocks}.isdisjoint(
        block["id"] for block in editor.stored(caller, source)
    )


def test_the_file_of_the_same_script_keeps_its_ids_and_undo_takes_it_back(windows, caller):
    project = editor.new_project(caller, TEXT, CHOICE)
    before = editor.stored(caller, project)
    page = editor.open_editor(windows, caller, project)

    choose(page, {"blocks": [before[1], before[0] | {"prompt": "Why so?"}]})
    page.get_by_role("button", name="Replace the draft").click()
    editor.expect_state(page, "Draft kept")
    assert editor.prompts(page) == ["Which colour?", "Why so?"]
    editor.save(page)

    after = editor.stored(caller, project)
    assert [block["id"] for block in after] == [before[1]["id"], before[0]["id"]]
    page.keyboard.press("Control+z")
    assert editor.prompts(page) == ["Why?", "Which colour?"]


def test_what_is_no_script_is_refused_and_strange_values_are_shown_as_faults(windows, caller):
    project = editor.new_project(caller, TEXT)
    page = editor.open_editor(windows, caller, project)
    says = page.locator(".start [role=status]")
    strange = [
        {"type": "no_such_type", "prompt": 7, "options": [None, 3, {"value": None}], "min": "<b>"},
        {"type": "single_punch", "name": 5, "show_when": [], "scale": "x", "section": "outer"},
        "no block",
    ]

    choose(page, b"no JSON")
    expect(says).to_contain_text("The file has no question")
    choose(page, {"name": "no script"})
    expect(says).to_contain_text("The file must be a survey of SurveyJS")
    choose(page, b"[" + b" " * 6_000_001 + b"]")
    expect(says).to_contain_text("The file is too large")
    assert editor.prompts(page) == ["Why?"]
    choose(page, strange)
    expect(page.locator(".start-faults")).to_contain_text("Block 2")
    page.get_by_role("button", name="Add at the end").click()

    expect(page.locator(".status-bar")).to_contain_text("faults")
    assert len(editor.prompts(page)) == 3


def test_an_open_project_exports_its_script_and_takes_none(windows, caller):
    project = caller.make_open(TEXT)["id"]
    page = editor.open_editor(windows, caller, project)

    expect(page.get_by_role("button", name="Start from…")).to_be_disabled()
    expect(page.get_by_role("link", name="Export")).to_be_visible()


QUESTIONNAIRE = b"""1. Do you drive? (yes/no) *
2. Which makes? (choose all that apply)
   - Ford
   - Other: ____
3. How good is it? (1-5)
"""


def test_a_questionnaire_of_another_system_becomes_a_draft(windows, caller):
    """Rule 3.179."""
    project = editor.new_project(caller, TEXT)
    page = editor.open_editor(windows, caller, project)
    says = page.locator(".start [role=status]")

    choose(page, QUESTIONNAIRE)
    expect(says).to_contain_text("Text: numbered questions: 3 blocks, no faults")
    page.get_by_label("Format").select_option("csv")
    expect(says).to_contain_text("A table (CSV)")
    page.get_by_label("Format").select_option("surveyjs")
    expect(says).to_contain_text("The file must be JSON.")
    survey = {"elements": [{"type": "file", "name": "a"}, {"type": "text", "name": "b", "title": "Who?"}]}
    page.get_by_label("Format").select_option("")
    choose(page, survey)
    expect(says).to_contain_text("SurveyJS: 1 block")
    expect(page.locator(".start-faults")).to_contain_text("page 1, a: The type “file” cannot be asked here")
    expect_to_fit_everywhere(page)
    if SHOTS := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{SHOTS}/convert.png")
    page.get_by_role("button", name="Replace the draft").click()
    editor.expect_state(page, "Draft kept")
    editor.save(page)

    assert [block["prompt"] for block in editor.stored(caller, project)] == ["Who?"]


def test_numbered_questions_are_pasted(windows, caller):
    project = editor.new_project(caller)
    page = editor.open_editor(windows, caller, project)
    page.get_by_role("button", name="Start from…").click()
    page.get_by_role("button", name="A file or text").click()

    page.get_by_role("button", name="Read the text").click()
    expect(page.get_by_text("Paste the questions first.")).to_be_visible()
    page.get_by_label("Or paste numbered questions").fill("1. Which day?\n- Friday\n- Saturday\n\n2. Why?")
    page.get_by_role("button", name="Read the text").click()
    page.get_by_role("button", name="Use these blocks").click()
    editor.expect_state(page, "Draft kept")
    editor.save(page)

    blocks = editor.stored(caller, project)
    assert [(block["type"], block["prompt"]) for block in blocks] == [
        ("single_punch", "Which day?"),
        ("open_text", "Why?"),
    ]


def test_an_earlier_version_is_started_from(windows, caller):
    """Rule 3.190."""
    project = editor.new_project(caller, TEXT | {"prompt": "First?"})
    page = editor.open_editor(windows, caller, project)
    page.evaluate(
        "() => colloquyEditor.store.changeBlock(colloquyEditor.store.blocks[0].key,"
        " (block) => { block.prompt = 'Second?'; }, 'Type')"
    )
    editor.save(page)

    page.get_by_role("button", name="Start from…").click()
    page.get_by_role("button", name="An earlier version").click()
    page.get_by_role("button", name="The script until").click()
    page.get_by_role("button", name="Look at this version").click()
    expect(page.get_by_role("list", name="The blocks")).to_contain_text("First?")
    page.get_by_role("button", name="Replace the draft").click()
    editor.expect_state(page, "Draft kept")
    editor.save(page)

    assert [block["prompt"] for block in editor.stored(caller, project)] == ["First?"]
