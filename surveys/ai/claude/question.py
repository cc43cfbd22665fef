"""One question to the model, and what its answer can turn out to be. Loads nothing of the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surveys.ai.claude.prompting import Prompt
from surveys.ai.provider import ProviderFailed


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. `purpose` is for the log; `seconds` is what one request may take.

    `effort` is how much a model that can be told so should think about it.
    """

    purpose: str
    model: str
    prompt: Prompt
    schema: Mapping[str, object]
    max_tokens: int
    seconds: float
    effort: str = "low"


class Unusable(ProviderFailed):
    """The model answered, but not what was asked: asking again would hardly help, asking for less might."""

    def __init__(self, message: str, *, outcome: str) -> None:
        super().__init__(message)
        self.outcome = outcome  # one word for the log
