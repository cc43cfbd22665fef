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


@pytest.fixture(autouse=True)
def with_nothing_in_mind() -> Iterator[None]:
    """What one test wants tried early is nothing to the next."""
    # Only here, for Django is not set up yet when this file is loaded.
    from webhooks.services import early, lanes  # noqa: PLC0415

    yield
    for lane, own in list(early.reminders._of.items()):
        for each in list(own):
            early.reminders.remove(*lane, each)
    lanes._slow.clear()
