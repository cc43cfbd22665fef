"""Pages that need no sign-in: the health checks and the documentation (rule 12.6).

Rule 12.6.
"""

import json
import subprocess
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test import Client
from pytest_django import Settings
from redis.exceptions import RedisError
from structlog.testing import capture_logs

from communities.ground import redis_connection
from config import health, secret_key, startup
from config.models import KeyFingerprint
from tests.support.database import fetch_all
from tests.support.processes import ROOT, environment


def test_healthz_answers_without_querying_any_server(client: Client) -> None:
    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert Client(enforce_csrf_checks=True).post("/healthz")["Allow"] == "GET, HEAD"


@pytest.mark.django_db
def test_readyz_is_ok_when_both_servers_answer(client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "redis": "ok", "secret_key": "ok"}


@pytest.mark.django_db
def test_readyz_is_unavailable_without_the_database(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise DatabaseError

    monkeypatch.setattr(health, "_query_database", fail)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "status": "unavailable",
        "database": "unavailable",
        "redis": "ok",
        "secret_key": "unknown",
    }


@pytest.mark.django_db
def test_readyz_is_degraded_without_redis(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request fails without Redis (rule 12.16)."""

    def fail() -> None:
        raise RedisError

    monkeypatch.setattr(health, "_query_redis", fail)

    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {
        "status": "degraded",
        "database": "ok",
        "redis": "unavailable",
        "secret_key": "ok",
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    "trouble", ["SET LOCAL transaction_read_only = on", "SET LOCAL temp_file_limit = '100kB'"]
)
def test_readyz_is_unavailable_if_the_database_takes_no_writes_or_its_disk_is_full(
    client: Client, trouble: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(trouble)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "status": "unavailable",
        "database": "unwritable",
        "redis": "ok",
        "secret_key": "ok",
    }


@pytest.mark.django_db(transaction=True)
def test_readyz_waits_for_nobody_and_leaves_nothing_behind(client: Client) -> None:
    sizes = "SELECT relname, pg_relation_size(oid) FROM pg_class ORDER BY 1"
    statuses = [client.get("/readyz").status_code]
    before = dict(fetch_all(sizes))
    other = connection.copy()
    other.set_autocommit(False)
    with closing(other), other.cursor() as cursor:
        cursor.execute(health._WRITE)

        statuses += [client.get("/readyz").status_code for _ in range(40)]

    assert set(statuses) == {200}
    grown = [
        name for name, size in fetch_all(sizes) if size > before[name]
    ]  # a vacuum may make tables smaller
    assert grown == []


@pytest.mark.django_db
def test_readyz_is_unavailable_with_a_key_that_the_data_was_not_written_with(
    client: Client, settings: Settings
) -> None:
    """Rule 12.554."""
    secret_key.record()
    settings.SECRET_KEY = "another-key-" + "0123456789abcdef" * 4

    response = client.get("/readyz")
    secret_key.record()
    again = client.get("/readyz")
    call_command("accept_secret_key", stdout=StringIO())
    accepted = client.get("/readyz")

    assert (response.status_code, response.json()["secret_key"]) == (503, "wrong")
    assert (again.status_code, accepted.status_code) == (503, 200)


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_no_process_starts_with_a_key_that_the_data_was_not_written_with(tmp_path: Path) -> None:
    secret_key.record()
    wrong = environment(SECRET_KEY="another-key-" + "0123456789abcdef" * 4, VAR_DIR=str(tmp_path))
    commands = [
        ["-c", "import config.wsgi"],
        ["manage.py", "worker"],
        ["-m", "celery", "--app", "config.celery", "--quiet", "beat"],
    ]

    started = [
        subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=wrong,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    ends = [(each.communicate(timeout=60)[1], each.returncode) for each in started]

    assert [code for _, code in ends] == [1, 1, 1]
    assert all(secret_key.WRONG in errors and "Traceback" not in errors for errors, _ in ends), ends


@pytest.mark.django_db(transaction=True)
def test_the_first_process_records_its_key() -> None:
    KeyFingerprint.objects.all().delete()

    startup.check()
    startup.check()

    assert KeyFingerprint.objects.get().fingerprint == secret_key.fingerprint()
    assert settings.SECRET_KEY not in secret_key.fingerprint()


@pytest.mark.django_db(transaction=True)
def test_a_start_without_the_database_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.close()
    monkeypatch.setitem(connection.settings_dict, "NAME", "no_such_database")

    with capture_logs() as lines:
        startup.check()

    assert [line["event"] for line in lines] == ["startup.versions", "startup.unchecked"]


def test_the_start_page_is_ones_account(client: Client) -> None:
    assert client.get("/")["Location"] == "/account/"


def test_the_description_of_the_interface_is_public(client: Client) -> None:
    response = client.get("/v1/openapi.json")

    description = json.loads(response.content)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert description["info"]["title"] == "Colloquy"


@pytest.mark.django_db
def test_a_start_names_the_versions_of_the_process_and_its_servers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rule 12.590."""
    caplog.set_level("INFO")
    startup.check()
    monkeypatch.setattr(redis_connection, "client", _refuse)
    startup.check()

    lines = [each.msg for each in caplog.records if isinstance(each.msg, dict)]
    both, without_redis = (line for line in lines if line["event"] == "startup.versions")
    assert both["colloquy"] == settings.SPECTACULAR_SETTINGS["VERSION"]
    assert {"python", "django", "postgresql", "redis"} <= both.keys()
    assert "redis" not in without_redis


def _refuse() -> None:
    raise RedisError
