"""What became of an attempt, and what it means for the delivery and its webhook: written by one statement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from communities.statements import prepared
from webhooks import retries, rounding
from webhooks.models import Delivery, Webhook
from webhooks.sender import Answer
from webhooks.services.due import Due

GONE = 410
SWITCHED_OFF_AFTER = timedelta(days=5)  # of nothing but failures
# Only while it is due: its body may have been forgotten meanwhile. What the endpoint answered is kept only
# while the body still names whom it named when it was sent, for it may repeat it.
_WRITE = """
    UPDATE webhooks_delivery
    SET status = %(status)s, attempt_count = attempt_count + 1, due_at = %(due_at)s,
        response_status = %(response_status)s, error = %(error)s,
        response_body = CASE
            WHEN %(person_id)s::bigint IS NULL OR EXISTS (SELECT FROM named) THEN %(response_body)s::text
        END,
        last_attempt_at = %(last_attempt_at)s, is_settled = %(is_settled)s
    WHERE id = %(id)s AND attempt_count = %(attempt_count)s AND due_at IS NOT NULL
"""
_NAMED = """
    named AS MATERIALIZED (
        SELECT FROM webhooks_event WHERE id = %(event_id)s AND person_id = %(person_id)s::bigint FOR SHARE
    )
"""
_AGAIN = f"WITH {_NAMED} {_WRITE}"
# Not only where the batch said so: another lane may have failed since it was read.
_DELIVERED = f"""
    WITH {_NAMED}, webhook AS (
        UPDATE webhooks_webhook SET failing_since = NULL
        WHERE id = %(webhook_id)s AND url = %(url)s AND failing_since IS NOT NULL
    ) {_WRITE}
"""
_NOT_DELIVERED = f"""
    WITH {_NAMED}, webhook AS (
        UPDATE webhooks_webhook
        SET failing_since = coalesce(failing_since, %(failing_since)s),
            is_active = is_active AND NOT (%(is_gone)s OR coalesce(failing_since <= %(off_before)s, FALSE)),
            disabled_reason = CASE
                WHEN NOT is_active THEN disabled_reason
                WHEN %(is_gone)s THEN '{Webhook.DisabledReason.GONE.value}'
                WHEN failing_since <= %(off_before)s THEN '{Webhook.DisabledReason.FAILING.value}'
            END,
            updated_at = CASE
                WHEN is_active AND (%(is_gone)s OR failing_since <= %(off_before)s)
                THEN greatest(updated_at, %(last_attempt_at)s) ELSE updated_at
            END
        WHERE id = %(webhook_id)s AND deleted_at IS NULL AND url = %(url)s
            AND (failing_since IS NULL OR is_active AND (%(is_gone)s OR failing_since <= %(off_before)s))
    ) {_WRITE}
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: when it began and ended, and the answer, or why there was none."""

    begun_at: datetime
    ended_at: datetime
    answer: Answer | None = None
    error: str | None = None

    @property
    def is_success(self) -> bool:
        return self.answer is not None and 200 <= self.answer.status < 300

    @property
    def is_gone(self) -> bool:
        return self.answer is not None and self.answer.status == GONE


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a delivery comes to by an attempt; `wait` is how long it is left alone, None where it is over."""

    status: Delivery.Status
    wait: timedelta | None


def judge(attempt: Attempt, *, attempts: int, jitter: float) -> Outcome:
    """`attempts` are those made so far, this one included; `jitter` is 0 to 1."""
    if attempt.is_success:
        return Outcome(Delivery.Status.DELIVERED, None)
    if attempt.is_gone:
        return Outcome(Delivery.Status.ABANDONED, None)
    header = attempt.answer.retry_after if attempt.answer else None
    asked = retries.read_retry_after(header, at=attempt.ended_at)
    wait = retries.wait_after(attempts, jitter=jitter, retry_after=asked)
    return Outcome(Delivery.Status.ABANDONED if wait is None else Delivery.Status.FAILED, wait)


def write(due: Due, attempt: Attempt, outcome: Outcome) -> bool:
    """False where the delivery is gone or over meanwhile, or where somebody else has tried it too.

    One that was not found is looked for once more, without counting for the webhook again: what tells of an
    anonymous response may have been written anew just now (`housekeeping.settle`).
    """
    answer, wait = attempt.answer, outcome.wait
    values: dict[str, Any] = {
        "id": due.id,
        "webhook_id": due.webhook_id,
        "url": due.url,  # what another address answered says nothing of the one that it has by now
        "event_id": due.event_id,
        "person_id": due.person_id,
        "attempt_count": due.attempt_count,
        "status": outcome.status.value,
        "due_at": None if wait is None else rounding.up(attempt.ended_at + wait, due.rounding),
        "response_status": answer.status if answer else None,
        # What an endpoint answers may number or time what it was told.
        "response_body": answer.text if answer and due.rounding is None else None,
        "error": attempt.error,
        "last_attempt_at": rounding.down(attempt.begun_at, due.rounding),
        "is_settled": due.rounding is None,
        "is_gone": attempt.is_gone,
        # Never finer than an hour: it may be an anonymous response's that failed.
        "failing_since": rounding.up(attempt.ended_at, due.rounding or rounding.Rounding.HOUR),
        "off_before": attempt.ended_at - SWITCHED_OFF_AFTER,
    }
    with prepared() as cursor:
        cursor.execute(_DELIVERED if attempt.is_success else _NOT_DELIVERED, values)
        if not cursor.rowcount and due.rounding is not None:
            cursor.execute(_AGAIN, values)
        return bool(cursor.rowcount)
