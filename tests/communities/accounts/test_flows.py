"""Signing in and out; addresses, passwords, factors and sessions."""

from __future__ import annotations

import re

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.conf import settings
from django.test import Client
from django.urls import reverse

from communities.accounts import limits
from communities.models import CommunitySettings, User
from communities.services.inviting import invitations
from tests.factories import CommunityFactory, UserFactory
from tests.support import mails
from tests.support.api_requests import new_address
from tests.support.browsers import page, prove_factor, sign_in, who

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
PASSWORD, OTHER = "a calm purple teapot", "another green kettle"
EMAIL = "ada@example.org"
NOW = invitations.now


# --- Addresses that no mail reaches ---------------------------------------------------------------------


def test_sign_up_more_addresses_and_resets_refuse_an_address_that_cannot_be_encoded(
    browser: Client, ada: User
) -> None:
    long = f"a@{'ü' * 60}.com"
    community = CommunityFactory.create()
    CommunitySettings.objects.update_or_create(community=community, defaults={"allow_sign_up": True})

    sign_up = browser.post(
        f"{reverse('account_signup')}?community={community.pk}",
        {"name": "Bob", "email": long, "password1": PASSWORD},
    )
    reset = browser.post(reverse("account_reset_password"), {"email": long})
    sign_in(browser)
    more = browser.post(reverse("account_email"), {"action_add": "", "email": long})

    for answer in (sign_up, reset, more):
        assert "No mail can be sent to this address." in page(answer)
    assert not User.objects.filter(name="Bob").exists()
    assert not EmailAddress.objects.filter(email=long).exists()


# --- Signing in ---------------------------------------------------------------------------------------


def test_somebody_without_factors_is_offered_them(client: Client) -> None:
    client.force_login(UserFactory.create())

    page = client.get("/account/2fa/")

    assert page.status_code == 200


def test_people_land_in_their_account_and_staff_in_the_admin(ada: User, browser: Client) -> None:
    """Rule 12.10."""
    person = sign_in(browser)
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    staff = sign_in(Client(REMOTE_ADDR=new_address()))

    assert (person["Location"], staff["Location"]) == ("/account/", "/admin/")
    assert "no-store" in person["Cache-Control"]


@pytest.mark.parametrize(
    "trick",
    [
        "//evil.example/",
        "/\\evil.example/",
        "javascript:alert(1)",
        "http://testserver@evil.example/",
        "http://localhost/",  # allowed as a host, but it is not this one
    ],
)
def test_nobody_is_sent_to_another_site(trick: str, ada: User, browser: Client) -> None:
    assert sign_in(browser, next=trick)["Location"] == "/account/"
    assert browser.post(reverse("account_logout"), {"next": trick})["Location"] == "/account/login/"


def test_people_go_on_where_they_wanted_to(ada: User, browser: Client) -> None:
    assert sign_in(browser, next="/account/email/?a=1")["Location"] == "/account/email/?a=1"


def test_inactive_people_hear_what_everybody_hears_who_types_a_wrong_password(
    ada: User, browser: Client
) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    answers = [
        sign_in(browser),
        sign_in(browser, password=OTHER),
        sign_in(browser, login="nobody@example.org"),
    ]

    for answer in answers:
        assert answer.status_code == 200
        assert "The name or the password is wrong." in page(answer)


def test_staff_without_any_address_sign_in_by_their_name(browser: Client) -> None:
    staff: User = UserFactory.create(username="root", email="", is_staff=True)
    staff.set_password(PASSWORD)
    staff.save()

    assert sign_in(browser, login="root")["Location"] == "/admin/"


def test_the_session_gets_another_key(ada: User, browser: Client) -> None:
    browser.get(reverse("account_login"))
    session = browser.session
    session["seen"] = 1
    session.save()
    browser.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
    before = session.session_key

    sign_in(browser)

    assert browser.session.session_key != before


def test_the_owner_hears_of_a_new_browser_and_not_of_a_known_one(ada: User, browser: Client) -> None:
    sign_in(browser)
    browser.post(reverse("account_logout"))
    sign_in(browser)

    assert mails.subjects(EMAIL) == ["New sign-in to your account"]


