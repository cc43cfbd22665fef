"""What a respondent sees when something goes wrong on our side."""

import pytest
from django.db import OperationalError

from surveys.services.projects import addresses

pytestmark = pytest.mark.django_db


def test_our_own_faults_are_told_kindly(client, monkeypatch):
    def fails(**_):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(addresses, "find", fails)
    client.raise_request_exception = False

    page = client.get("/s/anything")

    assert page.status_code == 500
    assert "Something went wrong on our side." in page.content.decode()
    assert "secret detail" not in page.content.decode()


def test_a_database_that_is_away_is_told_kindly_and_when_to_come_back(client, monkeypatch):
    def fails(**_):
        raise OperationalError("secret detail")

    monkeypatch.setattr(addresses, "find", fails)
    client.raise_request_exception = False

    page = client.get("/s/anything")

    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert "We are unavailable for a moment." in page.content.decode()
    assert "secret detail" not in page.content.decode()
