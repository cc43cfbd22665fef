"""The programs of the Procfile and Redis, which can be killed and are restarted."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from config import servers
from tests.bench import processes
from tests.bench.servers import ROOT, DataServers

SECONDS_BETWEEN_CHECKS = 0.05
SECONDS_TO_STOP = 20


class Victim(Protocol):
    """A program that can be killed. It is not restarted before `dead_until`, a monotonic time."""

    name: str
    dead_until: float

    def start(self) -> None: ...

    def has_ended(self) -> bool: ...

    def kill(self, rng: random.Random) -> str: ...

    def stop(self) -> None: ...


class Program:
    """One line of the Procfile, run as honcho runs it."""

    def __init__(self, name: str, *, environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.dead_until = 0.0
        self._environment = environment
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", commands()[self.name]],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=partial(servers.die_with_parent, signal.SIGKILL),
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def kill(self, rng: random.Random) -> str:
        """Kill the first process, one of its children, or all of them. Returns which."""
        children = sorted(processes.family([self.pid]) - {self.pid})
        part = rng.choice(["parent", "child", "all"] if children else ["parent"])
        if part == "parent":
            victims = [self.pid]
        else:
            victims = [rng.choice(children)] if part == "child" else [self.pid, *children]
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return part

    def stop(self) -> None:
        if self._process is None:
            return
        children = processes.family([self.pid])
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=SECONDS_TO_STOP)
        for pid in children & processes.family(children):  # the ones that survived
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


class Redis:
    """The Valkey of the data servers, restarted empty on the same socket."""

    name = "redis"
    dead_until = 0.0

    def __init__(self, data: DataServers) -> None:
        self._sockets = Path(unquote(urlsplit(data.redis_url).path)).parent
        self._pid = data.pids[1]
        self._server: servers.Server | None = None
        self._is_down = False

    def start(self) -> None:
        if self._is_down:
            log = self._sockets.parent / "valkey.log"
            self._server = servers.start_valkey(sockets=self._sockets, log=log)
            self._pid = self._server.process.pid
            self._is_down = False

    def has_ended(self) -> bool:
        return self._is_down

    def kill(self, rng: random.Random) -> str:
        os.kill(self._pid, signal.SIGKILL)
        self._is_down = True
        if self._server is not None:
            self._server.process.wait()
        return "all"

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()


class Supervisor:
    """Restarts programs that have ended, as the service manager of a server does."""

    def __init__(self, victims: Sequence[Victim]) -> None:
        self.victims = {victim.name: victim for victim in victims}

    def watch(self, seconds: float) -> None:
        """Restart programs for some time."""
        until = time.monotonic() + seconds
        while True:
            for victim in self.victims.values():
                if victim.has_ended() and time.monotonic() >= victim.dead_until:
                    victim.start()
            remaining = until - time.monotonic()
            if remaining <= 0:
                return
            time.sleep(min(remaining, SECONDS_BETWEEN_CHECKS))


@contextmanager
def supervised(victims: Sequence[Victim]) -> Iterator[Supervisor]:
    """Start all programs, and stop them at the end."""
    try:
        for victim in victims:
            victim.start()
        yield Supervisor(victims)
    finally:
        for victim in reversed(victims):
            victim.stop()


def commands() -> dict[str, str]:
    """The commands of the Procfile by name."""
    return dict(re.findall(r"^(\w+): (.+)$", (ROOT / "Procfile").read_text(), re.MULTILINE))


def environment(data: DataServers, *, port: int) -> dict[str, str]:
    """The environment of the programs."""
    return {
        **os.environ,
        **data.environment,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PORT": str(port),
        "BASE_URL": f"http://127.0.0.1:{port}",
        "WEB_CONCURRENCY": "2",
    }
