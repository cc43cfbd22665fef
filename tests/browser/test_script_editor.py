"""The script editor in a browser: faults, what may be changed when, phones and accessibility."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor
from tests.support.browser.sizes import expect_to_fit
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)

WELCOME = {"type": "content_block", "prompt": "Welcome.", "section": "intro"}


@pytest.fixture
def caller():
    return Caller()


def card(page, words):
    return page.get_by_role("option", name=words)


def test_a_new_name_is_carried_into_texts_and_logic(windows, caller):
    named = {**CHOICE, "name": "colour"}
    asking = {**TEXT, "prompt": "Why [colour]?", "show_when": {"block": "colour", "op": "eq", "value": "red"}}
    project = editor.new_project(caller, named, asking)
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("Selected block").get_by_text("More", exact=True).click()
    page.get_by_label("Name in logic and texts").fill("favourite colour")
    editor.save(page)

    first, second = editor.stored(caller, project)
    assert (first["name"], second["prompt"]) == ("favourite colour", "Why [favourite_colour]?")
    assert second["show_when"]["block"] == "favourite colour"


def test_saving_with_the_focus_on_a_choice_changes_nothing_else(windows, caller):
    action = {
        "type": "action_block",
        "prompt": "Well done!",
        "action_kind": "give_xp",
        "action_config": {"xp_amount": 25},
    }
    project = editor.new_project(caller, action)
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("What people read").fill("Very well done!")
    page.get_by_role("radio", name="XP", exact=True).focus()
    editor.save(page)

    (block,) = editor.stored(caller, project)
    assert (block["prompt"], block["action_config"]["xp_amount"]) == ("Very well done!", 25)


def test_walking_through_a_form_changes_nothing(windows, caller):
    page = editor.open_editor(windows, caller, editor.new_project(caller))

    for n, kind in enumerate(("statement", "rating", "action")):
        editor.add(page, kind)
        page.keyboard.type(f"{kind}: thank you for your time.")
        editor.save(page)
        saved = page.evaluate(editor.BLOCKS)
        assert any(block["prompt"].startswith(kind) for block in saved)

        page.keyboard.press("Escape")
        card(page, f"{n + 1}. {kind}").press("Tab")
        for _ in range(24):
            page.keyboard.press("Tab")

        assert page.evaluate(editor.BLOCKS) == saved
        editor.expect_state(page, "Script saved")


def test_words_on_a_button_that_are_taken_away_again_leave_nothing_behind(windows, caller):
    page = editor.open_editor(windows, caller, editor.new_project(caller, WELCOME))
    words = page.get_by_label("Words on the button")

    expect(words).to_have_attribute("placeholder", "Okay")
    words.press_sequentially("Go")
    assert editor.block(page, 0)["continue"] == {"after": "click", "pause": None, "label": "Go"}
    words.clear()

    assert editor.block(page, 0)["continue"] is None


def test_faults_stand_at_their_fields_and_in_a_list_and_keep_a_script_from_being_saved(windows, caller):
    project = editor.new_project(caller, TEXT, {"type": "open_numeric", "prompt": "How many?"})
    page = editor.open_editor(windows, caller, project)

    # What a new block still lacks is no fault until one leaves it.
    editor.add(page, "ranking")
    editor.expect_state(page, "Draft kept")
    expect(page.get_by_role("button", name="fault")).to_have_count(0)
    card(page, "1. Why?").click()
    expect(page.get_by_role("button", name="2 faults")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name="fault")).to_have_count(0)

    card(page, "2. How many?").click()
    page.get_by_label("Least").fill("9")
    page.get_by_label("Greatest").fill("3")
    least = page.get_by_label("Least")
    expect(least).to_have_attribute("aria-invalid", "true")
    expect(card(page, "2. How many?, Number, 1 fault")).to_be_visible()
    card(page, "1. Why?").click()
    page.get_by_role("button", name="1 fault").click()
    page.get_by_role("button", name="Block 2").click()
    expect(least).to_be_focused()
    expect(least).to_have_accessible_description("Fault: The least must be at most the greatest, which is 3.")
    question = page.get_by_label("Question")
    question.fill("How many, [UserName?")
    expect(question).to_have_accessible_description(
        "Warning: This [ is not closed, so it is shown as written: [UserName?"
    )

    # But its draft is kept.
    question.fill("")
    editor.expect_state(page, "Draft kept")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("region", name="Issues")).to_contain_text("The text must not be blank")
    assert editor.stored(caller, project)[1]["prompt"] == "How many?"


def test_words_change_and_blocks_and_options_are_added_while_the_project_is_open(windows, caller):
    """Rules 2.10 to 2.12."""
    project = editor.new_project(caller, {**CHOICE, "prompt": "Wich colour?"})
    caller.post(f"/projects/{project}/open")
    page = editor.open_editor(windows, caller, project)

    expect(page.locator("#why-closed")).to_contain_text("You can change words and pictures, and add blocks")
    expect(page.get_by_role("button", name="Remove option 1")).to_be_disabled()
    expect(page.get_by_role("button", name="Archive block")).to_have_count(0)
    page.get_by_label("Question").fill("Which colour?")
    page.get_by_label("Option 1", exact=True).fill("Red like wine")
    page.get_by_role("button", name="Add option").click()
    page.locator("input[aria-label^='Option']:focus").fill("violet")
    editor.add(page, "open text")
    expect(page.locator("#why-closed")).to_have_count(0)
    page.get_by_label("Question").fill("Why?")
    expect(page.get_by_role("button", name="Archive block")).to_be_visible()
    editor.save(page)
    expect(page.get_by_role("button", name="Archive block")).to_have_count(0)
    card(page, "2. Why?").press("Delete")
    expect(page.locator("#editor-announcer")).to_contain_text("Blocks cannot be archived")

    choice, text = editor.stored(caller, project)
    first, last = choice["options"][0], choice["options"][-1]
    assert (choice["prompt"], first["value"], first["label"]) == ("Which colour?", "red", "Red like wine")
    assert (last["value"], last["label"], text["prompt"]) == ("violet", None, "Why?")


def test_the_keys_of_the_list_and_the_sheets_give_the_focus_back(windows, caller, check_accessibility):
    page = editor.open_editor(windows, caller, editor.new_project(caller, TEXT))
    first = card(page, "1. Why?")

    # Before anything was clicked.
    page.keyboard.press("a")
    expect(page.get_by_label(editor.SEARCH)).to_be_focused()
    page.keyboard.press("Escape")
    expect(first).to_be_focused()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(first).to_be_focused()

    for opens in ("a", "?"):
        page.keyboard.press(opens)
        expect(page.get_by_role("dialog")).to_be_visible()
        check_accessibility(page)
        page.keyboard.press("Escape")
        expect(first).to_be_focused()

    # An issue of the whole script leads to its blocks.
    page.evaluate("document.activeElement.blur()")
    page.evaluate(
        """() => colloquyEditor.store.receiveCheck(
            { violations: [{ field: "blocks", code: "too_few", message: "Add a question." }] }, [])"""
    )
    page.get_by_role("button", name="1 fault").click()
    page.get_by_role("button", name="Add a question.").click()
    expect(first).to_be_focused()
    expect(page.locator(".announced")).to_contain_text("about the script as a whole")


def test_types_are_found_by_what_people_call_them(windows, caller):
    page = editor.open_editor(windows, caller, editor.new_project(caller))
    page.keyboard.press("a")
    marked = page.locator(".palette-choice[aria-selected=true]:visible")
    told = page.locator(".palette .help")

    for looked_for in ("thank", "end", "welcome"):
        page.get_by_label(editor.SEARCH).fill(looked_for)
        expect(marked.locator("b")).to_have_text("Statement")
        expect(told).to_be_hidden()
    for looked_for, found, words in (
        ("date", "Text", "answers are “A date”"),
        ("email", "Text", "choose what its answers are"),
        ("website", "Text", "choose what its answers are"),
        ("phone", "Text", "choose what its answers are"),
        ("file", "Text", "Files cannot be sent"),
        ("matrix", "Opinion scale", "pages show them on one screen"),
    ):
        page.get_by_label(editor.SEARCH).fill(looked_for)
        expect(marked.locator("b")).to_have_text(found)
        expect(told).to_contain_text(words)


def test_an_open_project_is_duplicated_with_its_draft_as_a_new_version(windows, caller):
    project = editor.new_project(caller, TEXT)
    caller.post(f"/projects/{project}/open")
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("Question").fill("Why not?")
    page.get_by_role("button", name="duplicate it as a new version").click()
    page.wait_for_url(lambda url: f"/{project}/" not in url)

    expect(page.get_by_label("Question")).to_have_value("Why not?")
    expect(page.get_by_role("button", name="Add a block")).to_be_enabled()


def test_the_outro_can_only_be_reworded(windows, caller):
    project = editor.new_project(caller, TEXT)
    page = editor.open_editor(windows, caller, project)

    page.locator(".block-card").last.click()
    expect(page.locator("#why-closed")).to_contain_text("This block is automatic")
    page.get_by_label("What it says").fill("Thanks a lot!")
    editor.save(page)

    script = caller.get(f"/projects/{project}/script?expand=outro").json()
    assert script["blocks"][-1]["prompt"] == "Thanks a lot!"


def test_pictures_on_the_basic_tier_say_what_they_need(windows):
    caller = Caller(tier="basic")
    project = editor.new_project(caller, TEXT)
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("Selected block").get_by_text("More", exact=True).click()

    picture = page.get_by_label("Picture above the text")
    expect(picture).to_be_disabled()
    expect(picture).to_have_accessible_description("Pictures need the premium tier. Yours is basic.")


def test_on_a_phone_one_pane_shows_at_a_time(windows, caller, check_accessibility):
    project = editor.new_project(caller, TEXT, CHOICE)
    page = editor.open_editor(windows, caller, project, phone=True)

    card(page, "2. Which colour?").tap()
    expect(page.get_by_label("Question")).to_have_value("Which colour?")
    expect_to_fit(page)
    check_accessibility(page)
    page.get_by_role("button", name="Blocks", exact=True).tap()

    expect(card(page, "1. Why?")).to_be_visible()
    expect(page.get_by_label("Question")).to_be_hidden()
    expect_to_fit(page)


def test_the_editor_is_accessible(windows, caller, check_accessibility, check_contrast):
    scale = {"type": "opinion_scale", "prompt": "The rules are clear."}
    action = {
        "type": "action_block",
        "prompt": "Well done!",
        "action_kind": "give_xp",
        "action_config": {"xp_amount": 5},
    }
    sum_of_all = {"type": "calculated_block", "prompt": "", "calculated_formula": "1 + 1"}
    project = editor.new_project(
        caller, WELCOME, CHOICE, scale, action, sum_of_all, TEXT, scoring_enabled=True
    )
    page = editor.open_editor(windows, caller, project)
    title = page.locator("#form-title")

    for block in range(7):
        before = title.inner_text() if block else ""
        page.locator(".block-card").nth(block).click()
        expect(title).not_to_have_text(before)
        if page.get_by_label("Selected block").get_by_text("More", exact=True).is_visible():
            page.get_by_label("Selected block").get_by_text("More", exact=True).click()
        check_accessibility(page)
        page.emulate_media(color_scheme="dark")
        check_contrast(page)
        page.emulate_media(color_scheme="light")
