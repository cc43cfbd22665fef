"""Private projects in a real browser: signing in, answering, XP, and the page for outsiders."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from communities.models import Community
from surveys.engine.script import ActionConfig
from surveys.models import Conversation, Project
from surveys.services.ground import field_groups
from tests.factories import CommunityFactory, CommunitySettingsFactory, VerifiedSourceFactory
from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms, use
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages
GIVES_XP = {
    "type": "action_block",
    "prompt": "For your answer.",
    "action_kind": "give_xp",
    "action_config": ActionConfig(xp_amount=10),
}
ROLE = "31"


@pytest.fixture
def platforms(settings: Any, live_server: Any) -> Iterator[Platforms]:
    settings.BASE_URL = live_server.url
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
    with Platforms() as server:
        use(server, settings)
        yield server


@pytest.fixture
def club() -> Community:
    community = CommunityFactory.create(name="Harbour Chess Club")
    CommunitySettingsFactory.create(community=community)
    return community


@pytest.fixture
def nelly(platforms: Platforms) -> Person:
    return platforms.people[0]


def _survey(club: Community, **audience: Any) -> Project:
    audience = {"participation": "private", "response_channel": "web", **audience}
    return scenario.project(
        {**TEXT, "prompt": "Why do you play?"},
        GIVES_XP,
        community=club,
        participation=audience["participation"],
        delivery=field_groups.merged("delivery", None, {"audience": audience}),
    )


def _picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def _sign_in_as_nelly(page: Page) -> None:
    page.get_by_role("button", name="Continue with Discord").click()
    page.get_by_role("button", name="Nelly").click()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_member_signs_in_by_a_source_answers_and_sees_xp(
    windows: Any, club: Community, nelly: Person, check_every_look: Any, scripts: bool
) -> None:
    nelly.guilds = {str(club.pk): [ROLE]}
    made = _survey(club, required_role_ids=[ROLE])
    page = windows.open(f"/s/{made.slug}", phone=True, java_script_enabled=scripts)
    expect(page.get_by_text("Please sign in first.")).to_be_visible()
    if scripts:
        check_every_look(page)
        _picture(page, "private-sign-in")

    page.get_by_role("link", name="Sign in").click()
    _sign_in_as_nelly(page)

    expect(page).to_have_url(re.compile(rf"/s/{made.slug}$"))
    page.get_by_role("textbox", name="Why do you play?").fill("Because of the boats")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("+10 XP").first).to_be_visible()
    page.get_by_role("button", name="Okay").click()
    expect(page.get_by_text("You have earned 10 XP.").first).to_be_visible()
    expect(page.get_by_text("Level 0", exact=True)).to_be_visible()
    told = Conversation.objects.get()
    assert (told.provider, told.platform_id) == ("chat", nelly.chat_id)
    page.goto("/account/")
    expect(page.get_by_role("heading", name="Harbour Chess Club")).to_be_visible()
    expect(page.get_by_text("10 XP", exact=False).first).to_be_visible()


def test_an_outsider_is_told_what_is_missing_and_let_in_once_they_have_joined(
    windows: Any, club: Community, nelly: Person, check_every_look: Any
) -> None:
    made = _survey(club)
    page = windows.open("/account/login/")
    _sign_in_as_nelly(page)
    page.goto(f"/s/{made.slug}")
    expect(page.get_by_text("This is for members of Harbour Chess Club.")).to_be_visible()
    check_every_look(page)
    _picture(page, "private-outsider")
    nelly.guilds = {str(club.pk): []}

    page.get_by_role("button", name="Check again").click()

    expect(page.get_by_role("textbox", name="Why do you play?")).to_be_visible()


def test_a_verified_source_is_connected_on_the_way(
    windows: Any, club: Community, nelly: Person, check_every_look: Any
) -> None:
    source = VerifiedSourceFactory.create(
        community=club, target="UC-harbour", label="Subscribers of Harbour TV"
    )
    nelly.channels = {"UC-harbour"}
    made = _survey(club, participation="open_web", verified_source_ids=[source.pk])
    page = windows.open(f"/s/{made.slug}")
    page.get_by_role("link", name="Sign in").click()
    _sign_in_as_nelly(page)
    expect(page.get_by_role("listitem").filter(has_text="Subscribers of Harbour TV")).to_be_visible()
    check_every_look(page)
    _picture(page, "private-source")

    page.get_by_role("link", name="Connect your YouTube account").click()
    page.get_by_role("button", name="Continue with YouTube").click()
    page.get_by_role("button", name="Nelly").click()

    expect(page).to_have_url(re.compile(rf"/s/{made.slug}$"))
    page.get_by_role("textbox", name="Why do you play?").fill("Because of the boats")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Okay").click()
    expect(page.get_by_text("Thank you.")).to_be_visible()
    assert Conversation.objects.get().provider == "video"
