"""A live site whose servers go away: no database is 503 in the one shape, no Redis is no limit."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from config import servers
from tests.communities.asking import RATE_HEADERS

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Installation:
    """A web server of its own, with a database and a Redis that can be stopped."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    port: int = 0
    key: str = ""

    def start(self, *names: str) -> dict[str, servers.Server]:
        started = {}
        if "postgres" in names:
            sockets = self._folder("pg")
            started["postgres"] = servers.start_postgres(
                data=self.folder / "data", sockets=sockets, log=self.folder / "pg.log", durable=False
            )
        if "redis" in names:
            sockets = self._folder("valkey")
            started["redis"] = servers.start_valkey(sockets=sockets, log=self.folder / "valkey.log")
        return started

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def manage(self, *arguments: str) -> str:
        told = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return told.stdout

    @contextmanager
    def serve(self) -> Iterator[None]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "--config",
            "config/gunicorn.py",
            "config.wsgi:application",
        ]
        environment = {**os.environ, **self.environment, "PORT": str(self.port)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
        try:
            self._wait_until_up(process)
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("The web server did not start.")

    def ask(
        self, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, Message, Any, float]:
        """Status, headers, body and seconds of one request for the list of projects."""
        path = "communities" if method == "GET" else f"communities/{self.environment['COMMUNITY']}/projects"
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"X-API-Key": self.key, "Content-Type": "application/json", **headers},
        )
        begun = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                told = answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                told = refused.code, refused.headers, json.load(refused)
        return (*told, time.monotonic() - begun)


@pytest.fixture
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, dict[str, Any]]]:
    folder = servers.new_folder(prefix="colloquy-outage-")
    folder.chmod(0o711)
    here = Installation(folder)
    running: dict[str, Any] = {}
    with ExitStack() as stack:
        stack.callback(lambda: [server.stop() for server in running.values()])
        running |= here.start("postgres", "redis")
        here.environment = {
            "DATABASE_URL": running["postgres"].url,
            "REDIS_URL": running["redis"].url,
            "VAR_DIR": str(tmp_path_factory.mktemp("var")),
            "LOG_LEVEL": "CRITICAL",
            "WEB_CONCURRENCY": "1",
        }
        here.manage("migrate", "--verbosity", "0")
        community = json.loads(here.manage("create_community", "--name", "Chess club", "--json"))
        made = json.loads(here.manage("create_api_key", "--community", community["id"], "--json"))
        here.environment["COMMUNITY"], here.key = community["id"], made["key"]
        stack.enter_context(here.serve())
        yield here, running


def test_servers_that_go_away_and_come_back(installation: tuple[Installation, dict[str, Any]]) -> None:
    here, running = installation
    project = {"name": "Openings", "type": "convo"}
    status, headers, _, _ = here.ask()
    assert (status, headers["X-RateLimit-Remaining"]) == (200, "59")

    # No Redis: nobody waits, nobody is refused, and writes are still done once.
    running.pop("redis").stop()
    for _ in range(61):
        status, headers, _, seconds = here.ask()
        assert (status, headers["X-RateLimit-Limit"]) == (200, "60")
        assert seconds < 2
    first = here.ask("POST", project, **{"Idempotency-Key": "one"})
    again = here.ask("POST", project, **{"Idempotency-Key": "one"})
    assert (first[0], again[0], again[1]["Idempotency-Replayed"]) == (201, 201, "true")
    assert first[2]["id"] == again[2]["id"]

    # Neither: told at once, in the one shape.
    running.pop("postgres").stop()
    for method, body in (("GET", None), ("POST", project)):
        status, headers, told, seconds = here.ask(method, body, **{"X-Request-Id": "mine"})
        assert (status, told["error"]) == (503, "unavailable")
        assert set(told) == {"error", "message"}
        assert int(headers["Retry-After"]) >= 1
        assert headers["X-Request-Id"] == "mine"
        assert all(headers[name].isdigit() for name in RATE_HEADERS)
        assert seconds < 6

    # Both again: no restart of the web server is needed.
    running |= here.start("postgres", "redis")
    status, _, told, _ = here.ask()
    assert (status, told["pagination"]["total"]) == (200, 1)
    status, _, told, _ = here.ask("POST", project, **{"Idempotency-Key": "one"})
    assert (status, told["id"]) == (201, first[2]["id"])
