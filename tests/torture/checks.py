"""The conditions at the end of a run. Each check yields one sentence for each violation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from surveys.models import Conversation
from tests.torture.changes import Change, ChangeLog
from tests.torture.kills import Kill
from tests.torture.receiver import Endpoint
from webhooks.models import Delivery, Event, Webhook

IDS = {
    "project.created": lambda data: data["project"]["id"],
    "project.opened": lambda data: data["project"]["id"],
    "project.closed": lambda data: data["project"]["id"],
    "project.updated": lambda data: data["project"]["id"],
    "project.deleted": lambda data: data["project"]["id"],
    "response.submitted": lambda data: data["response"]["id"],
    "response.updated": lambda data: data["response"]["id"],
    "response.deleted": lambda data: data["response_id"],
}


@dataclass(frozen=True)
class StoredEvent:
    """An event row with its body parsed."""

    type: str
    body: bytes
    data: Any
    created_at: datetime
    is_rounded: bool

    @property
    def change(self) -> Change:
        return self.type, IDS[self.type](self.data)


def read_events() -> dict[str, StoredEvent]:
    """All events by id, which is also their `webhook-id`; members were made before any webhook listened."""
    return {
        str(event.pk): StoredEvent(
            type=event.type,
            body=(event.body or "").encode(),
            data=orjson.loads(event.body or "{}").get("data"),
            created_at=event.created_at,
            is_rounded=event.rounding is not None,
        )
        for event in Event.objects.exclude(type="member.updated")
    }


def violations(
    events: dict[str, StoredEvent],
    changes: ChangeLog,
    answering: list[Endpoint],
    dead: Endpoint,
    finished_at: datetime,
) -> Iterator[str]:
    """All violations. `finished_at` is the moment at which nothing was due."""
    yield from changes.errors
    yield from _events_match_changes(events, changes)
    yield from _events_match_api_responses(events, changes)
    yield from _completed_responses_have_events(events)
    for endpoint in [*answering, dead]:
        yield from _deliveries_match_events(endpoint, events)
    for endpoint in answering:
        yield from _every_event_arrived(endpoint, events)
        yield from _every_arrival_matches_an_event(endpoint, events)
    yield from _dead_endpoint_has_waiting_deliveries(dead, finished_at)


def not_recovered(kills: Sequence[Kill]) -> Iterator[str]:
    for number, kill in enumerate(kills, start=1):
        if kill.recovered is None:
            yield f"Round {number}: nothing arrived in the minute after {kill.program} was killed."


def _events_match_changes(events: dict[str, StoredEvent], changes: ChangeLog) -> Iterator[str]:
    # A write of settings is announced only if it changed something, which clients cannot tell.
    emitted = Counter(event.change for event in events.values() if event.type != "project.updated")
    for change in sorted(emitted.keys() | changes.counted.keys()):
        if emitted[change] != changes.counted[change]:
            yield (
                f"{change[0]} of {change[1]}: {emitted[change]} events, {changes.counted[change]} changes."
            )


def _events_match_api_responses(events: dict[str, StoredEvent], changes: ChangeLog) -> Iterator[str]:
    """Compares the fields of an event, because the API returns more fields for a new project."""
    for event in events.values():
        seen = changes.seen.get(event.change)
        emitted = event.data.get("response" if event.type == "response.submitted" else "project")
        if seen is not None:
            for name in emitted:
                if emitted[name] != seen.get(name):
                    values = f"{name} is {emitted[name]}, seen {seen.get(name)}"
                    yield f"{event.type} of {event.change[1]}: {values}."


def _completed_responses_have_events(events: dict[str, StoredEvent]) -> Iterator[str]:
    submitted = {event.change[1] for event in events.values() if event.type == "response.submitted"}
    completed = Conversation.objects.filter(completed_at__isnull=False).values_list("pk", flat=True)
    for conversation_id in {str(pk) for pk in completed} - submitted:
        yield f"Response {conversation_id} is completed, but has no event."


def _deliveries_match_events(endpoint: Endpoint, events: dict[str, StoredEvent]) -> Iterator[str]:
    rows = Delivery.objects.filter(webhook_id=endpoint.webhook_id).values_list("event_id", flat=True)
    written = Counter(str(event_id) for event_id in rows)
    heard = {event_id for event_id, event in events.items() if endpoint.listens_to(event.type)}
    for event_id in sorted(written.keys() | heard):
        if written[event_id] != (event_id in heard):
            yield f"{endpoint.name}: {written[event_id]} deliveries of {event_id}."


def _every_event_arrived(endpoint: Endpoint, events: dict[str, StoredEvent]) -> Iterator[str]:
    """Every event reached the endpoint with a 2xx response, and every delivery is marked as delivered."""
    arrived = {arrival.event_id for arrival in endpoint.arrivals if arrival.status == 200}
    for event_id, event in events.items():
        if endpoint.listens_to(event.type) and event_id not in arrived:
            row = Delivery.objects.filter(webhook_id=endpoint.webhook_id, event_id=event_id).values().first()
            yield f"{endpoint.name}: {event.type} {event_id} never arrived; its row is {row}."
    rows = Delivery.objects.filter(webhook_id=endpoint.webhook_id)
    for row in rows.exclude(status=Delivery.Status.DELIVERED).values():
        yield f"{endpoint.name}: a delivery is not delivered: {row}."


def _every_arrival_matches_an_event(endpoint: Endpoint, events: dict[str, StoredEvent]) -> Iterator[str]:
    for arrival in endpoint.arrivals:
        event = events.get(arrival.event_id)
        if event is None:
            yield f"{endpoint.name}: {arrival.event_id} arrived, but is not stored."
        elif arrival.body != event.body:
            yield f"{endpoint.name}: {arrival.event_id} arrived with another body."
        elif not endpoint.listens_to(event.type):
            yield f"{endpoint.name}: {event.type} {arrival.event_id} arrived without a subscription."
        if arrival.error is not None:
            yield f"{endpoint.name}: {arrival.event_id}: {arrival.error}."


def _dead_endpoint_has_waiting_deliveries(dead: Endpoint, finished_at: datetime) -> Iterator[str]:
    for row in Delivery.objects.filter(webhook_id=dead.webhook_id):
        is_due_later = row.due_at is not None and row.due_at > finished_at
        is_waiting = row.status == Delivery.Status.FAILED and is_due_later
        if not is_waiting or row.attempt_count < 1 or row.response_status is not None or not row.error:
            attempts = f"after {row.attempt_count} attempts"
            yield f"dead: delivery {row.pk} is {row.status} {attempts}, due at {row.due_at}."
    if not Webhook.objects.get(pk=dead.webhook_id).failing_since:
        yield "dead: `failing_since` is not set."


def duplicates(endpoint: Endpoint) -> int:
    """How many arrivals repeat an event that was answered with 200 before."""
    arrived = [arrival.event_id for arrival in endpoint.arrivals if arrival.status == 200]
    return len(arrived) - len(set(arrived))


def first_arrivals(endpoint: Endpoint) -> dict[str, float]:
    """The Unix time of the first arrival of each event."""
    arrival_times: dict[str, list[float]] = defaultdict(list)
    for arrival in endpoint.arrivals:
        arrival_times[arrival.event_id].append(arrival.at)
    return {event_id: min(times) for event_id, times in arrival_times.items()}
