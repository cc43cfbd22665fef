"""Sends due deliveries. One worker at a time sends a partition of a webhook.

An attempt is made outside any transaction, and its outcome is written at once. So a worker that is killed
repeats at most its current attempt.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime

import structlog
from django.conf import settings
from django.utils import timezone

from communities.ground.faults import log_fault
from communities.ground.queue import wake
from webhooks import signatures
from webhooks.models import Webhook
from webhooks.sender import Connection, DeliveryError, EndpointResponse
from webhooks.services import locks, outcomes, pending, precise_retries, slow_endpoints
from webhooks.services.outbox import DELIVER
from webhooks.services.outcomes import Attempt, DeliveryOutcome
from webhooks.services.pending import Batch, PendingDelivery
from webhooks.services.precise_retries import PreciseRetry
from webhooks.services.webhooks import signing_secrets

SECONDS_OF_A_RUN = 10  # After this time, other partitions get their turn.
SECONDS_OF_A_BATCH = 1  # A webhook's row is read again after this time.
INTERNAL_ERROR = "Colloquy could not send this because of an internal error."

log = structlog.get_logger("colloquy.webhooks")
Clock = Callable[[], datetime]
_is_stopping = threading.Event()


def stop() -> None:
    """End every run of this process after its current attempt. Unsent deliveries stay due."""
    _is_stopping.set()


def wake_due(*, at: datetime) -> int:
    """Wake a worker for each partition with a due delivery. Returns the number of partitions."""
    partitions = pending.due_partitions(at=at)
    for webhook_id, partition in partitions:
        wake(DELIVER, webhook_id=webhook_id, partition=partition)
    return len(partitions)


def drain(*, webhook_id: int, partition: int, now: Clock = timezone.now) -> None:
    """Send the deliveries that are due in one partition.

    Does nothing if another worker is sending this partition: that worker checks again when it has finished.
    """
    run = _Run(webhook_id, partition, now)
    try:
        while not _is_stopping.is_set():
            run.send_due()
            # The check follows the release of the lock: a worker that was woken before the release could not
            # take the lock, and ended.
            if not pending.is_any_due(webhook_id=webhook_id, partition=partition, at=now()):
                break
            if run.is_over():
                # The sweep picks the next partition; otherwise this partition would always win.
                if not run.was_slow:
                    wake(DELIVER, webhook_id=webhook_id, partition=partition)
                break
    except locks.Busy:
        pass  # Precise retries remain scheduled.
    finally:
        run.disconnect()


class _Run:
    """One worker's time with one partition, and its connection to the endpoint."""

    def __init__(self, webhook_id: int, partition: int, now: Clock) -> None:
        self._webhook_id = webhook_id
        self._partition = partition
        self._now = now
        self._ends = time.monotonic() + SECONDS_OF_A_RUN
        self.was_slow = False  # Whether the run used a thread for failing and slow endpoints.
        self._retry: PreciseRetry | None = None  # The reason for the current batch.
        self._connection: Connection | None = None
        self._url = ""
        self._secrets: list[str] = []

    def is_over(self) -> bool:
        return time.monotonic() >= self._ends

    def send_due(self) -> None:
        """Send until nothing is due, an attempt fails, time is up or the process stops. Raises locks.Busy."""
        has_thread = has_slow_thread = is_alone = False
        with locks.partition_lock(self._webhook_id, self._partition), ExitStack() as locked:
            while batch := self._read():
                community_id = batch.webhook.community_id
                is_failing = batch.webhook.failing_since is not None
                is_slow = is_failing or slow_endpoints.is_slow(self._webhook_id)
                if not has_thread:
                    locked.enter_context(slow_endpoints.thread_for(community_id))
                    has_thread = True
                if not has_slow_thread and is_slow:
                    locked.enter_context(slow_endpoints.thread_for_slow_endpoints(community_id))
                    has_slow_thread = self.was_slow = True
                if not is_alone and is_failing:
                    locked.enter_context(locks.failing_webhook_lock(self._webhook_id))
                    is_alone = True
                may_continue = self._send(batch)
                if self._retry is not None:
                    precise_retries.schedule.remove(self._webhook_id, self._partition, self._retry)
                if not may_continue or self.is_over():
                    return

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self) -> Batch | None:
        """Return a precise retry first, because its deadline is the shortest."""
        schedule = precise_retries.schedule
        while (retry := schedule.next_due(self._webhook_id, self._partition)) is not None:
            batch = pending.read_retry(webhook_id=self._webhook_id, partition=self._partition, retry=retry)
            if batch is not None:
                self._retry = retry
                return batch
            schedule.remove(self._webhook_id, self._partition, retry)
        self._retry = None
        return pending.read_batch(webhook_id=self._webhook_id, partition=self._partition, at=self._now())

    def _send(self, batch: Batch) -> bool:
        """Send a batch. Return whether to read the next batch: no delivery failed, and there may be more."""
        fresh_until = time.monotonic() + SECONDS_OF_A_BATCH
        self._secrets = []
        for delivery in batch.deliveries:
            if _is_stopping.is_set():
                return False
            attempt = self._attempt(batch.webhook, delivery)
            self._write(delivery, attempt)
            if not attempt.is_success:
                return False
            if time.monotonic() > fresh_until:
                return True
        return self._retry is not None or len(batch.deliveries) == pending.BATCH_SIZE

    def _attempt(self, webhook: Webhook, delivery: PendingDelivery) -> Attempt:
        began_at = self._now()
        response, error = None, None
        try:
            response = self._post(webhook, delivery, began_at)
        except DeliveryError as failure:
            error = str(failure)
        # The fault counts as a failed attempt; otherwise this delivery would block its partition forever.
        except Exception as fault:
            log_fault(log, "webhooks.fault", fault, webhook_id=webhook.pk)
            error = INTERNAL_ERROR
        attempt = Attempt(began_at, self._now(), response, error)
        slow_endpoints.note_duration(webhook.pk, seconds=attempt.seconds)
        return attempt

    def _post(self, webhook: Webhook, delivery: PendingDelivery, at: datetime) -> EndpointResponse:
        self._secrets = self._secrets or signing_secrets(webhook, at=at)
        headers = signatures.headers(self._secrets, event_id=delivery.event_id, body=delivery.body, at=at)
        return self._connection_to(webhook.url).post(delivery.body.encode(), headers)

    def _connection_to(self, url: str) -> Connection:
        if self._connection is None or url != self._url:
            self.disconnect()
            self._url = url
            self._connection = Connection(
                url,
                allow_http=settings.WEBHOOKS_ALLOW_HTTP,
                allow_private=settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS,
            )
        return self._connection

    def _write(self, delivery: PendingDelivery, attempt: Attempt) -> None:
        outcome = outcomes.judge(attempt, attempts=delivery.attempt_count + 1, jitter=random.random())
        is_written = outcomes.write(delivery, attempt, outcome)
        if is_written and delivery.rounding and outcome.wait and outcome.wait <= precise_retries.MAX_WAIT:
            # The row stores the end of an hour or a day as its due time. A retry at that time would be too
            # late, so the process remembers the precise time.
            retry = PreciseRetry(delivery.id, attempts=delivery.attempt_count + 1)
            precise_retries.schedule.add(self._webhook_id, self._partition, retry, wait=outcome.wait)
        _log_attempt(delivery, attempt, outcome)


def _log_attempt(delivery: PendingDelivery, attempt: Attempt, outcome: DeliveryOutcome) -> None:
    """Log an attempt. Because the line has an exact time, it omits the ids of anonymous deliveries."""
    ids: dict[str, object] = {}
    if delivery.rounding is None:
        ids = {"delivery_id": str(delivery.id), "event_id": str(delivery.event_id)}
    log.info(
        "webhooks.attempt",
        webhook_id=delivery.webhook_id,
        **ids,
        outcome=outcome.status.value,
        status=attempt.response and attempt.response.status,
        milliseconds=round(attempt.seconds * 1000, 1),
    )