def test_the_admins_own_pages_lead_to_the_account_area(ada: User, browser: Client) -> None:
    """Rule 12.10."""
    asked = browser.get("/admin/login/", {"next": "/admin/surveys/"})
    sign_in(browser)
    refused = browser.get("/admin/login/")

    assert asked["Location"] == "/account/login/?next=%2Fadmin%2Fsurveys%2F"
    assert refused.status_code == 403
    assert "The admin is not for this account" in page(refused)
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    assert browser.get("/admin/password_change/")["Location"] == reverse("account_change_password")
    assert browser.post("/admin/logout/")["Location"] == "/account/login/"
    assert who(browser) is None


# --- Passwords ----------------------------------------------------------------------------------------


def test_a_forgotten_password_is_set_by_mail_once_and_ends_other_sessions(ada: User, browser: Client) -> None:
    other = Client(REMOTE_ADDR=new_address())
    sign_in(other)
    done = browser.post(reverse("account_reset_password"), {"email": EMAIL})
    path = mails.path_in(mails.written(EMAIL)[-1])
    form = browser.get(path, follow=True)
    changed = browser.post(form.redirect_chain[-1][0], {"password1": OTHER, "password2": OTHER})

    assert done["Location"] == reverse("account_reset_password_done")
    assert changed.status_code == 302
    assert other.get(reverse("account")).status_code == 302
    assert "This link has expired" in page(Client(REMOTE_ADDR=new_address()).get(path))
    assert sign_in(browser, password=OTHER).status_code == 302
    assert "Your password was changed" in mails.subjects(EMAIL)


def test_nobody_learns_which_accounts_exist_by_asking_for_a_password(ada: User, browser: Client) -> None:
    known = browser.post(reverse("account_reset_password"), {"email": EMAIL})
    unknown = browser.post(reverse("account_reset_password"), {"email": "nobody@example.org"})

    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
    assert mails.subjects("nobody@example.org") == ["There is no account with this address"]


def test_another_password_ends_other_sessions_and_keeps_this_one(ada: User, browser: Client) -> None:
    other = Client(REMOTE_ADDR=new_address())
    sign_in(other)
    sign_in(browser)
    key = browser.session.session_key
    values = {"oldpassword": PASSWORD, "password1": OTHER, "password2": OTHER}
    browser.post(reverse("account_change_password"), values)

    assert browser.get(reverse("account")).status_code == 200
    assert browser.session.session_key != key
    assert other.get(reverse("account")).status_code == 302
    assert mails.subjects(EMAIL)[-1] == "Your password was changed"


# --- Factors ------------------------------------------------------------------------------------------


def test_factors_change_only_after_showing_who_one_is(ada: User, browser: Client) -> None:
    sign_in(browser)
    asked = browser.get(reverse("mfa_activate_totp"))
    wrong = browser.post(asked["Location"], {"password": OTHER})
    right = browser.post(asked["Location"], {"password": PASSWORD})

    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert "This is not your password." in page(wrong)
    assert right["Location"] == reverse("mfa_activate_totp")


def add_app(browser: Client) -> tuple[str, list[str]]:
    """The app's secret, and the recovery codes that come with it."""
    browser.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    shown = page(browser.get(reverse("mfa_activate_totp")))
    found = re.search(r'class="secret code">(\w+)<', shown)
    assert found is not None
    code = format_hotp_value(hotp_value(found[1], next(yield_hotp_counters_from_time())))
    added = page(browser.post(reverse("mfa_activate_totp"), {"code": code}))
    return found[1], re.findall(r"<li>(\d{5}-\d{5}-\d{5})</li>", added)


@pytest.mark.django_db(transaction=True)  # much happens once the change is committed
def test_an_authenticator_app_is_asked_for_its_code_and_each_recovery_code_works_once(
    ada: User, browser: Client
) -> None:
    sign_in(browser)
    key = browser.session.session_key
    secret, codes = add_app(browser)
    stored = Authenticator.objects.get(user=ada, type="totp").data["secret"]
    other = Client(REMOTE_ADDR=new_address())

    asked = sign_in(other)
    wrong = other.post(reverse("mfa_authenticate"), {"code": "000000"})
    nobody = who(other)
    trust = other.post(reverse("mfa_authenticate"), {"code": codes[0]})
    signed_in = other.post(reverse("mfa_trust"), {"action": "trust"})
    other.post(reverse("account_logout"))
    remembered = sign_in(other)
    again = Client(REMOTE_ADDR=new_address())
    sign_in(again)
    used = again.post(reverse("mfa_authenticate"), {"code": codes[0]})

    assert browser.session.session_key != key
    assert secret not in stored
    assert len(codes) == 10
    assert asked["Location"] == reverse("mfa_authenticate")
    assert "This code is wrong, or too old." in page(wrong)
    assert nobody is None
    assert trust["Location"] == reverse("mfa_trust")
    assert signed_in["Location"] == remembered["Location"] == "/account/"
    assert used.status_code == 200
    assert mails.subjects(EMAIL).count("A recovery code was used") == 1
    assert "Authenticator app added" in mails.subjects(EMAIL)


