"""Sending what is due: one lane of a webhook after another, each by one worker at a time.

An attempt is made without a transaction and written at once, so a worker that is killed repeats at most the
attempt that it was in.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.utils import timezone

from communities.queue import wake
from webhooks import signing
from webhooks.models import Webhook
from webhooks.sender import Answer, Line, NotAnswered
from webhooks.services import due, lanes, outcomes
from webhooks.services.due import Batch, Due, Early
from webhooks.services.outbox import DELIVER
from webhooks.services.outcomes import Attempt, Outcome
from webhooks.services.webhooks import signing_secrets

SECONDS_OF_A_TURN = 10  # then other lanes have theirs
SECONDS_OF_A_BATCH = 1  # that long may what was read of a webhook be out of date
SECONDS_UNTIL_EARLY_AGAIN = 5
LONGEST_COUNTDOWN = timedelta(minutes=5.5)
OUR_FAULT = "Colloquy could not send this, by a fault of its own."

log = structlog.get_logger("colloquy.webhooks")
Clock = Callable[[], datetime]
_told_to_stop = threading.Event()


def stop() -> None:
    """Have every turn in this process end after the attempt that it is in. What is left stays due."""
    _told_to_stop.set()


def wake_due(*, at: datetime) -> int:
    """Wake every lane in which something is due; how many they are."""
    found = due.lanes(at=at)
    for webhook_id, lane in found:
        wake(DELIVER, webhook_id=webhook_id, lane=lane)
    return len(found)


def drain(*, webhook_id: int, lane: int, early: Early | None = None, now: Clock = timezone.now) -> None:
    """Send what is due in one lane, and the delivery `early` though its row says later.

    Where another worker is at it nothing is done, for that one looks again when it is through.
    """
    ends = time.monotonic() + SECONDS_OF_A_TURN
    turn = _Turn(webhook_id, lane, early, now)
    try:
        while not _told_to_stop.is_set():
            turn.work()
            # Now that the lane is free: whoever was woken while it was not has gone without a word.
            if not due.is_any(webhook_id=webhook_id, lane=lane, at=now()):
                break
            if time.monotonic() >= ends:
                wake(DELIVER, webhook_id=webhook_id, lane=lane)
                break
        else:  # told to stop before it came to that
            turn.put_early_off()
    except lanes.Taken:
        turn.put_early_off()
    finally:
        turn.hang_up()


class _Turn:
    """A worker's turn at one lane, with the connection that it keeps to the endpoint."""

    def __init__(self, webhook_id: int, lane: int, early: Early | None, now: Clock) -> None:
        self._webhook_id = webhook_id
        self._lane = lane
        self._early = early
        self._now = now
        self._line: Line | None = None
        self._url = ""
        self._secrets: list[str] = []

    def work(self) -> None:
        """Send what is due until one fails or somebody says stop. Raises lanes.Taken."""
        is_alone = False
        with lanes.hold(self._webhook_id, self._lane), ExitStack() as held:
            while batch := self._read():
                if batch.webhook.failing_since is not None and not is_alone:
                    held.enter_context(lanes.hold_failing(self._webhook_id))
                    is_alone = True
                self._early = None
                if not self._send(batch):
                    return

    def put_early_off(self) -> None:
        """Have the early one come again: whoever holds the lane knows nothing of it."""
        if self._early is not None:
            self._wake_early(self._early, seconds=SECONDS_UNTIL_EARLY_AGAIN)

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _read(self) -> Batch | None:
        if self._early is not None:
            batch = due.read_early(webhook_id=self._webhook_id, lane=self._lane, early=self._early)
            if batch is not None:
                return batch
            self._early = None
        return due.read(webhook_id=self._webhook_id, lane=self._lane, at=self._now())

    def _send(self, batch: Batch) -> bool:
        """Whether to read on at once: this batch was full or has become old, and none failed."""
        good_until = time.monotonic() + SECONDS_OF_A_BATCH
        self._secrets = []
        for delivery in batch.deliveries:
            if _told_to_stop.is_set():
                return False
            attempt = self._try(batch.webhook, delivery)
            self._write(delivery, attempt)
            if not attempt.is_success:
                return False
            if time.monotonic() > good_until:
                return True
        return len(batch.deliveries) == due.MOST_AT_ONCE

    def _try(self, webhook: Webhook, delivery: Due) -> Attempt:
        begun_at = self._now()
        answer, error = None, None
        try:
            answer = self._post(webhook, delivery, begun_at)
        except NotAnswered as failure:
            error = str(failure)
        except Exception:  # a failure like others, or this one would stand before all the rest for ever
            log.exception("webhooks.fault", webhook_id=webhook.pk)
            error = OUR_FAULT
        return Attempt(begun_at, self._now(), answer, error)

    def _post(self, webhook: Webhook, delivery: Due, at: datetime) -> Answer:
        self._secrets = self._secrets or signing_secrets(webhook, at=at)
        headers = signing.headers(self._secrets, event_id=delivery.event_id, body=delivery.body, at=at)
        return self._line_to(webhook.url).post(delivery.body.encode(), headers)

    def _line_to(self, url: str) -> Line:
        if self._line is None or url != self._url:
            self.hang_up()
            self._url = url
            self._line = Line(
                url,
                allow_http=settings.WEBHOOKS_ALLOW_HTTP,
                allow_private=settings.WEBHOOKS_ALLOW_PRIVATE_NETWORKS,
            )
        return self._line

    def _write(self, delivery: Due, attempt: Attempt) -> None:
        outcome = outcomes.judge(attempt, attempts=delivery.attempt_count + 1, jitter=random.random())
        is_written = outcomes.write(delivery, attempt, outcome)
        if is_written and delivery.rounding and outcome.wait and outcome.wait <= LONGEST_COUNTDOWN:
            # Its row names the end of an hour or a day, which is too late.
            early = Early(delivery.id, attempts=delivery.attempt_count + 1)
            self._wake_early(early, seconds=outcome.wait.total_seconds())
        _tell(delivery, attempt, outcome)

    def _wake_early(self, early: Early, *, seconds: float) -> None:
        wake(
            DELIVER,
            countdown=seconds,
            webhook_id=self._webhook_id,
            lane=self._lane,
            early=str(early.delivery_id),
            attempts=early.attempts,
        )


def _tell(delivery: Due, attempt: Attempt, outcome: Outcome) -> None:
    """A line in the log. It has a time, so it does not name what tells of an anonymous response."""
    ids: dict[str, object] = {}
    if delivery.rounding is None:
        ids = {"delivery_id": str(delivery.id), "event_id": str(delivery.event_id)}
    log.info(
        "webhooks.attempt",
        webhook_id=delivery.webhook_id,
        **ids,
        outcome=outcome.status.value,
        status=attempt.answer and attempt.answer.status,
        milliseconds=round((attempt.ended_at - attempt.begun_at).total_seconds() * 1000, 1),
    )
