"""Processes of their own on this test's database and Redis, as an installation would have them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from django.db import connection

ROOT = Path(__file__).resolve().parent.parent.parent


def environment(**more: str) -> dict[str, str]:
    """This test's servers, and leave to send to this machine."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    database = f"{parts.scheme}://{parts.netloc}/{connection.settings_dict['NAME']}?{parts.query}"
    allowed = {"WEBHOOKS_ALLOW_HTTP": "true", "WEBHOOKS_ALLOW_PRIVATE_NETWORKS": "true"}
    return {**os.environ, "DATABASE_URL": database, **allowed, **more}


@contextmanager
def running(*arguments: str, log: Path | None = None, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Python with these arguments, killed at the end if it still runs. `more` is for its environment."""
    with (log or Path(os.devnull)).open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
