"""What can be refused, in words. The door alone knows which number goes with which word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Refusal(Exception):
    """A request understood and turned down. Not a bug, so never reported as one.

    `violations` are the interface's objects: field, code, message (decisions 1.5).
    """

    code = "invalid_request"

    def __init__(self, message: str, *, violations: Sequence[Mapping[str, object]] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.violations = [dict(violation) for violation in violations]


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
        violations: Sequence[Mapping[str, object]] = (),
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
