"""The tab of responses in a browser: found, read, deleted and brought back, by keyboard and on a phone."""

import pytest
from django.conf import settings as installed
from django.test import Client
from playwright.sync_api import expect

from communities.models import User
from surveys.services.responses import deletion
from tests.support.browser import answered_surveys
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import SAYING, TEXT

pytestmark = pytest.mark.django_db(transaction=True)

COLOUR = {
    "type": "single_punch",
    "name": "colour",
    "prompt": "Which colour do you like, [nick]?",
    "options": ["red", "green"],
}


def staff_page(windows, path, **options):
    user, _ = User.objects.get_or_create(username="root", defaults={"is_staff": True, "is_superuser": True})
    client = Client()
    client.force_login(user)
    name = installed.SESSION_COOKIE_NAME
    page = windows.open(**options)
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": windows.address}])
    page.goto(path)
    return page


def tab(made):
    return f"/admin/surveys/project/{made.pk}/responses/"


@pytest.fixture
def made():
    made = scenario.project(
        {**SAYING, "prompt": "Welcome to the yearly survey!"},
        {**TEXT, "name": "nick", "prompt": "What may we call you?"},
        COLOUR,
        {**TEXT, "prompt": "Why red?", "precondition": 'colour != "red"'},
        {
            "type": "ranking",
            "prompt": "Put these in your order.",
            "options": ["Openings", "Tactics", "Endgames"],
        },
        {**TEXT, "prompt": "Anything else?", "required": False},
        name="How do you like our chess club?",
    )
    for who, colour in (("crm-7", 0), ("crm-8", 1)):
        told = scenario.go_on(scenario.begin(made, who))
        said = ["Ann", colour, *(["It is warm."] if colour == 0 else []), [1, 0, 2], None]
        scenario.say(told, *said)
    return made


def test_list_and_response_are_accessible_and_nothing_is_cut_off(windows, check_every_look, made):
    page = staff_page(windows, tab(made))

    expect(page.locator("table.list tbody tr")).to_have_count(2)
    check_every_look(page)
    page.get_by_role("link", name="crm-8").click()
    expect(page.get_by_role("heading", name="crm-8")).to_be_visible()
    check_every_look(page)
    page.get_by_role("link", name="Delete…").click()
    page.wait_for_url("**/delete/")
    check_every_look(page)


def test_a_response_is_found_read_deleted_and_brought_back_by_keyboard(windows, made):
    page = staff_page(windows, tab(made))

    page.keyboard.press("/")
    page.keyboard.type("crm-8")
    page.keyboard.press("Enter")
    expect(page.locator("table.list tbody tr")).to_have_count(1)
    page.get_by_role("link", name="crm-8").press("Enter")
    expect(page.locator(".way")).to_contain_text("Which colour do you like, Ann?")
    expect(page.locator(".way > .is-hidden")).to_contain_text("hidden by its condition")
    expect(page.locator(".ranked li")).to_have_text(["Tactics", "Openings", "Endgames"])
    page.get_by_role("link", name="Delete…").press("Enter")
    expect(page.get_by_role("main")).to_contain_text("Results, exports and the API count it until then.")
    page.get_by_role("button", name="Delete the response").press("Enter")
    expect(page.locator("table.list tbody tr")).to_have_count(1)
    expect(page.locator(".leaving")).to_contain_text("A response will be deleted at")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator("table.list tbody tr")).to_have_count(2)
    assert not deletion.marked(project=made)


def test_a_range_of_days_is_kept_through_the_pages(windows):
    made = answered_surveys.answered(120, stopping=0)
    day = f"{LUNCHTIME:%Y-%m-%d}"
    page = staff_page(windows, tab(made))

    page.get_by_label("Last change from").fill(day)
    page.get_by_role("form", name="Range of days").get_by_role("button", name="Apply").press("Enter")
    page.get_by_role("link", name="Next").click()

    expect(page.get_by_label("Last change from")).to_have_value(day)
    expect(page.locator("table.list tbody tr")).to_have_count(50)
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_role("link", name="Previous")).to_have_count(0)
