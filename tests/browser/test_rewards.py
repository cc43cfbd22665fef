"""Rewards in a real browser: visible, audible, and without motion for people who do not want motion."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect

from communities.models import CommunitySettings, Member
from tests.support.browser.controls import choose, go_on, question
from tests.support.surveys import scenario
from tests.support.surveys.rewards import QUESTION, giving, project
from tests.support.xp.ledger import award
from xp.services import achievements

pytestmark = pytest.mark.django_db(transaction=True)

FIFTY = giving(prompt="Well played, [UserName]!", xp_amount=50)
BADGE = giving("give_achievement", prompt="For the wall.", xp_role_id=7)
ROLE = giving("give_role", prompt="Welcome, trainer!", role_id="9")
REWARDS = {"use_xp": True, "achievement_enabled": True, "discord_role_id": "9"}
# Fails if a picture cannot be loaded.
ALL_DRAWN = "images => Promise.all(images.map(image => image.decode()))"


def at(windows: Any, made: Any, member: Member, **how: Any) -> Page:
    """The project's page, with the member signed in."""
    client = Client()
    client.force_login(member.user)
    page: Page = windows.open(**how)
    name = settings.SESSION_COOKIE_NAME
    address = str(windows.address)
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": address}])
    page.goto(f"/s/{made.slug}")
    return page


@pytest.mark.parametrize(
    "how",
    [
        {"reduced_motion": "no-preference"},
        {"phone": True, "color_scheme": "dark"},
        {"forced_colors": "active"},
        {"java_script_enabled": False},
    ],
)
def test_everything_that_is_earned_is_celebrated(windows, check_accessibility, how):
    achievements.define(community_id=scenario.community().pk, number=7, name="Night owl")
    made = project(QUESTION, FIFTY, BADGE, ROLE, rewards=REWARDS, presentation={"theme_id": 5})
    check = check_accessibility if how.get("java_script_enabled", True) else lambda page: None
    page = at(windows, made, scenario.member(), **how)
    choose(page, "red")
    go_on(page)

    question(page, "Well played, Ann!")
    expect(page.locator("#question .amount")).to_have_text("+50 XP")
    expect(page.locator("#question .sparks")).to_be_visible()
    check(page)
    go_on(page)

    question(page, "Night owl")
    page.locator("#question img").evaluate_all(ALL_DRAWN)
    check(page)
    go_on(page)

    question(page, "Welcome, trainer!")
    check(page)
    go_on(page)

    question(page, "Thank you!")
    expect(page.locator(".earned .amount")).to_have_text("+60 XP")
    expect(page.get_by_role("meter")).to_be_visible()
    expect(page.locator(".rewards li")).to_have_count(3)
    page.locator(".rewards img").evaluate_all(ALL_DRAWN)
    check(page)


def test_it_is_read_out_as_the_focus_is_on_it_and_nothing_moves_where_motion_is_not_wanted(windows):
    page = at(windows, project(QUESTION, FIFTY, rewards=REWARDS), scenario.member(), reduced_motion="reduce")
    choose(page, "red")
    go_on(page)
    question(page, "Well played, Ann!")
    expect(page.locator("#question")).to_be_focused()
    expect(page.get_by_role("heading", name="+50 XP Well played, Ann!")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0

    go_on(page)
    question(page, "Thank you!")
    assert page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("locale", [None, "he"])
def test_the_bar_is_as_long_as_the_way_that_is_done(windows, locale):
    CommunitySettings.objects.update_or_create(community=scenario.community(), defaults={"locale": locale})
    member = scenario.member()
    award(member, 330)
    page = at(windows, project(QUESTION, giving(xp_amount=120)), member)
    choose(page, "red")
    go_on(page)
    question(page, "Here you are.")
    go_on(page)
    question(page, "Thank you!")

    meter = box(page, ".meter")
    had, gained = box(page, ".meter rect:first-child"), box(page, ".meter .gained")

    assert [had["width"] / meter["width"], gained["width"] / meter["width"]] == pytest.approx(
        [0.1, 0.4], abs=0.005
    )
    assert had["x"] == pytest.approx(meter["x"], abs=1)


def test_on_a_phone_nothing_of_it_is_cut_off(windows):
    defaults = {"xp_name": "Hafenmeistertaler"}
    CommunitySettings.objects.update_or_create(community=scenario.community(), defaults=defaults)
    made = project(QUESTION, giving(xp_amount=1_000_000), rewards=REWARDS)
    page = at(windows, made, scenario.member(), phone=True, viewport={"width": 320, "height": 700})
    choose(page, "red")
    go_on(page)
    question(page, "Here you are.")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    go_on(page)
    question(page, "Thank you!")

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def box(page: Page, selector: str) -> Any:
    return page.locator(selector).evaluate("one => one.getBoundingClientRect().toJSON()")


@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}])
def test_the_outcome_of_a_quiz_is_still_in_sight_at_its_end(windows, size):
    """Rules 6.444 and 6.445."""
    told = "The soul of chess. You go forward, never back.\n\nPawn 3 · Knight 1 · Rook 0"
    outcome = {"type": "content_block", "prompt": "You are the Pawn", "description": told}
    closing = [outcome, {"type": "content_block", "prompt": "A badge."}]
    asked = [{**QUESTION, "prompt": f"Which colour on move {move}?"} for move in range(1, 5)]
    made = scenario.project(*asked, *closing, max_completes_per_user=None)
    page = windows.open(f"/s/{made.slug}", viewport=size)
    for block in asked:
        question(page, block["prompt"])
        choose(page, "red")
        go_on(page)
    question(page, "You are the Pawn")
    assert page.locator("#question").evaluate("each => getComputedStyle(each).fontWeight") == "650"
    go_on(page)
    question(page, "A badge.")
    go_on(page)
    question(page, "Thank you.")

    expect(page.get_by_text("The soul of chess.")).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Which colour on move 4?")).not_to_be_in_viewport()
    assert box(page, "#question")["bottom"] < size["height"] * 0.62


@pytest.mark.parametrize("size", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}])
def test_an_end_without_texts_stands_alone_in_the_middle(windows, size):
    """Rule 6.444."""
    asked = [{**QUESTION, "prompt": f"Which colour on move {move}?"} for move in range(1, 4)]
    page = windows.open(f"/s/{scenario.project(*asked).slug}", viewport=size)
    for block in asked:
        question(page, block["prompt"])
        choose(page, "red")
        go_on(page)
    question(page, "Thank you.")

    header, end = box(page, ".top"), box(page, ".end")
    assert box(page, "#history")["bottom"] <= header["bottom"] + 1
    assert end["top"] - header["bottom"] == pytest.approx(size["height"] - end["bottom"], abs=40)
