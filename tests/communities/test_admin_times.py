"""Every page of the admin shows times in the zone of the community, which it names."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from communities.models import CommunitySettings
from tests.support.access.addresses import addresses, spelled
from tests.support.access.scene import filled_community
from tests.support.accounts import sign_in

pytestmark = pytest.mark.django_db

TIME = re.compile(r"<time [^>]*title=\"([^\"]+)\"")
LEAST_PAGES = 20  # with times; fewer would mean that the pattern finds none any more


def test_no_page_of_the_admin_shows_a_time_in_another_zone() -> None:
    filled = filled_community("zoned", number=732_000_000_000_001)
    CommunitySettings.objects.update_or_create(
        community_id=filled.ids["community_id"], defaults={"time_zone": "Asia/Tokyo"}
    )
    client = Client()
    sign_in(client, filled.callers["admin"].user)
    zones = {}
    for route in addresses():
        if route.startswith("admin/"):
            answer = client.get(f"/{spelled(route, filled).lstrip('/')}")
            if answer.status_code == 200 and not answer.streaming:
                zones[route] = set(TIME.findall(answer.content.decode(errors="replace")))

    shown = {route: found for route, found in zones.items() if found}
    assert len(shown) >= LEAST_PAGES
    assert {route: found for route, found in shown.items() if found != {"Asia/Tokyo"}} == {}
