"""The list of blocks in the script editor: adding, moving and archiving, by keyboard and with a pointer."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)

WELCOME = {"type": "content_block", "prompt": "Welcome.", "section": "intro"}


@pytest.fixture
def caller():
    return Caller()


def card(page, words):
    return page.get_by_role("option", name=words)


def test_a_block_is_added_to_an_empty_script_by_keyboard_and_keeps_its_ids(windows, caller):
    project = editor.new_project(caller)
    page = editor.open_editor(windows, caller, project)
    expect(page.get_by_role("heading", name="An empty script")).to_be_visible()
    page.get_by_role("button", name="From a template").click()
    expect(page.get_by_label("Search the library")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Add the first block")).to_be_visible()

    page.locator(".block-card").first.focus()
    page.keyboard.press("a")
    page.keyboard.type("checkbox")
    page.keyboard.press("Enter")
    page.keyboard.type("Which evenings?")
    editor.write_options(page, "Tuesday", "Thursday")
    editor.save(page)
    (block,) = editor.stored(caller, project)
    assert (block["type"], block["prompt"]) == ("multi_punch", "Which evenings?")
    assert [option["value"] for option in block["options"]] == ["Tuesday", "Thursday"]
    page.keyboard.type("s")
    editor.save(page)

    (after,) = editor.stored(caller, project)
    assert after["id"] == block["id"]
    assert [option["id"] for option in after["options"]] == [option["id"] for option in block["options"]]
    assert after["options"][1]["value"] == "Thursdays"


def test_alt_and_an_arrow_move_a_block_into_the_intro(windows, caller):
    project = editor.new_project(caller, WELCOME, TEXT, CHOICE)
    page = editor.open_editor(windows, caller, project)

    card(page, "3. Which colour?").click()
    for _ in range(2):
        page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#editor-announcer")).to_have_text("Block moved to place 2 of 3, intro.")
    editor.save(page)

    sections = [(block["section"], block["prompt"]) for block in editor.stored(caller, project)]
    assert sections == [("intro", "Welcome."), ("intro", "Which colour?"), ("main", "Why?")]


def test_a_pointer_drags_a_block_and_everything_is_undone_and_redone(windows, caller):
    project = editor.new_project(caller, TEXT, CHOICE, {**TEXT, "prompt": "What else?"})
    page = editor.open_editor(windows, caller, project)
    start = card(page, "3. What else?").bounding_box()
    end = card(page, "1. Why?").bounding_box()

    for is_given_up in (True, False):
        page.mouse.move(start["x"] + 60, start["y"] + 20)
        page.mouse.down()
        page.mouse.move(end["x"] + 60, end["y"] + 4, steps=6)
        expect(page.locator(".drop-line")).to_be_visible()
        if is_given_up:
            page.keyboard.press("Escape")
        page.mouse.up()
        expect(page.locator(".drop-line")).to_have_count(0)
        moved = ["What else?", "Why?", "Which colour?"]
        assert editor.prompts(page) == (["Why?", "Which colour?", "What else?"] if is_given_up else moved)

    card(page, "3. Which colour?").click()
    page.keyboard.press("d")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")
    page.keyboard.type("!")
    assert editor.prompts(page) == ["What else?", "Why?", "Which colour?!"]
    for _ in range(3):
        page.keyboard.press("Control+z")
    assert editor.prompts(page) == moved
    page.keyboard.press("Control+Shift+z")
    assert editor.prompts(page) == [*moved, "Which colour?"]


def test_a_finger_drags_a_block_by_its_grip_and_scrolls_elsewhere(windows, caller):
    project = editor.new_project(caller, TEXT, CHOICE, {**TEXT, "prompt": "What else?"})
    page = editor.open_editor(windows, caller, project, phone=True)
    words = card(page, "2. Which colour?").locator(".card-words")

    editor.swipe(page, words.bounding_box(), by=-40)
    assert editor.prompts(page) == ["Why?", "Which colour?", "What else?"]
    editor.wait_until_still(words)
    grip = card(page, "3. What else?").locator(".grip").bounding_box()
    end = card(page, "1. Why?").bounding_box()
    assert grip is not None
    assert end is not None
    editor.swipe(page, grip, by=end["y"] - grip["y"] - grip["height"] / 2)

    assert editor.prompts(page) == ["What else?", "Why?", "Which colour?"]


def test_archived_blocks_are_listed_for_reading(windows, caller, check_accessibility):
    project = editor.new_project(caller, TEXT, CHOICE)
    first, _ = editor.stored(caller, project)
    caller.post(f"/projects/{project}/open", {"delivery": {"audience": {"participation": "open_web"}}})
    begun = caller.post(f"/projects/{project}/conversations", {}).json()
    caller.post(f"/conversations/{begun['id']}/answers", {"block_id": first["id"], "value": "So"})
    caller.post(f"/projects/{project}/close", {})
    page = editor.open_editor(windows, caller, project)
    archived = page.get_by_role("button", name="Archived (1)")
    expect(archived).to_have_count(0)

    card(page, "1. Why?").click()
    page.keyboard.press("Delete")
    page.get_by_role("alertdialog").get_by_role("button", name="Archive block").click()
    editor.save(page)
    archived.click()

    sheet = page.get_by_role("dialog", name="Archived blocks")
    expect(sheet.get_by_role("listitem")).to_have_text(["Why?Text · answered in 1 response"])
    expect(sheet.get_by_role("link", name="Results and exports")).to_be_visible()
    check_accessibility(page)


def test_before_a_block_goes_the_blocks_that_use_it_are_named_and_brought_back_it_is_a_new_one(
    windows, caller
):
    by_name = {**TEXT, "prompt": "Why [colour]?"}
    by_position = {**TEXT, "prompt": "And when?", "precondition": 'NOT(q1 = "red")'}
    project = editor.new_project(caller, {**CHOICE, "name": "colour"}, by_name, by_position)
    page = editor.open_editor(windows, caller, project)

    card(page, "1. Which colour?").click()
    page.keyboard.press("Delete")

    dialog = page.get_by_role("alertdialog", name="Archive block 1?")
    expect(dialog).to_contain_text(
        "Conditions, formulas or texts use it, and need a change too: in block 2, “Why [colour]?”; in block "
        "3, “And when?”. Nobody has answered it yet."
    )
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("alertdialog")).to_have_count(0)
    assert len(editor.prompts(page)) == 3

    # After a save.
    *_, last = editor.stored(caller, project)
    card(page, "3. And when?").click()
    page.keyboard.press("Delete")
    expect(page.get_by_role("alertdialog")).to_contain_text("Nobody has answered it yet.")
    page.get_by_role("alertdialog").get_by_role("button", name="Archive block").click()
    editor.save(page)
    page.keyboard.press("Control+z")
    editor.save(page)
    *_, back = editor.stored(caller, project)
    assert back["prompt"] == "And when?"
    assert back["id"] != last["id"]
