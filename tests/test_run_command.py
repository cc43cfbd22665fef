"""`manage.py run`: what it refuses, what it tells its processes, and what it prints."""

import io
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from config.management.commands import run

ROOT = Path(__file__).resolve().parent.parent
DEMO = {
    "community_id": "1",
    "admin_username": "demo",
    "admin_password": "secret",
    "api_key": "cq_live_abc",
    "survey": "/s/one",
    "poll": "/s/two",
}
ALLOWED = {"WEBHOOKS_ALLOW_HTTP": "true", "WEBHOOKS_ALLOW_PRIVATE_NETWORKS": "true"}


@pytest.fixture(autouse=True)
def _local_site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.BIND, settings.PORT, settings.BASE_URL = "127.0.0.1", 8000, "http://127.0.0.1:8000"
    for name in ALLOWED:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_taken_port_is_refused_by_name(settings: Any, taken_port: int) -> None:
    settings.PORT = taken_port

    with pytest.raises(CommandError, match=rf"^PORT is {taken_port}, which cannot be used \(Address already"):
        run._check_address()


def test_an_address_of_another_machine_is_not_blamed_on_the_port(settings: Any) -> None:
    settings.BIND = "192.0.2.1"

    with pytest.raises(CommandError, match=r"^BIND is 192\.0\.2\.1, which cannot be used"):
        run._check_address()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("BIND", "nonsense", "BIND cannot be used: it must be an address of this machine, like 127.0.0.1"),
        ("WEB_CONCURRENCY", "x", "WEB_CONCURRENCY cannot be used: not a valid integer."),
    ],
)
def test_a_wrong_value_stops_the_command_with_a_sentence(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "run"],
        cwd=ROOT,
        env={**os.environ, "VAR_DIR": str(tmp_path), name: value},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith(sentence)
    assert ended.stderr.count("\n") == 1


def test_the_processes_of_a_local_site_may_send_webhooks_to_this_machine() -> None:
    assert run._local_webhooks() == ALLOWED
    assert "Webhooks may use http" in run._welcome_text(DEMO)


@pytest.mark.parametrize(
    ("name", "value"), [("BIND", "0.0.0.0"), ("BASE_URL", "https://surveys.example.org")]
)
def test_those_of_a_site_that_others_reach_may_not(settings: Any, name: str, value: str) -> None:
    setattr(settings, name, value)

    assert run._local_webhooks() == {}
    assert "Webhooks" not in run._welcome_text(DEMO)


def test_the_users_own_settings_for_webhooks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOKS_ALLOW_HTTP", "false")

    assert run._local_webhooks() == {"WEBHOOKS_ALLOW_PRIVATE_NETWORKS": "true"}


def test_the_welcome_names_every_page_of_the_demo_and_the_key() -> None:
    addresses = re.findall(r"http://127\.0\.0\.1:8000(\S*)", run._welcome_text(DEMO))

    assert addresses == [
        "/s/one",
        "/s/two",
        "/docs",
        "/account/login/",
        "/admin/",
        "/v1/communities/1/projects",
    ]
    assert "cq_live_abc" in run._welcome_text(DEMO)


def test_it_says_that_it_prepares_before_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.TextIOWrapper(io.BytesIO(), write_through=False)
    printed_before: list[str] = []

    class Process:
        def wait(self) -> int:
            return 0

    def manage(*_: str) -> Process:
        printed_before.append(output.buffer.getvalue().decode())
        return Process()

    monkeypatch.setattr(run, "_manage", manage)

    run.Command(stdout=output)._prepare()

    assert set(printed_before) == {"Preparing the database, the demo and static files ...\n"}
