"""Fixtures: the provider `anthropic` connected to a loopback, without real pauses."""

from collections.abc import Iterator

import pytest

from surveys.ai.claude import ClaudeProvider
from tests.support.ai.api_key import KEY
from tests.support.ai.loopback import Loopback


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
