"""Every page of the admin shows times in the zone of the community, which it names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from communities import chosen_community
from communities.models import CommunitySettings
from tests.factories import MemberFactory
from tests.support.access.addresses import addresses, spelled
from tests.support.access.scene import FilledCommunity, filled_community
from tests.support.accounts import sign_in

pytestmark = pytest.mark.django_db

TIME = re.compile(r"<time [^>]*title=\"([^\"]+)\"")
LEAST_PAGES = 20  # with times; fewer would mean that the pattern finds none any more


@pytest.fixture
def filled() -> FilledCommunity:
    """A community in Tokyo whose admin is staff of another community too, in UTC."""
    filled = filled_community("zoned", number=732_000_000_000_001)
    CommunitySettings.objects.update_or_create(
        community_id=filled.ids["community_id"], defaults={"time_zone": "Asia/Tokyo"}
    )
    MemberFactory.create(user=filled.callers["admin"].user, access="admin")
    return filled


@pytest.fixture
def client(filled: FilledCommunity) -> Client:
    client = Client()
    sign_in(client, filled.callers["admin"].user)
    return client


def _come_from(client: Client, community_id: object) -> None:
    """Make a community the current one, as a page of it does."""
    session = client.session
    session[chosen_community.SESSION_KEY] = community_id
    session.save()


def _zones(
    client: Client, filled: FilledCommunity, *, current: object, routes: Iterator[str]
) -> dict[str, set[str]]:
    """The zones of the times on each page that has any, always with the same current community before."""
    zones = {}
    for route in routes:
        _come_from(client, current)
        answer = client.get(f"/{spelled(route, filled).lstrip('/')}")
        if answer.status_code == 200 and not answer.streaming:
            zones[route] = set(TIME.findall(answer.content.decode(errors="replace")))
    return {route: found for route, found in zones.items() if found}


@pytest.mark.long
def test_pages_of_the_admin_show_the_zone_of_their_community(client: Client, filled: FilledCommunity) -> None:
    """A page about an object does so whatever community's page was open before."""
    own = filled.ids["community_id"]
    other = filled.callers["admin"].user.memberships.exclude(community_id=own).get().community_id
    routes = [route for route in addresses() if route.startswith("admin/")]

    plain = _zones(client, filled, current=own, routes=(each for each in routes if "<" not in each))
    of_objects = _zones(client, filled, current=other, routes=(each for each in routes if "<" in each))

    shown = plain | of_objects
    assert len(shown) >= LEAST_PAGES
    assert len(of_objects) >= LEAST_PAGES / 2
    assert {route: found for route, found in shown.items() if found != {"Asia/Tokyo"}} == {}
