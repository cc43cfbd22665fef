"""Waking workers: sending a Celery task by its name after the commit of the rows that it needs.

The rows describe the work, and a sweep finds rows for which no worker was woken. So a wake may be lost, and
no request waits for one: a separate thread talks to the broker. Equal wakes are merged while that thread is
busy. The thread pauses after each round, so that a busy process wakes workers four times a second and not a
thousand times.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

import structlog
from celery import current_app
from django.db import transaction

MAX_WAITING = 10_000  # At most this many different wakes wait. The sweep finds the rows of any other wakes.
MAX_QUEUE_LENGTH = 1_000  # The broker holds at most this many messages in a queue.
SECONDS_BETWEEN_ROUNDS = 0.25
SECONDS_AFTER_A_FAILURE = 1.0
SECONDS_TO_WAIT_BEFORE_A_FORK = 2.0

log = structlog.get_logger("colloquy.queue")
Wake = tuple[str, tuple[tuple[str, Any], ...]]


def wake(task: str, **kwargs: object) -> None:
    """Make a worker run a task soon after the transaction commits, or at once if there is no transaction.

    `kwargs` are plain values.
    """
    transaction.on_commit(lambda: wake_at_once(task, **kwargs), robust=True)


def wake_at_once(task: str, **kwargs: object) -> None:
    """Make a worker run a task at once. For threads without a database connection."""
    _waker.add((task, tuple(sorted(kwargs.items()))))


class Waker:
    """Wakes that wait to be sent, and the thread that sends them, which starts with the first wake."""

    def __init__(self) -> None:
        self._waiting: dict[Wake, None] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._broker_is_down = False

    def add(self, wake: Wake) -> None:
        with self._changed:
            if len(self._waiting) < MAX_WAITING:
                self._waiting[wake] = None
            if self._thread is None:
                thread = threading.Thread(target=self._send_for_ever, name="waker", daemon=True)
                thread.start()
                self._thread = thread
            self._changed.notify()

    def _send_for_ever(self) -> None:
        pause = threading.Event()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                waiting, self._waiting = self._waiting, {}
            with _sending:
                is_sent = self._send(waiting)
            seconds = SECONDS_BETWEEN_ROUNDS if is_sent else SECONDS_AFTER_A_FAILURE
            pause.wait(seconds)

    def _send(self, waiting: Mapping[Wake, None]) -> bool:
        """Send wakes, and return whether the broker accepted all of them. The sweep handles the others.

        A single failure may only mean that the connection was idle for too long.
        """
        failure = _failure(waiting)
        if failure is not None and not self._broker_is_down:
            failure = _failure(waiting)  # The second attempt uses a new connection.
        if failure is not None:
            if not self._broker_is_down:
                log.error("queue.broker_is_down", cause=type(failure).__name__, detail=str(failure))
            self._broker_is_down = True
            return False
        if self._broker_is_down:
            log.info("queue.broker_is_back")
        self._broker_is_down = False
        return True


def _failure(waiting: Mapping[Wake, None]) -> Exception | None:
    """Send wakes, and return the error if sending failed. The thread must survive every exception."""
    try:
        crowded = {task for task in {task for task, _ in waiting} if _is_crowded(task)}
        for task, kwargs in waiting:
            if task not in crowded:
                current_app.send_task(task, kwargs=dict(kwargs), retry=False, ignore_result=True)
    except Exception as failure:
        return failure
    return None


def _is_crowded(task: str) -> bool:
    """Whether the queue of a task is so long that another message would not wake a worker any sooner.

    Without this check, the broker's memory would fill while the workers are down, because sweeps wake
    repeatedly.
    """
    queue = current_app.amqp.router.route({}, task)["queue"].name
    with current_app.producer_pool.acquire(block=True) as producer:
        redis: Any = producer.channel.client  # type: ignore[union-attr]
        return bool(redis.llen(queue) >= MAX_QUEUE_LENGTH)


_waker = Waker()
_sending = threading.Lock()  # The lock is held while a thread talks to the broker, and while a process forks.
_forking = threading.local()


def _wait_before_fork() -> None:
    """Wait for the end of a round. Celery imports modules with its first message, so a fork during a round
    would contain half-loaded modules.

    A broker that does not respond delays a fork by some seconds at most.
    """
    _forking.holds = _sending.acquire(timeout=SECONDS_TO_WAIT_BEFORE_A_FORK)


def _go_on_after_fork() -> None:
    if _forking.holds:
        _sending.release()


def _reset_after_fork() -> None:
    """Start with a new waker, because a forked process inherits its parent's wakes, but not the thread."""
    global _sending, _waker
    _waker, _sending = Waker(), threading.Lock()


os.register_at_fork(
    before=_wait_before_fork, after_in_parent=_go_on_after_fork, after_in_child=_reset_after_fork
)
