"""People with accounts, and their actions on the pages of the account area."""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.conf import settings
from django.test import Client
from django.urls import reverse

from communities.ground.actors import Actor
from communities.models import User
from communities.services.inviting import invitations
from tests.factories import MemberFactory, UserFactory
from tests.support import mails
from tests.support.api_requests import new_address

PASSWORD, OTHER = "a calm purple teapot", "another green kettle"
EMAIL = "ada@example.org"


def person(name: str = "Ada", email: str = EMAIL, **fields: Any) -> User:
    """Somebody with a confirmed address and a password."""
    user: User = UserFactory.create(name=name, email=email, **fields)
    user.set_password(PASSWORD)
    user.save()
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user


def new_browser(**values: Any) -> Client:
    """A browser at a unique address, so the limits per address do not affect it."""
    return Client(REMOTE_ADDR=new_address(), **values)


def sign_in(browser: Client, login: str = EMAIL, password: str = PASSWORD, **values: str) -> Any:
    return browser.post(reverse("account_login"), {"login": login, "password": password, **values})


def prove(browser: Client, password: str = PASSWORD) -> Any:
    """Confirm again who the person is, as changes of factors require."""
    return browser.post(reverse("account_reauthenticate"), {"password": password})


def prove_factor(browser: Client) -> None:
    """The session of this browser was opened with a second factor."""
    session = browser.session
    session["second_factor_proven_by"] = int(session["_auth_user_id"])
    session.save()


def code_of(user: User) -> str:
    """The code in the person's authenticator app."""
    secret = get_adapter().decrypt(Authenticator.objects.get(user=user, type="totp").data["secret"])
    return str(format_hotp_value(hotp_value(secret, next(yield_hotp_counters_from_time()))))


def page(response: Any) -> str:
    return str(response.content.decode())


def who(browser: Client) -> str | None:
    """The id of the signed-in user; None after the session has ended."""
    if settings.SESSION_COOKIE_NAME not in browser.cookies:
        return None
    return browser.session.get("_auth_user_id")


def an_admin() -> Actor:
    member = MemberFactory.create(access="admin", nick="Grace")
    return Actor(member.user_id, "admin", member.community_id, "basic")


def invited(actor: Actor, access: str = "member", *, email: str = EMAIL, **fields: Any) -> str:
    """The path in the mail of a new invitation."""
    invitations.invite(actor=actor, email=email, access=access, at=invitations.now(), **fields)
    return mails.path_in(mails.written(email)[-1])
