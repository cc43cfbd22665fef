"""The ways to sign in that a user may have beside a mail address."""

from __future__ import annotations

from collections.abc import Callable

from allauth.mfa.models import Authenticator

from communities.models import User
from tests.factories import IdentityFactory


def _password(user: User) -> None:
    user.set_password("correct horse battery staple")
    user.save()


WAYS: dict[str, Callable[[User], object]] = {
    "password": _password,
    "passkey": lambda user: Authenticator.objects.create(user=user, type="webauthn", data={}),
    "code": lambda user: Authenticator.objects.create(user=user, type="totp", data={}),
    "account": lambda user: IdentityFactory.create(user=user, provider="video", platform_id="v"),
}
