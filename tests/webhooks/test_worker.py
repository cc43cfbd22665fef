"""`manage.py worker`: real processes that send to a real endpoint, stop when told to, and die together."""

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

from communities.queue import wake
from config.management.commands import worker
from tests.webhooks.processes import running
from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import told_often, try_for, wait_until, webhook
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]
WORKER = ("manage.py", "worker")
SECONDS_TO_END = 60
ONLY_WEBHOOKS = (*WORKER, "--only", "webhooks")


def are_delivered(count: int) -> bool:
    return Delivery.objects.filter(status="delivered").count() == count


def children_of(process: subprocess.Popen[bytes]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_it_sends_what_it_is_woken_for_and_what_nobody_woke_it_for(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    with running(*ONLY_WEBHOOKS):
        told_often(to, 3)
        wait_until(lambda: are_delivered(3))
        Delivery.objects.update(status="pending", attempt_count=0, due_at=timezone.now())
        wake("webhooks.sweep")
        heard = receiver.wait_for(6)
        wait_until(lambda: are_delivered(3))

    assert {len(each.headers["webhook-signature"].split(" ")) for each in heard} == {1}


def test_told_to_stop_it_ends_soon_though_an_endpoint_hangs_and_nothing_is_lost(receiver: Receiver) -> None:
    to = webhook(receiver.script("/", Scripted(hangs=True), Scripted()))
    told_often(to, 2, lane=0)
    wake("webhooks.sweep")  # for the lanes that they had before

    with running(*WORKER) as process:
        receiver.wait_for(1)
        children = children_of(process)
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=SECONDS_TO_END)

    assert code == 0
    assert len(children) == 3
    assert not any(map(lives, children))
    assert set(Delivery.objects.values_list("status", "attempt_count")) == {("pending", 0)}
    wait_until(lambda: try_for(to, delivered=2))


def test_it_ends_with_a_failure_when_one_of_its_workers_cannot_begin() -> None:
    with running(*WORKER) as process:
        wait_until(lambda: len(children_of(process)) == 3)
        first, *others = children_of(process)
        os.kill(first, signal.SIGKILL)
        code = process.wait(timeout=SECONDS_TO_END)

    assert code == 1
    assert not any(map(lives, others))


def test_a_worker_that_ends_after_a_while_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SECONDS_OF_A_BEGINNING", 0.0)
    started = worker._start("default", worker.workers()["default"])
    first = started.process
    first.kill()
    first.wait()

    try:
        assert worker._lives(started)
        assert started.process.pid != first.pid
        assert lives(started.process.pid)
    finally:
        worker._stop([started.process])


def test_its_workers_end_when_it_is_killed() -> None:
    with running(*WORKER) as process:
        wait_until(lambda: len(children_of(process)) == 3)
        children = children_of(process)
        process.kill()
        wait_until(lambda: not any(map(lives, children)))


def test_a_connection_to_the_database_that_was_ended_is_replaced(receiver: Receiver) -> None:
    to = webhook(receiver.url())
    with running(*ONLY_WEBHOOKS, WEBHOOKS_THREADS="1") as process:
        told_often(to, 1)
        wait_until(lambda: are_delivered(1))
        [worker] = children_of(process)
        ended = end_connections_of_others()
        told_often(to, 1)
        wait_until(lambda: are_delivered(2))

        assert ended >= 1
        assert lives(worker)


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


def test_each_attempt_is_a_line_of_json_in_the_log(receiver: Receiver, tmp_path: Path) -> None:
    to = webhook(receiver.script("/", Scripted(status=500)))
    told_often(to, 1)
    log = tmp_path / "log"

    with running(*ONLY_WEBHOOKS, log=log):
        wait_until(lambda: "webhooks.attempt" in log.read_text())

    [line] = [json.loads(line) for line in log.read_text().splitlines() if "webhooks.attempt" in line]
    assert (line["webhook_id"], line["outcome"], line["status"]) == (to.pk, "failed", 500)
