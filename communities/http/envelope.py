"""Every refusal in one shape; the one table from words to numbers (decisions 1.5)."""

from __future__ import annotations

from collections.abc import Mapping

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

from communities.errors import Conflict, Forbidden, NotFound, Refusal, Unavailable
from communities.faults import log_fault
from communities.http.bodies import MEDIA_TYPE, NotJson, TooLarge
from communities.wire import render

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
STATUS_OF_BODIES: dict[type[Refusal], int] = {TooLarge: 413, NotJson: 415}
MESSAGES = {
    400: ("invalid_request", "The request could not be understood."),
    403: ("forbidden", "This is not allowed."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not take that method."),
    409: ("conflict", "Something that this request refers to was deleted at this moment."),
    413: ("invalid_request", "The body is larger than 1 MiB."),
    415: ("invalid_request", "Content-Type must be application/json in UTF-8."),
    500: ("internal_error", "Something went wrong on our side; X-Request-Id names this request in our log."),
    503: ("unavailable", "The service cannot answer at the moment. Please try again shortly."),
}
SECONDS_UNTIL_DATABASE_MAY_BE_BACK = 5

log = structlog.get_logger("colloquy.requests")


class MethodRefused(Refusal):
    code = "method_not_allowed"

    def __init__(self, allowed: list[str]) -> None:
        super().__init__(f"This address takes {', '.join(allowed)}.")
        self.allowed = allowed


class RateLimited(Refusal):
    """Too many requests within a minute; waiting `retry_after` whole seconds is enough."""

    code = "rate_limit_exceeded"

    def __init__(self, retry_after: int) -> None:
        super().__init__("Too many requests.")
        self.retry_after = retry_after


def tell(fault: Exception, request: HttpRequest) -> HttpResponse:
    """The response that tells of a refusal, or of a fault of our own, which is logged here."""
    refusal = _as_refusal(fault)
    if refusal is None or isinstance(fault, IntegrityError):
        # The latter is foreseen as a race with somebody who deletes; where it comes again it is a bug.
        log_fault(log, "request.failed", fault)
    if refusal is None:
        # Tests see the fault itself, not only the 500.
        got_request_exception.send(sender=None, request=request)
        return told(500)
    if isinstance(refusal, Unavailable):
        log.error("request.unavailable", cause=type(fault).__name__)
    return _told_refusal(refusal)


def told(status: int) -> HttpResponse:
    """The response for a status alone, where nothing more is known than its number."""
    code, message = MESSAGES.get(status) or MESSAGES[400 if status < 500 else 500]
    retry_after = SECONDS_UNTIL_DATABASE_MAY_BE_BACK if status == 503 else None
    return _response({"error": code, "message": message}, status, retry_after)


def _told_refusal(refusal: Refusal) -> HttpResponse:
    status = STATUS_OF_BODIES.get(type(refusal)) or STATUS[refusal.code]
    retry_after: int | None = getattr(refusal, "retry_after", None)
    if isinstance(refusal, RateLimited):  # the interface shows exactly these two (section 7)
        return _response({"error": refusal.code, "retry_after": retry_after}, status, retry_after)
    body: dict[str, object] = {"error": refusal.code, "message": refusal.message}
    if refusal.violations:
        body["violations"] = refusal.violations
    response = _response(body, status, retry_after)
    if isinstance(refusal, MethodRefused):
        response["Allow"] = ", ".join(refusal.allowed)
    return response


def _response(body: Mapping[str, object], status: int, retry_after: int | None) -> HttpResponse:
    response = HttpResponse(render(body), content_type=MEDIA_TYPE, status=status)
    if retry_after is not None:
        response["Retry-After"] = str(retry_after)
    response._has_been_logged = True  # type: ignore[attr-defined] # the access line is enough for a refusal
    return response


def _as_refusal(fault: Exception) -> Refusal | None:
    """What was foreseen, in our own words; None for a fault of ours."""
    match fault:
        case Refusal():
            return fault
        case Http404() | ObjectDoesNotExist():  # the latter: deleted by somebody else a moment ago
            return NotFound("There is no such object.")
        case PermissionDenied():
            return Forbidden(MESSAGES[403][1])
        case IntegrityError() if isinstance(fault.__cause__, ForeignKeyViolation):
            return Conflict(MESSAGES[409][1])  # what was referred to went at this moment
        case OperationalError() | InterfaceError():
            return Unavailable(MESSAGES[503][1], retry_after=SECONDS_UNTIL_DATABASE_MAY_BE_BACK)
        case RequestDataTooBig():
            return TooLarge(MESSAGES[413][1])
        case SuspiciousOperation():
            return Refusal(MESSAGES[400][1])
        case _:
            return None
