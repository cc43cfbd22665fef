"""What an installation answers before anybody signs in: its health checks and its documentation."""

import json

import pytest
from django.db import DatabaseError
from django.test import Client

from config import health


def test_healthz_answers_without_querying_any_server(client: Client) -> None:
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}


@pytest.mark.django_db
def test_readyz_is_ok_when_both_servers_answer(client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "redis": "ok"}


@pytest.mark.django_db
def test_readyz_is_unavailable_without_the_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise DatabaseError

    monkeypatch.setattr(health, "_query_database", fail)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "unavailable", "redis": "ok"}


def test_the_documentation_has_no_third_party_requests_and_no_inline_script(client: Client) -> None:
    page = client.get("/docs").content.decode()
    script = client.get("/docs/start.js")

    assert "http://" not in page
    assert "https://" not in page
    assert "<script>" not in page
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert "/v1/openapi.json" in script.content.decode()


def test_the_description_of_the_interface_is_public(client: Client) -> None:
    response = client.get("/v1/openapi.json")

    description = json.loads(response.content)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert description["info"]["title"] == "Colloquy"
