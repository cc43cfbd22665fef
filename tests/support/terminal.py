"""Programs that run in a terminal."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

LIMIT = 300  # seconds; on a busy machine a demo starts slowly
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A program with a terminal of its own, whose output is collected."""

    def __init__(self, *command: str, folder: Path, environment: dict[str, str]) -> None:
        self._descriptor, child = pty.openpty()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
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
