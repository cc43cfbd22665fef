"""Other people's ways to sign in, which superusers see and remove."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from communities.models import AuditEntry, User
from tests.factories import IdentityFactory, MemberFactory, StaffFactory, UserFactory
from tests.support import mails
from tests.support.browsers import EMAIL, code_of, new_browser, page, person, prove, sign_in, who

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
SECRET = "JBSWY3DPEHPK3PXP"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def ada() -> User:
    return person()


@pytest.fixture
def root() -> Client:
    """The browser of a superuser who has just signed in."""
    person("Root", "root@example.org", is_staff=True, is_superuser=True)
    browser = new_browser()
    sign_in(browser, "root@example.org")
    prove(browser)
    return browser


def _address(user: User, part: str = "") -> str:
    return reverse(f"admin:communities_user_sign_in{part}", args=[user.pk])


def _with_factors(user: User) -> None:
    TOTP.activate(user, SECRET)
    RecoveryCodes.activate(user)
    Authenticator.objects.create(user=user, type="webauthn", data={"name": "Ada’s phone", "credential": {}})


def test_the_page_says_how_somebody_signs_in_and_where_they_are(ada: User, root: Client) -> None:
    IdentityFactory.create(user=ada, provider="video", community=None)
    sign_in(new_browser(HTTP_USER_AGENT=FIREFOX))
    _with_factors(ada)

    shown = page(root.get(_address(ada)))

    for words in (EMAIL, "Ada’s phone", "Firefox on Linux", "Remove second factors…", "End all sessions…"):
        assert words in shown
    assert _address(ada) in page(root.get(reverse("admin:communities_user_change", args=[ada.pk])))


def test_the_page_of_somebody_who_never_signed_in_has_nothing_to_remove(root: Client) -> None:
    user: User = UserFactory.create(name="", password="")

    shown = page(root.get(_address(user)))
    asked = root.get(_address(user, "_remove"), follow=True)

    assert "there is no session" in shown
    assert "Remove second factors" not in shown
    assert "<dt>Password</dt><dd>None</dd>" in shown
    assert f"<dd>User {user.pk}</dd>" in shown
    assert "no authenticator app and no passkey" in page(asked)


def test_second_factors_are_removed_and_the_owner_is_told(ada: User, root: Client) -> None:
    member = MemberFactory.create(user=ada)
    browser = new_browser()
    sign_in(browser)
    _with_factors(ada)

    question = page(root.get(_address(ada, "_remove")))
    done = root.post(_address(ada, "_remove"), follow=True)

    assert "They sign in with their password alone" in question
    assert "The second factors are removed" in page(done)
    assert not Authenticator.objects.filter(user=ada).exists()
    assert who(browser) is None
    assert mails.subjects(EMAIL)[-1] == "Your authenticator app and passkeys were removed"
    entry = AuditEntry.objects.get(community_id=member.community_id)
    assert entry.action == "member.updated"
    assert "second_factors" in str(entry.after)
    sign_in(browser)
    assert who(browser) == str(ada.pk)
    assert who(root) is not None


def test_all_sessions_are_ended_those_without_a_listing_too(ada: User, root: Client) -> None:
    MemberFactory.create(user=ada)
    first, second, unlisted, other = new_browser(), new_browser(), new_browser(), new_browser()
    sign_in(first)
    sign_in(second)
    sign_in(unlisted)
    UserSession.objects.filter(session_key=unlisted.session.session_key).delete()
    person("Bob", "bob@example.org")
    sign_in(other, "bob@example.org")

    done = root.post(_address(ada, "_end"), follow=True)

    assert "All sessions are ended" in page(done)
    assert [who(each) for each in (first, second, unlisted)] == [None] * 3
    assert who(other) is not None
    assert not UserSession.objects.filter(user=ada).exists()
    assert Session.objects.count() == 2  # of root and Bob
    assert mails.subjects(EMAIL)[-1] == "You were signed out everywhere"
    assert "sessions" in str(AuditEntry.objects.get().after)


def test_a_remembered_browser_asks_for_a_code_again(ada: User, root: Client) -> None:
    TOTP.activate(ada, SECRET)
    browser = new_browser()
    sign_in(browser)
    browser.post(reverse("mfa_authenticate"), {"code": code_of(ada)})
    browser.post(reverse("mfa_trust"), {"action": "trust"})
    browser.logout()

    root.post(_address(ada, "_end"))
    sign_in(browser)

    assert who(browser) is None


@pytest.mark.parametrize("part", ["_end", "_remove"])
def test_superusers_show_first_who_they_are(ada: User, part: str) -> None:
    _with_factors(ada)
    root: User = StaffFactory.create(is_superuser=True, is_staff=True)
    browser = Client()
    browser.force_login(root)

    answers: list[Any] = [browser.get(_address(ada, part)), browser.post(_address(ada, part))]

    assert [each.status_code for each in answers] == [302, 302]
    assert all("/account/" in each["Location"] for each in answers)
    assert Authenticator.objects.filter(user=ada).count() == 3


def test_superusers_change_their_own_account_on_their_own_pages(root: Client) -> None:
    own = User.objects.get(emailaddress__email="root@example.org")

    shown = page(root.get(_address(own)))
    done = root.post(_address(own, "_end"), follow=True)

    assert "End all sessions" not in shown
    assert "This is your own account" in page(done)
    assert who(root) == str(own.pk)


def test_who_has_no_way_left_needs_a_password(root: Client) -> None:
    user: User = StaffFactory.create(is_superuser=False)
    user.set_unusable_password()
    user.save()
    EmailAddress.objects.filter(user=user).delete()
    _with_factors(user)

    assert "No way to sign in is left" in page(root.get(_address(user, "_remove")))


def test_the_profile_of_a_member_leads_superusers_there(ada: User, root: Client) -> None:
    member = MemberFactory.create(user=ada)

    shown = page(root.get(reverse("admin:communities_member_change", args=[member.pk])))

    assert _address(ada) in shown
