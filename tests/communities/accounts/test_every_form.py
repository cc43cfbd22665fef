"""Rules for each address of the account area, including later ones."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.converters import UUIDConverter
from pytest_django import Settings

from communities.accounts import limits
from tests.support.browsers import new_browser, page, person, prove, sign_in
from tests.support.identity_providers.server import Platforms, use

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
VALUES: dict[str, Any] = {"token": "x" * 43, "provider_id": "chat", "key": "x-y", "uidb36": "1"}
EVIL = "https://evil.example/"


def _names(patterns: Any, path: str = "") -> Iterator[str]:
    for each in patterns:
        here = path + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _names(each.url_patterns, here)
        elif isinstance(each, URLPattern) and here.startswith("account/") and each.name:
            yield each.name


NAMES = sorted(set(_names(get_resolver().url_patterns)))
CLOSED = {"account_confirm_login_code", "socialaccount_signup"}  # ways in that are off
READ_ONLY = {"mfa_download_recovery_codes"}  # without codes it is absent to every method


def _address(name: str) -> str:
    found = get_resolver().reverse_dict.getlist(name)
    assert found, name
    parameters, converters = found[0][0][0][1], found[0][3]
    return reverse(name, kwargs={each: _value(each, converters.get(each)) for each in parameters})


def _value(name: str, converter: object) -> Any:
    return uuid.UUID(int=1) if isinstance(converter, UUIDConverter) else VALUES.get(name, 1)


@pytest.fixture
def platforms(settings: Settings) -> Iterator[Platforms]:
    with Platforms() as server:
        use(server, settings)
        yield server


def _close_file(answer: Any) -> None:
    """Of an archive. The answer's own `close` would close our connection to the database too."""
    for close in answer._resource_closers:
        close()


def _signed_in(**values: Any) -> Client:
    person()
    browser = new_browser(**values)
    sign_in(browser)
    prove(browser)
    return browser


def test_every_form_has_a_limit_or_says_why_it_needs_none(platforms: Platforms) -> None:
    browser = _signed_in(raise_request_exception=False)
    taking = set()
    for name in NAMES:
        signed_in, visitor = browser.post(_address(name)), new_browser().post(_address(name))
        if 405 not in (signed_in.status_code, visitor.status_code) and name not in CLOSED | READ_ONLY:
            taking.add(name)
        _close_file(signed_in)
        if name == "account_logout":
            sign_in(browser)
            prove(browser)

    unknown = taking - set(limits.TABLE) - set(limits.UNLIMITED)
    assert not unknown
    assert set(limits.TABLE) | set(limits.UNLIMITED) <= set(NAMES)
    assert not set(limits.TABLE) & set(limits.UNLIMITED)
    assert len(taking) > 25


def test_ways_in_that_are_off_are_not_there() -> None:
    for name in CLOSED:
        assert new_browser().get(_address(name)).status_code == 404
    assert new_browser().get("/account/social/signup/").status_code == 404
    assert new_browser().get("/account/login/code/").status_code == 404


def test_no_form_works_without_its_token(platforms: Platforms) -> None:
    person()
    eve = person("Eve", "eve@example.org")
    taking: dict[str, int] = {}
    for name in NAMES:
        browser = new_browser(enforce_csrf_checks=True)
        browser.force_login(eve)
        taking[name] = browser.post(_address(name), {"next": "/account/"}).status_code

    assert {name: status for name, status in taking.items() if status not in (403, 404, 405)} == {}


@pytest.mark.long
@pytest.mark.parametrize("is_signed_in", [False, True])
def test_no_page_leads_to_another_site_is_cached_or_framed(is_signed_in: bool, platforms: Platforms) -> None:
    browser = _signed_in() if is_signed_in else new_browser()
    browser.raise_request_exception = False

    for name in NAMES:
        if name == "account_logout":
            continue
        address = _address(name)
        for answer in (
            browser.get(address, {"next": EVIL, "process": "connect"}),
            browser.post(f"{address}?next=//evil.example", {"next": EVIL}),
        ):
            assert urlsplit(answer.get("Location", "")).netloc in ("", "testserver"), name
            if answer.streaming:
                _close_file(answer)
            else:  # a hidden field may hold it, and is judged when it is sent
                assert not re.search('(href|action|src|url)="?(https:)?//evil', page(answer)), name
            assert answer["Cache-Control"] == "no-store", name
            assert "frame-ancestors 'none'" in answer["Content-Security-Policy"], name
            assert "img-src 'self' data:;" in answer["Content-Security-Policy"], name
            assert "script-src 'unsafe-inline'" not in answer["Content-Security-Policy"]
            assert answer["Referrer-Policy"] == "same-origin"
            assert answer.status_code < 500, name
