"""The site as the Procfile says it, of programs that can be killed and are started again."""

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

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_STOP = 20


class Victim(Protocol):
    """What can be killed. `rests_until` is the monotonic moment before which it stays dead."""

    name: str
    rests_until: float

    def start(self) -> None: ...

    def has_ended(self) -> bool: ...

    def kill(self, chance: random.Random) -> str: ...

    def stop(self) -> None: ...


class Program:
    """One line of the Procfile, run as honcho runs it."""

    def __init__(self, name: str, *, environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.rests_until = 0.0
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

    def kill(self, chance: random.Random) -> str:
        """Its first process, one that it started, or all of them; says which."""
        below = sorted(processes.family([self.pid]) - {self.pid})
        whom = chance.choice(["the first", "one below", "all"] if below else ["the first"])
        if whom == "the first":
            victims = [self.pid]
        else:
            victims = [chance.choice(below)] if whom == "one below" else [self.pid, *below]
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return whom

    def stop(self) -> None:
        if self._process is None:
            return
        below = processes.family([self.pid])
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=SECONDS_TO_STOP)
        for pid in below & processes.family(below):  # those that are left
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


class Redis:
    """The Valkey of these data servers, started again on the same socket, empty."""

    name = "redis"
    rests_until = 0.0

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

    def kill(self, chance: random.Random) -> str:
        os.kill(self._pid, signal.SIGKILL)
        self._is_down = True
        if self._server is not None:
            self._server.process.wait()
        return "all"

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()


class Keeper:
    """Starts what has ended again, as whoever runs a server has it done."""

    def __init__(self, victims: Sequence[Victim]) -> None:
        self.victims = {victim.name: victim for victim in victims}

    def keep(self, seconds: float) -> None:
        """Look after all of them for a while."""
        until = time.monotonic() + seconds
        while True:
            for victim in self.victims.values():
                if victim.has_ended() and time.monotonic() >= victim.rests_until:
                    victim.start()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, SECONDS_BETWEEN_LOOKS))


@contextmanager
def kept(victims: Sequence[Victim]) -> Iterator[Keeper]:
    """All of them running, until the end."""
    try:
        for victim in victims:
            victim.start()
        yield Keeper(victims)
    finally:
        for victim in reversed(victims):
            victim.stop()


def commands() -> dict[str, str]:
    """The Procfile's lines by their names."""
    return dict(re.findall(r"^(\w+): (.+)$", (ROOT / "Procfile").read_text(), re.MULTILINE))


def environment(data: DataServers, *, port: int) -> dict[str, str]:
    """What the programs are told."""
    return {
        **os.environ,
        **data.environment,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "PORT": str(port),
        "BASE_URL": f"http://127.0.0.1:{port}",
        "WEB_CONCURRENCY": "2",
    }
