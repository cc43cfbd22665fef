"""Row 13: the cost of a delivery, and whether an endpoint that hangs delays another."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from celery import current_app
from django.utils import timezone

from tests.bench import processes, rows, servers
from tests.bench.rows import Bench, Result
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks.models import Delivery, Event, Webhook
from webhooks.services import webhooks
from webhooks.services.outbox import DELIVER

HEALTHY = "/healthy"  # the endpoint's path
BURST = 500
BURSTS = 3
ONE_BY_ONE = 200
SECONDS_TO_DELIVER = 120
SECONDS_BETWEEN_LOOKS = 0.1
NOT_YET = timedelta(hours=1)


def delivered(bench: Bench) -> list[Result]:
    """The endpoint's own CPU time is not counted."""
    if not isinstance(bench.colloquy, servers.Site):
        return []  # there is no worker to measure in one process
    data = bench.colloquy.data
    with Receiver() as receiver:
        outbox = Outbox(bench, receiver)
        with servers.worker(data) as worker:
            ours = Post(data, worker, outbox, outbox.wake)
            together, alone = ours.burst(), ours.one_by_one()
            isolation = _isolation(outbox)
        with _minimal(data, outbox) as minimal:
            least = Post(data, minimal.pid, outbox, lambda _: _tell(minimal))
            least_together, least_alone = least.burst(), least.one_by_one()
        outbox.listen_no_more()
    note = f"{alone.milliseconds:.0f} ms from the wake to the arrival"
    return [
        Result("13", f"webhook delivered, {BURST} at once", together, least_together, 2, 1),
        # The goal is for batches; one by one a wake of Celery's costs more than what it is for.
        Result("13", "webhook delivered, one by one", alone.cost, least_alone.cost, note=note),
        isolation,
    ]


def _isolation(outbox: Outbox) -> Result:
    """How much longer a healthy endpoint waits for its events where another never answers."""
    alone, beside = [], []
    for _ in range(BURSTS):
        alone.append(outbox.seconds_to_healthy())
        with outbox.one_that_hangs():
            beside.append(outbox.seconds_to_healthy())
    times = statistics.median(beside) / statistics.median(alone)
    note = f"{statistics.median(alone):.2f} s alone, {statistics.median(beside):.2f} s beside it"
    what = f"{BURST} to a healthy endpoint beside one that hangs"
    return Result("13", what, times, None, 1.25, 1.1, "times", note=note)


class Outbox:
    """A webhook whose endpoint answers, and deliveries, written without waking anybody."""

    def __init__(self, bench: Bench, receiver: Receiver) -> None:
        self.receiver = receiver
        self._community_id = bench.world.community_id
        self.healthy = self._register(receiver.url(HEALTHY))
        self._body = self._body_of_a_response(bench)

    def write(self, webhook: Webhook, count: int, *, due_at: datetime) -> list[Delivery]:
        """Write `count` deliveries, spread over the partitions like the outbox does."""
        fields = {"community_id": self._community_id, "type": "response.submitted", "body": self._body}
        events = Event.objects.bulk_create(Event(**fields, created_at=timezone.now()) for _ in range(count))
        return Delivery.objects.bulk_create(
            Delivery(
                webhook=webhook,
                event=event,
                partition=number % Delivery.PARTITIONS,
                due_at=due_at,
                created_at=event.created_at,
            )
            for number, event in enumerate(events)
        )

    def wake(self, partition: int, webhook: Webhook | None = None) -> None:
        """Without an argument, for the healthy endpoint."""
        kwargs = {"webhook_id": (webhook or self.healthy).pk, "partition": partition}
        current_app.send_task(DELIVER, kwargs=kwargs, ignore_result=True)

    def wait_until_delivered(self, webhook: Webhook) -> None:
        deadline = time.monotonic() + SECONDS_TO_DELIVER
        waiting = Delivery.objects.filter(webhook=webhook, due_at__isnull=False)
        while waiting.exists():
            if time.monotonic() > deadline:
                raise SystemExit(f"{waiting.count()} deliveries were not made.")
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def seconds_to_healthy(self) -> float:
        """From the wake to the last arrival."""
        came = len(self.receiver.requests(HEALTHY))
        self.write(self.healthy, BURST, due_at=timezone.now())
        begun = time.monotonic()
        for partition in range(Delivery.PARTITIONS):
            self.wake(partition)
        self.receiver.wait_for(came + BURST, HEALTHY, seconds=SECONDS_TO_DELIVER)
        took = time.monotonic() - begun
        self.wait_until_delivered(self.healthy)
        return took

    @contextmanager
    def one_that_hangs(self) -> Iterator[None]:
        """Another endpoint, which never answers. It has equally many due deliveries."""
        with Receiver() as receiver:
            webhook = self._register(receiver.script("/hanging", ScriptedResponse(hangs=True)))
            self.write(webhook, BURST, due_at=timezone.now())
            for partition in range(Delivery.PARTITIONS):
                self.wake(partition, webhook)
            receiver.wait_for(Delivery.PARTITIONS, seconds=SECONDS_TO_DELIVER)
            yield
            Webhook.objects.filter(pk=webhook.pk).update(is_active=False)

    def listen_no_more(self) -> None:
        """Otherwise it would receive later events."""
        Webhook.objects.filter(pk=self.healthy.pk).update(is_active=False)

    def _register(self, url: str) -> Webhook:
        webhook, _ = webhooks.register(
            actor=None,
            community_id=self._community_id,
            url=url,
            events=["*"],
            name="Measured",
            is_active=True,
            at=timezone.now(),
        )
        return webhook

    def _body_of_a_response(self, bench: Bench) -> str:
        rows.converse(bench, bench.colloquy.client())
        body = Event.objects.filter(type="response.submitted").order_by("-created_at").values_list("body")
        [text] = body[:1].get()
        assert text is not None
        return text


