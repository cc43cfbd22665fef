"""Every address outside /v1, found by walking the URL conf, and its path for the objects of a community."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.contrib.contenttypes.models import ContentType
from django.urls import URLPattern, URLResolver, get_resolver

from communities.accounts.setup_forms import STEPS
from communities.models import Community
from tests.support.access.scene import FilledCommunity

ARGUMENT = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")
# The objects of arguments with general names, by the beginning of the route.
NAMED = {
    "account/webhooks/<int:webhook_id>/restore/": {"webhook_id": "deleted_webhook_id"},
    "admin/webhooks/webhook/<int:object_id>/restore/": {"object_id": "deleted_webhook_id"},
    "admin/surveys/project/<int:project_id>/results/answers/": {"block_id": "text_id"},
    "admin/surveys/project/<int:project_id>/results/themes/": {"block_id": "text_id"},
    "admin/surveys/project/<int:project_id>/responses/<uuid:response_id>/restore/": {
        "response_id": "conversation_id"
    },
    "admin/r/": {"object_id": "community_id"},
    "admin/communities/communitysettings/": {"object_id": "community_id"},
    "admin/communities/chatinstallation/": {"object_id": "community_id"},
    "admin/communities/community/": {"object_id": "community_id"},
    "account/2fa/webauthn/keys/": {"pk": "authenticator_id"},
    "account/invitations/": {"token": "invitation_token"},
}
# Addresses that name a community in their query.
WITH_COMMUNITY = (
    "account/webhooks/",
    "account/webhooks/new/",
    "account/keys/",
    "account/keys/new/",
    "account/chat/",
)
SETUP_STEP = ("account/setup/<int:community_id>/<slug:slug>/", "slug")
# Arguments that name no object of a community.
FIXED: Mapping[str, Any] = {
    "app_label": "communities",
    "block": "game",
    "colour": "4b4fcc",
    "document": "glossary",
    "format": "csv",
    "group": "projects",
    "key": "x-y",
    "kind": "svg",
    "number": 1,
    "provider_id": "chat",
    "uidb36": "1",
    "url": "nowhere/",
}


def addresses() -> dict[str, URLPattern]:
    """Every address by its route; those of the interface are in `tests.support.routes`."""
    return {route: each for route, each in _walk(get_resolver().url_patterns, "") if not _is_api(route)}


def _is_api(route: str) -> bool:
    return route.startswith(("v1/c", "v1/t", "^v1"))


def _walk(patterns: Sequence[URLPattern | URLResolver], before: str) -> Iterator[tuple[str, URLPattern]]:
    for each in patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _walk(each.url_patterns, route)
        else:
            # The list of apps is built from the other routes.
            yield re.sub(r"\(\?P<app_label>.*\)", "(?P<app_label>APPS)", route), each


def arguments_of(route: str) -> list[str]:
    """The names of the parts that name an object of a community, in the path or the query."""
    named = [name for name in _names(route) if name not in FIXED and (route, name) != SETUP_STEP]
    return [*named, "community"] if route in WITH_COMMUNITY else named


def _names(route: str) -> list[str]:
    return [first or second for first, second in ARGUMENT.findall(route)]


def spelled(
    route: str, filled: FilledCommunity, *, others: Mapping[str, FilledCommunity] | None = None
) -> str:
    """The path of an address for the objects of a community. `others` replace it for some parts."""
    values = {name: _value(route, name, (others or {}).get(name, filled)) for name in _names(route)}
    path = ARGUMENT.sub(lambda found: str(values[found[1] or found[2]]), route)
    query = ""
    if route in WITH_COMMUNITY:
        query = f"?community={(others or {}).get('community', filled).community.pk}"
    return "/" + path.replace("^", "").replace("$", "") + query


def _value(route: str, name: str, filled: FilledCommunity) -> Any:
    if name in FIXED:
        return FIXED[name]
    if (route, name) == SETUP_STEP:
        return STEPS[0].slug
    if name == "content_type_id":
        return ContentType.objects.get_for_model(Community).pk
    for beginning, names in NAMED.items():
        if route.startswith(beginning) and name in names:
            return filled.ids[names[name]]
    if name in ("object_id", "id"):
        return filled.ids[f"{route.split('/')[2]}_id"]
    return filled.ids[name]
