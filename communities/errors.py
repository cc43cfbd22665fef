"""What can be refused, in words. The door alone knows which number goes with which word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn, Protocol

ViolationJson = Mapping[str, object]


class AsJson(Protocol):
    """A violation as an app writes it down for itself, such as the survey engine's."""

    def as_json(self) -> dict[str, object]: ...


class Refusal(Exception):
    """A request understood and turned down. Not a bug, so never reported as one.

    `violations` are the interface's objects: field, code, message (decisions 1.5).
    """

    code = "invalid_request"

    def __init__(self, message: str, *, violations: Iterable[ViolationJson | AsJson] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.violations = [_plain(violation) for violation in violations]


class InvalidRequest(Refusal):
    """A value or a combination of values breaks a rule."""


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
    """The object's state forbids it.

    `retry_after` (whole seconds) is set where waiting helps.
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
    """Something that is needed cannot be reached; waiting `retry_after` whole seconds may help."""

    code = "unavailable"

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def violation(field: str, code: str, message: str) -> dict[str, object]:
    """One violation in the interface's form; `code` is one of the violation codes that the schema lists."""
    return {"field": field, "code": code, "message": message}


def refuse(field: str, code: str, message: str) -> NoReturn:
    """Raise InvalidRequest for one field. The violation and the whole request get the same message."""
    raise InvalidRequest(message, violations=[violation(field, code, message)])


def refuse_all(violations: Iterable[ViolationJson | AsJson]) -> NoReturn:
    """Raise InvalidRequest for several violations, of which there is at least one.

    The request's message is that of the first violation.
    """
    collected = [_plain(each) for each in violations]
    raise InvalidRequest(str(collected[0]["message"]), violations=collected)


def _plain(each: ViolationJson | AsJson) -> dict[str, object]:
    return dict(each) if isinstance(each, Mapping) else each.as_json()
