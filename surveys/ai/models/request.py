"""One request to the model, and the error for an unusable response. Loads no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surveys.ai.models.prompts import Prompt
from surveys.ai.provider import ProviderError


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model.

    `purpose` is for the log and the metrics. `seconds` is the time that one attempt may take. `effort` sets
    how much the model thinks; a model without that setting does not get it. `may_retry` is False if somebody
    waits for the response.
    """

    purpose: str
    model: str
    prompt: Prompt
    schema: Mapping[str, object]
    max_tokens: int
    seconds: float
    effort: str = "low"
    may_retry: bool = True


class UnusableResponseError(ProviderError):
    """The model responded, but without a usable answer. A smaller request may succeed; the same request would
    fail again.

    `outcome` is one word for the log.
    """

    def __init__(self, message: str, *, outcome: str) -> None:
        super().__init__(message)
        self.outcome = outcome
