"""Attacks on accounts, and their results."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings as django_settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from communities import sign_in as sign_in_limits
from communities.accounts.providers import freshness
from communities.ground.mail_addresses import canonical
from communities.models import CommunitySettings, SourceCheck, User, VerifiedSource
from communities.services.people import identities
from communities.services.tenants import verified_sources
from config import cookies
from tests.factories import CommunityFactory, UserFactory
from tests.support import mails
from tests.support.browsers import (
    EMAIL,
    OTHER,
    PASSWORD,
    code_of,
    new_browser,
    page,
    person,
    prove,
    prove_factor,
    sign_in,
    who,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
SECRET = "JBSWY3DPEHPK3PXP"
NOBODY = "nobody@example.org"


@pytest.fixture
def ada() -> User:
    return person()


def _reset(email: str = EMAIL, **values: str) -> Any:
    return new_browser(**values).post(reverse("account_reset_password"), {"email": email})


def _open_community() -> str:
    community = CommunityFactory.create()
    CommunitySettings.objects.create(community=community, allow_sign_up=True)
    return str(community.pk)


# --- What costs more than it may -------------------------------------------------------------------


@pytest.mark.parametrize("url_name", ["account_reset_password", "account_signup"])
def test_a_domain_of_any_length_costs_no_work(url_name: str) -> None:
    """Its other form would take minutes: the work grows with the square of the length."""
    address = "a@" + "".join(chr(code) for code in range(0x4E00, 0x9FFF))

    assert new_browser().post(reverse(url_name), {"email": address}).status_code == 200


def test_a_cookie_of_any_length_costs_no_work() -> None:
    """Python's own function would take minutes for its backslashes."""
    cookie = f'x="{chr(92)}1{f"{chr(92)}1" * 200_000}"'

    assert new_browser().get(reverse("account_login"), headers={"cookie": cookie}).status_code == 200


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ('"a\\"b"', 'a"b'),
        ('"\\101\\054"', "A,"),
        ('"\\400\\\\"', "400\\"),
        ('"\\"', "\\"),
        ("a\\054", "a\\054"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_cookies_are_read_as_before(value: str, read: str) -> None:
    assert cookies.unquote(value) == read


@pytest.mark.parametrize(("host", "is_changed"), [("é" * 50 + ".org", True), ("é" * 250 + ".org", False)])
def test_only_a_domain_that_may_exist_is_changed(host: str, is_changed: bool) -> None:
    assert canonical(f"a@{host}").startswith("a@xn--") is is_changed


# --- What tells whether an account exists -------------------------------------------------------------


def _statements(act: Any) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        act()
    return len(captured)


def test_a_wrong_password_costs_and_says_as_much_as_an_unknown_name(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    as_ever = MD5PasswordHasher.encode

    def encode(self: MD5PasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return as_ever(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", encode)
    answers = []

    known = _statements(lambda: answers.append(sign_in(new_browser(), EMAIL, OTHER)))
    of_known = len(hashed)
    unknown = _statements(lambda: answers.append(sign_in(new_browser(), NOBODY, OTHER)))

    assert (of_known, len(hashed)) == (1, 2)  # a hash takes a third of a second
    assert abs(known - unknown) <= 4  # and such a statement a fraction of a millisecond
    first, second = (page(answer).replace(EMAIL, "-").replace(NOBODY, "-") for answer in answers)
    assert _without_token(first) == _without_token(second)


def _without_token(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "csrfmiddlewaretoken" not in line)


def test_asking_for_a_password_writes_one_mail_whoever_is_named(ada: User) -> None:
    known = _statements(lambda: _reset())
    unknown = _statements(lambda: _reset(NOBODY))

    assert abs(known - unknown) <= 2
    assert (len(mails.written(EMAIL)), len(mails.written(NOBODY))) == (1, 1)


# --- Mails --------------------------------------------------------------------------------------------


def test_a_forged_host_stands_in_no_mail(ada: User, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    evil = {"HTTP_HOST": "evil.example"}
    browser = new_browser(**evil)
    values = {"name": "Eve", "email": NOBODY, "password1": PASSWORD, "community": _open_community()}

    _reset(**evil)
    sign_in(browser)
    prove(browser)
    browser.post(reverse("account_email"), {"email": "ada@work.example.org", "action_add": "1"})
    new_browser(**evil).post(reverse("account_signup"), values)
    new_browser(**evil).post(reverse("account_signup"), {**values, "email": EMAIL})

    written = mails.written()
    assert len(written) == 5
    for mail in written:
        assert "evil.example" not in str(mail)
        assert settings.BASE_URL in mail["text"]


# --- Second factors -----------------------------------------------------------------------------------


def test_a_code_of_an_app_is_good_once_also_when_redis_forgets_all(ada: User, redis: Any) -> None:
    TOTP.activate(ada, SECRET)
    first, second = new_browser(), new_browser()
    sign_in(first)
    sign_in(second)
    code = code_of(ada)

    first.post(reverse("mfa_authenticate"), {"code": code})
    first.post(reverse("mfa_trust"), {"action": "no"})
    redis.flushdb()
    again = second.post(reverse("mfa_authenticate"), {"code": code})

    assert who(first) == str(ada.pk)
    assert again.status_code == 200
    assert who(second) is None


def test_of_two_requests_with_one_code_one_succeeds(ada: User) -> None:
    TOTP.activate(ada, SECRET)
    rows = [Authenticator.objects.get(user=ada) for _ in range(2)]

    assert [row.wrap().validate_code(code_of(ada)) for row in rows] == [True, False]


def test_without_redis_a_code_of_an_authenticator_app_is_taken(ada: User) -> None:
    TOTP.activate(ada, SECRET)
    browser = new_browser()
    sign_in(browser)
    away = {**django_settings.CACHES["default"], "LOCATION": "unix:///nowhere/redis.sock?db=0"}

    with override_settings(CACHES={"default": away}):
        browser.post(reverse("mfa_authenticate"), {"code": code_of(ada)})
    browser.post(reverse("mfa_trust"), {"action": "no"})
    assert who(browser) == str(ada.pk)


def test_the_code_that_sets_an_app_up_does_not_sign_in_too(ada: User) -> None:
    browser, other = new_browser(), new_browser()
    sign_in(browser)
    prove(browser)
    browser.get(reverse("mfa_activate_totp"))
    secret = browser.session["mfa.totp.secret"]
    TOTP.activate(UserFactory.create(username="reader"), secret)
    code = code_of(User.objects.get(username="reader"))

    browser.post(reverse("mfa_activate_totp"), {"code": code})
    sign_in(other)
    answer = other.post(reverse("mfa_authenticate"), {"code": code})

    assert Authenticator.objects.filter(user=ada, type="totp").exists()
    assert answer.status_code == 200
    assert who(other) is None


def test_a_new_password_by_mail_does_not_replace_the_second_factor(ada: User) -> None:
    TOTP.activate(ada, SECRET)
    _reset()
    browser = new_browser()
    form = browser.get(mails.path_in(mails.written(EMAIL)[-1]), follow=True)

    browser.post(form.redirect_chain[-1][0], {"password1": OTHER, "password2": OTHER})
    nobody = who(browser)

    assert nobody is None
    assert sign_in(browser, password=OTHER)["Location"] == reverse("mfa_authenticate")


def test_an_old_link_for_a_password_dies_with_the_next_password(ada: User) -> None:
    _reset()
    path = mails.path_in(mails.written(EMAIL)[-1])
    ada.set_password(OTHER)
    ada.save()

    assert "This link has expired" in page(new_browser().get(path))


def test_a_link_for_a_password_that_is_used_twice_at_once_sets_one_password(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    _reset()
    path = mails.path_in(mails.written(EMAIL)[-1])
    first, second = new_browser(), new_browser()
    forms = [browser.get(path, follow=True).redirect_chain[-1][0] for browser in (first, second)]
    slot, others = sign_in_limits.hashing_slot, [PASSWORD[::-1]]

    def after_another(*args: Any) -> Any:
        """Before the first request hashes its password, the second one does all of its work."""
        if others:
            other = others.pop()
            second.post(forms[1], {"password1": other, "password2": other})
        return slot(*args)

    monkeypatch.setattr(sign_in_limits, "hashing_slot", after_another)
    late = first.post(forms[0], {"password1": OTHER, "password2": OTHER}, follow=True)

    ada.refresh_from_db()
    assert [ada.check_password(each) for each in (PASSWORD[::-1], OTHER, PASSWORD)] == [True, False, False]
    assert "This link has expired" in page(late)


def test_recovery_codes_are_counted_and_made_only_for_somebody_who_has_shown_who_they_are(ada: User) -> None:
    TOTP.activate(ada, SECRET)
    RecoveryCodes.activate(ada)
    browser = new_browser()
    browser.force_login(ada)

    for name in ("mfa_view_recovery_codes", "mfa_generate_recovery_codes"):
        assert "reauthenticate" in browser.get(reverse(name))["Location"]


def test_showing_who_one_is_gives_the_session_another_key(ada: User) -> None:
    browser = new_browser()
    sign_in(browser)
    before = browser.session.session_key

    prove(browser)

    assert browser.session.session_key != before
    assert browser.get(reverse("account")).status_code == 200
    assert page(browser.get(reverse("usersessions_list"))).count("This one") == 1


# --- People who sign in by a source alone -------------------------------------------------------------


@pytest.fixture
def by_source() -> Client:
    identity = identities.sign_in(provider="chat", platform_id="5", name="Omar", at=timezone.now())
    browser = new_browser()
    browser.force_login(identity.user)
    return browser


@pytest.mark.parametrize("name", ["account_set_password", "mfa_activate_totp", "mfa_add_webauthn"])
def test_an_unattended_browser_gets_no_other_way_to_sign_in(name: str, by_source: Client) -> None:
    for answer in (by_source.get(reverse(name)), by_source.post(reverse(name), {"password1": PASSWORD})):
        assert answer["Location"] == reverse("source_sign_in_again")


def test_an_unattended_browser_gets_no_address(by_source: Client) -> None:
    answer = by_source.post(reverse("account_email"), {"email": EMAIL, "action_add": "1"})

    assert answer["Location"] == reverse("source_sign_in_again")
    assert not EmailAddress.objects.exists()


def test_a_password_that_is_refused_for_now_is_not_kept_in_the_session() -> None:
    user: User = UserFactory.create()
    user.set_unusable_password()
    user.save()
    TOTP.activate(user, SECRET)
    browser = new_browser()
    browser.force_login(user)

    answer = browser.post(reverse("account_set_password"), {"password1": OTHER, "password2": OTHER})

    assert answer["Location"] == reverse("account_set_password")
    assert OTHER not in str(dict(browser.session.items()))


def test_what_a_platform_said_of_an_account_does_not_go_on_to_its_next_owner() -> None:
    community = CommunityFactory.create()
    at = timezone.now()
    source = VerifiedSource.objects.create(
        community=community, provider="streaming", rule="follows", target="7", label="x", created_at=at
    )
    first = identities.sign_in(provider="streaming", platform_id="5", name="Omar", at=at)
    first.user.set_password(PASSWORD)
    first.user.save()
    SourceCheck.objects.create(source=source, identity=first, passes=True, checked_at=at)
    asked: dict[str, Any] = {"community_id": community.pk, "source_ids": [source.pk], "at": at}
    before = verified_sources.first_met(user_id=first.user_id, **asked)

    identities.disconnect(user_id=first.user_id, identity_id=first.pk)
    second = identities.sign_in(provider="streaming", platform_id="5", name="Eve", at=at)

    assert before is not None
    assert second.user_id != first.user_id
    assert verified_sources.first_met(user_id=first.user_id, **asked) is None
    assert verified_sources.first_met(user_id=second.user_id, **asked) is None


# --- Mails about changes ------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_the_owner_hears_of_each_change_of_factors(ada: User) -> None:
    TOTP.activate(ada, SECRET)
    RecoveryCodes.activate(ada)
    browser = new_browser()
    browser.force_login(ada)
    prove(browser)
    prove_factor(browser)

    browser.post(reverse("mfa_generate_recovery_codes"))
    browser.post(reverse("mfa_deactivate_totp"))

    assert mails.subjects(EMAIL) == ["New recovery codes", "Authenticator app removed"]


def test_the_owner_hears_of_a_first_password_and_of_an_address_that_goes(ada: User) -> None:
    EmailAddress.objects.create(user=ada, email="old@example.org", verified=True)
    browser = new_browser()
    browser.force_login(ada)
    prove(browser)

    browser.post(reverse("account_email"), {"email": "old@example.org", "action_remove": "1"})
    omar: User = UserFactory.create(email="omar@example.org")
    omar.set_unusable_password()
    omar.save()
    EmailAddress.objects.create(user=omar, email="omar@example.org", verified=True, primary=True)
    _set_first_password(omar)

    assert "An e-mail address was removed" in mails.subjects(EMAIL)
    assert mails.subjects("omar@example.org") == ["Your account has a password"]


def _set_first_password(user: User) -> None:
    identities.connect(user_id=user.pk, provider="chat", platform_id="5", name="Omar", at=timezone.now())
    browser = new_browser()
    browser.force_login(user)
    session = browser.session
    session["account_authentication_methods"] = [{"method": "socialaccount", "at": 32_503_680_000}]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    browser.post(reverse("account_set_password"), {"password1": OTHER, "password2": OTHER})


def test_a_session_cookie_from_elsewhere_is_nobodys(ada: User) -> None:
    browser = new_browser()
    browser.cookies[django_settings.SESSION_COOKIE_NAME] = "a" * 32
    sign_in(browser)

    assert browser.session.session_key != "a" * 32
    assert who(browser) == str(ada.pk)


@pytest.mark.parametrize(
    ("sender", "wanted"),
    [
        ("http://testserver/account/email/?a=1", "/account/email/"),
        ("http://[x", "/account/sent/"),
        ("https://evil.example/account/email/", "/account/sent/"),
        ("", "/account/sent/"),
    ],
)
def test_a_referer_that_is_no_address_of_ours_leads_to_the_page_itself(
    rf: RequestFactory, sender: str, wanted: str
) -> None:
    assert freshness._page_of(rf.post("/account/sent/", headers={"Referer": sender})) == wanted
