from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms, use


@pytest.fixture
def platforms(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Platforms]:
    """The platforms on this machine, with credentials for all of them in the settings."""
    from communities.services.people import platform_members  # noqa: PLC0415 - once Django is set up

    monkeypatch.setattr(platform_members, "pause", platform_members._Pause())
    with Platforms() as server:
        use(server, settings)
        yield server


@pytest.fixture
def nelly(platforms: Platforms) -> Person:
    return platforms.people[0]
