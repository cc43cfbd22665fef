"""Every action that a method of an address under /v1 leads to, found by walking the URL conf."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from communities.gate.views import CommunityViewSet


@dataclass(frozen=True)
class Routed:
    """`path` is spelled as in OpenAPI: /v1/communities/{community_id}."""

    method: str
    path: str
    view: type[CommunityViewSet]
    action: str

    @property
    def permission(self) -> str:
        return f"{self.view.noun}.{self.action}"

    @property
    def handler(self) -> Any:
        return getattr(self.view, self.action)

    @property
    def is_write(self) -> bool:
        return self.method not in {"get", "head", "options"}


def routed_actions() -> list[Routed]:
    return list(_walk(get_resolver().url_patterns, ""))


def _walk(patterns: Sequence[URLPattern | URLResolver], before: str) -> Iterator[Routed]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern.pattern, RoutePattern) and hasattr(pattern.callback, "actions"):
            path = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
            callback: Any = pattern.callback
            for method, action in callback.actions.items():
                if method != "head":
                    yield Routed(method, path, callback.cls, action)
