"""API keys, webhooks and the set-up in the account area, in a real browser."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from playwright.sync_api import Page, expect

from communities.gate import throttling
from communities.models import ApiKey, Community
from tests.factories import ApiKeyFactory, CommunityFactory, MemberFactory
from tests.support.accounts import Person
from tests.support.browser.sizes import PHONE
from tests.support.moments import NOON
from tests.support.webhooks.delivery_runs import drain_all
from tests.support.webhooks.receiver import Receiver
from webhooks.models import Webhook

pytestmark = pytest.mark.django_db(transaction=True)
PICTURES = os.environ.get("PICTURES_OF_TESTS")  # a folder, for looking at the pages


def _picture(page: Page, name: str) -> None:
    if PICTURES:
        size = page.viewport_size
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)
        page.set_viewport_size(PHONE)
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=Path(PICTURES) / f"{name}-phone.png", full_page=True)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(size or PHONE)


def _open(windows: Any, person: Person, path: str, **options: object) -> Page:
    """A page on which this person is signed in."""
    page: Page = windows.open(**options)
    session = person.client.cookies[django_settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies(
        [{"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": windows.address}]
    )
    page.goto(path)
    return page


@pytest.fixture
def club() -> Community:
    community: Community = CommunityFactory.create(name="Harbour Chess Club", bot_credits=40)
    return community


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_admin_makes_copies_rotates_and_revokes_a_key(
    windows: Any, club: Community, check_every_look: Any, scripts: bool
) -> None:
    grace = Person("admin", club)
    page = _open(windows, grace, "/account/keys/", java_script_enabled=scripts)
    if scripts:
        check_every_look(page)
        _picture(page, "keys-empty")

    page.get_by_role("link", name="Make a key").click()
    if scripts:
        check_every_look(page)
        _picture(page, "keys-new")
    page.get_by_label("Name").fill("Website")
    page.get_by_role("button", name="Make the key").click()
    secret = page.get_by_label("Secret of “Website”").input_value()
    assert re.fullmatch(r"cq_live_[\w-]{43}", secret)
    copy = page.get_by_role("button", name="Copy")
    if scripts:
        check_every_look(page)
        _picture(page, "keys-secret")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        copy.click()
        expect(page.get_by_role("status")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == secret
    else:
        expect(copy).to_be_hidden()

    page.get_by_role("link", name="I have copied it").click()
    page.get_by_role("link", name="Rotate… Website").click()
    page.get_by_role("button", name="Rotate the key").click()
    assert page.get_by_label("Secret of “Website”").input_value() != secret
    page.go_back()
    page.goto("/account/keys/")
    assert secret not in page.content()

    page.get_by_role("link", name="Revoke… Website").click()
    if scripts:
        check_every_look(page)
        _picture(page, "keys-revoke")
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_text("“Website” is revoked.")).to_be_visible()
    assert ApiKey.objects.get().revoked_at is not None


def test_the_list_of_keys_looks_well_with_many_states(
    windows: Any, club: Community, check_every_look: Any
) -> None:
    grace = Person("admin", club)
    MemberFactory.create(user=grace.user, community__name="Bay Rowing", access="creator")
    keys: dict[str, dict[str, Any]] = {
        "Website": {
            "restricted_to": "creator",
            "description": "Shows the poll of the week on the first page",
        },
        "A program with quite a long name that somebody thought about for a while": {},
        "Old": {"revoked_at": NOON},
    }
    for name, fields in keys.items():
        key = ApiKeyFactory.create(community=club, user=grace.user, name=name, **fields)
        for _ in range(len(name)):
            throttling.take_for_key(key.pk, 60, community_id=club.pk)
    page = _open(windows, grace, "/account/keys/")

    page.get_by_text("Keys that do not work any more (1)").click()

    check_every_look(page)
    _picture(page, "keys-list")
    page.get_by_label("Community").select_option("Bay Rowing")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("are made by its admins")).to_be_visible()
    check_every_look(page)
    _picture(page, "keys-creator")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_admin_sets_a_community_up(
    windows: Any, club: Community, check_every_look: Any, scripts: bool
) -> None:
    grace = Person("admin", club, is_staff=True)
    page = _open(windows, grace, "/account/", java_script_enabled=scripts)
    if scripts:
        _picture(page, "setup-offer")

    page.get_by_role("link", name="Set it up").click()
    page.get_by_label("Name of the community").fill("Harbour Chess")
    for number in range(1, 5):
        expect(page.get_by_text(f"step {number} of 4")).to_be_visible()
        if scripts:
            check_every_look(page)
            _picture(page, f"setup-{number}")
        if number == 2:
            page.get_by_text("Anonymous, without times").click()
        page.get_by_role("button", name=re.compile("Save and")).click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Harbour Chess is set up")
    if scripts:
        check_every_look(page)
        _picture(page, "setup-done")
    club.refresh_from_db()
    assert club.user_setup_id == grace.user.pk


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_admin_makes_tries_changes_and_deletes_a_webhook(
    windows: Any, club: Community, check_every_look: Any, settings: Any, scripts: bool
) -> None:
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = True
    page = _open(windows, Person("admin", club), "/account/webhooks/", java_script_enabled=scripts)

    def look(name: str) -> None:
        if scripts:
            check_every_look(page)
            _picture(page, name)

    look("webhooks-empty")
    with Receiver() as receiver:
        page.get_by_role("link", name="Make a webhook").click()
        expect(page.get_by_label("Address (URL)")).to_be_visible()
        look("webhooks-new")
        page.get_by_label("Name").fill("Our shop")
        page.get_by_label("Address (URL)").fill(receiver.url())
        page.get_by_label("Only the events below").check()
        page.get_by_label("Somebody submitted a response").check()
        page.get_by_role("button", name="Make the webhook").click()
        expect(page.get_by_label("Signing secret")).to_have_value(re.compile("^whsec_"))
        look("webhooks-secret")
        page.get_by_role("link", name="I have stored it").click()

        page.get_by_role("button", name="Send a ping").click()
        expect(page.get_by_text("The message is on its way.")).to_be_visible()
        look("webhooks-waiting")
        drain_all(Webhook.objects.get())
        if not scripts:
            page.get_by_role("link", name="Look again").click()
        expect(page.get_by_text("Delivered", exact=True)).to_be_visible()
        look("webhooks-delivery")
        page.get_by_role("button", name="Send again").click()
        drain_all(Webhook.objects.get())

    page.get_by_role("link", name="Deliveries").click()
    page.get_by_label("State").select_option("Delivered")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name="A test message that you sent")).to_have_count(2)
    look("webhooks-log")
    page.get_by_role("link", name="Our shop").click()
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_text("The webhook is off.")).to_be_visible()
    look("webhooks-detail")
    page.get_by_role("link", name="Delete…").click()
    expect(page.get_by_role("button", name="Delete the webhook")).to_be_visible()
    look("webhooks-delete")
    page.get_by_role("button", name="Delete the webhook").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    look("webhooks-deleted")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The webhook is back.")).to_be_visible()
    page.goto("/account/webhooks/")
    look("webhooks-list")
