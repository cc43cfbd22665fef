"""The account area in Chromium: passkeys by a virtual authenticator, all else without JavaScript."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from playwright.sync_api import Page, expect

from communities.ground.actors import Actor
from communities.models import CommunitySettings, User
from communities.services.inviting import invitations
from tests.factories import MemberFactory, UserFactory
from tests.support import mails

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD, OTHER, EMAIL = "a calm purple teapot", "another green kettle", "ada@example.org"


@pytest.fixture
def ada() -> User:
    user: User = UserFactory.create(name="Ada", email=EMAIL)
    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.create(user=user, email=EMAIL, verified=True, primary=True)
    return user


def sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("E-mail address or user name").fill(EMAIL)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_an_invited_person_without_javascript_signs_up_and_sets_a_new_password(
    windows: Any, check_every_look: Any
) -> None:
    admin = MemberFactory.create(access="admin", nick="Grace")
    actor = Actor(admin.user_id, "admin", admin.community_id, "basic")
    invitations.invite(actor=actor, email=EMAIL, access="member", at=invitations.now())

    page = windows.open(mails.path_in(mails.written(EMAIL)[0]), java_script_enabled=False)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Make an account and join").click()
    expect(page.get_by_text("Welcome to")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("link", name="Forgot your password?").click()
    page.get_by_label("E-mail address").fill(EMAIL)
    page.get_by_role("button", name="Send the link").click()
    expect(page.get_by_role("heading", name="Look into your mail")).to_be_visible()
    page.goto(mails.path_in(mails.written(EMAIL)[-1]))
    page.get_by_label("New password", exact=True).fill(OTHER)
    page.get_by_label("New password, again").fill(OTHER)
    page.get_by_role("button", name="Set the password").click()
    page.get_by_role("link", name="Sign in").click()
    sign_in(page, OTHER)

    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_password_can_be_shown_while_it_is_typed_and_is_hidden_when_it_is_sent(
    windows: Any, ada: User
) -> None:
    page = windows.open("/account/login/")
    field = page.get_by_label("Password")
    field.fill("wrong")

    page.get_by_role("button", name="Show password").click()
    shown = field.get_attribute("type")
    page.get_by_role("button", name="Hide password").click()
    hidden = field.get_attribute("type")
    page.get_by_role("button", name="Show password").click()
    sign_in(page)

    assert (shown, hidden) == ("text", "password")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_passkey_signs_in(windows: Any, ada: User) -> None:
    page = windows.open("/account/login/", base_url=windows.address.replace("127.0.0.1", "localhost"))
    _give_a_device(page)
    sign_in(page)
    page.get_by_role("link", name="Passkeys and codes").click()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()

    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    assert "Passkey added" in mails.subjects(EMAIL)


def _give_a_device(page: Page) -> None:
    """A virtual device that makes passkeys and confirms each use by itself."""
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def test_staff_without_a_second_factor_are_led_to_one_and_back(
    windows: Any, ada: User, check_every_look: Any
) -> None:
    member = MemberFactory.create(user=ada, access="admin", community__name="Harbour Chess Club")
    CommunitySettings.objects.create(community=member.community, require_second_factor=True)
    other = MemberFactory.create(user=ada, access="creator", community__name="Rowing Club").community
    CommunitySettings.objects.create(community=other)
    page = windows.open("/admin/surveys/project/", base_url=windows.address.replace("127.0.0.1", "localhost"))
    _give_a_device(page)

    sign_in(page)
    expect(page.get_by_role("heading", name="Harbour Chess Club asks for a second factor")).to_be_visible()
    check_every_look(page)
    page.get_by_role("link", name="Set one up").click()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Add the passkey").click()
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    check_every_look(page)
    codes = page.locator(".codes li").all_inner_texts()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    page.get_by_role("link", name="Done").click()

    assert download.value.suggested_filename == "recovery-codes.txt"
    assert re.findall(r"\d{5}-\d{5}-\d{5}", download.value.path().read_text()) == codes
    assert len(codes) == 10
    expect(page.get_by_role("heading", name="Projects")).to_be_visible()


def test_the_pages_are_accessible_in_every_look(windows: Any, ada: User, check_every_look: Any) -> None:
    page = windows.open("/account/login/")
    check_every_look(page)
    sign_in(page, OTHER)
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong.")
    check_every_look(page)
    sign_in(page)
    for path in ("2fa/", "email/", "password/change/", "sessions/"):
        answer = page.goto(f"/account/{path}")
        assert answer.ok
        check_every_look(page)
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
