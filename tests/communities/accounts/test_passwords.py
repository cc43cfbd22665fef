"""Which passwords people may choose: any characters and any length, but none that others would try."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from allauth.account.forms import PasswordField, SetPasswordField
from django.contrib.auth import password_validation
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.urls import reverse

from communities.accounts import forms
from communities.models import CommunitySettings, User
from tests.factories import CommunityFactory
from tests.support.browsers import EMAIL, PASSWORD, new_browser, page, person, prove, sign_in

ADA = {"name": "Wilhelmina Wuthering", "email": "hey.wuthering@example.org"}
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.mark.parametrize(
    "password",
    [
        "mnqvzwxy",
        "qwzxvplmkt" * 13,
        "5820473916582",
        "      a b      c ",
        "пароль-с-чайником",
        "🫖🫖🫖🫖🫖🫖🫖🫖",
        "colloquy teapot",
    ],
)
def test_any_characters_and_lengths_from_eight_on_are_allowed(password: str) -> None:
    password_validation.validate_password(password, User(**ADA))


@pytest.mark.parametrize(
    "password",
    [
        "mnqvzwx",
        "password1",
        "12345678",
        "iloveyou",
        "wilhelmina1",
        "Wuthering!",
        "hey.wuthering@example.org",
        "Colloquy2026!",
        "c0ll0quy-adm1n",
        "SurveysAndPolls".replace("And", ""),
    ],
)
def test_what_others_would_try_is_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        password_validation.validate_password(password, User(**ADA))


def test_the_list_has_thousands_of_stolen_passwords_of_our_length() -> None:
    path = Path(CommonPasswordValidator().DEFAULT_PASSWORD_LIST_PATH)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        long_enough = [line for line in lines if len(line.strip()) >= 8]

    assert len(long_enough) > 3_000


def test_nobody_signs_up_with_a_password_like_their_name() -> None:
    community = CommunityFactory.create()
    CommunitySettings.objects.create(community=community, allow_sign_up=True)
    values = {**ADA, "password1": "Wilhelmina-W", "community": str(community.pk)}

    refused = new_browser().post(reverse("account_signup"), values)

    assert "too similar to the" in page(refused)
    assert not User.objects.filter(email=ADA["email"]).exists()


def test_passwords_are_taken_as_they_are_typed_and_hidden() -> None:
    taken = (forms.SignIn, forms.SignUp, forms.ChangePassword, forms.SetPassword, forms.Reauthenticate)
    fields = [
        field
        for form in (*taken, forms.ResetPassword, forms.InvitedSignUp)
        for name, field in form.base_fields.items()
        if "password" in name
    ]

    assert len(fields) == 10
    for field in fields:
        assert isinstance(field, PasswordField | SetPasswordField)
        assert not field.strip
        assert field.max_length is None
        assert field.widget.input_type == "password"
        assert not field.widget.render_value
        assert field.widget.attrs.get("autocomplete") != "off"


def test_spaces_and_capitals_of_a_password_count() -> None:
    ada = person()
    ada.set_password("  A calm Teapot ")
    ada.save()

    wrong = [
        sign_in(new_browser(), password=each).status_code for each in ("A calm Teapot", "  a calm teapot ")
    ]

    assert wrong == [200, 200]
    assert sign_in(new_browser(), password="  A calm Teapot ").status_code == 302


def test_another_password_needs_the_present_one() -> None:
    person()
    browser = new_browser()
    sign_in(browser)
    prove(browser)

    values = {"oldpassword": "something else", "password1": "a green kettle", "password2": "a green kettle"}
    refused = browser.post(reverse("account_change_password"), values)

    assert "This is not your present password." in page(refused)
    assert sign_in(new_browser(), EMAIL, PASSWORD).status_code == 302
