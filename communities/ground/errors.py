"""Reasons to refuse a request. `communities.gate.envelope` maps these errors to HTTP statuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NoReturn, Protocol

from communities.ground.words import plural, shortened

MAX_VIOLATIONS = 100  # A refusal lists at most this many violations (rule 11.8).
# With this many violations, the check can stop, because a refusal lists fewer.
ENOUGH_VIOLATIONS = MAX_VIOLATIONS + 1
# A violation's `field` has at most this many characters, because it may contain names that the caller chose.
MAX_PATH = 300
MAX_MESSAGE = 1_000  # A message has at most this many characters.

ViolationJson = dict[str, Any]
"""A violation as in the interface: `field`, `code`, `message`, and `column` in expressions."""


class AsJson(Protocol):
    """A violation in an app's own form, such as the survey engine's."""

    def as_json(self) -> dict[str, object]: ...


class Refusal(Exception):
    """An expected error: the request was understood and is refused. It is never logged as a fault.

    `violations` name the faulty fields (rule 11.6): the first `MAX_VIOLATIONS` of them. `has_more` is True if
    further violations are left out. Long names and messages are cut.
    """

    code = "invalid_request"

    def __init__(self, message: str, *, violations: Iterable[ViolationJson | AsJson] = ()) -> None:
        super().__init__(message)
        self.message = shortened(message, MAX_MESSAGE)
        first = list(islice(violations, ENOUGH_VIOLATIONS))
        self.violations = [_plain(violation) for violation in first[:MAX_VIOLATIONS]]
        self.has_more = len(first) > MAX_VIOLATIONS


class ActorGone(Exception):
    """The actor's user was erased, or merged into another, after the request began.

    The change is rolled back. The class is no `Refusal`, because no form shows the error. An API caller gets
    the same answer as for a revoked key. A person on a page is sent to sign in.
    """


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
    """A required service cannot be reached. Waiting `retry_after` whole seconds may help."""

    code = "unavailable"

    def __init__(self, message: str, *, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def violation(field: str, code: str, message: str) -> ViolationJson:
    """Return one violation. `code` is one of `communities.gate.validation.VIOLATION_CODES`."""
    return {"field": field, "code": code, "message": message}


def refuse(field: str, code: str, message: str) -> NoReturn:
    """Raise InvalidRequest for one field. Its violation and the response have the same message."""
    raise InvalidRequest(message, violations=[violation(field, code, message)])


def refuse_all(violations: Iterable[ViolationJson | AsJson]) -> NoReturn:
    """Raise InvalidRequest for one or more violations. The response has the message of the first."""
    collected = list(islice(violations, ENOUGH_VIOLATIONS))
    raise InvalidRequest(str(_plain(collected[0])["message"]), violations=collected)


def _plain(each: ViolationJson | AsJson) -> ViolationJson:
    plain = each if isinstance(each, dict) else each.as_json()
    field, message = shortened(str(plain["field"]), MAX_PATH), shortened(str(plain["message"]), MAX_MESSAGE)
    return {**plain, "field": field, "message": message}


def and_more(violations: Sequence[object]) -> str:
    """Return the sentence after the first violation's message: the number of further violations, if there are
    any.
    """
    rest = len(violations) - 1
    if not 0 < rest < MAX_VIOLATIONS:  # For more violations, the response itself says that some are left out.
        return ""
    return f" There {'is' if rest == 1 else 'are'} {plural(rest, 'more violation')}."
