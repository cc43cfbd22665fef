"""Security headers: what a page may load (Content-Security-Policy) and which sites may frame it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from django.http import HttpRequest, HttpResponse

POLICY = "Content-Security-Policy"
_OWN = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; object-src 'none'; "
SITE = f"{_OWN}frame-ancestors 'none'"
FRAMED = f"{_OWN}frame-ancestors *"
FRAMED_BY_US = f"{_OWN}frame-ancestors 'self'"


class SecurityHeadersMiddleware:
    """Adds the security headers to every response that does not set its own (rule 6.41)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault(POLICY, SITE)
        response.headers.setdefault("Referrer-Policy", "same-origin")
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        return response


def allow_frames(response: HttpResponse) -> None:
    """Let any site show this response in a frame."""
    response.headers[POLICY] = FRAMED


def allow_players(response: HttpResponse, origins: Collection[str]) -> None:
    """Let this response show frames of these sites alone, after it was said who may frame it."""
    if origins:
        policy = response.headers.get(POLICY, SITE)
        response.headers[POLICY] = f"{policy}; frame-src {' '.join(sorted(origins))}"


def allow_own_frames(response: HttpResponse) -> None:
    """Let our own pages show this response in a frame."""
    response.headers[POLICY] = FRAMED_BY_US
