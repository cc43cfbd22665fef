from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest


@pytest.fixture
def platform(settings, redis) -> Iterator[Any]:
    """A platform that is connected with this installation."""
    from config.environment import chat_of  # noqa: PLC0415 - once Django is set up
    from tests.support.chat.server import Platform  # noqa: PLC0415 - once Django is set up

    with Platform(per_channel=1000) as platform:
        settings.CHAT = chat_of(platform.environment())
        yield platform


@pytest.fixture
def chat(db, platform, monkeypatch) -> Any:
    """A community that is connected, whose worker tries again at once."""
    from communities.services.chat import outbox  # noqa: PLC0415 - once Django is set up
    from tests.support.chat.community import ChatCommunity  # noqa: PLC0415 - once Django is set up

    monkeypatch.setattr(outbox, "_backoff", lambda attempts: timedelta(0))
    return ChatCommunity(platform)
