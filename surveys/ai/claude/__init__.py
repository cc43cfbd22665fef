"""The provider `anthropic`: Claude models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surveys.ai.models.provider import ModelProvider
from surveys.ai.provider import ANTHROPIC

if TYPE_CHECKING:
    from surveys.ai.claude.client import ProviderClient

SCRIPT_MODEL = "claude-sonnet-5-5"
TEXT_MODEL = "claude-haiku-5-5"


class ClaudeProvider(ModelProvider):
    """The provider `anthropic`. The argument `model` replaces both configured models."""

    name = ANTHROPIC

    def __init__(
        self, *, api_key: str, base_url: str | None = None, model: str | None = None, **for_tests: Any
    ) -> None:
        super().__init__(script_model=model or SCRIPT_MODEL, text_model=model or TEXT_MODEL, **for_tests)
        self._api_key, self._base_url = api_key, base_url

    def _connect(self) -> ProviderClient:
        # Loading the SDK takes 2.2 seconds of CPU and 68 MB, so it is loaded with the first request.
        from surveys.ai.claude.client import ProviderClient  # noqa: PLC0415

        return ProviderClient(
            api_key=self._api_key, base_url=self._base_url, pause=self._pause, clock=self._clock
        )
