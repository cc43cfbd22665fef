"""No write without @once: a retried request must never be done twice (rules 11.21 to 11.24)."""

from __future__ import annotations

from communities.gate.views import CommunityViewSet
from tests.support.routes import routed_actions


def test_every_write_is_once() -> None:
    careless = [
        f"{route.method} {route.path}"
        for route in routed_actions()
        if route.is_write and not getattr(route.handler, "is_once", False)
    ]

    assert careless == []


def test_no_read_is_once() -> None:
    assert not [
        route for route in routed_actions() if not route.is_write and getattr(route.handler, "is_once", False)
    ]


def test_the_walk_sees_the_whole_interface() -> None:
    seen = {(route.method, route.path) for route in routed_actions()}

    assert ("post", "/v1/communities/{community_id}/projects") in seen
    assert ("patch", "/v1/communities/{community_id}/settings") in seen
    assert ("post", "/v1/communities/{community_id}/webhooks/{webhook_id}/rotate_secret") in seen
    assert len(seen) >= 47


def test_everything_under_v1_is_behind_the_gate() -> None:
    assert all(issubclass(route.view, CommunityViewSet) for route in routed_actions())
