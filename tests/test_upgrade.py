"""A new version takes over from the one that is serving: nobody is refused, and no request is cut off."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread

import pytest

from config.web.worker import SECONDS_TO_STOP
from tests.support.installation import ROOT, Installation, prepared
from tests.support.metrics import DURATION, parse_samples, value

pytestmark = pytest.mark.long

LIMIT = 240  # seconds, for a machine that is busy with other tests
PROGRAM = ("communities", "config", "surveys", "templates", "webhooks", "xp")
PAUSE = 0.02  # seconds of a client between two requests
ANSWER = '{"status": "ok"}'


def release(folder: Path, *, version: str, fault: str = "") -> Path:
    """A copy of the program whose `/healthz` names its version. A fault is code that cannot be run."""
    for name in PROGRAM:
        shutil.copytree(ROOT / name, folder / name)
    module = folder / "config" / "health.py"
    source = module.read_text()
    assert source.count(ANSWER) == 1
    module.write_text(fault + source.replace(ANSWER, f'{{"status": "{version}"}}'))
    return folder


def switch(link: Path, folder: Path) -> None:
    """Let the link lead to another folder, in one step."""
    new = link.with_suffix(".new")
    new.symlink_to(folder)
    new.rename(link)


class Load:
    """Clients that ask again and again, and what they are answered."""

    def __init__(self, site: Installation) -> None:
        self.site = site
        self.answers: list[str] = []  # `<status> <version>`, or the failure; in the order of their arrival
        self._ended = Event()

    @contextmanager
    def asking(self) -> Iterator[None]:
        threads = [Thread(target=self._ask, args=(keeps,)) for keeps in (True, True, True, False, False)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _ask(self, keeps: bool) -> None:
        """Ask over one connection as long as the server keeps it, or over a new one for each request."""
        connection = HTTPConnection("127.0.0.1", self.site.port, timeout=LIMIT)
        while not self._ended.is_set():
            try:
                connection.request("GET", "/healthz", headers={} if keeps else {"Connection": "close"})
                with connection.getresponse() as answer:
                    told = answer.read()
                    version = json.loads(told)["status"] if answer.status == 200 else repr(told[:100])
                    self.answers.append(f"{answer.status} {version}")
            except (OSError, HTTPException) as error:
                self.answers.append(type(error).__name__)
                connection.close()
            time.sleep(PAUSE)
        connection.close()

    def wait_for(self, answer: str) -> None:
        wait_until(lambda: answer in self.answers[-5:])


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def create_slowly(site: Installation, may_end: Event, statuses: list[int]) -> None:
    """Send a request whose last byte waits."""
    body = json.dumps({"name": "Opening moves", "type": "poll"})
    connection = HTTPConnection("127.0.0.1", site.port, timeout=LIMIT)
    connection.putrequest("POST", f"/v1/communities/{site.environment['COMMUNITY']}/projects")
    connection.putheader("X-API-Key", site.key)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:-1].encode())
    may_end.wait(LIMIT)
    connection.send(body[-1:].encode())
    with connection.getresponse() as answer:
        answer.read()
        statuses.append(answer.status)
    connection.close()


@contextmanager
def ended() -> Iterator[list[int]]:
    """Processes that end with the test, but are not its children."""
    pids: list[int] = []
    try:
        yield pids
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


def children(pid: int) -> list[str]:
    """The processes of a master: those that answer, and a new master."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def counted(site: Installation) -> float | None:
    """How many answers of `/healthz` the processes of the site have counted, past ones included."""
    with urllib.request.urlopen(f"http://127.0.0.1:{site.port}/metrics", timeout=LIMIT) as told:
        samples = parse_samples(told.read().decode())
    return value(samples, f"{DURATION}_count", method="GET", route="healthz", status=200)


def test_a_new_version_takes_over_and_nobody_is_refused_or_cut_off(tmp_path: Path) -> None:
    """Rules 12.580 and 12.581."""
    old = release(tmp_path / "1", version="old")
    broken = release(tmp_path / "2", version="broken", fault="raise RuntimeError('no start')\n")
    new = release(tmp_path / "3", version="new")
    current, pid_file = tmp_path / "current", tmp_path / "pid"
    switch(current, old)
    settings = {
        "WEB_CONCURRENCY": "2",
        "METRICS": "true",
        "SECONDS_TO_SEND_A_BODY": str(LIMIT),
        "GUNICORN_CMD_ARGS": f"--pid={pid_file}",
    }
    may_end = Event()
    statuses: list[int] = []
    with (
        prepared(tmp_path / "var", **settings) as (site, _),
        ended() as successors,
        site.serve(current) as process,
    ):
        load = Load(site)
        with load.asking():
            load.wait_for("200 old")
            switch(current, broken)
            process.send_signal(signal.SIGUSR2)
            wait_until(lambda: "no start" in site.log.read_text())
            load.wait_for("200 old")

            slow = Thread(target=create_slowly, args=(site, may_end, statuses))
            slow.start()
            switch(current, new)
            wait_until(lambda: len(children(process.pid)) == 2)
            process.send_signal(signal.SIGUSR2)
            load.wait_for("200 new")
            successors.append(int(Path(f"{pid_file}.2").read_text()))
            time.sleep(SECONDS_TO_STOP + 1)
            assert process.poll() is None
            may_end.set()
            slow.join()
            process.wait(timeout=LIMIT)
            load.wait_for("200 new")
        requests = counted(site)

    assert set(load.answers) == {"200 old", "200 new"}, Counter(load.answers)
    assert set(load.answers[-20:]) == {"200 new"}
    assert statuses == [201]
    assert process.returncode == 0
    assert requests == len(load.answers) + 1  # `serve` has asked too
