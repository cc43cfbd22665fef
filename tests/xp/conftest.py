from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def platform(settings, redis) -> Iterator[Any]:
    """A chat platform that is connected with this installation."""
    from config.environment import chat_of  # noqa: PLC0415 - once Django is set up
    from tests.support.chat.server import Platform  # noqa: PLC0415 - once Django is set up

    with Platform(per_channel=1000) as platform:
        settings.CHAT = chat_of(platform.environment())
        yield platform


@pytest.fixture
def chat(db, platform) -> Any:
    """A community that is connected."""
    from tests.support.chat.community import ChatCommunity  # noqa: PLC0415 - once Django is set up

    return ChatCommunity(platform)
