"""`manage.py services` runs the embedded servers in the foreground."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config import embedded

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
URLS = ("DATABASE_URL", "REDIS_URL")
Serve = Callable[[dict[str, str]], "subprocess.Popen[str]"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start the command with only these server URLs in its environment."""
    started = []

    def start(urls: dict[str, str]) -> "subprocess.Popen[str]":
        others = {name: value for name, value in os.environ.items() if name not in URLS}
        process = subprocess.Popen(
            [sys.executable, "manage.py", "services"],
            cwd=ROOT,
            env=others | urls | {"VAR_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _lines(process: "subprocess.Popen[str]", number: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(number)]


def test_it_prints_the_urls_and_on_sigterm_stops_the_servers_it_started(serve: Serve, tmp_path: Path) -> None:
    """Rule 12.4."""
    process = serve({})
    printed = _lines(process, 2)
    running = [
        f"{name}={embedded.running_url(server, var_dir=tmp_path)}"
        for name, server in zip(URLS, embedded.SERVERS, strict=True)
    ]

    process.send_signal(signal.SIGTERM)

    assert printed == running
    assert process.wait() == 0
    assert not any(embedded.has_keeper(server, var_dir=tmp_path) for server in embedded.SERVERS)


def test_it_starts_nothing_if_both_urls_are_set(serve: Serve, tmp_path: Path) -> None:
    """Rule 12.4."""
    process = serve({name: os.environ[name] for name in URLS})
    printed = _lines(process, 2)

    process.send_signal(signal.SIGINT)

    assert printed == [f"{name} is set: no embedded server is used." for name in URLS]
    assert process.wait() == 0
    assert not (tmp_path / "run").exists()


def test_it_fails_when_a_server_has_ended(serve: Serve, tmp_path: Path) -> None:
    process = serve({})
    _lines(process, 2)
    (postmaster,) = tmp_path.glob("postgres-*/postmaster.pid")

    os.kill(int(postmaster.read_text().split()[0]), signal.SIGKILL)

    assert process.wait() == 1
