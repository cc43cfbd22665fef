"""People who are signed in to the account area, with or without having just confirmed who they are."""

from __future__ import annotations

import time
from typing import Any, cast

from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from django.utils.crypto import get_random_string

from communities.accounts import lifetimes
from communities.models import Community, Member, User
from tests.factories import MemberFactory, UserFactory

A_HASH = "md5$salt$00000000000000000000000000000000"  # of no password that anybody knows


_force_login = Client.force_login


def sign_in_quickly() -> None:
    """Let all test clients of this process sign users in with a quarter of Django's statements."""
    Client.force_login = _sign_in  # type: ignore[assignment, method-assign]


def _sign_in(client: Client, user: Any, backend: str | None = None) -> None:
    """What `auth.login` stores in a new session, written once."""
    if settings.SESSION_COOKIE_NAME in client.cookies:
        _force_login(client, user, backend)
        return
    user.backend = backend or settings.AUTHENTICATION_BACKENDS[0]
    request, session = HttpRequest(), SessionStore(get_random_string(32))
    session[auth.SESSION_KEY] = str(user.pk)
    session[auth.BACKEND_SESSION_KEY] = user.backend
    session[auth.HASH_SESSION_KEY] = user.get_session_auth_hash()
    request.session = session
    lifetimes.begin(None, request, user)
    session.save(must_create=True)
    cast(Any, client)._set_login_cookies(request)


class Person:
    """Somebody with this access in a community; `none` is no member of it, `visitor` is not signed in."""

    def __init__(self, access: str, community: Community, *, is_fresh: bool = True, **fields: Any) -> None:
        self.access, self.community = access, community
        self.user: User = UserFactory.create(**{"name": "Grace", "password": A_HASH, **fields})
        self.client = Client()
        if access in Member.Access.values:
            MemberFactory.create(community=community, user=self.user, access=access)
        if access != "visitor":
            sign_in(self.client, self.user, is_fresh=is_fresh)

    def get(self, name: str, /, *args: object, **query: str) -> Any:
        return self.client.get(reverse(name, args=args), query)

    def post(self, name: str, /, *args: object, query: str = "", **values: Any) -> Any:
        return self.client.post(reverse(name, args=args) + query, values)


def sign_in(client: Client, user: User, *, is_fresh: bool = True, at: float | None = None) -> None:
    """Sign a user in. `is_fresh`: they have just confirmed who they are; `at` is another moment for that."""
    client.force_login(user)
    if is_fresh:
        session = client.session
        session["account_authentication_methods"] = [
            {"method": "password", "at": at or time.time(), "reauthenticated": True}
        ]
        session["account_authentication_methods_user"] = str(user.pk)
        session.save()
