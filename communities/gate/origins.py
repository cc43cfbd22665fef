"""Requests of pages of other sites (CORS). They lead conversations with a token, and do nothing else.

A community names the sites (`allowed_origins`). Cookies play no part, so no page acts in a visitor's name.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from communities.ground.errors import Forbidden
from communities.ground.words import shortened
from communities.models import CommunitySettings

SECONDS_OF_PREFLIGHT = 7200  # Browsers keep the answer to a preflight no longer.
LONGEST_SHOWN = 300  # characters of an origin in a refusal
SENT_HEADERS = "Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-Id"
READ_HEADERS = (
    "ETag, Idempotency-Replayed, Idempotency-Stored, Retry-After, WWW-Authenticate, X-Ignored-Fields, "
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id"
)
NOT_FROM_PAGES = (
    "Pages of other sites cannot call this operation: it takes an API key, which everybody could read in a "
    "page. Call it from your server. Pages lead a conversation with a token that your server asks for: "
    "`POST .../conversations/{conversation_id}/tokens`."
)


def is_preflight(request: HttpRequest) -> bool:
    """Whether a browser asks if a page of another site may send a request."""
    names = {"Origin", "Access-Control-Request-Method"}
    return request.method == "OPTIONS" and all(name in request.headers for name in names)


def preflight_response(
    request: HttpRequest, *, community_id: int | None, methods: Iterable[str]
) -> HttpResponse:
    """The answer to a preflight. `methods` are those that pages may use at this address.

    Raises Forbidden, with the reason in words, if there are none, or if the community does not name the site.
    """
    origin, allowed = request.headers["Origin"], sorted(methods)
    if request.headers["Access-Control-Request-Method"].upper() not in allowed:
        raise Forbidden(NOT_FROM_PAGES)
    if community_id is None or not _is_named(origin, community_id):
        raise Forbidden(
            f"Pages of {shortened(origin, LONGEST_SHOWN)} cannot call this operation: `allowed_origins` of "
            "the community's settings does not name this site."
        )
    headers = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Allow-Methods": ", ".join(allowed),
        "Access-Control-Allow-Headers": SENT_HEADERS,
        "Access-Control-Max-Age": str(SECONDS_OF_PREFLIGHT),
        "Vary": "Origin",
    }
    return HttpResponse(status=204, headers=headers)


def let_page_read(response: HttpResponse, request: HttpRequest, *, community_id: int | None) -> None:
    """Add the headers with which a page of a site that the community names may read a response."""
    patch_vary_headers(response, ["Origin"])
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None or community_id is None:
        return
    try:
        is_named = _is_named(origin, community_id)
    except DatabaseError:  # The response says that the database cannot be reached.
        return
    if is_named:
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Expose-Headers"] = READ_HEADERS


def _is_named(origin: str, community_id: int) -> bool:
    return CommunitySettings.objects.filter(pk=community_id, allowed_origins__contains=[origin]).exists()
