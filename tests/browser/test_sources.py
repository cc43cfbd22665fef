"""Signing in with another platform, in a real browser and under our Content-Security-Policy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from communities.models import Identity, Member
from communities.services.people import identities
from tests.factories import CommunityFactory
from tests.support.identity_providers.server import Platforms, use
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages


@pytest.fixture
def platforms(settings: Any, live_server: Any) -> Iterator[Platforms]:
    settings.BASE_URL = live_server.url
    with Platforms() as server:
        use(server, settings)
        yield server


def _picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def _be_nelly(page: Page) -> None:
    page.get_by_role("button", name="Nelly").click()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_somebody_signs_in_and_connects_and_disconnects(
    windows: Any, platforms: Platforms, check_every_look: Any, scripts: bool
) -> None:
    community = CommunityFactory.create()
    platforms.people[0].guilds = {str(community.pk): []}
    page = windows.open("/account/login/", java_script_enabled=scripts)
    if scripts:
        check_every_look(page)
        _picture(page, "sources-sign-in")

    page.get_by_role("button", name="Continue with Discord").click()
    _be_nelly(page)
    expect(page).to_have_url(f"{windows.address}/account/")
    assert Member.objects.get().community_id == community.pk

    page.goto("/account/3rdparty/")
    page.get_by_role("button", name="Connect Steam").click()
    _be_nelly(page)
    expect(page.get_by_text("Your Steam account is connected.")).to_be_visible()
    if scripts:
        check_every_look(page)
        _picture(page, "sources-connected")
    page.get_by_role("button", name="Disconnect Discord: Nelly").click()
    expect(page.get_by_text("Your Discord account is disconnected.")).to_be_visible()
    assert [each.provider for each in Identity.objects.all()] == ["game_store"]


def test_an_account_of_another_person_is_explained(
    windows: Any, platforms: Platforms, check_every_look: Any
) -> None:
    person = platforms.people[0]
    identities.sign_in(provider="streaming", platform_id=person.streaming_id, name="Nelly on air", at=NOON)
    page = windows.open("/account/login/")
    page.get_by_role("button", name="Continue with Discord").click()
    _be_nelly(page)
    page.goto("/account/3rdparty/")

    page.get_by_role("button", name="Connect Twitch").click()
    _be_nelly(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("You have two accounts")
    check_every_look(page)
    _picture(page, "sources-merge")
    page.get_by_role("button", name="Sign in with Twitch").click()
    _be_nelly(page)

    expect(page).to_have_url(f"{windows.address}/account/")
    expect(page.get_by_text("Nelly on air").first).to_be_visible()


def test_somebody_who_cancels_can_go_back(windows: Any, platforms: Platforms, check_every_look: Any) -> None:
    page = windows.open("/account/sources/video/login/")
    check_every_look(page)
    page.get_by_role("button", name="Continue with YouTube").click()

    page.get_by_role("button", name="Cancel").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("You have cancelled")
    check_every_look(page)
    page.get_by_role("link", name="Back to the sign-in").click()
    expect(page).to_have_url(f"{windows.address}/account/login/")
