"""The gate of every request under /v1: key → rate limit → role → idempotency → work.

DRF's own dispatch is left out: it negotiates media types, runs lists of plug-ins and permits before it
throttles, while here refused calls count, and every response carries the limit's headers. That saves
about 0.4 ms of CPU a request. What remains DRF's: viewsets with their routes, serializers, the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar, cast
from urllib.parse import quote

import structlog
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from communities import wire
from communities.actors import Actor, Role
from communities.errors import Forbidden, InvalidRequest, NotFound
from communities.http import authentication, bodies, envelope, permissions, throttling
from communities.http.authentication import Caller
from communities.http.envelope import MethodRefused, RateLimited
from communities.http.pagination import Rows, page_of
from communities.http.shapes import Violation, faults_of_query, filled, ignored_paths, violations_of
from communities.http.throttling import Allowance

MAX_IGNORED_HEADER = 4096  # characters
OPTIONS = "options"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

Shape = type[serializers.Serializer[Any]]


class NoParameters(serializers.Serializer[Any]):
    """The query of an address that takes none."""


class CommunityViewSet(viewsets.ViewSet):
    """Base of every view of the interface.

    An action gets the request and the path's values, reads with `read` and `query`, calls one service
    and answers a DRF `Response` of plain data. `noun` names what the viewset is about, as in `project.list`,
    and `least_role` gives the role that each action needs. `with_query` lists the writes that take query
    parameters; `reads_conflict` says in the OpenAPI description that reading may be refused because of the
    object's state. Refusals are raised.
    """

    noun: ClassVar[str]
    least_role: ClassVar[Mapping[str, Role]]
    with_query: ClassVar[frozenset[str]] = frozenset()
    reads_conflict: ClassVar[bool] = False
    key: Caller
    actor: Actor
    at: datetime
    raw_body: bytes = b""
    authentication_classes = ()
    permission_classes = ()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.at = timezone.now()
        self.request = cast(Request, request)
        self.ignored: list[str] = []
        self._query_is_looked_at = False
        allowance: Allowance | None = None
        try:
            self.key = authentication.authenticate(request.META.get("HTTP_X_API_KEY"), at=self.at)
            self.actor = self.key.actor
            allowance = throttling.take_for_key(self.key.api_key_id, self.actor.requests_per_minute)
            structlog.contextvars.bind_contextvars(
                community_id=str(self.key.community_id), key_prefix=self.key.key_prefix
            )
            _refuse_over(allowance)
            response = self._work(request, kwargs)
        except Exception as fault:  # every fault leaves in one shape; what is ours is logged there
            if allowance is None:  # no valid key, or no database to look it up in: counted by address
                allowance = throttling.take_for_address(request)
                fault = RateLimited(allowance.retry_after) if allowance.is_used_up else fault
            response = envelope.tell(fault, request)
            self._name_ignored(response)
        for name, value in allowance.headers().items():
            response[name] = value
        return response

    def _work(self, request: HttpRequest, kwargs: dict[str, Any]) -> HttpResponse:
        action = self._action(request)
        if kwargs.pop("community_id", self.key.community_id) != self.key.community_id:
            raise NotFound("There is no such community.")
        if action == OPTIONS:
            return HttpResponse(status=204, headers={"Allow": ", ".join(self._methods())})
        try:
            permissions.require_role(self.actor, self.least_role[action])
        except Forbidden:
            self.hide(**kwargs)  # what this role may not even see is not found, rather than forbidden
            raise
        if request.method not in SAFE_METHODS:
            if request.GET and action not in self.with_query:
                self.query(NoParameters)  # before anything is written
            self.raw_body = bodies.received(request)
        handler = getattr(self, action)
        self._is_looked_at = not self._sent  # which refuses what is no JSON, also where no action would look
        response = handler(request, **kwargs)
        if request.GET and not self._query_is_looked_at and request.method in SAFE_METHODS:
            self.query(NoParameters)
        return self.finish(response)

    def _action(self, request: HttpRequest) -> str:
        method = str(request.method).lower()
        if method == OPTIONS:
            return OPTIONS
        action = cast(Mapping[str, str], self.action_map).get("get" if method == "head" else method)
        if action is None:
            raise MethodRefused(self._methods())
        self.action = action
        return action

    def _methods(self) -> list[str]:
        return sorted(name.upper() for name in cast(Mapping[str, str], self.action_map) if name != "head")

    def hide(self, **kwargs: Any) -> None:
        """Raises NotFound where the caller's role does not see the object that the path names."""

    def finish(self, response: Response | HttpResponse) -> HttpResponse:
        """Plain data as JSON, with the names of what was ignored."""
        if not isinstance(response, Response):
            return response
        if not self._is_looked_at:
            self.ignore(self._sent)
        told = HttpResponse(status=response.status_code, content_type=bodies.MEDIA_TYPE)
        if response.status_code == 204:
            del told["Content-Type"]
        else:
            told.content = wire.render(response.data)
        for name, value in response.headers.items():
            if name.lower() != "content-type":
                told[name] = value
        self._name_ignored(told)
        return told

    def _name_ignored(self, response: HttpResponse) -> None:
        if self.ignored:
            response["X-Ignored-Fields"] = _as_header(self.ignored)

    @cached_property
    def _sent(self) -> dict[str, Any]:
        return bodies.parse(self.raw_body)

    @property
    def body(self) -> dict[str, Any]:
        """The object sent, not looked at further; empty without a body."""
        self._is_looked_at = True
        return self._sent

    def read(self, shape: Shape, *, partial: bool = False) -> dict[str, Any]:
        """The body in a shape. Refuses what does not fit, all of it at once; notes what nobody knows."""
        serializer = filled(shape, self.body, partial=partial)
        fits = serializer.is_valid()
        self.ignore(ignored_paths(serializer, self.body))
        if not fits:
            raise _refusal(violations_of(serializer))
        return cast(dict[str, Any], serializer.validated_data)

    def query(self, shape: Shape) -> dict[str, Any]:
        """The query parameters in a shape. Refuses unknown and repeated ones (decisions 1.2)."""
        self._query_is_looked_at = True
        sent = self.request.GET
        serializer = filled(shape, sent.dict())
        violations = faults_of_query(serializer, sent)
        if not serializer.is_valid():
            violations += violations_of(serializer)
        if violations:
            raise _refusal(violations)
        return cast(dict[str, Any], serializer.validated_data)

    def ignore(self, paths: Iterable[str]) -> None:
        """Note fields that nobody knows, for the response's X-Ignored-Fields."""
        self.ignored.extend(paths)

    def page(
        self,
        rows: Rows,
        query: Mapping[str, Any],
        *,
        draw: Callable[[Any], object],
        total: int | None = None,
    ) -> Response:
        """One page of rows, each drawn by `draw`, in the envelope of every list."""
        here, pagination = page_of(rows, query, total=total)
        return Response({"data": [draw(row) for row in here], "pagination": pagination})


