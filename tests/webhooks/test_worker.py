"""`manage.py worker`: real processes that send to a real endpoint, stop on SIGTERM, and end together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from communities.ground.queue import wake
from config.management.commands import worker
from tests.support.concurrency import wait_until
from tests.support.processes import python_process, worker_process
from tests.support.webhooks.delivery_runs import delivered_after_drain, emit_many, webhook_to
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks.models import Delivery

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
WORKER = ("manage.py", "worker")
SECONDS_TO_END = 60


def are_delivered(count: int) -> bool:
    return Delivery.objects.filter(status="delivered").count() == count


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_worker_sends_both_with_a_wake_and_by_the_sweep(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    with python_process(*WORKER, "--only", "webhooks"):
        emit_many(webhook, 3)
        wait_until(lambda: are_delivered(3))
        Delivery.objects.update(status="pending", attempt_count=0, due_at=timezone.now())
        wake("webhooks.sweep")
        requests = receiver.wait_for(6)
        wait_until(lambda: are_delivered(3))

    assert {len(each.headers["webhook-signature"].split(" ")) for each in requests} == {1}


def test_sigterm_ends_the_workers_soon_even_if_an_endpoint_hangs(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(hangs=True), ScriptedResponse()))
    emit_many(webhook, 2, partition=0)
    wake("webhooks.sweep")  # for the partitions they were in before

    with python_process(*WORKER) as process:
        receiver.wait_for(1)
        children = children_of(process)
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=SECONDS_TO_END)

    assert code == 0
    assert len(children) == 3
    assert not any(map(is_alive, children))
    assert set(Delivery.objects.values_list("status", "attempt_count")) == {("pending", 0)}
    wait_until(lambda: delivered_after_drain(webhook) == 2)


def test_the_command_fails_if_one_of_its_workers_cannot_start() -> None:
    with python_process(*WORKER) as process:
        wait_until(lambda: len(children_of(process)) == 3)
        first, *others = children_of(process)
        os.kill(first, signal.SIGKILL)
        code = process.wait(timeout=SECONDS_TO_END)

    assert code == 1
    assert not any(map(is_alive, others))


def test_a_worker_that_ends_later_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "MIN_SECONDS_TO_RESTART", 0.0)
    started = worker._start("default", worker.workers()["default"])
    first = started.process
    first.kill()
    first.wait()

    try:
        assert worker._is_running(started)
        assert started.process.pid != first.pid
        assert is_alive(started.process.pid)
    finally:
        worker._stop([started.process])


def test_workers_end_when_the_command_is_killed() -> None:
    with python_process(*WORKER) as process:
        wait_until(lambda: len(children_of(process)) == 3)
        children = children_of(process)
        process.kill()
        wait_until(lambda: not any(map(is_alive, children)))


def test_a_terminated_database_connection_is_replaced(receiver: Receiver) -> None:
    webhook = webhook_to(receiver.url())
    with worker_process("webhooks", WEBHOOKS_THREADS="1") as process:
        emit_many(webhook, 1)
        wait_until(lambda: are_delivered(1))
        ended = end_connections_of_others()
        emit_many(webhook, 1)
        wait_until(lambda: are_delivered(2))

        assert ended >= 1
        assert process.poll() is None


def end_connections_of_others() -> int:
    parameters = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    address = {name: parameters[name] for name in names if name in parameters}
    ours = connection.connection.info.backend_pid
    with psycopg.connect(**address, autocommit=True) as other:
        ended = other.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid NOT IN (pg_backend_pid(), %s)",
            [ours],
        ).fetchone()
    assert ended is not None
    return int(ended[0])


def _swept() -> bool:
    """Wake the sweep, as the scheduler does again and again: the wake of the event itself may be lost."""
    wake("webhooks.sweep")
    return True


def test_each_attempt_is_logged_as_a_line_of_json(receiver: Receiver, tmp_path: Path) -> None:
    webhook = webhook_to(receiver.script("/", ScriptedResponse(status=500)))
    emit_many(webhook, 1)
    log = tmp_path / "log"

    with worker_process("webhooks", log=log):
        wait_until(lambda: _swept() and "webhooks.attempt" in log.read_text())

    [line] = [json.loads(line) for line in log.read_text().splitlines() if "webhooks.attempt" in line]
    assert (line["webhook_id"], line["outcome"], line["status"]) == (webhook.pk, "failed", 500)
