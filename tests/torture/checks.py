"""What has to hold once all is quiet. Each check yields sentences, one for each violation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.utils import timezone

from surveys.models import Conversation
from tests.torture.deeds import Deed, Deeds
from tests.torture.kills import Kill
from tests.torture.receiver import Endpoint
from webhooks.models import Delivery, Event, Webhook

IDS = {
    "project.created": lambda data: data["project"]["id"],
    "project.opened": lambda data: data["project"]["id"],
    "project.closed": lambda data: data["project"]["id"],
    "project.deleted": lambda data: data["project"]["id"],
    "response.submitted": lambda data: data["response"]["id"],
    "response.deleted": lambda data: data["response_id"],
}


@dataclass(frozen=True)
class Stored:
    """An event row, with its body read."""

    type: str
    body: bytes
    data: Any
    created_at: datetime
    is_rounded: bool

    @property
    def deed(self) -> Deed:
        return self.type, IDS[self.type](self.data)


def stored_events() -> dict[str, Stored]:
    """By id, as `webhook-id` tells it."""
    return {
        str(event.pk): Stored(
            type=event.type,
            body=(event.body or "").encode(),
            data=orjson.loads(event.body or "{}").get("data"),
            created_at=event.created_at,
            is_rounded=event.rounding is not None,
        )
        for event in Event.objects.all()
    }


def violations(
    events: dict[str, Stored], deeds: Deeds, answering: list[Endpoint], dead: Endpoint
) -> Iterator[str]:
    yield from deeds.faults
    yield from _events_and_deeds_agree(events, deeds)
    yield from _events_tell_what_was_seen(events, deeds)
    yield from _what_is_completed_was_told(events)
    for endpoint in [*answering, dead]:
        yield from _everything_is_written_for(endpoint, events)
    for endpoint in answering:
        yield from _everything_came_to(endpoint, events)
        yield from _nothing_was_invented(endpoint, events)
    yield from _nothing_is_lost_for_the_dead(dead)


def not_recovered(kills: Sequence[Kill]) -> Iterator[str]:
    for number, kill in enumerate(kills, start=1):
        if kill.recovered is None:
            yield f"Round {number}: nothing new came in the minute after {kill.program} was killed."


def _events_and_deeds_agree(events: dict[str, Stored], deeds: Deeds) -> Iterator[str]:
    told = Counter(event.deed for event in events.values())
    for deed in sorted(told.keys() | deeds.counted.keys()):
        if told[deed] != deeds.counted[deed]:
            yield f"{deed[0]} of {deed[1]}: {told[deed]} events, {deeds.counted[deed]} changes."


def _events_tell_what_was_seen(events: dict[str, Stored], deeds: Deeds) -> Iterator[str]:
    """The making of a project answers more than an event tells of it."""
    for event in events.values():
        seen = deeds.seen.get(event.deed)
        told = event.data.get("response" if event.type == "response.submitted" else "project")
        if seen is not None:
            for name in told:
                if told[name] != seen.get(name):
                    yield f"{event.type} of {event.deed[1]}: {name} is {told[name]}, seen {seen.get(name)}."


def _what_is_completed_was_told(events: dict[str, Stored]) -> Iterator[str]:
    submitted = {event.deed[1] for event in events.values() if event.type == "response.submitted"}
    completed = Conversation.objects.filter(completed_at__isnull=False).values_list("pk", flat=True)
    for conversation_id in {str(pk) for pk in completed} - submitted:
        yield f"Response {conversation_id} is completed, and there is no event of it."


def _everything_is_written_for(endpoint: Endpoint, events: dict[str, Stored]) -> Iterator[str]:
    rows = Delivery.objects.filter(webhook_id=endpoint.webhook_id).values_list("event_id", flat=True)
    written = Counter(str(event_id) for event_id in rows)
    heard = {event_id for event_id, event in events.items() if endpoint.listens_to(event.type)}
    for event_id in sorted(written.keys() | heard):
        if written[event_id] != (event_id in heard):
            yield f"{endpoint.name}: {written[event_id]} deliveries of {event_id}."


def _everything_came_to(endpoint: Endpoint, events: dict[str, Stored]) -> Iterator[str]:
    """And what is noted as delivered was answered with 2xx."""
    came = {arrival.event_id for arrival in endpoint.arrivals if arrival.status == 200}
    for event_id, event in events.items():
        if endpoint.listens_to(event.type) and event_id not in came:
            row = Delivery.objects.filter(webhook_id=endpoint.webhook_id, event_id=event_id).values().first()
            yield f"{endpoint.name}: {event.type} {event_id} never came; its row is {row}."
    rows = Delivery.objects.filter(webhook_id=endpoint.webhook_id)
    for row in rows.exclude(status=Delivery.Status.DELIVERED).values():
        yield f"{endpoint.name}: a delivery is not over: {row}."


def _nothing_was_invented(endpoint: Endpoint, events: dict[str, Stored]) -> Iterator[str]:
    for arrival in endpoint.arrivals:
        event = events.get(arrival.event_id)
        if event is None:
            yield f"{endpoint.name}: {arrival.event_id} came, which is not stored."
        elif arrival.body != event.body:
            yield f"{endpoint.name}: {arrival.event_id} came with another body."
        elif not endpoint.listens_to(event.type):
            yield f"{endpoint.name}: {event.type} {arrival.event_id} came, which it does not listen to."
        if arrival.fault is not None:
            yield f"{endpoint.name}: {arrival.event_id}: {arrival.fault}."


def _nothing_is_lost_for_the_dead(dead: Endpoint) -> Iterator[str]:
    now = timezone.now()
    for row in Delivery.objects.filter(webhook_id=dead.webhook_id):
        is_waiting = row.status == Delivery.Status.FAILED and row.due_at is not None and row.due_at > now
        if not is_waiting or row.attempt_count < 1 or row.response_status is not None or not row.error:
            yield f"dead: delivery {row.pk} is {row.status} after {row.attempt_count}, due at {row.due_at}."
    if not Webhook.objects.get(pk=dead.webhook_id).failing_since:
        yield "dead: nobody noted that it fails."


def duplicates(endpoint: Endpoint) -> int:
    """How often something came again that had been answered with 2xx."""
    came = [arrival.event_id for arrival in endpoint.arrivals if arrival.status == 200]
    return len(came) - len(set(came))


def first_arrivals(endpoint: Endpoint) -> dict[str, float]:
    """Unix seconds by event."""
    moments: dict[str, list[float]] = defaultdict(list)
    for arrival in endpoint.arrivals:
        moments[arrival.event_id].append(arrival.at)
    return {event_id: min(each) for event_id, each in moments.items()}
