"""Fixtures of the tests of pages."""

import pytest


@pytest.fixture
def in_no_hurry(settings):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0
