"""The headers that tell browsers what a page may load, and who may frame it."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

POLICY = "Content-Security-Policy"
_OWN = (
    "default-src 'self'; img-src 'self' https: data:; "
    "base-uri 'none'; form-action 'self'; object-src 'none'; "
)
SITE = f"{_OWN}frame-ancestors 'none'"
FRAMED = f"{_OWN}frame-ancestors *"
# The admin and the interface's documentation write styles into their pages; neither shows as markup what
# a respondent wrote.
LOOSER = f"{_OWN}style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
LOOSER_PATHS = ("/admin", "/docs")


class SecurityHeadersMiddleware:
    """Sets the policy on every response that has none of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        headers = response.headers
        if POLICY not in headers:
            headers[POLICY] = LOOSER if request.path_info.startswith(LOOSER_PATHS) else SITE
        headers.setdefault("Referrer-Policy", "same-origin")
        headers.setdefault("X-Content-Type-Options", "nosniff")
        return response


def allow_frames(response: HttpResponse) -> None:
    """Let any site show this response in a frame."""
    response.headers[POLICY] = FRAMED
