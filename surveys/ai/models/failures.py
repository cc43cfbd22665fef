"""Failed requests to an API: why they failed, whether a retry may help, and what to tell the caller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from communities.ground.retry_after import MAX_RETRY_AFTER, read_retry_after
from surveys.ai.models.identifiers import safe_identifier
from surveys.ai.models.request import UnusableResponseError
from surveys.ai.provider import ProviderError

SECONDS_UNTIL_SETTINGS_MAY_BE_CORRECTED = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no response.

    `outcome` is one word for the log, `message` a sentence for the caller. `is_temporary` says that a retry
    may help, after `retry_after` seconds if the API names them. `is_configuration` says that the operator has
    to act.
    """

    outcome: str
    message: str
    is_temporary: bool = False
    retry_after: float | None = None
    status: int | None = None
    code: str | None = None
    is_configuration: bool = False

    def as_error(self) -> ProviderError:
        """The error for the caller."""
        if self.retry_after is not None:
            return ProviderError(self.message, retry_after=max(1, math.ceil(self.retry_after)))
        if self.is_configuration:
            return ProviderError(self.message, retry_after=SECONDS_UNTIL_SETTINGS_MAY_BE_CORRECTED)
        return ProviderError(self.message)


class RequestFailed(Exception):
    """A request failed, and no retry will follow."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.outcome)
        self.failure = failure


_TIMED_OUT = "The AI provider took too long. Please try again."
TIMED_OUT = Failure("timed_out", _TIMED_OUT, is_temporary=True)
UNREACHABLE = Failure("unreachable", "The AI provider could not be reached.", is_temporary=True)
TOO_LONG = Failure("too_long", "The AI provider's response is too long.")
NO_MESSAGE = Failure("no_message", "The AI provider returned an unexpected response.")

# `{0}` becomes the prefix of the provider's settings.
_CONFIGURATION = {
    401: "The AI provider rejected our key. The operator must check {0}_API_KEY.",
    402: "The AI provider asks for payment. The operator must check the account of {0}_API_KEY.",
    403: "The AI provider denied access. The operator must check {0}_API_KEY and {0}_MODEL.",
    404: "The AI provider does not have this model. The operator must check {0}_MODEL and {0}_BASE_URL.",
}
_REDIRECTED = "The AI provider's address redirects to another one. The operator must check {0}_BASE_URL."
_OUTCOMES = {
    400: ("bad_request", "The AI provider rejected the request as invalid."),
    408: ("timed_out", _TIMED_OUT),
    413: ("too_large", "The request to the AI provider is too large."),
    429: ("limited", "The AI provider accepts no more requests from this installation at the moment."),
    504: ("timed_out", _TIMED_OUT),
    529: ("overloaded", "The AI provider is overloaded at the moment."),
}


def failure_of_status(status: int, headers: Mapping[str, str], *, code: object, settings: str) -> Failure:
    """Describe a response that is no success. Raises UnusableResponseError if a smaller request may succeed.

    `settings` is the beginning of the names of the provider's settings, such as `OPENAI`.
    """
    outcome, message = _OUTCOMES.get(status, ("failed", "The AI provider failed to answer."))
    if status == 413:
        raise too_large() from None
    configuration = _REDIRECTED if 300 <= status < 400 else _CONFIGURATION.get(status)
    return Failure(
        outcome="misconfigured" if configuration else outcome,
        message=configuration.format(settings) if configuration else message,
        is_temporary=_is_temporary(status, headers.get("x-should-retry")),
        retry_after=_retry_after(headers),
        status=status,
        code=safe_identifier(code),
        is_configuration=configuration is not None,
    )


def too_large() -> UnusableResponseError:
    """The error for a request that is larger than the API or the model takes."""
    outcome, message = _OUTCOMES[413]
    return UnusableResponseError(message, outcome=outcome)


def _is_temporary(status: int, should_retry: str | None) -> bool:
    if should_retry in ("true", "false"):
        return should_retry == "true"
    return status in (408, 409, 429) or status >= 500


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the API asks to wait, at most a day; None if the API names no sensible time.

    Besides the standard header, the API has a header in milliseconds. Both may contain fractions.
    """
    milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        wait = float(seconds or "") if milliseconds is None else float(milliseconds) / 1000
    except ValueError:
        asked = None if milliseconds is not None else read_retry_after(seconds, at=datetime.now(UTC))
        return None if asked is None else asked.total_seconds()
    return min(wait, MAX_RETRY_AFTER.total_seconds()) if math.isfinite(wait) and wait > 0 else None
