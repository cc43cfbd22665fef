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


def test_no_page_of_the_admin_shows_a_time_in_another_zone(client: Client, filled: FilledCommunity) -> None:
    routes = (route for route in addresses() if route.startswith("admin/"))

    shown = _zones(client, filled, current=filled.ids["community_id"], routes=routes)

    assert len(shown) >= LEAST_PAGES
    assert {route: found for route, found in shown.items() if found != {"Asia/Tokyo"}} == {}


def test_a_page_about_an_object_shows_the_zone_of_its_community_whatever_page_was_open_before(
    client: Client, filled: FilledCommunity
) -> None:
    other = filled.callers["admin"].user.memberships.exclude(community_id=filled.ids["community_id"]).get()
    routes = (route for route in addresses() if route.startswith("admin/") and "<" in route)

    shown = _zones(client, filled, current=other.community_id, routes=routes)

    assert len(shown) >= LEAST_PAGES / 2
    assert {route: found for route, found in shown.items() if found != {"Asia/Tokyo"}} == {}
