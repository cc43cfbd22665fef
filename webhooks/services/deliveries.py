"""Deliveries: their status, and delivering again (rules 9.1 and 9.17 to 9.20)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import orjson
from django.db.models import Exists, OuterRef, Q, QuerySet

from communities.ground import rounding
from communities.ground.actors import Actor
from communities.ground.audit_actions import Action
from communities.ground.errors import Conflict, NotFound
from communities.ground.queue import wake
from communities.ground.rounding import Rounding
from communities.ground.transactions import in_transaction
from webhooks.models import Delivery, Event
from webhooks.services import history, webhooks
from webhooks.services.outbox import DELIVER

NOT_ARRIVED = (Delivery.Status.FAILED, Delivery.Status.ABANDONED)
MAX_REDELIVERED = 1_000  # One request sends at most this many deliveries again.
PACE = timedelta(milliseconds=50)  # The time between two deliveries that are sent again: 20 a second.
REDELIVERY_PARTITION = (
    # All deliveries that one request sends again are in this partition, because partitions are sent in
    # parallel.
    0
)
MAX_READ = 5_000  # At most this many deliveries of a range are read, because an event may have several.


def as_json(delivery: Delivery) -> dict[str, object]:
    """A delivery as the interface shows it (rule 9.1), and its error. Needs its event loaded."""
    is_retried = delivery.status == Delivery.Status.FAILED
    return {
        "id": str(delivery.pk),
        "webhook_id": str(delivery.webhook_id),
        "event_type": delivery.event.type,
        "event_id": str(delivery.event_id),
        "status": delivery.status,
        "attempt_count": delivery.attempt_count,
        "response_status": delivery.response_status,
        "response_body": delivery.response_body,
        "last_attempt_at": delivery.last_attempt_at,
        "next_retry_at": delivery.due_at if is_retried else None,
        "created_at": delivery.created_at,
        "error": delivery.error,
    }


def deliveries_of(
    *,
    community_id: int,
    webhook_id: int,
    status: str | None = None,
    event_type: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[Delivery]:
    """A webhook's deliveries, newest first. Refuses a webhook that the community does not have.

    `since` is inclusive, `until` is not.
    """
    webhook = webhooks.find(community_id=community_id, webhook_id=webhook_id)
    deliveries = Delivery.objects.filter(webhook_id=webhook.pk)
    if status is not None:
        deliveries = deliveries.filter(status=status)
    if event_type is not None:
        deliveries = deliveries.filter(event__type=event_type)
    if since is not None:
        deliveries = deliveries.filter(created_at__gte=since)
    if until is not None:
        deliveries = deliveries.filter(created_at__lt=until)
    return deliveries.select_related("event").defer("event__body").order_by("-created_at", "-pk")


def older_than(
    deliveries: QuerySet[Delivery], *, webhook_id: int, delivery_id: uuid.UUID
) -> QuerySet[Delivery]:
    """The deliveries after a delivery of the webhook in the order of the list.

    Refuses an unknown delivery.
    """
    of_webhook = Delivery.objects.filter(webhook_id=webhook_id, pk=delivery_id)
    created_at = of_webhook.values_list("created_at", flat=True).first()
    if created_at is None:
        raise NotFound("There is no such delivery.")
    # The second condition implies the first; the first makes the index usable.
    return deliveries.filter(
        Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=delivery_id),
        created_at__lte=created_at,
    )


def find(*, community_id: int, delivery_id: uuid.UUID) -> Delivery:
    """A delivery with its event. Refuses a delivery of another community, or of a deleted webhook."""
    delivery = (
        Delivery.objects.select_related("event", "webhook")
        .filter(pk=delivery_id, webhook__community_id=community_id, webhook__deleted_at__isnull=True)
        .first()
    )
    if delivery is None:
        raise NotFound("There is no such delivery.")
    return delivery


def arrived_as(delivery: Delivery) -> Delivery | None:
    """The delivery of the same event that arrived instead of this one; None if there is none."""
    if not delivery.arrived_when_sent_again:
        return None
    arrived = Delivery.objects.filter(
        event_id=delivery.event_id,
        webhook_id=delivery.webhook_id,
        status=Delivery.Status.DELIVERED,
        response_status__range=(200, 299),
    )
    return arrived.defer("response_body").order_by("-created_at", "-pk").first()


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """One attempt: when it began, its result in words, and its duration."""

    at: datetime
    outcome: str
    milliseconds: int


def attempts_of(delivery: Delivery) -> list[PastAttempt]:
    """The attempts of a delivery, newest first. Attempts from before attempts were stored are missing."""
    return [
        PastAttempt(
            datetime.fromisoformat(each["attempted_at"]),
            each["error"] or f"Answered {each['response_status']}",
            each["milliseconds"],
        )
        for each in reversed(delivery.attempts)
    ]


def attempts_as_json(delivery: Delivery) -> list[dict[str, object]]:
    """The attempts of a delivery as the interface shows them, oldest first (rule 9.16)."""
    return [
        {**each, "attempted_at": datetime.fromisoformat(each["attempted_at"])} for each in delivery.attempts
    ]


def payload(delivery: Delivery) -> object:
    """The body that every attempt sends; None once it has been deleted."""
    body = delivery.event.body
    return None if body is None else orjson.loads(body)


@in_transaction
def redeliver_range(
    *,
    actor: Actor,
    community_id: int,
    webhook_id: int,
    since: datetime,
    until: datetime | None,
    statuses: Collection[str] = NOT_ARRIVED,
    at: datetime,
) -> int:
    """Send a webhook's events of a range of time again, oldest first, each once, at a PACE (rule 9.22).

    Returns the number of deliveries. The events are those with a delivery in one of these `statuses` that was
    made at `since` or later, as far as rounded times show. A delivery that waits for another attempt is
    attempted now. For events that were given up or delivered, a new delivery is made with the same event id.
    Events with a waiting delivery and events whose body was deleted are left out. Refuses a range with over
    MAX_REDELIVERED.
    """
    webhook = webhooks.find(community_id=community_id, webhook_id=webhook_id)
    no_need = {Delivery.Status.PENDING, Delivery.Status.FAILED, Delivery.Status.DELIVERED} - set(statuses)
    deliveries = Delivery.objects.filter(webhook=webhook)
    of_same_event = deliveries.filter(event_id=OuterRef("event_id"))
    candidates = deliveries.filter(
        ~Exists(of_same_event.filter(status__in=no_need)), status__in=statuses, event__body__isnull=False
    )
    chosen = candidates.filter(_made_since(since), created_at__gte=rounding.down(since, Rounding.DAY))
    if until is not None:
        chosen = chosen.filter(created_at__lt=until)
    # Events are locked before deliveries, as in `housekeeping`.
    in_order = chosen.order_by("created_at", "pk").values_list("event_id", flat=True)[: MAX_READ + 1]
    event_ids, is_cut_off = set(in_order), len(in_order) > MAX_READ
    if not event_ids:
        return 0
    if len(event_ids) > MAX_REDELIVERED or is_cut_off:
        raise Conflict(f"There are more than {MAX_REDELIVERED:,} messages. Choose a shorter time.")
    events = Event.objects.select_for_update(no_key=True).filter(pk__in=event_ids, body__isnull=False)
    rounding_of = dict(events.order_by("pk").values_list("pk", "rounding"))
    # The query runs a second time, for any time of delivery, because now nobody else can send these events
    # again. An event that was given up in the range may wait for another attempt since.
    rows = candidates.filter(event_id__in=rounding_of).select_for_update(of=("self",))
    by_event: dict[object, Delivery] = {}
    for row in rows.defer("response_body").order_by("created_at", "pk"):
        if row.event_id not in by_event or row.status == Delivery.Status.FAILED:
            by_event[row.event_id] = row
    again = [
        _again(row, rounding_of[row.event_id], at=at, due_at=at + n * PACE)
        for n, row in enumerate(by_event.values())
    ]
    if not again:
        return 0
    Delivery.objects.bulk_create([each for each in again if each.attempt_count == 0])
    Delivery.objects.bulk_update(
        [each for each in again if each.attempt_count], ["due_at", "even_if_off", "partition"]
    )
    history.record(
        Action.WEBHOOK_REDELIVERED,
        webhook,
        actor=actor,
        at=at,
        after={"since": since, "until": until, "count": len(again)},
        rounded_to=_coarsest(rounding_of.values()),
    )
    wake(DELIVER, webhook_id=webhook.pk, partition=REDELIVERY_PARTITION)
    return len(again)


def _made_since(since: datetime) -> Q:
    """Deliveries made at this time or later.

    If times are rounded down, deliveries that may have been made at this time are included.
    """
    made = Q(created_at__gte=since)
    for each in Rounding:
        made |= Q(event__rounding=each.value, created_at__gte=rounding.down(since, each))
    return made


def _coarsest(roundings: Iterable[str | None]) -> Rounding | None:
    """The rounding for the time of one action on events with these roundings."""
    values = set(roundings) - {None}
    return next((each for each in (Rounding.DAY, Rounding.HOUR) if each.value in values), None)


def _again(row: Delivery, rounded_to: str | None, *, at: datetime, due_at: datetime) -> Delivery:
    """Return the delivery to send: a failed delivery itself, else a new delivery of the same event. Both are
    in the same partition.
    """
    created_at, due_at = rounding.down(at, rounded_to), rounding.down(due_at, rounded_to)
    if row.status == Delivery.Status.FAILED:
        row.due_at, row.even_if_off, row.partition = due_at, True, REDELIVERY_PARTITION
        return row
    return Delivery(
        webhook_id=row.webhook_id,
        event_id=row.event_id,
        partition=REDELIVERY_PARTITION,
        due_at=due_at,
        even_if_off=True,
        is_settled=rounded_to is None,
        created_at=created_at,
    )


@in_transaction
def redeliver(*, actor: Actor | None, community_id: int, delivery_id: uuid.UUID, at: datetime) -> Delivery:
    """Create another delivery of the same event to the same webhook, even if the webhook is off (rule 9.22).

    Refuses an event whose body has been deleted.
    """
    original = find(community_id=community_id, delivery_id=delivery_id)
    event = _locked(original.event_id)
    if event is None or event.body is None:
        raise Conflict("This event cannot be delivered again: its body was deleted 30 days after the event.")
    created_at = rounding.down(at, event.rounding)
    delivery = Delivery.objects.create(
        webhook_id=original.webhook_id,
        event=event,
        partition=original.partition,
        due_at=created_at,
        even_if_off=True,
        is_settled=event.rounding is None,
        created_at=created_at,
    )
    # The entry does not name events about anonymous responses, and shows no exact time of their sending.
    named = {} if event.rounding else {"event_id": str(event.pk)}
    history.record(
        Action.WEBHOOK_REDELIVERED,
        original.webhook,
        actor=actor,
        at=at,
        after={"event_type": event.type, **named},
        rounded_to=_coarsest([event.rounding]),
    )
    wake(DELIVER, webhook_id=delivery.webhook_id, partition=delivery.partition)
    return delivery


def _locked(event_id: uuid.UUID) -> Event | None:
    """The event, locked so that its body is not deleted and the row not rewritten.

    The event is read twice. If the lock had to wait for `housekeeping`, a new row may have replaced the row.
    """
    events = Event.objects.select_for_update(no_key=True).filter(pk=event_id)
    return events.first() or events.first()
