"""Recovery codes: shown once, stored as hashes, each good once."""

from __future__ import annotations

import pkgutil
import re
import sys
from importlib import import_module
from typing import Any
from urllib.parse import unquote

import allauth.mfa
import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal import auth
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client
from django.urls import reverse

from communities import sign_in as sign_in_limits
from communities.accounts import recovery_codes
from communities.accounts.recovery_codes import HashedCodes, hashed, new_code
from communities.models import User
from tests.support.browsers import new_browser, page, person, prove, prove_factor, sign_in, who
from tests.support.concurrency import run_together

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
SECRET = "JBSWY3DPEHPK3PXP"
CODE = r"\d{5}-\d{5}-\d{5}"


@pytest.fixture
def ada() -> User:
    user = person()
    TOTP.activate(user, SECRET)
    return user


def _signed_in(user: User) -> Client:
    browser = new_browser()
    browser.force_login(user)
    prove(browser)
    prove_factor(browser)
    return browser


def _codes_in(answer: Any) -> list[str]:
    return re.findall(rf"<li>({CODE})</li>", page(answer))


def _made(browser: Client) -> list[str]:
    return _codes_in(browser.post(reverse("mfa_generate_recovery_codes")))


def _row(user: User) -> Authenticator:
    row: Authenticator = Authenticator.objects.get(user=user, type="recovery_codes")
    return row


def test_codes_have_more_than_40_bits_and_only_their_hashes_are_stored(ada: User) -> None:
    codes = _made(_signed_in(ada))

    stored = _row(ada).data
    assert len(codes) == len(set(codes)) == 10
    assert 10 ** len(re.findall(r"\d", codes[0])) > 2**40
    assert list(stored) == ["hashes"]
    assert all(each.startswith("pbkdf2_sha256$") for each in stored["hashes"])
    assert not any(part in str(stored) for code in codes for part in (code, code.replace("-", "")))


def test_codes_are_hashed_with_many_rounds_and_a_salt_of_their_owner(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashed, "__defaults__", (recovery_codes.ITERATIONS,))
    monkeypatch.setattr("allauth.mfa.app_settings.RECOVERY_CODE_COUNT", 1)
    other = person("Eve", "eve@example.org")

    parts = [HashedCodes.activate(each).instance.data["hashes"][0].split("$") for each in (ada, other)]

    assert [int(each[1]) for each in parts] == [100_000, 100_000]
    assert parts[0][2] != parts[1][2]
    assert min(len(each[2]) for each in parts) >= 22  # 128 bits


def test_a_code_of_an_app_is_not_taken_for_a_recovery_code(ada: User) -> None:
    """Otherwise guesses would be refused without being counted while others sign in."""
    _made(_signed_in(ada))

    with sign_in_limits.hashing_slot():
        assert not HashedCodes(_row(ada)).validate_code("123456")


def test_codes_are_shown_once_with_a_file_to_save(ada: User) -> None:
    browser = _signed_in(ada)
    shown = browser.post(reverse("mfa_generate_recovery_codes"))
    codes = _codes_in(shown)

    later = browser.get(reverse("mfa_view_recovery_codes"))
    file = re.findall(r'href="data:text/plain;charset=utf-8,([^"]*)" download', page(shown))

    assert len(codes) == 10
    assert re.findall(CODE, unquote(file[0])) == codes
    assert shown["Cache-Control"] == "no-store"
    assert re.findall(CODE, page(later)) == []
    assert "10 of 10 are left." in page(later)
    assert "Make new ones" in page(later)
    assert browser.get(reverse("mfa_download_recovery_codes")).status_code == 404
    assert not any(code in str(dict(browser.session.items())) for code in codes)


def test_a_code_works_once_and_the_pages_say_how_many_are_left(ada: User) -> None:
    browser = _signed_in(ada)
    codes = _made(browser)
    told = []

    for code in (codes[3], codes[3], codes[4].replace("-", " ")):
        other = new_browser()
        sign_in(other)
        other.post(reverse("mfa_authenticate"), {"code": code})
        other.post(reverse("mfa_trust"), {"action": "other"})
        told.append(who(other) is not None)

    assert told == [True, False, True]
    assert len(_row(ada).data["hashes"]) == 8
    assert "8 left, for when" in page(browser.get(reverse("mfa_index")))
    assert "8 of 10 are left." in page(browser.get(reverse("mfa_view_recovery_codes")))
    assert "The 8 codes that are left stop working." in page(
        browser.get(reverse("mfa_generate_recovery_codes"))
    )


def test_new_codes_replace_the_old_ones(ada: User) -> None:
    browser = _signed_in(ada)
    old = _made(browser)
    before = _row(ada).wrap()

    new = _made(browser)

    assert not before.validate_code(old[0])  # by a request that read the row before
    assert not _row(ada).wrap().validate_code(old[0])
    assert _row(ada).wrap().validate_code(new[0])


def test_after_the_last_code_none_works(ada: User) -> None:
    code = new_code()
    row = Authenticator.objects.create(
        user=ada, type="recovery_codes", data={"hashes": [hashed(code, "a" * 22)]}
    )

    assert row.wrap().validate_code(code)
    assert not _row(ada).wrap().validate_code(code)
    assert not _row(ada).wrap().validate_code("")


@pytest.mark.django_db(transaction=True)
def test_of_two_requests_with_one_code_one_succeeds(ada: User) -> None:
    code = new_code()
    Authenticator.objects.create(
        user=ada, type="recovery_codes", data={"hashes": [hashed(code, "a" * 22), hashed("1", "a" * 22)]}
    )
    both = [_row(ada).wrap(), _row(ada).wrap()]  # read before either is used

    results = run_together(*(lambda each=each: each.validate_code(code) for each in both))

    assert sorted(results) == [False, True]
    assert len(_row(ada).data["hashes"]) == 1


def test_no_module_of_django_allauth_makes_or_checks_codes_by_a_class_of_its_own(ada: User) -> None:
    own = HashedCodes.__mro__[1]
    found = pkgutil.walk_packages(allauth.mfa.__path__, "allauth.mfa.")
    for each in found:
        if ".migrations" not in each.name and "tests" not in each.name:
            import_module(each.name)
    holders = [
        f"{name}.{attribute}"
        for name, module in list(sys.modules.items())
        if name.startswith("allauth.")
        for attribute, value in vars(module).items()
        if value is own
    ]

    assert own.__module__ == "allauth.mfa.recovery_codes.internal.auth"
    assert holders == []
    assert auth.RecoveryCodes is HashedCodes
    assert type(Authenticator(type="recovery_codes").wrap()) is HashedCodes
    assert set(vars(own)) - set(vars(HashedCodes)) <= KNOWN_OF_THEIRS


KNOWN_OF_THEIRS = {
    *("__dict__", "__weakref__", "__init__", "__annotations__"),
    # Of seeds and of codes of other packages; only methods that are replaced call them.
    *("generate_seed", "generate_codes", "_get_migrated_codes", "_is_code_used", "_mark_code_used"),
    *("_validate_migrated_code",),
    "mark_as_viewed",  # does nothing to codes that count as viewed
}
