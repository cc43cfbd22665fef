"""Staff who are signed in to the admin as members of a community, and the pages that they see."""

from __future__ import annotations

import html
import re
from typing import Any

import orjson
from django.test import Client
from django.urls import reverse

from communities.models import Community, Member, ProjectGrant, User
from tests.factories import CommunityFactory, CommunitySettingsFactory, StaffFactory


class Staff:
    """A staff user with this access in a community, by default a new one.

    A `superuser` and staff with the access `none` are not members of it.
    """

    def __init__(
        self,
        access: str = "admin",
        *,
        community: Community | None = None,
        user: User | None = None,
        **fields: Any,
    ) -> None:
        if community is None:
            community = CommunityFactory.create(name="Harbour Chess Club")
            CommunitySettingsFactory.create(community=community)
        self.community = community
        self.access = access
        self.user: User = user or StaffFactory.create(
            is_superuser=access == "superuser", **{"name": "Ada", **fields}
        )
        if not self.user.is_staff:
            self.user.is_staff = True
            self.user.save(update_fields=["is_staff"])
        self.member: Member | None = None
        if access in Member.Access.values:
            self.member, _ = Member.objects.get_or_create(
                community=community, user=self.user, defaults={"access": access}
            )
        self.client = signed_in(self.user)

    def beside(self, access: str, **fields: Any) -> Staff:
        """Somebody else in the same community."""
        return Staff(access, community=self.community, **fields)

    def given(self, level: str, project_id: int | None = None) -> Staff:
        """The same person with this access to a project, or to all projects."""
        assert self.member is not None
        ProjectGrant.objects.create(member=self.member, project_id=project_id, level=level)
        return self

    def get(self, name: str, /, *args: object, **query: str) -> Any:
        """The page of a URL of the admin, named without `admin:`."""
        return self.client.get(reverse(f"admin:{name}", args=args), query)

    def post(self, name: str, /, *args: object, follow: Any = False, **values: Any) -> Any:
        """Send a form to a URL of the admin, named without `admin:`."""
        return self.client.post(reverse(f"admin:{name}", args=args), values, follow=follow)

    def read(self, address: str, data: Any = None) -> str:
        """The source of a page, without entities. Fails unless its status is 200."""
        response = self.client.get(address, data)
        assert response.status_code == 200, response
        return html.unescape(response.content.decode())

    def send(self, method: str, address: str, body: object = None, **headers: str) -> Any:
        """A request with a JSON body, as the admin's scripts send it."""
        return send(self.client, method, address, body, **headers)


def signed_in(user: User, **options: Any) -> Client:
    """A browser in which a user is signed in."""
    client = Client(**options)
    client.force_login(user)
    return client


def client_of(community: Community, access: str = "admin") -> Client:
    """A browser in which staff of a community are signed in."""
    return Staff(access, community=community).client


def send(client: Client, method: str, address: str, body: object = None, **headers: str) -> Any:
    """A request with a JSON body."""
    raw = b"" if body is None else orjson.dumps(body)
    return client.generic(
        method.upper(), address, raw, "application/json", headers={"Accept": "application/json", **headers}
    )


def text_of(response: Any) -> str:
    """The text of a page in one line: without head, icons and markup, with single spaces."""
    body = re.sub(r"(?s)<(head|svg|script|style)\b.*?</\1>", "", response.content.decode())
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def row_titles(page: str) -> list[str]:
    """The linked titles of the rows of a list, from the source of its page."""
    return re.findall(r'class="row-title">\s*<a href="[^"]*">([^<]*)</a>', page)


def hidden(response: Any, name: str) -> str:
    """The value of a hidden field."""
    found = re.search(rf'<input type="hidden" name="{name}" value="([^"]*)"', response.content.decode())
    assert found, f"no hidden field {name}"
    return found[1]
