"""The outcome of an attempt, and its effect on the delivery and the webhook. One statement writes all of
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from communities.ground import rounding
from communities.ground.retry_after import read_retry_after
from communities.ground.rounding import Rounding
from communities.ground.statements import prepared
from webhooks import retries
from webhooks.models import Delivery, Webhook
from webhooks.sender import EndpointResponse
from webhooks.services.pending import PendingDelivery

GONE = 410
DISABLED_AFTER = timedelta(days=5)  # A webhook is disabled after this time without a success.
# Writes only while the delivery is due, because its body may have been deleted in between. The response may
# repeat the person's name, so it is stored only while the event still names them.
_WRITE = """
    UPDATE webhooks_delivery
    SET status = %(status)s, attempt_count = attempt_count + 1, due_at = %(due_at)s,
        response_status = %(response_status)s, error = %(error)s,
        response_body = CASE
            WHEN %(person_id)s::bigint IS NULL OR EXISTS (SELECT FROM named) THEN %(response_body)s::text
        END,
        last_attempt_at = %(last_attempt_at)s, is_settled = %(is_settled)s,
        attempts = attempts || jsonb_build_array(%(attempt)s::jsonb)
    WHERE id = %(id)s AND attempt_count = %(attempt_count)s AND due_at IS NOT NULL
"""
_NAMED = """
    named AS MATERIALIZED (
        SELECT FROM webhooks_event WHERE id = %(event_id)s AND person_id = %(person_id)s::bigint FOR SHARE
    )
"""
_DELIVERY_ONLY = f"WITH {_NAMED} {_WRITE}"
# The event was sent again and has arrived, so its other deliveries to this webhook need no further attempt.
_SETTLED = """
    settled AS (
        UPDATE webhooks_delivery
        SET status = 'delivered', due_at = NULL, is_settled = %(is_settled)s
        WHERE event_id = %(event_id)s AND webhook_id = %(webhook_id)s AND id <> %(id)s
            AND status IN ('failed', 'abandoned')
    )
"""
# Clears `failing_since` even if the batch did not show it: another partition may have failed since then.
_DELIVERED = f"""
    WITH {_NAMED}, webhook AS (
        UPDATE webhooks_webhook SET failing_since = NULL
        WHERE id = %(webhook_id)s AND url = %(url)s AND failing_since IS NOT NULL
    ), {_SETTLED} {_WRITE}
"""
# The end of the hour in which failures began, so that no webhook is switched off too early. A time at
# midnight may be rounded to the day.
_FAILED_BY = """(failing_since + CASE
    WHEN failing_since = date_trunc('day', failing_since, 'UTC') THEN interval '1 day'
    ELSE interval '1 hour'
END)"""
_NOT_DELIVERED = f"""
    WITH {_NAMED}, webhook AS (
        UPDATE webhooks_webhook
        SET failing_since = coalesce(failing_since, %(failing_since)s),
            is_active = is_active
                AND NOT (%(is_gone)s OR coalesce({_FAILED_BY} <= %(disable_before)s, FALSE)),
            disabled_reason = CASE
                WHEN NOT is_active THEN disabled_reason
                WHEN %(is_gone)s THEN '{Webhook.DisabledReason.GONE.value}'
                WHEN {_FAILED_BY} <= %(disable_before)s THEN '{Webhook.DisabledReason.FAILING.value}'
            END,
            updated_at = CASE
                WHEN is_active AND (%(is_gone)s OR {_FAILED_BY} <= %(disable_before)s)
                THEN greatest(updated_at, %(last_attempt_at)s) ELSE updated_at
            END
        WHERE id = %(webhook_id)s AND deleted_at IS NULL AND url = %(url)s
            AND (failing_since IS NULL
                OR is_active AND (%(is_gone)s OR {_FAILED_BY} <= %(disable_before)s))
    ) {_WRITE}
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: when it began and ended, and the endpoint's response or the error instead."""

    began_at: datetime
    ended_at: datetime
    response: EndpointResponse | None = None
    error: str | None = None

    @property
    def is_success(self) -> bool:
        return self.response is not None and 200 <= self.response.status < 300

    @property
    def is_gone(self) -> bool:
        return self.response is not None and self.response.status == GONE

    @property
    def seconds(self) -> float:
        return (self.ended_at - self.began_at).total_seconds()


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """A delivery's status after an attempt, and the wait until the next one; None if there is no next one."""

    status: Delivery.Status
    wait: timedelta | None


def judge(attempt: Attempt, *, attempts: int, jitter: float) -> DeliveryOutcome:
    """The outcome of an attempt. `attempts` counts this one too; `jitter` is 0 to 1."""
    if attempt.is_success:
        return DeliveryOutcome(Delivery.Status.DELIVERED, None)
    if attempt.is_gone:
        return DeliveryOutcome(Delivery.Status.ABANDONED, None)
    header = attempt.response.retry_after if attempt.response else None
    requested = read_retry_after(header, at=attempt.ended_at)
    wait = retries.wait_after(attempts, jitter=jitter, retry_after=requested)
    return DeliveryOutcome(Delivery.Status.ABANDONED if wait is None else Delivery.Status.FAILED, wait)


def _kept(attempt: Attempt, rounded_to: str | None) -> dict[str, object]:
    """The stored part of an attempt. The response's text is left out, because it may repeat the event."""
    return {
        "attempted_at": rounding.down(attempt.began_at, rounded_to),
        "response_status": attempt.response.status if attempt.response else None,
        "error": attempt.error,
        "milliseconds": round(attempt.seconds * 1000),
    }


def write(delivery: PendingDelivery, attempt: Attempt, outcome: DeliveryOutcome) -> bool:
    """Write an outcome.

    False if the delivery was deleted or has ended, or if another worker has attempted it too. A delivery
    about an anonymous response may just have been rewritten (`housekeeping`), and then its old row is not
    found. It is updated by a second statement, which does not count the attempt for the webhook again.
    """
    response, wait = attempt.response, outcome.wait
    values: dict[str, Any] = {
        "id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "url": delivery.url,  # A response from an earlier address says nothing about the current address.
        "event_id": delivery.event_id,
        "person_id": delivery.person_id,
        "attempt_count": delivery.attempt_count,
        "status": outcome.status.value,
        "due_at": None if wait is None else rounding.up(attempt.ended_at + wait, delivery.rounding),
        "response_status": response.status if response else None,
        # A response may number or time the anonymous events that the endpoint received.
        "response_body": response.text if response and delivery.rounding is None else None,
        "error": attempt.error,
        "last_attempt_at": rounding.down(attempt.began_at, delivery.rounding),
        "is_settled": delivery.rounding is None,
        "attempt": orjson.dumps(_kept(attempt, delivery.rounding)).decode(),
        "is_gone": attempt.is_gone,
        # The time is never more precise than an hour, because the failed delivery may be about an anonymous
        # response.
        "failing_since": rounding.down(attempt.ended_at, delivery.rounding or Rounding.HOUR),
        "disable_before": attempt.ended_at - DISABLED_AFTER,
    }
    with prepared() as cursor:
        cursor.execute(_DELIVERED if attempt.is_success else _NOT_DELIVERED, values)
        if not cursor.rowcount and delivery.rounding is not None:
            cursor.execute(_DELIVERY_ONLY, values)
        return bool(cursor.rowcount)
