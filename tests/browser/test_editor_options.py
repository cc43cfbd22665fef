"""Options, points and scales in the script editor."""

import pytest
from playwright.sync_api import expect

from tests.support.browser import editor
from tests.support.caller import CHOICE, TEXT, Caller

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "1. Tuesday\n2. Thursday\n\n• Saturday\nTuesday\n"
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const pasted = { clipboardData: data, bubbles: true, cancelable: true };
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", pasted));
}"""


@pytest.fixture
def caller():
    return Caller()


def test_options_are_dragged_moved_removed_and_pasted(windows, caller):
    page = editor.open_editor(windows, caller, editor.new_project(caller, CHOICE))
    rows = page.locator(".option-row")
    rows.nth(2).hover()
    grip = rows.nth(2).locator(".grip").bounding_box()
    end = rows.nth(0).bounding_box()
    assert grip is not None
    assert end is not None
    page.mouse.move(grip["x"] + 8, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(grip["x"] + 8, end["y"] + 2, steps=5)
    page.mouse.up()
    assert editor.values(page) == ["blue", "red", "green"]

    # By keyboard.
    page.get_by_label("Option 3", exact=True).focus()
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    assert editor.values(page) == ["green", "blue", "red"]
    for _ in range(6):
        page.keyboard.press("Backspace")
    assert editor.values(page) == ["blue", "red"]
    expect(page.get_by_label("Option 1", exact=True)).to_be_focused()
    page.get_by_role("button", name="Paste a list").click()
    page.keyboard.insert_text(LIST)
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("3 options")
    page.get_by_role("button", name="Add them").click()
    assert editor.values(page) == ["blue", "red", "Tuesday", "Thursday", "Saturday"]

    # Lines pasted into an option with a text follow it unless all of it is selected.
    page.get_by_role("dialog").get_by_text("Close", exact=True).click()
    page.get_by_label("Option 1", exact=True).press("End")
    page.evaluate(PASTE, "May\nJune")
    assert editor.values(page) == ["blue", "May", "June", "red", "Tuesday", "Thursday", "Saturday"]
    page.get_by_label("Option 4", exact=True).select_text()
    page.evaluate(PASTE, "Friday\nSunday")
    assert editor.values(page) == [
        *("blue", "May", "June", "Friday", "Sunday"),
        *("Tuesday", "Thursday", "Saturday"),
    ]


def test_lines_pasted_into_an_option_become_options(windows, caller):
    project = editor.new_project(caller)
    page = editor.open_editor(windows, caller, project)
    editor.add(page, "one choice")
    page.keyboard.type("Which evening?")

    editor.tab_to(page, "Option 1")
    page.evaluate(PASTE, LIST)

    assert editor.values(page) == ["Tuesday", "Thursday", "Saturday"]
    expect(page.get_by_label("Lines that were not taken")).to_have_value("Tuesday")
    page.get_by_role("dialog").get_by_text("Close", exact=True).click()
    editor.save(page)
    (block,) = editor.stored(caller, project)
    assert [option["value"] for option in block["options"]] == ["Tuesday", "Thursday", "Saturday"]


def test_on_a_phone_one_tap_adds_an_option_or_opens_its_emoji_while_another_is_written(windows, caller):
    page = editor.open_editor(windows, caller, editor.new_project(caller, CHOICE), phone=True)
    page.get_by_role("button", name="Edit", exact=True).tap()
    rows = page.locator(".option-row")
    last = page.get_by_label("Option 3", exact=True)

    last.tap()
    expect(rows.nth(2).locator(".option-tools")).to_be_visible()
    page.get_by_role("button", name="Add option").tap()
    expect(rows).to_have_count(4)
    page.get_by_label("Option 1", exact=True).tap()
    rows.nth(1).locator(".emoji-button").tap()

    expect(page.get_by_role("dialog")).to_be_visible()


def test_options_that_nobody_has_filled_in_are_there_again_after_a_reload(windows, caller):
    project = editor.new_project(caller, type="poll")
    page = editor.open_editor(windows, caller, project)
    editor.add(page, "one choice")
    page.keyboard.type("Tea?")
    editor.expect_kept(page)

    page.reload()
    expect(page.get_by_label("Question")).to_have_value("Tea?")
    expect(page.locator(".option-row")).to_have_count(2)
    editor.expect_state(page, "Draft kept")
    page.get_by_label("Option 1", exact=True).fill("Green")
    editor.expect_kept(page)
    page.reload()

    expect(page.get_by_label("Option 1", exact=True)).to_have_value("Green")
    expect(page.locator(".option-row")).to_have_count(2)


def test_removing_an_option_that_was_chosen_asks_and_says_how_often(windows, caller):
    project = editor.new_project(caller, CHOICE)
    (block,) = editor.stored(caller, project)
    caller.post(f"/projects/{project}/open", {"delivery": {"audience": {"participation": "open_web"}}})
    for _ in range(2):
        begun = caller.post(f"/projects/{project}/conversations", {}).json()
        answer = {"block_id": block["id"], "value": "red"}
        assert caller.post(f"/conversations/{begun['id']}/answers", answer).status_code == 200
    caller.post(f"/projects/{project}/close", {})
    page = editor.open_editor(windows, caller, project)

    page.get_by_role("button", name="Remove option 1").click()
    dialog = page.get_by_role("alertdialog", name="Remove “red”?")
    expect(dialog).to_contain_text("It was chosen in 2 responses.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert editor.values(page) == ["red", "green", "blue"]
    page.get_by_role("button", name="Remove option 2").click()
    dialog = page.get_by_role("alertdialog", name="Remove “green”?")
    expect(dialog).to_contain_text("Nobody has chosen it yet.")
    dialog.get_by_role("button", name="Remove option").click()

    expect(page.locator(".option-row")).to_have_count(2)
    assert editor.values(page) == ["red", "blue"]


def test_too_long_a_list_stays_with_a_fault_beside_it_in_chat(windows, caller):
    project = editor.new_project(caller, CHOICE)
    chat = {"audience": {"response_channel": "chat"}}
    assert caller.patch(f"/projects/{project}", {"delivery": chat}).status_code == 200
    page = editor.open_editor(windows, caller, project)

    page.get_by_role("button", name="Paste a list").click()
    page.keyboard.insert_text("\n".join(f"Evening {n}" for n in range(30)))
    page.get_by_role("button", name="Add them").click()

    expect(page.locator(".option-row")).to_have_count(33)
    expect(page.locator(".options .quiet-count")).to_have_text("33 of at most 25")
    fault = page.get_by_text("The list of options must hold at most 25 if the project is delivered by chat.")
    expect(fault.first).to_be_visible()


def test_lines_of_a_pasted_list_that_do_not_fit_are_told_and_stay_in_the_box(windows, caller):
    page = editor.open_editor(windows, caller, editor.new_project(caller, CHOICE))
    lines = ["x" * 501, *(f"Evening {n}" for n in range(134))]
    alert = page.get_by_role("dialog").get_by_role("alert")
    left_out = page.get_by_label("Lines that were not taken")

    page.get_by_role("button", name="Paste a list").click()
    page.keyboard.insert_text("\n".join(lines))
    page.get_by_role("button", name="Add them").click()

    expect(alert).to_have_text(
        "97 options added; 37 lines were left out, because a question has at most 100 options; "
        "1 line was left out, because an option has at most 500 characters. "
        "A question that is drawn as a menu can have 1,000."
    )
    expect(left_out).to_have_value("\n".join([*lines[98:], lines[0]]))
    expect(left_out).not_to_be_editable()
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("38 lines left out")
    expect(page.get_by_role("button", name="Add them")).to_have_count(0)
    page.get_by_role("dialog").get_by_text("Close", exact=True).click()
    expect(page.locator(".option-row")).to_have_count(100)

    # And those pasted into an option of a full list.
    page.get_by_role("button", name="Remove option 100").click()
    page.get_by_label("Option 99", exact=True).focus()
    page.evaluate(PASTE, "Tuesday\nThursday\nSaturday")
    expect(alert).to_have_text(
        "1 option added; 2 lines were left out, because a question has at most 100 options. "
        "A question that is drawn as a menu can have 1,000."
    )
    expect(left_out).to_have_value("Thursday\nSaturday")
    assert editor.values(page)[-2:] == ["Evening 95", "Tuesday"]


def test_an_emoji_is_found_by_a_word_and_another_stored_value_leaves_what_people_read(windows, caller):
    project = editor.new_project(caller, CHOICE)
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("Option 1: add an emoji").click()
    page.keyboard.type("pizza")
    page.keyboard.press("Enter")
    page.get_by_text("Show stored values").click()
    stored = page.get_by_label("Option 1, stored value")
    stored.press("End")
    stored.press_sequentially("dish")
    editor.save(page)

    (block,) = editor.stored(caller, project)
    first = block["options"][0]
    assert (first["label"], first["value"], first["emoji"]) == ("red", "reddish", "🍕")


def test_scoring_is_turned_on_in_place_and_points_and_the_right_answer_are_written(windows, caller):
    project = editor.new_project(caller, CHOICE)
    page = editor.open_editor(windows, caller, project)
    page.get_by_label("Question").fill("Which opening?")

    page.get_by_role("button", name="Turn scoring on").click()
    dialog = page.get_by_role("alertdialog")
    expect(dialog).to_contain_text("Options then carry points")
    dialog.get_by_role("button", name="Turn scoring on").click()
    expect(page.get_by_label("Option 2, points for Score")).to_be_visible()
    editor.expect_state(page, "Draft kept")
    rows = [page.get_by_label(f"Option 2{each}", exact=True) for each in ("", ", points for Score")]
    boxes = [row.bounding_box() for row in [*rows, page.get_by_label("Remove option 2")]]
    tops = [box["y"] for box in boxes if box is not None]
    assert len(tops) == 3
    assert max(tops) - min(tops) < 12
    page.reload()
    expect(page.locator(".notice")).to_contain_text("You have a draft from")
    expect(page.locator(".notice")).not_to_contain_text("somebody else")
    page.get_by_label("Option 2, points for Score").fill("3")
    page.get_by_label("Option 2 is the right answer").click()
    page.get_by_text("Words after the answer").click()
    page.get_by_label("After the right answer").fill("That's right!")
    editor.save(page)

    (block,) = editor.stored(caller, project)
    red, green, _ = block["options"]
    assert (block["prompt"], red["score_values"], green["score_values"]) == (
        "Which opening?",
        None,
        {"score": 3},
    )
    assert block["correct_answer_ids"] == [green["id"]]
    assert block["when_correct"] == "That's right!"
    editor.add(page, "promoter")
    expect(page.get_by_text("Words after the answer")).to_be_hidden()
    page.get_by_label("A word, an emoji or a score for each point").check()
    page.get_by_label("Point 9 is the right answer").click()
    expect(page.get_by_text("Words after the answer")).to_be_visible()


def test_the_right_answer_and_conditions_keep_to_options_that_are_moved_and_renamed(windows, caller):
    named = {**CHOICE, "name": "colour", "correct_answer_index": 0}
    asking = {**TEXT, "show_when": {"block": "colour", "op": "in", "value": ["red", "blue"]}}
    project = editor.new_project(caller, named, asking, scoring_enabled=True)
    page = editor.open_editor(windows, caller, project)

    page.get_by_label("Option 1", exact=True).fill("crimson")
    page.keyboard.press("Alt+ArrowDown")
    editor.save(page)

    first, second = editor.stored(caller, project)
    assert [option["value"] for option in first["options"]] == ["green", "crimson", "blue"]
    assert first["correct_answer_index"] == 1
    assert second["show_when"]["value"] == ["crimson", "blue"]


def test_a_scale_is_drawn_with_its_words_and_emoji(windows, caller):
    project = editor.new_project(caller)
    page = editor.open_editor(windows, caller, project)
    editor.add(page, "opinion")
    page.keyboard.type("The rules are clear.")

    page.get_by_label("From").select_option("1")
    page.get_by_label("To", exact=True).select_option("5")
    page.get_by_label("Left end").fill("Not at all")
    expect(page.locator(".scale-cells")).to_have_text("12345")
    expect(page.locator(".scale-words")).to_have_text("Not at all")
    page.get_by_text("Emoji", exact=True).click()
    expect(page.locator(".scale-cells")).to_have_text("😡🙁😐🙂😍")
    editor.save(page)

    (block,) = editor.stored(caller, project)
    assert (block["min"], block["max"], block["scale"]["icon"]) == (1, 5, "emoji")
    assert [option["emoji"] for option in block["options"]] == ["😡", "🙁", "😐", "🙂", "😍"]
