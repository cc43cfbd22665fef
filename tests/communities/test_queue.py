"""Waking a worker never delays a request, whatever state the broker is in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import redis as redis_py
from celery import Celery
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from communities.ground import queue
from communities.ground.queue import Waker, wake
from config import environment, servers

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT = 30.0  # seconds
NEVER = 2 * LIMIT

pytestmark = pytest.mark.django_db(transaction=True)


def send_no_more(waker: Waker) -> None:
    """Drop waiting wakes, and wait for those being sent. Otherwise they would reach a later test's broker.

    A thread that hangs is not waited for.
    """
    is_idle = threading.Event()

    def let_go(waiting: object) -> bool:
        is_idle.set()
        return True

    waker._send = let_go  # type: ignore[method-assign]
    if waker._thread is not None:
        waker.add(("some.task", ()))
        is_idle.wait(10)


@pytest.fixture(autouse=True)
def waker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waker]:
    """One that nobody used, that hardly pauses, and that sends nothing once its test is over."""
    # What earlier tests left with the process's own waker would go to the broker of this one.
    of_the_process = queue._waker
    send_no_more(of_the_process)
    waker = Waker()
    monkeypatch.setattr(queue, "_waker", waker)
    monkeypatch.setattr(queue, "SECONDS_BETWEEN_ROUNDS", 0)
    monkeypatch.setattr(queue, "SECONDS_AFTER_A_FAILURE", 0.01)
    yield waker
    send_no_more(waker)
    del of_the_process._send


@pytest.fixture
def use_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Send wakes to the broker at a URL, with these `limits` instead of those of the settings."""
    apps: list[Any] = []

    def use(url: str, **limits: float) -> None:
        app = Celery("test", broker=url, set_as_current=False)
        app.conf.broker_transport_options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **limits}
        monkeypatch.setattr(queue, "current_app", app)
        apps.append(app)

    yield use
    for app in apps:
        app.pool.force_close_all()