@dataclass(frozen=True)
class Alone:
    """Of deliveries by themselves: CPU milliseconds of one, and milliseconds from the wake to the arrival."""

    cost: float
    milliseconds: float


class Post:
    """A process that empties the outbox, with its children. `wake` takes the number of a partition."""

    def __init__(
        self, data: servers.DataServers, pid: int, outbox: Outbox, wake: Callable[[int], object]
    ) -> None:
        self._pids = [pid, *data.pids]
        self._outbox = outbox
        self._wake = wake

    def burst(self) -> float:
        """CPU milliseconds of one of many that are due at one time."""
        self._one_burst()  # warms up
        return statistics.fmean(self._one_burst() for _ in range(BURSTS))

    def _one_burst(self) -> float:
        self._outbox.write(self._outbox.healthy, BURST, due_at=timezone.now())

        def deliver() -> None:
            for partition in range(Delivery.PARTITIONS):
                self._wake(partition)
            self._outbox.wait_until_delivered(self._outbox.healthy)

        return self._cost(deliver, BURST)

    def one_by_one(self) -> Alone:
        """Making them due is not counted."""
        outbox = self._outbox
        deliveries = outbox.write(outbox.healthy, ONE_BY_ONE, due_at=timezone.now() + NOT_YET)
        waits: list[float] = []

        def only_make_due() -> None:
            for delivery in deliveries:
                _make_due(delivery, timezone.now() + NOT_YET)

        def deliver() -> None:
            for delivery in deliveries:
                came = len(outbox.receiver.requests(HEALTHY))
                _make_due(delivery, timezone.now())
                begun = time.monotonic()
                self._wake(delivery.partition)
                outbox.receiver.wait_for(came + 1, HEALTHY, seconds=SECONDS_TO_DELIVER)
                waits.append((time.monotonic() - begun) * 1000)
            outbox.wait_until_delivered(outbox.healthy)

        of_making_due = self._cost(only_make_due, ONE_BY_ONE)
        return Alone(self._cost(deliver, ONE_BY_ONE) - of_making_due, statistics.median(waits))

    def _cost(self, work: Callable[[], object], count: int) -> float:
        before = processes.cpu_ms(self._pids)
        work()
        return (processes.cpu_ms(self._pids) - before) / count


def _make_due(delivery: Delivery, at: datetime) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(due_at=at)


@contextmanager
def _minimal(data: servers.DataServers, outbox: Outbox) -> Iterator[subprocess.Popen[str]]:
    arguments: Sequence[object] = [data.database_url, outbox.receiver.port, HEALTHY, outbox.healthy.pk]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.minimal_delivery", *map(str, arguments)],
        cwd=servers.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.stdin.close()


def _tell(process: subprocess.Popen[str]) -> None:
    """Let it send the due deliveries."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    process.stdout.readline()
