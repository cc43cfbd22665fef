"""What is measured: PostgreSQL and Valkey of our own on empty folders, and gunicorn as the site is served."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import redis
from nacl.signing import SigningKey

from config import servers
from tests.bench import processes
from tests.bench.client import Client, Failed

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS_TO_START = 60
WEB_SERVER = [sys.executable, "-m", "gunicorn", "--config", "python:config.web.gunicorn", "config.wsgi"]
CHAT_SEED = b"only for this measurement: chat!"  # 32 bytes, of the platform's key
TOLD = {
    "DEBUG": "false",
    "LOG_LEVEL": "WARNING",
    "STATEMENT_TIMEOUT_SECONDS": "600",
    # Both defences of the open pages are on; thousands of visitors behind one address are let through.
    "CONVERSATIONS_PER_ADDRESS_AND_MINUTE": "1000000",
    "CONVERSATIONS_PER_PROJECT_AND_MINUTE": "1000000",
    "MOVES_PER_ADDRESS_AND_MINUTE": "1000000",
    "MOVES_PER_VISITOR_AND_MINUTE": "1000000",
    "LEAST_SECONDS_TO_FIRST_ANSWER": "0",
    # Endpoints of webhooks stand on this machine.
    "WEBHOOKS_ALLOW_HTTP": "true",
    "WEBHOOKS_ALLOW_PRIVATE_NETWORKS": "true",
}


def chat_environment() -> dict[str, str]:
    """The variables of the chat platform, which needs nothing of Django's to make its key."""
    public_key = SigningKey(CHAT_SEED).verify_key.encode().hex()
    return {
        "CHAT_APPLICATION_ID": "900000000000000001",
        "CHAT_PUBLIC_KEY": public_key,
        "CHAT_BOT_TOKEN": "measured",
        "CHAT_CLIENT_SECRET": "measured",
        "CHAT_API_BASE_URL": "http://127.0.0.1:9",  # nothing is sent: no community is connected
    }


@dataclass(frozen=True)
class DataServers:
    """The database and the Valkey of one run."""

    database_url: str
    redis_url: str
    var_dir: Path
    pids: tuple[int, int]

    @property
    def environment(self) -> dict[str, str]:
        return {
            **TOLD,
            **chat_environment(),
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "CELERY_BROKER_URL": "",  # the same
            "VAR_DIR": str(self.var_dir),
            "SECRET_KEY": "only-for-this-measurement-" + "0123456789abcdef" * 3,
        }

    def settle(self) -> None:
        """Let the database do its background work now, and not during a measurement."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")


@dataclass(frozen=True)
class Site:
    """A gunicorn of two workers with one Django application, and the data servers behind it."""

    port: int
    pid: int
    data: DataServers

    def client(self, *, connections: int = 4) -> Client:
        return Client(self.port, connections=connections)

    def cpu_ms(self) -> float:
        """The CPU time that the site and its data servers have used so far."""
        return processes.cpu_ms([self.pid, *self.data.pids])


@contextmanager
def data_servers() -> Iterator[DataServers]:
    """PostgreSQL with durable data on disk, and Valkey. Both are removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="colloquy-bench-"))
    folder.chmod(0o711)  # root runs PostgreSQL as somebody else
    started: list[servers.Server] = []
    try:
        for name in ("pg", "valkey", "var"):
            (folder / name).mkdir()
        started.append(
            servers.start_postgres(
                data=folder / "data", sockets=folder / "pg", log=folder / "postgres.log", durable=True
            )
        )
        started.append(servers.start_valkey(sockets=folder / "valkey", log=folder / "valkey.log"))
        postgres, valkey = started
        pids = (int((folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0]), _pid_of(valkey.url))
        yield DataServers(postgres.url, valkey.url, folder / "var", pids)
    finally:
        for server in reversed(started):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _pid_of(redis_url: str) -> int:
    with redis.Redis.from_url(redis_url) as connection:
        return int(connection.info("server")["process_id"])


@contextmanager
def site(data: DataServers, *, settings: str) -> Iterator[Site]:
    """Serve one set of settings as `make run` serves the site."""
    port = free_port()
    told = {**os.environ, **data.environment, "DJANGO_SETTINGS_MODULE": settings}
    told |= {"PORT": str(port), "BASE_URL": f"http://127.0.0.1:{port}", "WEB_CONCURRENCY": "2"}
    process = subprocess.Popen(WEB_SERVER, cwd=ROOT, env=told, stdin=subprocess.DEVNULL)
    try:
        _wait_for(process, port)
        yield Site(port, process.pid, data)
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=30)
    if process.poll() is None:
        process.kill()
        process.wait()


@contextmanager
def worker(data: DataServers) -> Iterator[int]:
    """The workers of one machine; the process that keeps them."""
    told = {**os.environ, **data.environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "worker"], cwd=ROOT, env=told, stdin=subprocess.DEVNULL
    )
    try:
        yield process.pid
    finally:
        _end(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            Client(port, connections=1).call("GET", "/healthz")
        except (OSError, EOFError, Failed):
            time.sleep(0.1)
        else:
            return
    raise SystemExit("The web server to be measured did not start.")
