"""What must agree between tables that stand apart; told when Django starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import Error, register
from django.urls import URLPattern, URLResolver, get_resolver

from communities.http.permissions import LEAST_ROLE
from communities.http.views import CommunityViewSet
from communities.models import Community
from communities.tiers import TIERS


@register
def every_tier_has_a_rate(**_: Any) -> list[Error]:
    names = set(Community.TierName.values)
    return [
        Error(f"communities.tiers.TIERS has no row for the tier {name}.", id="communities.E001")
        for name in sorted(names - TIERS.keys())
    ] + [
        Error(f"communities.tiers.TIERS has a row for {name}, which is no tier.", id="communities.E002")
        for name in sorted(TIERS.keys() - names)
    ]


@register
def every_action_has_a_permission(**_: Any) -> list[Error]:
    routed = set(_routed_permissions(get_resolver().url_patterns))
    return [
        Error(f"communities.http.permissions.LEAST_ROLE has no row for {name}.", id="communities.E003")
        for name in sorted(routed - LEAST_ROLE.keys())
    ] + [
        Error(
            f"communities.http.permissions.LEAST_ROLE names {name}, which is not routed.",
            id="communities.E004",
        )
        for name in sorted(LEAST_ROLE.keys() - routed)
    ]


def _routed_permissions(patterns: Sequence[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routed_permissions(pattern.url_patterns)
            continue
        view = getattr(pattern.callback, "cls", None)
        if isinstance(view, type) and issubclass(view, CommunityViewSet) and view.schema is not None:
            actions: dict[str, str] = getattr(pattern.callback, "actions", {})
            for action in actions.values():
                yield f"{view.noun}.{action}"
