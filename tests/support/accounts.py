"""People who are signed in to the account area, with or without having just confirmed who they are."""

from __future__ import annotations

import time
from typing import Any

from django.test import Client
from django.urls import reverse

from communities.models import Community, Member, User
from tests.factories import MemberFactory, UserFactory

A_HASH = "md5$salt$00000000000000000000000000000000"  # of no password that anybody knows


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
