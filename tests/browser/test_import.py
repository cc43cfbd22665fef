"""Responses from a file in a browser: chosen, matched, checked and imported, by keyboard and on a phone."""

import os

import pytest
from playwright.sync_api import expect

from surveys.models import Conversation, ResponseFile
from surveys.services.imports import files
from tests.support.browser.staff_results import for_staff
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db(transaction=True)
COLOUR = {
    "type": "single_punch",
    "name": "colour",
    "prompt": "Which colour do you like, [nick]?",
    "options": ["red", "green"],
}
MANY = {"type": "multi_punch", "name": "days", "prompt": "Which days?", "options": ["Mon", "Tue", "Wed"]}
PAST = """Submitted at;Colour;Which days? [Mon];Which days? [Tue];What may we call you?;Notes
2025-05-01 10:00;red;x;;Ada;kept apart
2025-05-02 11:30;green;;x;Grace;
2025-05-03 09:15;blue;;;Linus;
"""


@pytest.fixture
def made():
    return scenario.project({**TEXT, "name": "nick", "prompt": "What may we call you?"}, COLOUR, MANY)


def shoot(page, name):
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_a_file_is_matched_checked_and_imported(windows, made, check_every_look):
    """Rule 6.349."""
    page = for_staff(windows, made, tab="responses")
    shoot(page, "import-0")
    page.get_by_role("link", name="Import responses from a file").click()
    check_every_look(page)
    shoot(page, "import-1")

    page.get_by_label("File", exact=True).set_input_files(
        {"name": "past.csv", "mimeType": "text/csv", "buffer": PAST.encode()}
    )
    expect(page.get_by_role("heading", name="Match the columns of past.csv")).to_be_visible()
    expect(page.get_by_label("Colour", exact=True)).to_have_value(f"b:{made.blocks.get(name='colour').pk}")
    page.get_by_label("Notes", exact=True).select_option(label="Id of the response")
    check_every_look(page)
    shoot(page, "import-2")
    page.get_by_role("button", name="Check the file").press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    check_every_look(page)
    shoot(page, "import-3")
    files.run(file_id=ResponseFile.objects.get().pk)

    expect(page.get_by_role("heading", name="2 responses can be imported")).to_be_visible()
    expect(page.get_by_text("“blue” is not an option of this question.")).to_be_visible()
    check_every_look(page)
    shoot(page, "import-4")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all faults (CSV)").click()
    assert "4,Colour,“blue” is not an option of this question." in download.value.path().read_text(
        "utf-8-sig"
    )
    page.get_by_role("button", name="Import 2 responses").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    files.run(file_id=ResponseFile.objects.get().pk)
    expect(page.get_by_role("heading", name="2 responses imported")).to_be_visible()
    shoot(page, "import-5")
    page.get_by_role("link", name="See the responses").click()
    expect(page.get_by_text("Ada")).to_be_visible()

    assert Conversation.objects.filter(project=made).count() == 2


def test_rows_are_pasted_without_javascript(windows, made, check_accessibility):
    """Rule 6.349."""
    page = for_staff(windows, made, tab="responses/import", java_script_enabled=False)
    page.get_by_label("Or paste the rows").fill("Nothing")
    page.get_by_role("button", name="Read the rows").click()
    expect(page.get_by_text("The file needs a first row with the names of columns").first).to_be_visible()
    shoot(page, "import-6")
    page.get_by_label("Or paste the rows").fill("colour\tdays\nred\tMon, Tue\n")
    page.get_by_role("button", name="Read the rows").click()

    expect(page.get_by_role("heading", name="Match the columns of Pasted rows")).to_be_visible()
    page.get_by_label("colour", exact=True).select_option(label="Which days?")
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("The columns 1 and 2 of the file are matched with this.").first).to_be_visible()
    shoot(page, "import-7")


READ = """Submitted at;Colour;Which days? [Mon];Which days? [Tue];What may we call you?;Height
03/04/2025 10:00;red;x;;Ada;1,750
04/05/2025 11:30;n/a;;x;Grace;1,820
05/06/2025 09:15;green;;;Linus;1,690
"""


def test_a_column_that_can_be_read_in_two_ways_is_chosen(windows, check_every_look):
    """Rule 6.355."""
    height = {"type": "open_numeric", "name": "height", "prompt": "Height"}
    made = scenario.project({**TEXT, "name": "nick", "prompt": "What may we call you?"}, COLOUR, MANY, height)
    page = for_staff(windows, made, tab="responses/import")
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "past.csv", "mimeType": "text/csv", "buffer": READ.encode()}
    )
    expect(page.get_by_role("heading", name="Match the columns of past.csv")).to_be_visible()
    expect(page.get_by_text("“n/a” counts as no answer: 1 cell.")).to_be_visible()
    page.get_by_role("button", name="Check the file").press("Enter")
    expect(page.get_by_text("Column “Submitted at”: The cells can be read as")).to_be_visible()
    check_every_look(page)
    shoot(page, "import-8")

    page.get_by_label("Submitted at is read as").select_option(label="Day, month, year")
    page.get_by_label("Height is read as").select_option(label="1.234,5 (a comma)")
    page.get_by_role("button", name="Keep and show again").press("Enter")
    expect(page.get_by_text("“1,750” is 1.75.")).to_be_visible()
    shoot(page, "import-9")
    page.get_by_role("button", name="Check the file").press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    files.run(file_id=ResponseFile.objects.get().pk)
    expect(page.get_by_role("heading", name="3 responses can be imported")).to_be_visible()
    check_every_look(page)
    shoot(page, "import-10")
