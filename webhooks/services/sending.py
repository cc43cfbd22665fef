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
from datetime import datetime

import structlog
from django.conf import settings
from django.utils import timezone

from communities.queue import wake
from webhooks import signing
from webhooks.models import Webhook
from webhooks.sender import Answer, Line, NotAnswered
from webhooks.services import due, lanes, outcomes
from webhooks.services.due import Batch, Due
from webhooks.services.early import LONGEST, Early, reminders
from webhooks.services.outbox import DELIVER
from webhooks.services.outcomes import Attempt, Outcome
from webhooks.services.webhooks import signing_secrets

SECONDS_OF_A_TURN = 10  # then other lanes have theirs
SECONDS_OF_A_BATCH = 1  # that long may what was read of a webhook be out of date
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


def drain(*, webhook_id: int, lane: int, now: Clock = timezone.now) -> None:
    """Send what is due in one lane.

    Where another worker is at it nothing is done, for that one looks again when it is through.
    """
    turn = _Turn(webhook_id, lane, now)
    try:
        while not _told_to_stop.is_set():
            turn.work()
            # Now that the lane is free: whoever was woken while it was not has gone without a word.
            if not due.is_any(webhook_id=webhook_id, lane=lane, at=now()):
                break
            if turn.is_over():
                if not turn.had_share:  # else the sweep says whose turn it is, or this one would always win
                    wake(DELIVER, webhook_id=webhook_id, lane=lane)
                break
    except lanes.Taken:
        pass  # what is early stays in mind
    finally:
        turn.hang_up()


class _Turn:
    """A worker's turn at one lane, with the connection that it keeps to the endpoint."""

    def __init__(self, webhook_id: int, lane: int, now: Clock) -> None:
        self._webhook_id = webhook_id
        self._lane = lane
        self._now = now
        self._ends = time.monotonic() + SECONDS_OF_A_TURN
        self.had_share = False  # of the threads for endpoints that fail or are slow
        self._early: Early | None = None  # what the batch was read for
        self._line: Line | None = None
        self._url = ""
        self._secrets: list[str] = []

    def is_over(self) -> bool:
        return time.monotonic() >= self._ends

    def work(self) -> None:
        """Send what is due until one fails, the turn is over or somebody says stop. Raises lanes.Taken."""
        has_share = is_alone = False
        with lanes.hold(self._webhook_id, self._lane), ExitStack() as held:
            while batch := self._read():
                fails = batch.webhook.failing_since is not None
                if not has_share and (fails or lanes.is_slow(self._webhook_id)):
                    held.enter_context(lanes.hold_share())
                    has_share = self.had_share = True
                if not is_alone and fails:
                    held.enter_context(lanes.hold_failing(self._webhook_id))
                    is_alone = True
                goes_on = self._send(batch)
                if self._early is not None:
                    reminders.remove(self._webhook_id, self._lane, self._early)
                if not goes_on or self.is_over():
                    return

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _read(self) -> Batch | None:
        """What is early first, as its time is the shortest."""
        while (early := reminders.due(self._webhook_id, self._lane)) is not None:
            batch = due.read_early(webhook_id=self._webhook_id, lane=self._lane, early=early)
            if batch is not None:
                self._early = early
                return batch
            reminders.remove(self._webhook_id, self._lane, early)
        self._early = None
        return due.read(webhook_id=self._webhook_id, lane=self._lane, at=self._now())

    def _send(self, batch: Batch) -> bool:
        """Whether to read on at once: there may be more, and none failed."""
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
        return self._early is not None or len(batch.deliveries) == due.MOST_AT_ONCE

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
        attempt = Attempt(begun_at, self._now(), answer, error)
        lanes.note_pace(webhook.pk, seconds=(attempt.ended_at - attempt.begun_at).total_seconds())
        return attempt

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
        if is_written and delivery.rounding and outcome.wait and outcome.wait <= LONGEST:
            # Its row names the end of an hour or a day, which is too late.
            early = Early(delivery.id, attempts=delivery.attempt_count + 1)
            reminders.add(self._webhook_id, self._lane, early, wait=outcome.wait)
        _tell(delivery, attempt, outcome)


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
