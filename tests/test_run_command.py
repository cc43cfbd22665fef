"""`manage.py run`: its refusals, the environment of its processes, and its output (rule 12.2)."""

import io
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from communities.models import User
from config.management.commands import run

pytestmark = pytest.mark.long

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


class Processes:
    """Processes that end when they are asked about for the last time."""

    def __init__(self, *, alive_for: int) -> None:
        self.left = alive_for

    def poll(self) -> int | None:
        self.left -= 1
        return None if self.left >= 0 else 1


def command() -> tuple[Any, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return run.Command(stdout=out, stderr=err), out, err


def test_a_slow_start_is_waited_for_as_long_as_the_processes_live(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR_DIR = tmp_path
    (tmp_path / "demo.json").write_text(json.dumps(DEMO))
    obstacles = iter([*["http://127.0.0.1:8000/readyz does not answer yet"] * 50, ""])
    monkeypatch.setattr(run, "_obstacle", lambda: next(obstacles))
    clock = iter(range(0, 10_000, 20))  # 20 seconds between two looks
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    started, out, err = command()

    started._welcome(None, Processes(alive_for=60))

    assert "http://127.0.0.1:8000/readyz does not answer yet" in out.getvalue()
    assert f"cq_live_abc   (kept in {tmp_path}/demo.json)" in out.getvalue()
    assert not err.getvalue()


def test_nothing_is_waited_for_once_the_processes_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_obstacle", lambda: "it starts")
    started, out, err = command()

    started._welcome(None, Processes(alive_for=1))

    assert "The processes have ended" in err.getvalue()
    assert not out.getvalue()


@pytest.mark.parametrize(
    ("status", "body", "obstacle"),
    [
        (200, {"status": "ok"}, ""),
        (503, {"status": "unavailable", "database": "unavailable"}, "database is unavailable"),
        (503, "nothing", "/readyz returns 503"),
    ],
)
def test_the_notice_names_what_is_waited_for(settings: Any, status: int, body: object, obstacle: str) -> None:
    """Rule 12.541."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode() if isinstance(body, dict) else b"nothing")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        settings.PORT = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = run._obstacle()
        server.shutdown()

    assert said.endswith(obstacle)
    assert bool(said) == bool(obstacle)


def test_a_site_that_does_not_answer_is_named(settings: Any, taken_port: int) -> None:
    """Rule 12.541."""
    settings.PORT = taken_port  # The listener accepts, and never answers.

    assert run._obstacle() == "http://127.0.0.1:8000/readyz does not answer yet"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["README.md", "config/README.md"])
def test_the_first_staff_account_is_made_as_the_readmes_say(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = re.search(
        r"python manage\.py (create\w+)` creates the first|run `python manage\.py (create\w+)`",
        (ROOT / path).read_text(),
    )
    assert named
    monkeypatch.setenv("ADMIN_EMAIL", "first@example.org")
    monkeypatch.setenv("ADMIN_PASSWORD", "a long enough sentence")

    call_command(named[1] or named[2], verbosity=0)

    made = User.objects.get(emailaddress__email="first@example.org", emailaddress__verified=True)
    assert made.is_staff
    assert made.is_superuser
    assert made.check_password("a long enough sentence")
