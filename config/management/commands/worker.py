"""The workers of this machine: one that sends webhooks and one for AI, by threads, and one for all else.

Each its own, so that none waits for another: endpoints and models may take their time, and nothing that
computes shall hold up deliveries.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand

from config import servers

SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_TO_STOP = 4  # honcho kills after 5
SECONDS_OF_A_BEGINNING = 10.0
CELERY = (
    "-m",
    "celery",
    "--app",
    "config.celery",
    "--quiet",
    "worker",
    "--without-gossip",
    "--without-mingle",
    "--disable-prefetch",
)


log = structlog.get_logger("colloquy.worker")


@dataclass(frozen=True)
class Worker:
    """A worker of Celery; `farewell` is what it gets when the process that started it is killed."""

    arguments: Sequence[str]
    farewell: signal.Signals
    environment: Mapping[str, str] = field(default_factory=dict)


def workers() -> dict[str, Worker]:
    return {
        # Told to stop, it has some seconds to finish in.
        "default": Worker(
            ["--queues", "celery", "--concurrency", "2"], signal.SIGTERM, {"REMAP_SIGTERM": "SIGQUIT"}
        ),
        # Told to stop, its threads end after the delivery that they are at. A thread cannot be ended from
        # outside, so one whose endpoint hangs is killed with the process: its delivery is still due.
        "webhooks": Worker(
            [
                *("--queues", "webhooks", "--pool", "threads"),
                *("--concurrency", str(settings.WEBHOOKS_THREADS)),
            ],
            signal.SIGKILL,
        ),
        # The same: what a model keeps waiting is taken up again once its lease has run out.
        "ai": Worker(
            ["--queues", "ai", "--pool", "threads", "--concurrency", str(settings.AI_THREADS)],
            signal.SIGKILL,
        ),
    }


class Command(BaseCommand):
    help = "Runs this machine's workers. One that ends is started again, unless it has just begun."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", choices=sorted(workers()), help="Runs this one alone.")

    def handle(self, *args: Any, only: str | None, **options: Any) -> None:
        told_to_stop: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: told_to_stop.append(received))
        running = [_start(name, worker) for name, worker in workers().items() if only is None or name == only]
        while not told_to_stop and all(map(_lives, running)):
            time.sleep(SECONDS_BETWEEN_LOOKS)
        _stop([each.process for each in running])
        sys.exit(0 if told_to_stop else 1)


@dataclass
class Running:
    """A worker with its process of the moment; `started_at` is by the monotonic clock."""

    name: str
    worker: Worker
    process: subprocess.Popen[bytes]
    started_at: float


def _lives(running: Running) -> bool:
    """Whether it works. One that ends by itself is started again, unless it has just begun."""
    if running.process.poll() is None:
        return True
    log.error("worker.ended", worker=running.name, code=running.process.returncode)
    if time.monotonic() < running.started_at + SECONDS_OF_A_BEGINNING:
        return False
    running.process, running.started_at = _process(running.name, running.worker), time.monotonic()
    return True


def _start(name: str, worker: Worker) -> Running:
    return Running(name, worker, _process(name, worker), time.monotonic())


def _process(name: str, worker: Worker) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, *CELERY, "--loglevel", settings.LOG_LEVEL),
            *("--hostname", f"{name}@%h", *worker.arguments),
        ],
        cwd=settings.BASE_DIR,
        env=os.environ | worker.environment,
        start_new_session=True,  # Ctrl-C and honcho's signals come here first, and are passed on once
        preexec_fn=partial(_die_with, os.getpid(), worker.farewell),
    )


def _die_with(parent: int, farewell: signal.Signals) -> None:
    servers.die_with_parent(farewell)
    if os.getppid() != parent:  # which was killed before it could be said
        os._exit(1)


def _stop(running: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in running:
        process.terminate()
    deadline = time.monotonic() + SECONDS_TO_STOP
    for process in running:
        try:
            process.wait(timeout=max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
