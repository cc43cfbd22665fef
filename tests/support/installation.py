"""An installation of its own: a web server with a database and a Redis that a test can stop."""

from __future__ import annotations

import fcntl
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
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from config import servers

ROOT = Path(__file__).resolve().parent.parent.parent
PREPARE = """
import io, json, django
django.setup()
from django.core.management import call_command

def made_by(*arguments):
    told = io.StringIO()
    call_command(*arguments, "--json", stdout=told)
    return json.loads(told.getvalue())

call_command("migrate", verbosity=0)
community = made_by("create_community", "--name", "Chess club")["id"]
print(json.dumps([community, made_by("create_api_key", "--community", community)["key"]]))
"""


@dataclass
class Installation:
    """A web server of its own, with a database and a Redis that can be stopped."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    port: int = 0
    key: str = ""
    pid: int = 0

    @property
    def log(self) -> Path:
        """The output of the web server."""
        return self.folder / "web.log"

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

    @contextmanager
    def serve(self, code: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
        """Serve the program in a folder, which may be a link to another folder."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            "--config",
            "python:config.web.gunicorn",
            "config.wsgi:application",
        ]
        # A shell sets PWD, by which a program knows the folder's name, and not only where a link leads.
        environment = {**os.environ, **self.environment, "PORT": str(self.port), "PWD": str(code)}
        with self.log.open("ab") as output:
            process = subprocess.Popen(
                command, cwd=code, env=environment, stdin=subprocess.DEVNULL, stderr=output
            )
        try:
            self._wait_until_up(process)
            self.pid = process.pid
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)

    def worker_pid(self) -> int:
        """The only web process."""
        (pid,) = (Path(f"/proc/{self.pid}/task/{self.pid}/children")).read_text().split()
        return int(pid)

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 300  # as a busy machine may need
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


@cache
def _prepared() -> tuple[bytes, str, str]:
    """A dump of a database with a community and an API key, the community's id, and the key.

    Made once for all processes of the tests, because migrating and importing everything takes long.
    """
    folder = Path(os.environ["VAR_DIR"]).parent  # of this run
    dump, told = folder / "prepared.dump", folder / "prepared.json"
    with (folder / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            _prepare(dump, told)
    return dump.read_bytes(), *json.loads(told.read_text())


def _prepare(dump: Path, told: Path) -> None:
    """Write what `_prepared` returns."""
    name, server = f"prepared_{os.getpid()}", urlsplit(os.environ["DATABASE_URL"])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        template = os.environ.get("COLLOQUY_TESTS_MIGRATED", "template0")
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        url = f"{server.scheme}://{server.netloc}/{name}?{server.query}"
        environment = {**os.environ, "DATABASE_URL": url}
        names = _output(sys.executable, "-c", PREPARE, cwd=ROOT, env=environment)
        dumping = servers.postgres_tool("pg_dump", major=connection.info.server_version // 10_000)
        dump.write_bytes(_output(dumping, "--format=custom", "--no-owner", url))
        connection.execute(f"DROP DATABASE {name}")
    told.write_bytes(names)


def _output(*command: str | Path, **more: Any) -> bytes:
    """What a program prints. Raises CalledProcessError if the program fails."""
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, **more).stdout


@contextmanager
def prepared(var_dir: Path, **settings: str) -> Iterator[tuple[Installation, dict[str, Any]]]:
    """An installation with a community and an API key, and its servers by name."""
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
            "VAR_DIR": str(var_dir),
            "LOG_LEVEL": "CRITICAL",
            "WEB_CONCURRENCY": "1",
            **settings,
        }
        dump, here.environment["COMMUNITY"], here.key = _prepared()
        restoring = servers.postgres_tool(
            "pg_restore", major=servers.major_version(servers.postgres_binaries())
        )
        _output(restoring, "--no-owner", "--dbname", running["postgres"].url, input=dump)
        yield here, running


@contextmanager
def installed(var_dir: Path, **settings: str) -> Iterator[tuple[Installation, dict[str, Any]]]:
    """An installation as `prepared` makes it, being served."""
    with prepared(var_dir, **settings) as (here, running), here.serve():
        yield here, running


@pytest.fixture
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, dict[str, Any]]]:
    with installed(tmp_path_factory.mktemp("var")) as made:
        yield made
