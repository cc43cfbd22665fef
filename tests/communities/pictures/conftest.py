"""Fixtures of the tests of pictures."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.support.picture_host import PictureHost


@pytest.fixture
def host(settings: Settings) -> Iterator[PictureHost]:
    """A host of pictures that may be fetched from, though it is this machine."""
    settings.PICTURES_ALLOW_PRIVATE_NETWORKS = True
    with PictureHost() as host:
        yield host
