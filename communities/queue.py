"""Waking a worker, by the name of a task, once the rows that it will look at are committed.

Rows are the truth and a sweep finds what nobody was woken for, so a wake may get lost, and nobody waits for
one: a thread of its own speaks with the broker, whatever time that takes. Equal wakes that come while it is
busy are one. It pauses between two rounds, so that a busy process wakes a worker four times a second and not
a thousand times.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

import structlog
from celery import current_app
from django.db import transaction

MOST_WAITING = 10_000  # different wakes; what comes beyond is left to the sweep
MOST_IN_A_QUEUE = 1_000  # messages in the broker
SECONDS_BETWEEN_ROUNDS = 0.25
SECONDS_TO_LEAVE_BROKER_ALONE = 1.0

log = structlog.get_logger("colloquy.queue")
Wake = tuple[str, tuple[tuple[str, Any], ...]]


def wake(task: str, **kwargs: object) -> None:
    """Have a worker run a task, soon after the transaction commits or at once where there is none.

    `kwargs` are plain values.
    """
    transaction.on_commit(lambda: wake_at_once(task, **kwargs), robust=True)


def wake_at_once(task: str, **kwargs: object) -> None:
    """The same without a look at the database, of which some threads know nothing."""
    _waker.add((task, tuple(sorted(kwargs.items()))))


class Waker:
    """Wakes that wait to be sent, and the thread that sends them; it starts with the first one."""

    def __init__(self) -> None:
        self._waiting: dict[Wake, None] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._broker_is_down = False

    def add(self, what: Wake) -> None:
        with self._changed:
            if len(self._waiting) < MOST_WAITING:
                self._waiting[what] = None
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
            seconds = SECONDS_BETWEEN_ROUNDS if self._send(waiting) else SECONDS_TO_LEAVE_BROKER_ALONE
            pause.wait(seconds)

    def _send(self, waiting: Mapping[Wake, None]) -> bool:
        """Whether the broker took them all. What it did not take is dropped: the sweep does the rest.

        Any fault counts as the broker's, for the thread has to outlive every one.
        """
        try:
            crowded = {task for task in {task for task, _ in waiting} if _is_crowded(task)}
            for task, kwargs in waiting:
                if task not in crowded:
                    current_app.send_task(task, kwargs=dict(kwargs), retry=False, ignore_result=True)
        except Exception as failure:
            if not self._broker_is_down:
                log.error("queue.broker_is_down", cause=type(failure).__name__)
            self._broker_is_down = True
            return False
        if self._broker_is_down:
            log.info("queue.broker_is_back")
        self._broker_is_down = False
        return True


def _is_crowded(task: str) -> bool:
    """Whether so many messages wait for the workers of a task that one more would wake nobody sooner.

    While those workers are away the broker's memory would fill, for wakes of the same rows come again.
    """
    queue = current_app.amqp.router.route({}, task)["queue"].name
    with current_app.producer_pool.acquire(block=True) as producer:
        redis: Any = producer.channel.client  # type: ignore[union-attr]
        return bool(redis.llen(queue) >= MOST_IN_A_QUEUE)


_waker = Waker()


def _begin_anew() -> None:
    """A forked process has the wakes of its parent, but not the thread that sends them."""
    global _waker
    _waker = Waker()


os.register_at_fork(after_in_child=_begin_anew)
