"""System checks that compare tables which are defined in different places. Django runs the checks
at startup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any

from django.core.checks import Error, register
from django.urls import URLPattern, URLResolver, get_resolver

from communities.ground.tiers import TIERS
from communities.models import Community

if TYPE_CHECKING:
    from communities.gate.views import CommunityViewSet


@register
def every_tier_has_a_rate(**_: Any) -> list[Error]:
    names = set(Community.TierName.values)
    return [
        Error(f"`TIERS` has no row for the tier {name}.", id="communities.E001")
        for name in sorted(names - TIERS.keys())
    ] + [
        Error(
            f"`TIERS` has a row for {name}, which is not a tier.",
            id="communities.E002",
        )
        for name in sorted(TIERS.keys() - names)
    ]


@register
def every_action_has_a_least_role(**_: Any) -> list[Error]:
    actions: dict[type[CommunityViewSet], set[str]] = {}
    for view, action in _routed_actions(get_resolver().url_patterns):
        actions.setdefault(view, set()).add(action)
    return [error for view, routed in actions.items() for error in _errors_in_roles(view, routed)]


def _errors_in_roles(view: type[CommunityViewSet], routed: Set[str]) -> Iterator[Error]:
    declared = view.least_role.keys()
    for action in sorted(routed - declared):
        message = f"{view.__name__}.least_role has no role for the action {view.noun}.{action}."
        yield Error(message, id="communities.E003")
    for action in sorted(declared - routed):
        message = f"{view.__name__}.least_role has a role for {view.noun}.{action}, which has no address."
        yield Error(message, id="communities.E004")


def _routed_actions(
    patterns: Sequence[URLPattern | URLResolver],
) -> Iterator[tuple[type[CommunityViewSet], str]]:
    from communities.gate.views import CommunityViewSet, UnknownPath  # noqa: PLC0415 - not in every process

    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routed_actions(pattern.url_patterns)
            continue
        view = getattr(pattern.callback, "cls", None)
        if isinstance(view, type) and issubclass(view, CommunityViewSet) and view is not UnknownPath:
            actions: dict[str, str] = getattr(pattern.callback, "actions", {})
            for action in actions.values():
                yield view, action
