"""Runs the Celery workers of this machine: one for webhooks, one for AI, and one for everything else.

The workers are separate so that none delays another. Webhook endpoints and AI providers may be slow, and
computation must not delay deliveries.
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

from config import servers, startup

SECONDS_BETWEEN_CHECKS = 0.1
# These threads are for further questions, for which respondents wait while other jobs take long.
FOLLOW_UP_THREADS = 4
OTHER_THREADS = 10  # These threads are for mails, chat and pictures: the sum of their limits.
SECONDS_TO_STOP = 4  # honcho kills its processes after 5 seconds.
MIN_SECONDS_TO_RESTART = 10.0  # A worker that ends earlier cannot work at all.
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
    """A Celery worker. It gets the signal `death_signal` when this process is killed."""

    arguments: Sequence[str]
    death_signal: signal.Signals
    environment: Mapping[str, str] = field(default_factory=dict)


def workers() -> dict[str, Worker]:
    """The workers by name."""
    return {
        # On SIGTERM it has some seconds to finish its tasks.
        "default": Worker(
            ["--queues", "celery", "--concurrency", "2"], signal.SIGTERM, {"REMAP_SIGTERM": "SIGQUIT"}
        ),
        # On SIGTERM its threads end after their current delivery. A thread cannot be interrupted. If its
        # endpoint hangs, the thread is killed with the process, and the delivery remains due.
        "webhooks": Worker(
            [
                *("--queues", "webhooks", "--pool", "threads"),
                # Deliveries use at most WEBHOOKS_THREADS threads (`slow_endpoints.py`), so no delivery delays
                # a mail.
                *("--concurrency", str(settings.WEBHOOKS_THREADS + OTHER_THREADS)),
            ],
            signal.SIGKILL,
        ),
        # When a job is killed, another worker takes it over once its lease has expired.
        "ai": Worker(
            [
                *("--queues", "ai", "--pool", "threads"),
                # Jobs use at most AI_THREADS threads (`jobs.py`), so no job delays a further question.
                *("--concurrency", str(settings.AI_THREADS + FOLLOW_UP_THREADS)),
            ],
            signal.SIGKILL,
        ),
    }


class Command(BaseCommand):
    help = "Runs the workers of this machine. A worker that ends is restarted, unless it has just started."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", choices=sorted(workers()), help="Runs only this worker.")

    def handle(self, *args: Any, only: str | None, **options: Any) -> None:
        startup.check()
        stop_signals: list[int] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: stop_signals.append(received))
        running = [_start(name, worker) for name, worker in workers().items() if only is None or name == only]
        while not stop_signals and all(map(_is_running, running)):
            time.sleep(SECONDS_BETWEEN_CHECKS)
        _stop([each.process for each in running])
        sys.exit(0 if stop_signals else 1)


@dataclass
class Running:
    """A worker with its current process; `started_at` is a time of the monotonic clock."""

    name: str
    worker: Worker
    process: subprocess.Popen[bytes]
    started_at: float


def _is_running(running: Running) -> bool:
    """Return whether the worker runs. A worker that has ended is restarted, unless it had just started."""
    if running.process.poll() is None:
        return True
    log.error("worker.ended", worker=running.name, code=running.process.returncode)
    if time.monotonic() < running.started_at + MIN_SECONDS_TO_RESTART:
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
        cwd=settings.HOME_DIR,
        env=os.environ | worker.environment,
        # Only this process gets Ctrl-C and honcho's signals, and passes them on once.
        start_new_session=True,
        preexec_fn=partial(_set_death_signal, os.getpid(), worker.death_signal),
    )


def _set_death_signal(parent: int, death_signal: signal.Signals) -> None:
    servers.die_with_parent(death_signal)
    if os.getppid() != parent:  # The parent was killed before the signal was set.
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
