"""Every cookie under https: for this host alone, with TLS alone, and hidden from scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.http import HttpResponse, QueryDict
from django.urls import reverse
from pytest_django import Settings

from surveys.pages.respondent import kept_forms
from tests.support.browsers import EMAIL, PASSWORD, code_of, new_browser, person
from tests.support.surveys import scenario
from tests.support.surveys.personal_links import link_for, path_of, private

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]
NAMES = (
    "SESSION_COOKIE_SECURE",
    "SESSION_COOKIE_NAME",
    "SESSION_COOKIE_SAMESITE",
    "CSRF_COOKIE_SECURE",
    "CSRF_COOKIE_NAME",
    "CSRF_COOKIE_HTTPONLY",
    "CSRF_COOKIE_SAMESITE",
    "KNOWN_BROWSER_COOKIE_NAME",
    "MFA_TRUST_COOKIE_NAME",
)
SHOW = """
import json, sys
from config import settings
json.dump({name: getattr(settings, name) for name in sys.argv[1:]}, sys.stdout)
"""


@pytest.fixture
def secure(settings: Settings, tmp_path: Path) -> None:
    """The settings of a site that has an address with https."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "COLLOQUY_SERVERS": "none",
        "VAR_DIR": str(tmp_path),
        "BASE_URL": "https://surveys.example.org",
        "SECRET_KEY": "x" * 50,
    }
    root = Path(__file__).parents[3]
    shown = subprocess.run(
        [sys.executable, "-c", SHOW, *NAMES], cwd=root, env=environment, capture_output=True, check=True
    )
    for name, value in json.loads(shown.stdout).items():
        setattr(settings, name, value)


@pytest.mark.usefixtures("secure")
def test_each_cookie_is_secure_hidden_and_of_this_host_alone() -> None:
    ada = person()
    TOTP.activate(ada, "JBSWY3DPEHPK3PXP")
    link = link_for(scenario.member("Marit"), private())
    browser, kept = new_browser(), HttpResponse()
    cookies: SimpleCookie = SimpleCookie()

    browser.get(reverse("account_login"), secure=True)
    browser.post(reverse("account_login"), {"login": EMAIL, "password": PASSWORD}, secure=True)
    browser.post(reverse("mfa_authenticate"), {"code": code_of(ada)}, secure=True)
    browser.post(reverse("mfa_trust"), {"action": "trust"}, secure=True)
    browser.get(path_of(link), secure=True)
    kept_forms.keep(kept, QueryDict("value=Because"), slug="a", path="/s/a")
    cookies.update(browser.cookies)
    cookies.update(kept.cookies)

    assert set(cookies) == {
        "__Host-colloquy_session",
        "__Host-colloquy_csrf",
        "__Host-colloquy_browser",
        "__Host-colloquy_trusted",
        "colloquy_visitor",
        "colloquy_link",
        "colloquy_typed",
    }
    for name, cookie in cookies.items():
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax"), name
        assert cookie["domain"] == "", name
        assert name.startswith("__Host-") == (cookie["path"] == "/"), name


def test_cookies_of_one_survey_say_nothing_to_another() -> None:
    first, second = (link_for(scenario.member(name), private()) for name in ("Marit", "Olav"))
    browser = new_browser()
    browser.get(path_of(first))
    stolen = browser.cookies["colloquy_link"].value
    typed = HttpResponse()
    kept_forms.keep(typed, QueryDict("value=Because"), slug=first.project.slug, path="/")
    other = new_browser()
    other.cookies["colloquy_link"] = stolen
    other.cookies[kept_forms.COOKIE] = typed.cookies[kept_forms.COOKIE].value

    answer = other.get(f"/s/{second.project.slug}")

    assert answer.status_code == 403
    assert b"Because" not in answer.content
    assert b"Marit" not in answer.content


def test_a_personal_link_signs_nobody_in() -> None:
    browser = new_browser()
    browser.get(path_of(link_for(scenario.member("Marit"), private())), follow=True)

    assert browser.get(reverse("account"))["Location"].startswith("/account/login/")
    assert browser.get("/admin/").status_code == 302
