"""What happens to a delivery, its webhook or its worker while an attempt is under way."""

from __future__ import annotations

import pytest
from django.db import connection

from tests.webhooks.receiving import Receiver, Scripted
from tests.webhooks.sending_to import sent, told, wait_until, webhook
from tests.webhooks.telling import NOON
from tests.webhooks.test_sending_turns import before_each_post, held_elsewhere
from webhooks.services import lanes, webhooks

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_the_address_before_answers_says_nothing_of_the_new_one(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = webhook(receiver.script("/old", Scripted(status=410)))
    delivery = told()

    def move() -> None:
        fields = {"url": receiver.url("/new")}
        webhooks.change(community_id=to.community_id, webhook_id=to.pk, fields=fields, at=NOON)

    before_each_post(monkeypatch, move)

    sent(to)

    to.refresh_from_db()
    delivery.refresh_from_db()
    assert (to.url, to.is_active, to.disabled_reason) == (receiver.url("/new"), True, None)
    assert delivery.status == "abandoned"


def test_a_lock_that_another_session_took_is_given_up_with_the_connection() -> None:
    with lanes.hold(1, 0):
        taken_by = connection.connection  # as where a pooler gives each statement another session
        connection.connection = None
    try:
        assert connection.connection is None
    finally:
        taken_by.close()

    with lanes.hold(1, 0):
        pass


def test_a_worker_that_stands_still_loses_its_lane_with_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as short_leases:
        short_leases.setattr(lanes, "_TAKE", lanes._TAKE.replace(f"{lanes.SECONDS_OF_A_LEASE}s", "100ms"))
        with held_elsewhere(lambda: lanes.hold(1, 0)):
            short_leases.undo()
            wait_until(lambda: can_be_taken(1, 0))


def can_be_taken(webhook_id: int, lane: int) -> bool:
    try:
        with lanes.hold(webhook_id, lane):
            return True
    except lanes.Taken:
        return False
