"""Calls in several threads, coroutines, locks held by other connections, and waiting for a condition."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection

SECONDS_TO_WAIT = 180.0
T = TypeVar("T")


def run_together(*calls: Callable[[], Any]) -> list[Any]:
    """Run each call in a thread with its own connection, all at once. Returns results, or exceptions."""
    results: list[Any] = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def run(position: int, call: Callable[[], Any]) -> None:
        try:
            barrier.wait()
            results[position] = call()
        except Exception as error:
            results[position] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a thread of its own.

    After a browser test, Playwright's event loop still runs in the thread of the tests, and a thread can run
    only one event loop.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


class BackgroundCall:
    """A call in a thread with its own connection, started at once."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._result: Any = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = self._call()
        except Exception as error:
            self._result = error
        finally:
            connection.close()

    def waits_for_lock(self) -> bool:
        """Returns True once the call waits for a lock, or False if it ends without waiting."""
        while self._thread.is_alive():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_stat_clear_snapshot()")  # or a transaction would read a stale view
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
                if cursor.fetchone()[0]:
                    return True
        return False

    def result(self) -> Any:
        """Wait for the end. Returns the result, or the exception."""
        self._thread.join()
        return self._result


@contextmanager
def row_locked_elsewhere(table: str, key: UUID | int) -> Iterator[None]:
    """Another connection holds a row lock."""
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE", [key])
        yield
    finally:
        other.rollback()
        other.close()


@contextmanager
def held_elsewhere(lock: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Another thread, with its own connection, holds a lock."""
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with lock():
            is_held.set()
            may_end.wait()
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert is_held.wait(30)
        yield
    finally:
        may_end.set()
        thread.join()


def wait_until(is_true: Callable[[], object], *, seconds: float = SECONDS_TO_WAIT) -> None:
    """Poll until a condition holds. Fails if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "The condition did not become true in time."
        time.sleep(0.02)