class Sender:
    """Replaces Celery: it records the sent wakes, and can wait or fail."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.is_busy = threading.Event()
        self.fault: Exception | None = None
        self.faults_left = 1_000_000
        self.failures = 0

    def send_task(self, name: str, *, kwargs: dict[str, Any], **options: Any) -> None:
        self.is_busy.set()
        assert self.goes_on.wait(LIMIT)
        if self.fault and self.faults_left:
            self.faults_left -= 1
            self.failures += 1
            raise self.fault
        self.sent.append(kwargs)


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Sender:
    sender = Sender()
    monkeypatch.setattr(queue, "current_app", sender)
    monkeypatch.setattr(queue, "_is_crowded", lambda task: False)
    return sender


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def wake_until(is_so: Callable[[], object], **kwargs: Any) -> None:
    """Again and again, as a busy site does."""

    def wake_and_look() -> object:
        wake("some.task", **kwargs)
        return is_so()

    wait_until(wake_and_look)


def messages(client: Any, name: str = "celery") -> list[dict[str, Any]]:
    """Keywords and headers of what waits in a queue, oldest first."""
    found = [json.loads(message) for message in reversed(client.lrange(name, 0, -1))]
    return [{**json.loads(b64decode(each["body"]))[1], "headers": each["headers"]} for each in found]


# When


def test_a_wake_reaches_the_queue_of_its_task_after_the_commit(redis: Any) -> None:
    with transaction.atomic():
        wake("webhooks.deliver", webhook_id=17, partition=3)
        waits_early = dict(queue._waker._waiting)

    def has_arrived() -> object:
        if queue._waker._broker_is_down:  # a connection of earlier tests was broken: as the next sweep does
            wake("webhooks.deliver", webhook_id=17, partition=3)
        return redis.llen("webhooks")

    wait_until(has_arrived)
    message = messages(redis, "webhooks")[0]
    assert waits_early == {}
    assert (message["webhook_id"], message["partition"]) == (17, 3)
    assert message["headers"]["task"] == "webhooks.deliver"
    assert message["headers"]["published_at"] <= time.time()


def test_a_queue_that_is_long_enough_takes_no_more(redis: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MAX_QUEUE_LENGTH", 2)
    redis.rpush("webhooks", "one", "two")

    wake("webhooks.deliver", webhook_id=17, partition=3)
    wake_until(lambda: redis.llen("celery"), number=1)

    assert redis.llen("webhooks") == 2


def test_a_rolled_back_transaction_wakes_no_worker(sender: Sender) -> None:
    with transaction.atomic():
        wake("some.task", number=1)
        transaction.set_rollback(True)
    with transaction.atomic():
        wake("some.task", number=2)

    wait_until(lambda: sender.sent)
    assert sender.sent == [{"number": 2}]


def test_equal_wakes_that_come_while_it_is_busy_are_one(sender: Sender) -> None:
    sender.goes_on.clear()
    wake("some.task", number=1)
    assert sender.is_busy.wait(LIMIT)

    for number in (1, 2, 1, 2, 3):
        wake("some.task", number=number)
    sender.goes_on.set()

    wait_until(lambda: len(sender.sent) == 4)
    assert [each["number"] for each in sender.sent] == [1, 1, 2, 3]


def test_no_more_wait_than_memory_bears(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "MAX_WAITING", 2)
    sender.goes_on.clear()
    wake("some.task", number=0)
    assert sender.is_busy.wait(LIMIT)

    for number in range(1, 5):
        wake("some.task", number=number)

    assert len(queue._waker._waiting) == 2
    sender.goes_on.set()


# A broker that does not do its part


def test_a_broker_that_never_answers_holds_no_writer_up(use_broker: Callable[..., None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LIMIT)
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        use_broker(url, socket_timeout=NEVER, socket_connect_timeout=NEVER, max_retries=0)

        with transaction.atomic():
            wake("some.task", number=1)

        # Here the writer goes on, and yet its wake has only begun to wait for an answer.
        connection, _ = server.accept()
        with connection:
            connection.settimeout(LIMIT)
            assert connection.recv(1)
            wake("some.task", number=2)
            assert list(queue._waker._waiting) == [("some.task", (("number", 2),))]
    wait_until(lambda: queue._waker._broker_is_down)


def test_a_broker_that_refuses_costs_only_the_wake(
    use_broker: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    use_broker(f"redis://127.0.0.1:{port}/0", max_retries=0)

    with transaction.atomic():
        wake("some.task", number=1)

    wait_until(lambda: queue._waker._broker_is_down)


@pytest.fixture
def folder() -> Path:
    folder = servers.new_folder(prefix="colloquy-queue-")
    folder.chmod(0o711)
    return folder


def test_once_the_broker_is_back_wakes_go_again(folder: Path, use_broker: Callable[..., None]) -> None:
    sockets = folder / "valkey"
    sockets.mkdir()
    broker = servers.start_valkey(sockets=sockets, log=folder / "log")
    try:
        use_broker(environment.celery_broker(broker.url), max_retries=0)
        wake("some.task", number=1)
        with redis_py.Redis.from_url(broker.url) as client:
            wait_until(lambda: client.llen("celery"))

        broker.stop()
        wake("some.task", number=2)
        wait_until(lambda: queue._waker._broker_is_down)
        broker = servers.start_valkey(sockets=sockets, log=folder / "log")

        with redis_py.Redis.from_url(broker.url) as client:
            wake_until(lambda: client.llen("celery"), number=3)
            assert {message["number"] for message in messages(client)} == {3}
        wait_until(lambda: not queue._waker._broker_is_down)
    finally:
        broker.stop()


def test_one_failure_is_tried_again_before_the_broker_counts_as_down(sender: Sender) -> None:
    sender.fault, sender.faults_left = OperationalError("The connection is gone."), 1

    with patch("communities.ground.queue.log") as log:
        wake("some.task", number=1)
        wait_until(lambda: sender.sent)

    assert (sender.sent, sender.failures) == ([{"number": 1}], 1)
    assert not queue._waker._broker_is_down
    log.error.assert_not_called()


def test_a_broker_that_takes_nothing_is_tried_again(folder: Path, use_broker: Callable[..., None]) -> None:
    sockets = folder / "valkey"
    sockets.mkdir()
    broker = servers.start_valkey(sockets=sockets, log=folder / "log")
    try:
        use_broker(environment.celery_broker(broker.url), max_retries=0)
        with redis_py.Redis.from_url(broker.url) as client:
            client.config_set("maxmemory", 1)

            wake("some.task", number=1)
            wait_until(lambda: queue._waker._broker_is_down)
            client.config_set("maxmemory", 0)

            wake_until(lambda: client.llen("celery"), number=2)
            assert {message["number"] for message in messages(client)} == {2}
    finally:
        broker.stop()


@pytest.mark.parametrize(
    "fault", [OperationalError(), ConnectionError(), redis_py.ResponseError("OOM"), KeyError()]
)
def test_an_outage_is_logged_once_when_it_begins_and_once_when_it_ends(
    sender: Sender, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="colloquy.queue")

    for _ in range(2):
        sender.fault, sender.failures, sender.sent = fault, 0, []
        wake_until(lambda: sender.failures >= 2)
        sender.fault = None
        wake_until(lambda: sender.sent and not queue._waker._broker_is_down)

    told = [record.msg["event"] for record in caplog.records if record.name == "colloquy.queue"]  # type: ignore[index]
    assert told == ["queue.broker_is_down", "queue.broker_is_back"] * 2


def test_a_thread_that_cannot_start_costs_only_the_wake(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as short_of_threads, transaction.atomic():
        short_of_threads.setattr(threading.Thread, "start", fail)
        wake("some.task", number=1)
    assert sender.sent == []
    wake("some.task", number=2)

    wait_until(lambda: len(sender.sent) == 2)


# Forked

FORKING = """
import os, time
import django
django.setup()
from django_redis import get_redis_connection
from communities.ground.queue import wake

def wake_and_wait(number):
    wake("some.task", number=number)
    deadline = time.monotonic() + 30
    while get_redis_connection().llen("celery") < number and time.monotonic() < deadline:
        time.sleep(0.01)

wake_and_wait(1)
child = os.fork()
wake_and_wait(2) if child == 0 else os.waitpid(child, 0)
if child == 0:
    os._exit(0)
wake_and_wait(3)
print(os.getpid(), child)
"""


def test_a_fork_waits_for_a_round_that_ends_and_not_for_one_that_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "_sending", threading.Lock())
    monkeypatch.setattr(queue, "SECONDS_TO_WAIT_BEFORE_A_FORK", 0.01)

    queue._wait_before_fork()
    is_held = queue._sending.locked()
    queue._go_on_after_fork()
    is_free = not queue._sending.locked()
    with queue._sending:  # a broker that does not answer
        queue._wait_before_fork()
        queue._go_on_after_fork()
        is_still_sending = queue._sending.locked()

    assert (is_held, is_free, is_still_sending) == (True, True, True)


@pytest.mark.long
def test_the_wakes_of_a_forked_process_are_sent_by_itself(redis: Any) -> None:
    forked = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )

    parent, child = forked.stdout.split()
    sent = {
        message["number"]: message["headers"]["origin"].split("@")[0].removeprefix("gen")
        for message in messages(redis)
    }
    assert sent == {1: parent, 2: child, 3: parent}
