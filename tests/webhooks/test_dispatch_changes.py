"""Changes to a delivery, its webhook or its worker while an attempt is under way."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.support.concurrency import held_elsewhere, wait_until
from tests.support.webhooks.delivery_runs import before_each_post, drain_all, emit_delivery, webhook_to
from tests.support.webhooks.outbox import MID_HOUR
from tests.support.webhooks.receiver import Receiver, ScriptedResponse
from webhooks.services import locks, webhooks

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_response_from_the_old_url_does_not_affect_the_new_one(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = webhook_to(receiver.script("/old", ScriptedResponse(status=410)))
    delivery = emit_delivery()

    def move() -> None:
        fields = {"url": receiver.url("/new")}
        webhooks.change(
            actor=None, community_id=webhook.community_id, webhook_id=webhook.pk, fields=fields, at=MID_HOUR
        )

    before_each_post(monkeypatch, move)

    drain_all(webhook)

    webhook.refresh_from_db()
    delivery.refresh_from_db()
    assert (webhook.url, webhook.is_active, webhook.disabled_reason) == (receiver.url("/new"), True, None)
    assert delivery.status == "abandoned"


def test_a_lock_of_another_session_is_released_with_the_connection() -> None:
    with locks.partition_lock(1, 0):
        locked_by = connection.connection  # as if a pooler gave each statement another session
        connection.connection = None
    try:
        assert connection.connection is None
    finally:
        locked_by.close()

    with locks.partition_lock(1, 0):
        pass


def test_a_suspended_worker_loses_its_partition_with_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as short_leases:
        short_leases.setattr(locks, "_LOCK", locks._LOCK.replace(f"{locks.LEASE_SECONDS}s", "100ms"))
        with held_elsewhere(lambda: locks.partition_lock(1, 0)):
            short_leases.undo()
            wait_until(lambda: is_free(1, 0))


def is_free(webhook_id: int, partition: int) -> bool:
    try:
        with locks.partition_lock(webhook_id, partition):
            return True
    except locks.Busy:
        return False
