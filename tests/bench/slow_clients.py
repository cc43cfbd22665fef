"""Row 25: what slow clients cost everybody else. Run alone, it is the attack, against any server.

python -m tests.bench.slow_clients 127.0.0.1 8000      1,750 connections, until Ctrl-C

The attack opens connections that ask for as much of a server as they can without a whole request: headers
that never end, headers and bodies of a byte a second, kept-alive connections that ask nothing, and large
answers that are read by a kilobyte a second. Connections that the server closes are opened again.
"""

import random
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.bench import processes
from tests.bench.client import Visitor, form_in
from tests.bench.servers import Site, site

if TYPE_CHECKING:
    from tests.bench.rows import Bench, Result

HALF_OPEN = 1_000
DRIPPING = 200
IDLE = 500
SLOW_READERS = 50
LARGE_ANSWER = "/bench/large"
TURNS_A_SECOND = 20
CALLERS = 2
SECONDS_OF_ATTACK_ALONE = 20
SECONDS_TO_PREPARE = 60
SECONDS_BEFORE_REOPENING = 0.5
READY = "All connections are open."


# The attack


@dataclass
class SlowClient:
    """One connection: its request, the bytes that it sends one by one, and whether it reads responses."""

    request: bytes
    drips: bool = False
    reads_slowly: bool = False
    sock: socket.socket | None = None
    opens_at: float = 0.0


