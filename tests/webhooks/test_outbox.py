"""Many events at once: one statement writes them, and a delivery of each for every webhook that listens.

Rules 9.7 and 9.10.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection, transaction

from communities.ground.rounding import Rounding
from tests.support.surveys.scenario import at_most
from tests.support.webhooks.outbox import MID_HOUR, create_webhook
from webhooks.events import EventType
from webhooks.models import Delivery, Event
from webhooks.services import outbox
from webhooks.services.outbox import Happening

pytestmark = pytest.mark.django_db(transaction=True)

COMMUNITY = 1  # of `create_webhook`


def emit_many(*happenings: Happening, **fields: Any) -> None:
    with transaction.atomic():
        outbox.emit_many(
            community_id=COMMUNITY,
            type=EventType.RESPONSE_SUBMITTED,
            happenings=happenings,
            at=MID_HOUR,
            **fields,
        )


def test_each_event_has_its_own_body_and_person_and_a_delivery_for_each_listener() -> None:
    """Rule 9.5."""
    listeners = {create_webhook().pk, create_webhook(project_ids=[7]).pk}
    create_webhook(project_ids=[8])
    create_webhook(events=[EventType.PROJECT_OPENED])

    emit_many(Happening("response a", {"n": 1}, person_id=5), Happening("response b", {"n": 2}), project_id=7)

    events = sorted(Event.objects.all(), key=lambda event: str(event.body))
    bodies = sorted((json.loads(str(event.body)) for event in events), key=lambda body: body["data"]["n"])
    assert [body["data"] for body in bodies] == [{"n": 1}, {"n": 2}]
    by_id = {str(event.pk): event for event in events}
    assert [by_id[body["id"]].person_id for body in bodies] == [5, None]
    heard = set(Delivery.objects.values_list("event_id", "webhook_id"))
    assert heard == {(event.pk, webhook) for event in events for webhook in listeners}
    assert Delivery.objects.count() == 4


def test_events_about_one_object_share_a_partition_and_each_partition_is_woken_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    webhook = create_webhook()
    woken: list[tuple[int, int]] = []
    monkeypatch.setattr(
        outbox, "wake", lambda task, *, webhook_id, partition: woken.append((webhook_id, partition))
    )

    emit_many(*[Happening(f"response {n % 20}", {"n": n}) for n in range(100)])

    partitions: dict[int, set[int]] = {}
    for delivery in Delivery.objects.select_related("event"):
        n = json.loads(str(delivery.event.body))["data"]["n"]
        partitions.setdefault(n % 20, set()).add(delivery.partition)
    assert {len(each) for each in partitions.values()} == {1}
    used = {partition for each in partitions.values() for partition in each}
    assert sorted(woken) == [(webhook.pk, partition) for partition in sorted(used)]


@pytest.mark.parametrize(("number", "statements"), [(0, 0), (1, 1), (50, 1)])
def test_however_many_there_are_they_take_one_statement(number: int, statements: int) -> None:
    create_webhook()

    with at_most(statements):
        emit_many(*[Happening(f"response {n}", {}) for n in range(number)], rounded_to=Rounding.HOUR)

    assert (Event.objects.count(), Delivery.objects.count()) == (number, number)
    assert not Event.objects.filter(is_settled=True).exists()


def test_they_are_written_in_the_transaction_of_their_change() -> None:
    assert not connection.in_atomic_block

    with pytest.raises(AssertionError, match="in the transaction of its change"):
        outbox.emit_many(
            community_id=COMMUNITY,
            type=EventType.RESPONSE_SUBMITTED,
            happenings=[Happening("response a", {})],
            at=MID_HOUR,
        )
