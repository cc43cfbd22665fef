"""Python processes that use this test's database and Redis, as an installation would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection

from config.management.commands.worker import CELERY, workers

ROOT = Path(__file__).resolve().parent.parent.parent


def environment(**variables: str) -> dict[str, str]:
    """The environment of a process: this test's servers, and webhooks to this machine allowed."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    database = f"{parts.scheme}://{parts.netloc}/{connection.settings_dict['NAME']}?{parts.query}"
    allowed = {"WEBHOOKS_ALLOW_HTTP": "true", "WEBHOOKS_ALLOW_PRIVATE_NETWORKS": "true"}
    return {**os.environ, "DATABASE_URL": database, **allowed, **variables}


@contextmanager
def python_process(
    *arguments: str, log: Path | None = None, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Python with these arguments and environment variables, killed at the end if it is still running."""
    with (log or Path(os.devnull)).open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def worker_process(
    name: str, *, log: Path | None = None, **variables: str
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """One of the workers, as `manage.py worker` starts it, without the process that watches it."""
    worker = workers()[name]
    command = (*CELERY, "--loglevel", settings.LOG_LEVEL, *worker.arguments)
    return python_process(*command, log=log, **worker.environment, **variables)
