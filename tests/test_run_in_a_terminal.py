"""`make run` in a terminal: what a newcomer sees, from the first line to Ctrl-C."""

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 300  # seconds; a fresh installation takes some, on a busy machine many
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A program with a terminal of its own, whose output is collected."""

    def __init__(self, *command: str, environment: dict[str, str]) -> None:
        self._descriptor, child = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
        )
        os.close(child)
        self.text = ""

    def read(self, *, seconds: float) -> None:
        """Collect what is printed within this time."""
        if select.select([self._descriptor], [], [], seconds)[0]:
            try:
                self.text += COLOUR.sub("", os.read(self._descriptor, 65536).decode())
            except OSError:  # the program has ended
                time.sleep(seconds)

    def read_until(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT
        while not is_done():
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None or is_done(), self.text
            self.read(seconds=0.2)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=60)
        os.close(self._descriptor)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"BASE_URL", "BIND", "DATABASE_URL", "DJANGO_SETTINGS_MODULE", "LOG_LEVEL", "REDIS_URL"}
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    environment |= {"VAR_DIR": str(tmp_path), "PORT": str(port)}
    started = Terminal(sys.executable, "manage.py", "run", environment=environment)
    yield started
    started.close()


def test_the_welcome_comes_last_and_requests_do_not_scroll_it_away(terminal: Terminal) -> None:
    terminal.read_until(lambda: "Preparing the database" in terminal.text)
    assert "system" not in terminal.text  # nothing is started yet

    terminal.read_until(lambda: "make reset" in terminal.text)
    site = re.findall(r"(http://127\.0\.0\.1:\d+)/docs", terminal.text)[0]
    for path in ("/docs", "/v1/openapi.json", "/healthz"):
        with urllib.request.urlopen(site + path, timeout=60) as response:
            assert response.status == 200
    for _ in range(20):  # the workers start meanwhile
        terminal.read(seconds=0.5)

    after_welcome = terminal.text.split("Colloquy is running.")[1]
    assert not re.search(r"^\d\d:\d\d:\d\d ", after_welcome, re.MULTILINE), after_welcome
    assert '{"' not in terminal.text

    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until(lambda: terminal.process.poll() is not None)

    assert terminal.process.returncode == 0
