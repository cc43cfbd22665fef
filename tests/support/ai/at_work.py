"""A model at work in the installation: the real client of Anthropic, and a loopback as its server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surveys import ai
from tests.support.ai.api_key import KEY
from tests.support.ai.loopback import Loopback


@contextmanager
def claude_at_work(settings: Any) -> Iterator[Loopback]:
    """The settings name a provider whose responses are queued here."""
    with Loopback() as loopback:
        settings.AI_PROVIDER, settings.ANTHROPIC_API_KEY = "anthropic", KEY
        settings.ANTHROPIC_BASE_URL = loopback.url
        ai._provider.cache_clear()
        yield loopback
        ai._provider.cache_clear()
