"""Options that are more than a text, on a page with JavaScript and in the script editor."""

import pytest
from playwright.sync_api import expect

from surveys.models import Answer, Conversation
from tests.support.browser import editor
from tests.support.browser.controls import go_on
from tests.support.caller import CHOICE, Caller
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db(transaction=True)

NONE = {"value": "None of these", "is_exclusive": True}
OTHER = {"value": "Other", "is_other": True}


@pytest.fixture
def caller():
    return Caller()


def chosen():
    return list(Answer.objects.order_by("ordinal").values_list("value", flat=True))


def test_an_exclusive_option_takes_the_ticks_of_the_others(windows):
    """Rule 6.150."""
    made = scenario.project({"type": "multi_punch", "options": ["chess", "go", NONE], "min": 1})
    page = windows.open(f"/s/{made.slug}")

    page.get_by_label("chess").check()
    page.get_by_label("None of these").check()
    expect(page.get_by_label("chess")).not_to_be_checked()
    page.get_by_label("go").check()
    expect(page.get_by_label("None of these")).not_to_be_checked()
    page.get_by_label("None of these").check()
    go_on(page)
    expect(page.get_by_text("Thank you.")).to_be_visible()

    assert chosen() == ["None of these"]


def test_a_text_of_ones_own_is_asked_for_while_its_option_is_chosen(windows, check_accessibility):
    """Rule 6.154."""
    made = scenario.project({"type": "single_punch", "options": ["chess", OTHER]}, {"type": "open_text"})
    page = windows.open(f"/s/{made.slug}")
    own = page.get_by_label("Your own answer for “Other”")

    expect(own).to_be_hidden()
    page.locator(".option", has_text="Other").click()
    expect(own).to_be_focused()
    page.keyboard.type("Mahjong")
    check_accessibility(page)
    page.get_by_text("chess").click()
    expect(own).to_be_hidden()
    page.locator(".option", has_text="Other").click()
    expect(own).to_have_value("Mahjong")
    go_on(page)
    expect(page.get_by_text("Prompt 1.")).to_be_visible()

    assert chosen() == ["Other"]
    (state,) = Conversation.objects.values_list("state", flat=True)
    assert [each["text"] for each in state["other"].values()] == ["Mahjong"]


def test_a_missing_text_of_ones_own_is_asked_for_at_its_field(windows):
    """Rule 6.154."""
    options = [*(f"game {n}" for n in range(9)), OTHER]
    made = scenario.project({"type": "single_punch", "options": options}, {"type": "open_text"})
    page = windows.open(f"/s/{made.slug}", phone=True)
    page.locator(".option", has_text="Other").click()
    go_on(page)

    own = page.get_by_label("Your own answer for “Other”")
    expect(page.locator(".error")).to_be_attached()
    expect(own).to_be_focused()
    expect(own).to_be_in_viewport()


def test_other_none_of_these_right_answers_and_pictures_are_added_in_the_editor(windows, caller):
    """Rules 3.150 and 3.155."""
    caller.community.tier = "premium"
    caller.community.save(update_fields=["tier"])
    options = [{"value": value} for value in "abc"]
    choice = {"type": "multi_punch", "prompt": "Which?", "options": options}
    project = editor.new_project(caller, choice, scoring_enabled=True)
    page = editor.open_editor(windows, caller, project)

    for n in (3, 1):
        page.get_by_role("button", name=f"Option {n} is one of the right answers").click()
    page.get_by_role("button", name="Add “Other”").click()
    page.get_by_role("button", name="Add “None of these”").click()
    expect(page.get_by_role("button", name="Add “Other”")).to_be_disabled()
    expect(page.get_by_role("button", name="Option 5 cannot be chosen with others")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.get_by_label("Pictures", exact=True).check()
    page.get_by_label("Option 2, address of its picture", exact=True).fill("https://author.example/green.png")
    page.get_by_label("Option 2, what its picture shows").fill("A meadow")
    editor.save(page)

    (block,) = editor.stored(caller, project)
    marks = [(each["value"], each["is_other"], each["is_exclusive"]) for each in block["options"]]
    assert marks == [
        *((value, None, None) for value in "abc"),
        ("Other", True, None),
        ("None of these", None, True),
    ]
    assert block["correct_answer_indexes"] == [0, 2]
    pictures = [(each["image_url"], each["image_alt"]) for each in block["options"]]
    nothing = (None, None)
    assert pictures == [nothing, ("https://author.example/green.png", "A meadow"), *[nothing] * 3]


def test_a_menu_takes_a_pasted_list_of_more_than_a_hundred(windows, caller):
    """Rule 3.157."""
    menu = {**CHOICE, "answer_style": "select_menu"}
    project = editor.new_project(caller, menu)
    page = editor.open_editor(windows, caller, project)

    page.get_by_role("button", name="Paste a list").click()
    page.keyboard.insert_text("\n".join(f"Town {n}" for n in range(120)))
    expect(page.get_by_role("dialog").get_by_role("status")).to_have_text("120 options")
    page.get_by_role("button", name="Add them").click()
    editor.save(page)

    (block,) = editor.stored(caller, project)
    assert len(block["options"]) == 123
