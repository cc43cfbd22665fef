"""People see our texts and pages, and none of django-allauth's."""

from __future__ import annotations

import re
from pathlib import Path

import allauth
import pytest
from django.template import TemplateDoesNotExist, engines

from communities.accounts import wording
from tests.support.cases import try_each

ROOT = Path(allauth.__file__).parent
OURS = ("account", "mfa", "usersessions", "socialaccount")
NAME = re.compile(
    r"[\"'](?P<name>(?:account|mfa|usersessions|socialaccount)/[a-z_/]+)(?P<end>\.[a-z{]\S*|)[\"']"
)
# Parts that are off: sign-in by code, phone numbers, signing up by a passkey, verification by code, recovery
# codes that can be read again.
OFF = re.compile(
    "code_sent|login_code|reset_code|verification_code|phone|signup_by_passkey|email_change$|signup_form|"
    "confirm_login|password_reset_help_text|socialaccount/signup|recovery_codes/download"
)


def names(folder: str) -> set[tuple[str, str]]:
    sources = [path for path in (ROOT / folder).rglob("*.py") if "tests" not in path.parts]
    sources = [path for path in sources if "/providers/" not in str(path)]
    found = {(m["name"], m["end"]) for path in sources for m in NAME.finditer(path.read_text())}
    return {(name, end) for name, end in found if not OFF.search(name)}


@try_each("folder", OURS)
def test_every_page_message_and_mail_is_ours(folder: str) -> None:
    found = names(folder)

    assert found
    for name, end in found:
        if "/email/" in name:
            assert name in wording.LETTERS
        elif "/messages/" in name:
            assert f"{name}.txt" in wording.MESSAGES
        else:
            extension = ".txt" if end == ".txt" else ".html"
            engines["jinja2"].get_template(f"{name}{extension}".removesuffix("..html"))


def test_no_template_of_theirs_is_found() -> None:
    for path in (ROOT / "templates").rglob("*.*"):
        with pytest.raises(TemplateDoesNotExist):
            engines["django"].get_template(str(path.relative_to(ROOT / "templates")))
