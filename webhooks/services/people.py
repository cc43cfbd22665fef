"""What the outbox holds about a person in one community: told, and erased (decisions 4).

What tells of anonymous responses names nobody, and so belongs to nobody here.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import orjson
from django.db import connection, transaction

from communities import wire
from communities.statements import found
from webhooks.models import Delivery, Event

Json = dict[str, object]
AT_ONCE = 500
# By these an event names somebody, wherever they stand in it: a respondent, and who made a project.
NAMING = frozenset({"user_id", "platform_id", "session_number", "author_id", "author_name"})
_BEFORE_ALL = datetime(1970, 1, 1, tzinfo=UTC)

_PAGE = """
    SELECT id, type, created_at, body FROM webhooks_event
    WHERE community_id = %s AND person_id = %s AND (created_at, id) > (%s, %s)
    ORDER BY created_at, id LIMIT %s
"""
_MAKE_NAMELESS = """
    UPDATE webhooks_event event SET body = nameless.body, person_id = NULL
    FROM unnest(%s::uuid[], %s::text[]) AS nameless(id, body)
    WHERE event.id = nameless.id
"""


def held(*, community_id: int, user_id: int) -> Iterator[Json]:
    """Events that name the person, oldest first, a page at a time; `data` is null once it is forgotten."""
    after: tuple[datetime, uuid.UUID] = (_BEFORE_ALL, uuid.UUID(int=0))
    while True:
        page = found(_PAGE, [community_id, user_id, *after, AT_ONCE])
        for key, type, created_at, body in page:
            data = None if body is None else orjson.loads(body)["data"]
            yield {"id": str(key), "type": type, "created_at": created_at, "data": data}
        if len(page) < AT_ONCE:
            return
        after = (page[-1][2], page[-1][0])


@transaction.atomic
def erase(*, community_id: int, user_id: int) -> None:
    """Nothing that was told, or is still to be told, names the person any more.

    Attempts that come later send it without the name. What endpoints answered goes, as it may repeat what was
    sent. What an endpoint has been told before is out of reach. Locks events, then their deliveries, so it
    comes after everything else of the person that is locked.
    """
    theirs = Event.objects.filter(community_id=community_id, person_id=user_id).order_by("pk")
    while True:
        batch = theirs.select_for_update(no_key=True).values_list("pk", "body")[:AT_ONCE]
        bodies = {key: body and _without_names(body) for key, body in batch}
        if not bodies:
            return
        with connection.cursor() as cursor:
            cursor.execute(_MAKE_NAMELESS, [list(bodies), list(bodies.values())])
        # All of them, so that an outcome which is being written is waited for.
        Delivery.objects.filter(event__in=bodies).update(response_body=None)


def _without_names(body: str) -> str:
    event = orjson.loads(body)
    return wire.render({**event, "data": _blanked(event["data"])}).decode()


def _blanked(value: object) -> object:
    if isinstance(value, dict):
        return {key: None if key in NAMING else _blanked(part) for key, part in value.items()}
    return [_blanked(part) for part in value] if isinstance(value, list) else value
