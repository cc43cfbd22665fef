"""The page that a respondent sees after a fault on our side."""

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


@pytest.mark.parametrize(
    ("fault", "status", "words", "not_said"),
    [
        (RuntimeError("secret detail"), 500, "What you did before is saved.", "earlier answers"),
        (OperationalError("secret detail"), 503, "look first whether it arrived", "sent an answer"),
    ],
)
def test_the_account_area_speaks_of_no_answers(fault, status, words, not_said, client, monkeypatch):
    def fails(**_):
        raise fault

    monkeypatch.setattr("communities.services.inviting.invitations.find", fails)
    client.raise_request_exception = False

    page = client.get("/account/invitations/x/")
    nowhere = client.get("/account/nowhere/")

    assert page.status_code == status
    assert words in page.content.decode()
    assert not_said not in page.content.decode()
    assert page["Cache-Control"] == "no-store"
    assert nowhere.status_code == 404
    assert "survey may have been removed" not in nowhere.content.decode()
