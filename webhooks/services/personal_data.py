"""Personal data in the outbox, for one person in one community: exporting and erasing it (rule 7.17).

Events about anonymous responses name nobody, so they contain no personal data.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

import orjson
from django.db import connection

from communities.ground import wire
from communities.ground.statements import fetch_rows
from communities.ground.transactions import in_transaction
from webhooks.events import EventType
from webhooks.models import Delivery, Event

Json = dict[str, object]
BATCH_SIZE = 500  # A batch has at most this many events.
# The keys by which an event names a respondent or a project's author, at any depth.
NAME_KEYS = frozenset({"user_id", "platform_id", "session_number", "author_id", "author_name"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_PAGE = """
    SELECT id, type, created_at, body FROM webhooks_event
    WHERE community_id = %s AND person_id = ANY(%s) AND (created_at, id) > (%s, %s)
    ORDER BY created_at, id LIMIT %s
"""
_REMOVE_NAMES = """
    UPDATE webhooks_event event SET body = anonymized.body, person_id = NULL
    FROM unnest(%s::uuid[], %s::text[]) AS anonymized(id, body)
    WHERE event.id = anonymized.id
"""


def events_naming(*, community_id: int, user_ids: Collection[int]) -> Iterator[Json]:
    """Events that name the person, oldest first; `data` is null once the body has been deleted.

    `user_ids` are the person's user and the users merged into it, because events keep their original user.
    """
    after: tuple[datetime, uuid.UUID] = (_EPOCH, uuid.UUID(int=0))
    while True:
        page = fetch_rows(_PAGE, [community_id, list(user_ids), *after, BATCH_SIZE])
        for event_id, type, created_at, body in page:
            data = None if body is None else orjson.loads(body)["data"]
            yield {"id": str(event_id), "type": type, "created_at": created_at, "data": data}
        if len(page) < BATCH_SIZE:
            return
        after = (page[-1][2], page[-1][0])


@in_transaction
def erase(*, community_id: int, user_ids: Collection[int]) -> None:
    """Remove the person's name from every event, whether it was sent already or not.

    Later attempts send the body without the name. Responses of endpoints are deleted, because they may repeat
    the event. Data that an endpoint has received cannot be taken back. Events are locked before their
    deliveries, so call this after all other rows of the person have been locked.
    """
    events = Event.objects.filter(community_id=community_id, person_id__in=user_ids).order_by("pk")
    while True:
        batch = events.select_for_update(no_key=True).values_list("pk", "body")[:BATCH_SIZE]
        bodies = {event_id: body and _without_names(body) for event_id, body in batch}
        if not bodies:
            return
        with connection.cursor() as cursor:
            cursor.execute(_REMOVE_NAMES, [list(bodies), list(bodies.values())])
        # The statement updates every delivery, so that it waits for outcomes that are being written.
        Delivery.objects.filter(event__in=bodies).update(response_body=None)


def _without_names(body: str) -> str:
    event = orjson.loads(body)
    if event["type"] == EventType.MEMBER_UPDATED:  # All data of this event is about the person.
        member = event["data"]["member"]
        data = {"member": {key: value if key == "id" else None for key, value in member.items()}}
        return wire.render({**event, "data": data}).decode()
    return wire.render({**event, "data": _with_nulls(event["data"])}).decode()


def _with_nulls(value: object) -> object:
    """The same value with null under every key that names a person."""
    if isinstance(value, dict):
        return {key: None if key in NAME_KEYS else _with_nulls(part) for key, part in value.items()}
    return [_with_nulls(part) for part in value] if isinstance(value, list) else value
