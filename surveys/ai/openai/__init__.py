"""The provider `openai`: chat completions of OpenAI, and of compatible servers, local ones among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surveys.ai.models.provider import ModelProvider
from surveys.ai.provider import OPENAI

if TYPE_CHECKING:
    from surveys.ai.openai.client import ChatClient


class OpenAIProvider(ModelProvider):
    """The provider `openai`. Without an address, requests go to OpenAI; without a key, the server must need
    none.

    The context of another server may be small: there, a request and its answer fit into 16,000 tokens.
    """

    name = OPENAI

    def __init__(
        self, *, model: str, api_key: str = "", base_url: str | None = None, **for_tests: Any
    ) -> None:
        super().__init__(script_model=model, text_model=model, **for_tests)
        self._api_key, self._base_url = api_key, base_url
        if base_url is not None:
            self.max_batch_size, self.max_characters, self.max_tokens = 30, 12_000, 8_000

    def _connect(self) -> ChatClient:
        from surveys.ai.openai.client import ChatClient  # noqa: PLC0415 (loads the SDK)

        return ChatClient(
            api_key=self._api_key, base_url=self._base_url, pause=self._pause, clock=self._clock
        )
