"""Fixtures of the tests of the chat."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest


@pytest.fixture
def platform(settings, redis) -> Iterator[Any]:
    """A platform that is connected with this installation. No message of the test may break its rules."""
    from config.environment import chat_of  # noqa: PLC0415 - once Django is set up
    from tests.support.chat.server import Platform  # noqa: PLC0415 - once Django is set up

    with Platform(per_channel=1000) as platform:
        settings.CHAT = chat_of(platform.environment())
        yield platform
    assert platform.violations == []


@pytest.fixture
def chat(db, platform, monkeypatch) -> Any:
    """A community that is connected, whose worker tries again at once."""
    from communities.services.chat import outbox  # noqa: PLC0415 - once Django is set up
    from surveys.chat import posting  # noqa: PLC0415 - once Django is set up
    from tests.support.chat.community import ChatCommunity  # noqa: PLC0415 - once Django is set up

    monkeypatch.setattr(outbox, "_backoff", lambda attempts: timedelta(0))
    monkeypatch.setattr(posting, "EDIT_EVERY", timedelta(0))
    return ChatCommunity(platform)


@pytest.fixture
def in_no_hurry(settings) -> None:
    """Pages accept an answer at once, without the time that a person needs."""
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