class Attack:
    """Slow clients of one server. Each connection is opened again when it ends."""

    def __init__(self, host: str, port: int, large: str) -> None:
        self.address = (host, port)
        start = f" HTTP/1.1\r\nHost: {host}:{port}\r\n".encode()
        header = b"GET /healthz" + start + b"X-Unfinished: "
        body = b"POST /healthz" + start + b"Content-Length: 100000\r\n\r\n"
        self.clients = [
            *(SlowClient(header) for _ in range(HALF_OPEN)),
            *(SlowClient(header, drips=True) for _ in range(DRIPPING // 2)),
            *(SlowClient(body, drips=True) for _ in range(DRIPPING // 2)),
            *(SlowClient(b"GET /healthz" + start + b"\r\n") for _ in range(IDLE)),
            *(
                SlowClient(b"GET " + large.encode() + start + b"\r\n", reads_slowly=True)
                for _ in range(SLOW_READERS)
            ),
        ]
        random.Random(1).shuffle(self.clients)
        self.selector = selectors.DefaultSelector()

    def run(self) -> None:
        begun, has_told, turn = time.monotonic(), False, 0
        while True:
            # A twentieth of all in each twentieth of a second.
            for client in self.clients[turn::TURNS_A_SECOND]:
                self._take_turn(client)
            turn = (turn + 1) % TURNS_A_SECOND
            end = time.monotonic() + 1 / TURNS_A_SECOND
            while (rest := end - time.monotonic()) > 0:
                for key, _ in self.selector.select(rest):
                    self._read(key.data)
            opened = sum(client.sock is not None for client in self.clients)
            is_late = time.monotonic() > begun + SECONDS_TO_PREPARE
            if not has_told and (opened == len(self.clients) or is_late):
                has_told = True
                sys.stdout.write(f"{READY}\n" if not is_late else f"{opened} are open.\n")
                sys.stdout.flush()

    def _take_turn(self, client: SlowClient) -> None:
        if client.sock is None:
            if time.monotonic() >= client.opens_at:
                self._open(client)
        elif client.drips:
            with suppress(BlockingIOError):
                self._carefully(client, lambda sock: sock.send(b"x"))
        elif client.reads_slowly:
            with suppress(BlockingIOError):
                if not self._carefully(client, lambda sock: sock.recv(1_024)):
                    self._close(client)

    def _open(self, client: SlowClient) -> None:
        sock = socket.socket()
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
            sock.settimeout(0.2)
            sock.connect(self.address)
            sock.sendall(client.request)
        except OSError:
            sock.close()
            client.opens_at = time.monotonic() + SECONDS_BEFORE_REOPENING
            return
        sock.setblocking(False)
        client.sock = sock
        if not client.reads_slowly:
            self.selector.register(sock, selectors.EVENT_READ, client)

    def _read(self, client: SlowClient) -> None:
        with suppress(BlockingIOError):
            if not self._carefully(client, lambda sock: sock.recv(65_536)):
                self._close(client)

    def _carefully(self, client: SlowClient, act: Callable[[socket.socket], object]) -> object:
        try:
            return act(client.sock) if client.sock is not None else True
        except ConnectionError:
            self._close(client)
            return True

    def _close(self, client: SlowClient) -> None:
        if client.sock is not None:
            with suppress(KeyError):
                self.selector.unregister(client.sock)
            client.sock.close()
            client.sock, client.opens_at = None, time.monotonic() + SECONDS_BEFORE_REOPENING


@contextmanager
def attack_on(port: int) -> Iterator[None]:
    """Run the attack in a process of its own; yields when all its connections are open."""
    command = [sys.executable, "-m", "tests.bench.slow_clients", "127.0.0.1", str(port), LARGE_ANSWER]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = process.stdout.readline().strip()
        if told != READY:
            sys.stderr.write(f"The attack is not complete: {told}\n")
        yield
    finally:
        process.kill()
        process.wait()


# The row


def others_under_attack(bench: "Bench") -> "list[Result]":
    """Page and vote by a few callers, at two sites in turn: one that is attacked, and its like."""
    from tests.bench.rows import Result  # noqa: PLC0415 - the attack runs without Django

    attacked, path = bench.colloquy, f"/s/{bench.world.poll.slug}"
    assert isinstance(attacked, Site)
    with site(attacked.data, settings="tests.bench.settings") as quiet, attack_on(attacked.port):
        _times([quiet, attacked], path, 40)
        times, errors = _times([quiet, attacked], path, bench.repetitions)
        before = processes.cpu_ms([attacked.pid]), processes.cpu_ms([quiet.pid])
        time.sleep(SECONDS_OF_ATTACK_ALONE)
        used = processes.cpu_ms([attacked.pid]) - before[0], processes.cpu_ms([quiet.pid]) - before[1]
    means = [statistics.fmean(each) for each in times]
    p95s = [statistics.quantiles(each, n=20)[-1] for each in times]
    what = f"{CALLERS} callers beside {HALF_OPEN + DRIPPING + IDLE + SLOW_READERS:,} slow clients"
    return [
        Result("25", f"{what}, {name}", beside / alone, None, 1.2, 1.1, "times", note=note)
        for name, (alone, beside) in (("mean", means), ("p95", p95s))
        for note in [f"{alone:.1f} ms at the site beside it, {beside:.1f} here"]
    ] + [
        Result("25", f"{what}, errors", errors, None, 0, 0, ""),
        Result(
            "25",
            "CPU for the slow clients alone, of one core",
            (used[0] - used[1]) / SECONDS_OF_ATTACK_ALONE / 10,
            None,
            10,
            5,
            "%",
        ),
    ]


def _times(sites: "Sequence[Site]", path: str, count: int) -> tuple[list[list[float]], int]:
    """Milliseconds of page and vote together, at each site, and how many failed."""

    def call(_: int) -> tuple[list[list[float]], int]:
        clients, failed = [site.client(connections=1) for site in sites], 0
        times: list[list[float]] = [[] for _ in sites]
        for number in range(count // CALLERS):
            for client, taken in zip(clients, times, strict=True):
                began = time.perf_counter()
                try:
                    visitor = Visitor(client)
                    visitor.post(form_in(visitor.get(path).body, at=path), answer=number)
                except Exception:
                    failed += 1
                taken.append((time.perf_counter() - began) * 1000)
        return times, failed

    with ThreadPoolExecutor(CALLERS) as callers:
        told = list(callers.map(call, range(CALLERS)))
    together = [[each for times, _ in told for each in times[number]] for number in range(len(sites))]
    return together, sum(failed for _, failed in told)


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host, port, *large = sys.argv[1:]
    with suppress(KeyboardInterrupt):
        Attack(host, int(port), large[0] if large else "/v1/openapi.json").run()


if __name__ == "__main__":
    main()
