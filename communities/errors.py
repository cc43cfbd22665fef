"""Why a request is refused. `communities.http.envelope` maps these errors to HTTP statuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Protocol

ViolationJson = dict[str, Any]
"""A violation as in the interface: `field`, `code`, `message`, and `column` in expressions."""


class AsJson(Protocol):
    """A violation in a form of an app's own, such as the survey engine's."""

    def as_json(self) -> dict[str, object]: ...


class Refusal(Exception):
    """An expected error: the request was understood and is refused. It is never logged as a fault.

    `violations` name the fields that are wrong (decisions 1.5).
    """

    code = "invalid_request"

    def __init__(self, message: str, *, violations: Iterable[ViolationJson | AsJson] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.violations = [_plain(violation) for violation in violations]


class InvalidRequest(Refusal):
    """A value, or a combination of values, breaks a rule."""


class ChannelRequired(Refusal):
    code = "channel_required"


class MissingApiKey(Refusal):
    code = "missing_api_key"


class InvalidApiKey(Refusal):
    code = "invalid_api_key"


class PaymentRequired(Refusal):
    code = "payment_required"


class Forbidden(Refusal):
    code = "forbidden"


class TierRequired(Refusal):
    code = "tier_required"


class NotFound(Refusal):
    code = "not_found"


class Conflict(Refusal):
    """The object's state does not allow the request.

    `retry_after` (whole seconds) is set if waiting helps.
    """

    code = "conflict"

    def __init__(
        self,
        message: str,
        *,
        violations: Iterable[ViolationJson | AsJson] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, violations=violations)
        self.retry_after = retry_after


class Unavailable(Refusal):
    """A service that is needed cannot be reached. Waiting `retry_after` whole seconds may help."""

    code = "unavailable"

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def violation(field: str, code: str, message: str) -> ViolationJson:
    """Return one violation. `code` is one of `communities.http.validation.VIOLATION_CODES`."""
    return {"field": field, "code": code, "message": message}


def refuse(field: str, code: str, message: str) -> NoReturn:
    """Raise InvalidRequest for one field. Its violation and the response have the same message."""
    raise InvalidRequest(message, violations=[violation(field, code, message)])


def refuse_all(violations: Iterable[ViolationJson | AsJson]) -> NoReturn:
    """Raise InvalidRequest for one or more violations. The response has the message of the first."""
    collected = [_plain(each) for each in violations]
    raise InvalidRequest(str(collected[0]["message"]), violations=collected)


def _plain(each: ViolationJson | AsJson) -> ViolationJson:
    return each if isinstance(each, dict) else each.as_json()
