"""Fixtures: providers with a model, connected to a loopback, without real pauses."""

from collections.abc import Iterator

import pytest

from surveys.ai.claude import ClaudeProvider
from surveys.ai.openai import OpenAIProvider
from tests.support.ai.api_key import KEY
from tests.support.ai.loopback import ChatLoopback, Loopback


@pytest.fixture
def anthropic() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


@pytest.fixture
def pauses() -> list[float]:
    """The seconds for which the provider would have slept."""
    return []


@pytest.fixture
def claude(anthropic: Loopback, pauses: list[float]) -> Iterator[ClaudeProvider]:
    with ClaudeProvider(api_key=KEY, base_url=anthropic.url, pause=pauses.append) as provider:
        yield provider


@pytest.fixture
def server() -> Iterator[ChatLoopback]:
    """A server that is compatible with OpenAI's."""
    with ChatLoopback() as loopback:
        yield loopback


@pytest.fixture
def chat(server: ChatLoopback, pauses: list[float]) -> Iterator[OpenAIProvider]:
    with OpenAIProvider(
        model="local-model", api_key=KEY, base_url=server.address, pause=pauses.append
    ) as provider:
        yield provider
