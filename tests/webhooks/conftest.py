from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.support.webhooks.receiver import Receiver


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    """An endpoint on this machine; webhooks may send to it."""
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS = True
    with Receiver() as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def _empty_process_memory() -> Iterator[None]:
    """Clears what the dispatcher remembers, so that one test does not affect the next."""
    # Imported here, because Django is not set up yet when this file is loaded.
    from webhooks.services import precise_retries, slow_endpoints  # noqa: PLC0415

    yield
    for partition, retries in list(precise_retries.schedule._times.items()):
        for retry in list(retries):
            precise_retries.schedule.remove(*partition, retry)
    slow_endpoints._slow_webhooks.clear()
