"""Fixtures of the tests of accounts. A test file that needs other people defines its own."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

EMAIL, PASSWORD = "ada@example.org", "a calm purple teapot"


@pytest.fixture(autouse=True)
def _codes_last_for_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock of authenticator apps: a code could expire between reading and sending."""
    from allauth.mfa.totp.internal import auth  # noqa: PLC0415 - once Django is set up

    moment = time.time()
    monkeypatch.setattr(auth, "time", SimpleNamespace(time=lambda: moment))


@pytest.fixture
def browser() -> Any:
    """A browser with an address of its own, so that no limit is shared."""
    from django.test import Client  # noqa: PLC0415 - once Django is set up

    from tests.support.api_requests import new_address  # noqa: PLC0415 - once Django is set up

    return Client(REMOTE_ADDR=new_address())


@pytest.fixture
def ada(db: None) -> Any:
    """A user with a password and a confirmed address."""
    from allauth.account.models import EmailAddress  # noqa: PLC0415 - once Django is set up

    from tests.factories import UserFactory  # noqa: PLC0415 - once Django is set up

    user = UserFactory.create(name="Ada", email=EMAIL)
    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.create(user=user, email=EMAIL, verified=True, primary=True)
    return user
