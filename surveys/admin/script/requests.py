"""Requests that the script editor sends: JSON in and out, and every refusal as JSON in the API's shape.

    @script_json("PUT", "DELETE")
    def draft(request, page, body): ...

The view gets the project, opened by the actor, and the body as an object. A lost session is answered with
401, so that the editor can say so and keep the typed text. 403 and 404 are used as in the API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware

from communities.gate import bodies, envelope
from communities.gate.bodies import MEDIA_TYPE
from communities.gate.envelope import MethodNotAllowed
from communities.ground import wire
from communities.ground.errors import ActorGone, Forbidden, NotFound
from surveys.admin.frame import ProjectPage, open_project
from surveys.services.ground import access

Json = dict[str, Any]
P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, ProjectPage, Json, P], HttpResponseBase]
Checked = Callable[Concatenate[HttpRequest, int, P], HttpResponseBase]

SAFE = frozenset({"GET", "HEAD"})
SIGNED_OUT = {
    "error": "signed_out",
    "message": "You are signed out. Sign in again; what you have typed is kept.",
}
FORGED = {"error": "forbidden", "message": "The page has grown old. Reload it, and repeat the change."}
READ_ONLY = "Only the creator of this project and admins may edit its script."


def script_json(*methods: str, may_read: bool = False) -> Callable[[View[P]], Checked[P]]:
    """Check a request for a project's script, and answer everything as JSON.

    `may_read` allows the request for creators of other projects, too.
    """

    def checked(view: View[P]) -> Checked[P]:
        @wraps(view)
        def answered(
            request: HttpRequest, /, project_id: int, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponseBase:
            try:
                response = _refused(request)
                if response is None:
                    page = _open(request, project_id, may_read=may_read)
                    _require_method(request, methods)
                    raw = b"" if request.method in SAFE else bodies.read_raw(request)
                    body = bodies.parse(raw, has_long_text=hasattr(answered, "takes_questionnaire"))
                    response = view(request, page, body, *args, **kwargs)
            except ActorGone:
                response = answer(SIGNED_OUT, status=401)
            except Exception as error:  # the envelope logs every error that is no refusal
                response = envelope.error_response(error, request)
            response.headers.setdefault("Cache-Control", "private, no-store")
            return response

        answered.answers_json = True  # type: ignore[attr-defined]  # the list of addresses reads it
        answered.csrf_exempt = True  # type: ignore[attr-defined]  # checked here, or the refusal would be HTML
        return answered  # type: ignore[return-value]  # `project_id` may be named here

    return checked


def answer(value: Mapping[str, object], *, status: int = 200) -> HttpResponse:
    """A response of JSON, written as the API writes it."""
    return HttpResponse(wire.render(value), content_type=MEDIA_TYPE, status=status)


def _refused(request: HttpRequest) -> HttpResponseBase | None:
    if not admin.site.has_permission(request):
        return answer(SIGNED_OUT, status=401)
    if _CsrfCheck(lambda _: HttpResponse()).is_forged(request):
        return answer(FORGED, status=403)
    return None


def _require_method(request: HttpRequest, methods: tuple[str, ...]) -> None:
    """This check follows the opening of the project, because for other users the project is absent with any
    method (rule 1.36).
    """
    if request.method not in methods and not (request.method == "HEAD" and "GET" in methods):
        raise MethodNotAllowed(list(methods))


class _CsrfCheck(CsrfViewMiddleware):
    """Django's check, called from a view."""

    def is_forged(self, request: HttpRequest) -> bool:
        self.process_request(request)
        return self.process_view(request, _unguarded, (), {}) is not None

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
        return HttpResponse(status=403)


def _unguarded(request: HttpRequest) -> HttpResponse:
    """A placeholder for a view that is not exempt from the check."""
    raise NotImplementedError


def _open(request: HttpRequest, project_id: int, *, may_read: bool) -> ProjectPage:
    try:
        page = open_project(request, project_id, tab="script")
    except Http404:
        raise NotFound(access.NO_PROJECT) from None
    if not (may_read or page.may_edit):
        raise Forbidden(READ_ONLY)
    return page
