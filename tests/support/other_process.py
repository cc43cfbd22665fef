"""Another process of the same installation, which answers requests to the interface one after another."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, cast

from tests.support.processes import ROOT, environment

SERVES = """
import json, sys
import django
django.setup()
from django.test import Client
client = Client()
print("ready", flush=True)
for line in sys.stdin:
    secret, path = json.loads(line)
    answer = client.get(path, headers={"X-API-Key": secret})
    print(json.dumps([answer.status_code, answer["X-RateLimit-Limit"]]), flush=True)
"""


@dataclass(frozen=True)
class OtherProcess:
    process: subprocess.Popen[str]

    def get(self, secret: str, path: str) -> tuple[int, int]:
        """Status and rate limit of a GET with this API key."""
        cast("IO[str]", self.process.stdin).write(json.dumps([secret, path]) + "\n")
        cast("IO[str]", self.process.stdin).flush()
        status, limit = json.loads(self._line())
        return status, int(limit)

    def _line(self) -> str:
        line = cast("IO[str]", self.process.stdout).readline()
        assert line, "The process has ended."
        return line


@contextmanager
def other_process() -> Iterator[OtherProcess]:
    """A process that uses this test's database and Redis, ended when the block is left."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVES],
        cwd=ROOT,
        env=environment(ALLOWED_HOSTS="testserver", LOG_LEVEL="CRITICAL"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        other = OtherProcess(process)
        try:
            assert other._line() == "ready\n"
            yield other
        finally:
            process.kill()