class UnknownPath(CommunityViewSet):
    """Whatever else is under /v1: counted like any request, and not found."""

    noun = "unknown"
    least_role = {}
    schema = None  # no part of the description

    @classmethod
    def of_any_method(cls) -> Callable[..., HttpResponse]:
        return cls.as_view({"get": "nothing"})

    def nothing(self, request: Request) -> Response:
        raise NotFound("There is nothing at this address.")

    def _work(self, request: HttpRequest, kwargs: dict[str, Any]) -> HttpResponse:
        raise NotFound("There is nothing at this address.")


def _refuse_over(allowance: Allowance) -> None:
    if allowance.is_used_up:
        raise RateLimited(allowance.retry_after)


def _refusal(violations: list[Violation]) -> InvalidRequest:
    """One refusal that tells of all violations; its message is the first of them."""
    rest = len(violations) - 1
    more = (
        f" There are {rest} more violations." if rest > 1 else " There is 1 more violation." if rest else ""
    )
    return InvalidRequest(violations[0]["message"] + more, violations=violations)


def _as_header(paths: list[str]) -> str:
    """Comma-separated and ASCII; cut off at a length that servers and proxies let through."""
    told = ""
    for path in paths:
        part = quote(path, safe="[]._-")
        if len(told) + len(part) > MAX_IGNORED_HEADER:
            return f"{told}, ..."
        told = f"{told}, {part}" if told else part
    return told