@pytest.mark.django_db(transaction=True)  # mails are written once the change is committed
def test_the_owner_is_told_that_a_passkey_was_removed(ada: User, browser: Client) -> None:
    sign_in(browser)
    passkey = Authenticator.objects.create(
        user=ada, type="webauthn", data={"name": "Phone", "credential": {}}
    )
    prove_factor(browser)
    asked = browser.post(reverse("mfa_remove_webauthn", args=[passkey.pk]))
    still_there = Authenticator.objects.filter(pk=passkey.pk).exists()
    browser.post(reverse("account_reauthenticate"), {"password": PASSWORD})

    browser.post(reverse("mfa_remove_webauthn", args=[passkey.pk]))

    assert asked["Location"].startswith(reverse("account_reauthenticate"))
    assert still_there
    assert not Authenticator.objects.filter(pk=passkey.pk).exists()
    assert mails.subjects(EMAIL)[-1] == "Passkey removed"


def test_codes_are_limited_by_the_account_that_signs_in(ada: User, browser: Client) -> None:
    TOTP.activate(ada, "JBSWY3DPEHPK3PXP")
    tried = []
    for _ in range(11):
        each = Client(REMOTE_ADDR=new_address())
        sign_in(each)
        tried.append(each.post(reverse("mfa_authenticate"), {"code": "000000"}))

    assert [answer.status_code for answer in tried] == [200] * 10 + [429]
    assert int(tried[-1]["Retry-After"]) > 0
    assert "There were too many attempts." in page(tried[-1])


def test_right_codes_do_not_count_against_their_address(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    few = limits.Limit((limits.Window("address", 2, limits.MINUTES),))
    monkeypatch.setitem(limits.TABLE, "mfa_authenticate", few)
    monkeypatch.setattr(TOTP, "validate_code", lambda _self, code: code == "123456")
    TOTP.activate(ada, "JBSWY3DPEHPK3PXP")
    address, told = new_address(), []

    for code in ("123456", "123456", "000000", "123456", "000000", "123456"):
        each = Client(REMOTE_ADDR=address)
        sign_in(each)
        told.append(each.post(reverse("mfa_authenticate"), {"code": code}).status_code)

    assert told == [302, 302, 200, 302, 200, 429]


def test_what_was_typed_stays_when_there_were_too_many_attempts(browser: Client) -> None:
    typed = {"email": "eve@example.org"}
    answers = [browser.post(reverse("account_reset_password"), typed) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [302] * 5 + [429]
    assert 'value="eve@example.org"' in page(answers[-1])
    assert len(mails.written("eve@example.org")) == 5


# --- Addresses and sessions ---------------------------------------------------------------------------


def test_another_address_counts_once_it_is_confirmed(ada: User, browser: Client) -> None:
    sign_in(browser)
    browser.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    new = "ada@work.example.org"
    browser.post(reverse("account_email"), {"email": new, "action_add": "1"})
    browser.post(reverse("account_email"), {"email": new, "action_primary": "1"})
    early = EmailAddress.objects.get(email=new).primary
    browser.post(mails.path_in(mails.written(new)[-1]))
    browser.post(reverse("account_email"), {"email": new, "action_primary": "1"})
    ada.refresh_from_db()

    assert not early
    assert EmailAddress.objects.get(email=new).primary
    assert ada.email == new
    assert "Your main e-mail address was changed" in mails.subjects(EMAIL)


def test_a_session_can_be_ended_from_another_browser(ada: User, browser: Client) -> None:
    other = Client(REMOTE_ADDR=new_address(), HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux) Firefox/140.0")
    sign_in(other)
    sign_in(browser)
    listed = page(browser.get(reverse("usersessions_list")))
    found = re.search(r'name="session" value="(\d+)"', listed)
    assert found is not None
    browser.post(reverse("usersessions_list"), {"session": found[1]})

    assert "Firefox on Linux" in listed
    assert other.get(reverse("account")).status_code == 302
    assert browser.get(reverse("account")).status_code == 200
