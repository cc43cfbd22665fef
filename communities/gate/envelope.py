"""Error responses: one form for all, and one table from error codes to HTTP statuses (rule 11.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog
from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.core.signals import got_request_exception
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from psycopg.errors import ForeignKeyViolation

from communities.gate.bodies import MEDIA_TYPE, NOT_JSON, TOO_LARGE, NotJson, TooLarge
from communities.ground.errors import (
    ActorGone,
    Conflict,
    Forbidden,
    InvalidApiKey,
    NotFound,
    Refusal,
    Unavailable,
    ViolationJson,
)
from communities.ground.faults import log_fault
from communities.ground.wire import render

STATUS = {
    "invalid_request": 400,
    "channel_required": 400,
    "missing_api_key": 401,
    "invalid_api_key": 401,
    "payment_required": 402,
    "forbidden": 403,
    "tier_required": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "rate_limit_exceeded": 429,
    "internal_error": 500,
    "unavailable": 503,
}
BODY_ERROR_STATUS: dict[type[Refusal], int] = {TooLarge: 413, NotJson: 415}
MESSAGES = {
    400: ("invalid_request", "The request could not be understood."),
    403: ("forbidden", "This is not allowed."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take that method."),
    408: ("invalid_request", "The request did not arrive in time."),
    409: ("conflict", "An object that this request refers to has just been deleted."),
    413: ("invalid_request", TOO_LARGE),
    415: ("invalid_request", NOT_JSON),
    431: ("invalid_request", "The request's headers are too large."),
    500: ("internal_error", "Something went wrong on our side. X-Request-Id names this request in our log."),
    503: ("unavailable", "The service cannot answer at the moment. Please retry shortly."),
}
CHALLENGE = 'ApiKey realm="/v1", header="X-API-Key"'
RETRY_AFTER_OUTAGE = 5  # seconds
MAX_BYTES_OF_VIOLATIONS = 60_000  # With this limit a whole refusal has less than 64 KiB (rule 11.8).

log = structlog.get_logger("colloquy.requests")


class MethodNotAllowed(Refusal):
    code = "method_not_allowed"

    def __init__(self, allowed: list[str]) -> None:
        super().__init__(f"This address takes {', '.join(allowed)}.")
        self.allowed = allowed


class RateLimited(Refusal):
    """Too many requests within a minute. A request is accepted again after `retry_after` whole seconds."""

    code = "rate_limit_exceeded"

    def __init__(self, retry_after: int) -> None:
        super().__init__("Too many requests.")
        self.retry_after = retry_after


def error_response(error: Exception, request: HttpRequest) -> HttpResponse:
    """Return the response for a refusal or for an unexpected error, which is logged and becomes a 500
    (rule 11.13).
    """
    refusal = _as_refusal(error)
    if refusal is None or isinstance(error, IntegrityError):
        # An integrity error is expected only in a race with a deletion. An error that recurs is a bug.
        log_fault(log, "request.failed", error)
    if refusal is None:
        # Django's test client re-raises the errors that this signal reports.
        got_request_exception.send(sender=None, request=request)
        return status_response(500)
    if isinstance(refusal, Unavailable):
        log.error("request.unavailable", cause=type(error).__name__)
    return _refusal_response(refusal)


def status_response(status: int) -> HttpResponse:
    """Return the response for an error if only its status is known."""
    code, message = MESSAGES.get(status) or MESSAGES[400 if status < 500 else 500]
    retry_after = RETRY_AFTER_OUTAGE if status == 503 else None
    return _response({"error": code, "message": message}, status, retry_after)


def _refusal_response(refusal: Refusal) -> HttpResponse:
    status = BODY_ERROR_STATUS.get(type(refusal)) or STATUS[refusal.code]
    retry_after: int | None = getattr(refusal, "retry_after", None)
    if isinstance(refusal, RateLimited):  # The interface has exactly these two fields (rule 11.18).
        return _response({"error": refusal.code, "retry_after": retry_after}, status, retry_after)
    body: dict[str, object] = {"error": refusal.code, "message": refusal.message}
    if refusal.violations:
        body["violations"], is_cut = _first_that_fit(refusal.violations)
        if is_cut or refusal.has_more:
            body["message"] = f"{refusal.message} Only the first violations are listed; there are more."
    response = _response(body, status, retry_after)
    if status == 401:
        response["WWW-Authenticate"] = CHALLENGE
    if isinstance(refusal, MethodNotAllowed):
        response["Allow"] = ", ".join(refusal.allowed)
    return response


def _first_that_fit(violations: Sequence[ViolationJson]) -> tuple[Sequence[ViolationJson], bool]:
    """Return the first violations, as many as fit into a refusal, and whether any are left out."""
    size = 0
    for count, each in enumerate(violations):
        size += len(render(each)) + 1
        if size > MAX_BYTES_OF_VIOLATIONS:
            return violations[:count], True
    return violations, False


def _response(body: Mapping[str, object], status: int, retry_after: int | None) -> HttpResponse:
    response = HttpResponse(render(body), content_type=MEDIA_TYPE, status=status)
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    response._has_been_logged = True  # type: ignore[attr-defined] # keeps Django from logging it beside our request log
    return response


def _as_refusal(error: Exception) -> Refusal | None:
    """Return the refusal for an expected error; None for a bug."""
    match error:
        case Refusal():
            return error
        case ActorGone():
            return InvalidApiKey("This API key is not valid.")
        # Django raises ObjectDoesNotExist if another request has just deleted the object.
        case Http404() | ObjectDoesNotExist():
            return NotFound("There is no such object.")
        case PermissionDenied():
            return Forbidden(MESSAGES[403][1])
        case IntegrityError() if isinstance(error.__cause__, ForeignKeyViolation):
            return Conflict(MESSAGES[409][1])
        case OperationalError() | InterfaceError():
            return Unavailable(MESSAGES[503][1], retry_after=RETRY_AFTER_OUTAGE)
        case RequestDataTooBig():
            return TooLarge(MESSAGES[413][1])
        case SuspiciousOperation():
            return Refusal(MESSAGES[400][1])
        case _:
            return None
