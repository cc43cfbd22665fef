"""Refuses request bodies that no view should see, before cookies, sessions and views."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from communities.gate import bodies, envelope
from communities.gate.middleware import is_api_request
from communities.ground.errors import Refusal
from surveys.pages import errors


class BodyMiddleware:
    """Refuses a body that is too large, has files or cannot be read. The refusal is JSON under /v1, else a
    page.

    Scripts of our pages ask for JSON, too.

    The web server has not read a body over the limit, and closes the connection after the answer.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            bodies.admit(request)
        except Refusal as refusal:
            response = envelope.error_response(refusal, request)
            if not (is_api_request(request) or request.headers.get("Accept") == bodies.MEDIA_TYPE):
                response = errors.refused_body(request, response.status_code)
            response["Content-Length"] = str(len(response.content))
            return response
        return self.get_response(request)
