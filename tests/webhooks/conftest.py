from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.webhooks.receiving import Receiver


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """An endpoint on this machine, and leave to send to it."""
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = True
    with Receiver() as endpoint:
        yield endpoint
