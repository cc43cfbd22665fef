"""Each failed sign-in is one line of the log, which names neither people nor their addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from allauth.account.adapter import get_adapter
from allauth.mfa.totp.internal.auth import TOTP
from django import forms
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from communities import sign_in as limits_of_sign_in
from communities.accounts import failures, limits
from communities.accounts import forms as account_forms
from communities.gate import throttling
from communities.models import User
from communities.services.people import identities
from tests.support.browsers import EMAIL, OTHER, new_browser, person, sign_in
from tests.support.identity_providers.server import Platforms, use
from tests.support.moments import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
SECRET = "JBSWY3DPEHPK3PXP"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Everything that is logged about sign-ins."""
    with structlog.testing.capture_logs() as lines:
        monkeypatch.setattr(failures, "log", structlog.get_logger("tests"))
        yield lines


def _failed(log: list[Any]) -> list[tuple[object, ...]]:
    """The way of each attempt, the reason of its failure, and whether the person was signed in already."""
    return [(line["way"], line["reason"], line["again"]) for line in _lines(log)]


def _lines(log: list[Any]) -> list[Any]:
    return [line for line in log if line["event"] == "sign_in.failed"]


def test_a_wrong_password_is_logged_with_hashes_of_address_and_account(log: list[Any]) -> None:
    ada, browser = person(), new_browser()

    sign_in(browser, password=OTHER)
    sign_in(browser, "nobody@example.org")
    sign_in(browser)

    request = HttpRequest()
    request.META["REMOTE_ADDR"] = browser.defaults["REMOTE_ADDR"]
    address = throttling.hashed(throttling.address_of(request))
    assert [line["account"] for line in _lines(log)] == [
        limits_of_sign_in.account_of(ada.pk),
        limits_of_sign_in.account_named("nobody@example.org"),
    ]
    assert _failed(log) == [("password", "email_password_mismatch", False)] * 2
    assert {line["address"] for line in _lines(log)} == {address}
    assert {line["log_level"] for line in _lines(log)} == {"warning"}
    assert not any(
        word in str(_lines(log)) for word in (EMAIL, "nobody@", OTHER, browser.defaults["REMOTE_ADDR"], "Ada")
    )


def test_one_attempt_is_one_line(log: list[Any]) -> None:
    person(is_active=False)

    sign_in(new_browser())

    assert _failed(log) == [("password", "email_password_mismatch", False)]


def test_attempts_beyond_the_limit_are_logged_too(log: list[Any]) -> None:
    person()
    browser = new_browser()

    for _ in range(7):
        sign_in(browser, password=OTHER)

    assert [reason for _, reason, _ in _failed(log)] == ["email_password_mismatch"] * 6 + ["too_many"]


def test_a_wrong_code_is_logged_at_sign_in_and_later(log: list[Any]) -> None:
    ada = person()
    TOTP.activate(ada, SECRET)
    browser, signed_in = new_browser(), new_browser()
    sign_in(browser)
    signed_in.force_login(ada)

    browser.post(reverse("mfa_authenticate"), {"code": "000000"})
    signed_in.post(reverse("mfa_reauthenticate"), {"code": "000000"})
    signed_in.post(reverse("account_reauthenticate"), {"password": OTHER})

    assert _failed(log) == [
        ("code", "incorrect_code", False),
        ("code", "incorrect_code", True),
        ("password", "incorrect_password", True),
    ]
    assert {line["account"] for line in _lines(log)} == {limits_of_sign_in.account_of(ada.pk)}


def test_a_passkey_that_is_refused_is_logged(log: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    few = limits.Limit((limits.Window("address", 1, limits.MINUTES),), keeps_form=False)
    monkeypatch.setitem(limits.TABLE, "mfa_login_webauthn", few)
    browser = new_browser()

    for _ in range(2):
        browser.post(reverse("mfa_login_webauthn"), {"credential": "no json"})

    assert _failed(log) == [("passkey", "invalid", False), ("passkey", "too_many", False)]


@pytest.mark.parametrize(
    "address",
    [
        "/account/password/reset/key/1-x-y/",
        "/account/confirm-email/x-y/",
        f"/account/invitations/{'x' * 43}/",
    ],
)
def test_a_link_that_does_not_work_is_logged(address: str, log: list[Any]) -> None:
    new_browser().get(address)

    assert _failed(log) == [("link", "invalid_link", False)]


def test_a_sign_in_with_a_platform_that_fails_is_logged(log: list[Any], settings: Settings) -> None:
    with Platforms() as server:
        use(server, settings)
        new_browser().get(reverse("source_callback", args=["chat"]), {"state": "made-up"})

    assert _failed(log) == [("platform", "expired", False)]
    assert _lines(log)[0]["provider"] == "chat"


def test_a_closed_account_is_logged_where_its_proof_was_right(log: list[Any], rf: Any) -> None:
    identity = identities.sign_in(provider="chat", platform_id="5", name="Omar", at=NOON)
    User.objects.filter(pk=identity.user_id).update(is_active=False)
    request = _request_of(new_browser())

    get_adapter().respond_user_inactive(request, User.objects.get(pk=identity.user_id))

    assert _failed(log) == [("account", "inactive", False)]


def _request_of(browser: Client) -> HttpRequest:
    request: HttpRequest = browser.get(reverse("account_login")).wsgi_request
    return request


def test_every_form_that_takes_a_proof_logs_what_it_refuses() -> None:
    proofs = {"password", "code", "credential"}
    known = {
        "AddPasskey": "adds a way to sign in",
        "AddAuthenticatorApp": "adds a way to sign in",
    }
    for name, form in vars(account_forms).items():
        if not (isinstance(form, type) and issubclass(form, forms.Form)) or form is account_forms.Limited:
            continue
        takes = proofs & set(form.base_fields) and form.__module__ == account_forms.__name__
        assert bool(takes) == (getattr(form, "way", None) is not None) or name in known, name
