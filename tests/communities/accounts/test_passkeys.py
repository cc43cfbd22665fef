"""Passkeys: who they prove somebody to be, and how many and how large they may be (rule 11.31)."""

from __future__ import annotations

import html
import json
import re
import time
from typing import Any

import pytest
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.usersessions.models import UserSession
from django.test import Client
from django.urls import reverse

from communities.accounts import lifetimes
from communities.accounts.forms import MAX_PASSKEYS, UNREADABLE
from communities.models import User
from communities.services.people import sign_ins
from tests.factories import UserFactory
from tests.support.passkeys import Passkey

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


def _person(name: str) -> User:
    user: User = UserFactory.create(username=name)
    user.set_password(PASSWORD)
    user.save()
    return user


def _signed_in(user: User) -> Client:
    """A browser in which somebody has just shown who they are."""
    browser = Client()
    browser.force_login(user)
    session = browser.session
    session[sign_ins.METHODS] = [{"method": "password", "at": time.time(), "reauthenticated": True}]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return browser


def _asked(page: Any) -> Any:
    """The challenge in a page."""
    found = re.search(r'data-options="(.*?)"', page.content.decode(), re.DOTALL)
    assert found
    return json.loads(html.unescape(found[1]))


def _add(browser: Client, key: Passkey, **more: Any) -> Any:
    credential = {**key.register(_asked(browser.get(reverse("mfa_add_webauthn")))), **more}
    return browser.post(reverse("mfa_add_webauthn"), {"name": "Phone", "credential": json.dumps(credential)})


def _challenge(browser: Client) -> Any:
    return browser.get(reverse("mfa_login_webauthn"), headers={"X-Requested-With": "XMLHttpRequest"}).json()[
        "request_options"
    ]


def _sign_in(browser: Client, credential: object) -> Any:
    return browser.post(reverse("mfa_login_webauthn"), {"credential": json.dumps(credential)})


def _handle(user: User) -> bytes:
    return user_pk_to_url_str(user).encode()


def test_a_passkey_signs_in_without_a_password() -> None:
    ada, key, browser = _person("ada"), Passkey(), Client()
    _add(_signed_in(ada), key)

    _sign_in(browser, key.sign(_challenge(browser), user_handle=_handle(ada)))

    assert browser.session["_auth_user_id"] == str(ada.pk)


def test_a_device_that_made_not_sure_who_uses_it_signs_nobody_in_by_any_challenge() -> None:
    ada, eve, key = _person("ada"), _person("eve"), Passkey()
    _add(_signed_in(ada), key)
    TOTP.activate(eve, "JBSWY3DPEHPK3PXP")
    honest, other = Client(), Client()
    waiting = other.post(reverse("account_login"), {"login": "eve", "password": PASSWORD})
    asked = _asked(other.get(waiting["Location"]))
    other.post(reverse("account_logout"))

    for browser, challenge in ((honest, _challenge(honest)), (other, asked)):
        assert challenge["publicKey"]["userVerification"] == "required"
        _sign_in(browser, key.sign(challenge, user_handle=_handle(ada), is_verified=False))
        assert "_auth_user_id" not in browser.session


@pytest.mark.parametrize(
    "credential", ['{"id": 1}', "[" * 10_000, "[" * 50_000, '{"response": {}}', "[]", "1"]
)
@pytest.mark.parametrize("name", ["mfa_login_webauthn", "mfa_add_webauthn"])
def test_what_no_device_sends_is_refused_in_words(name: str, credential: str) -> None:
    browser = _signed_in(_person("ada"))

    answer = browser.post(reverse(name), {"name": "Phone", "credential": credential})

    assert answer.status_code < 500
    assert not Authenticator.objects.exists()


def test_a_passkey_has_a_size_and_an_account_a_number_of_them() -> None:
    ada = _person("ada")
    browser = _signed_in(ada)

    large = _add(browser, Passkey(), padding=["x"] * 20_000)
    assert UNREADABLE in large.content.decode()
    assert not Authenticator.objects.exists()

    _add(browser, Passkey())
    first = Authenticator.objects.get(type="webauthn")
    Authenticator.objects.bulk_create(
        Authenticator(user=ada, type="webauthn", data=first.data) for _ in range(MAX_PASSKEYS - 1)
    )
    more = _add(browser, Passkey())
    assert f"You have {MAX_PASSKEYS} passkeys." in more.content.decode()
    assert Authenticator.objects.filter(type="webauthn").count() == MAX_PASSKEYS


@pytest.mark.parametrize(("length", "is_kept"), [(100, True), (101, False)])
def test_the_name_of_a_passkey_has_a_limit(length: int, is_kept: bool) -> None:
    browser = _signed_in(_person("ada"))
    _add(browser, Passkey())
    key = Authenticator.objects.get(type="webauthn")

    browser.post(reverse("mfa_edit_webauthn", args=[key.pk]), {"name": "n" * length})

    key.refresh_from_db()
    assert (key.wrap().name == "n" * length) == is_kept


def test_beyond_a_number_of_sessions_the_oldest_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetimes, "MOST_SESSIONS", 3)
    ada, browsers = _person("ada"), [Client() for _ in range(5)]

    for browser in browsers:
        browser.post(reverse("account_login"), {"login": "ada", "password": PASSWORD})

    assert UserSession.objects.filter(user=ada).count() == 3
    assert ["_auth_user_id" in browser.session for browser in browsers] == [False, False, True, True, True]


def test_a_long_session_is_not_remembered() -> None:
    before = sign_ins._decoded.cache_info().currsize
    for length in range(sign_ins.LONGEST_REMEMBERED + 1, sign_ins.LONGEST_REMEMBERED + 50):
        assert sign_ins._of(sign_ins._decoded, "x" * length) == {}

    assert sign_ins._decoded.cache_info().currsize == before
