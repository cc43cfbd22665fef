"""The OpenAPI description of events: its object `webhooks`, and the shapes of their bodies.

It is part of surveys because bodies contain projects and responses, which the app `webhooks` does not know.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from surveys.api import analysis_job_examples, conversation_examples, examples
from surveys.api.blocks import ref
from webhooks.api.examples import WEBHOOK
from webhooks.events import API_VERSION, EventType
from xp.serializers import MEMBER_EXAMPLE

Schema = dict[str, Any]

TAG = "Events"
_TEXT: Schema = {"type": "string"}
_ROUNDED = "For anonymous projects, all times are rounded and nobody is named."
_PROJECT: Schema = {"project": ref("ProjectOut")}
_RESPONSE: Schema = {"project_id": _TEXT, "response": ref("ResponseOut")}
_ANALYSIS: Schema = {"project_id": _TEXT, "analysis": ref("AnalysisOut")}


class EventDescription(NamedTuple):
    """One type of event: its texts, and the shape and an example of its `data`."""

    summary: str
    description: str
    data: Schema
    example: dict[str, Any]


EVENTS: dict[EventType, EventDescription] = {
    EventType.PROJECT_CREATED: EventDescription(
        "A project was created",
        "The project is new or a copy.",
        _PROJECT,
        {"project": examples.PROJECT},
    ),
    EventType.PROJECT_UPDATED: EventDescription(
        "A project was changed",
        "Its fields, its script or the address of its shared results. Sent once for each request that "
        "changes something. Opening and closing have events of their own, when they take place. What was "
        "deleted in the admin and is brought back sends it too. Nothing is sent for responses, or if the "
        "author is erased or renamed. For the script, read `.../script`.",
        _PROJECT,
        {"project": examples.UPDATED_PROJECT},
    ),
    EventType.PROJECT_OPENED: EventDescription(
        "A project was opened",
        "By a request or on schedule. On schedule, `timestamp` is the scheduled time, even if it is late.",
        _PROJECT,
        {"project": examples.OPEN_PROJECT},
    ),
    EventType.PROJECT_CLOSED: EventDescription(
        "A project was closed",
        "By a request or on schedule. On schedule, `timestamp` is the scheduled time, even if it is late.",
        _PROJECT,
        {"project": examples.PROJECT},
    ),
    EventType.PROJECT_DELETED: EventDescription(
        "A project was deleted",
        "Contains the project as it last was. Its responses are deleted too, without events of their own. "
        "What staff delete in the admin can be brought back for ten minutes; the event follows after that.",
        _PROJECT,
        {"project": examples.PROJECT},
    ),
    EventType.RESPONSE_SUBMITTED: EventDescription(
        "A response was completed",
        f"Sent once. If an answer is changed later, `response.updated` follows. {_ROUNDED}",
        _RESPONSE,
        {"project_id": "7", "response": conversation_examples.RESPONSE},
    ),
    EventType.RESPONSE_UPDATED: EventDescription(
        "A completed response was changed",
        "An answer of a completed response was changed, such as a vote on a poll that allows it. Contains "
        "the response with all its answers. Nothing is sent if the same answer is given again, or if a "
        f"person is erased. {_ROUNDED}",
        _RESPONSE,
        {"project_id": "7", "response": conversation_examples.RESPONSE},
    ),
    EventType.RESPONSE_DELETED: EventDescription(
        "A response was deleted",
        f"Deleted through the API, also if it was partial, or a vote that was retracted. {_ROUNDED}",
        {"project_id": _TEXT, "response_id": {"type": "string", "format": "uuid"}},
        {"project_id": "7", "response_id": conversation_examples.RESPONSE["id"]},
    ),
    EventType.ANALYSIS_COMPLETED: EventDescription(
        "An analysis is finished",
        f"Contains the analysis as the API returns it, including quotes. {_ROUNDED}",
        _ANALYSIS,
        {"project_id": "7", "analysis": analysis_job_examples.COMPLETED},
    ),
    EventType.ANALYSIS_FAILED: EventDescription(
        "An analysis failed",
        f"Contains the `error`. Credits for answers that were not read have been returned. {_ROUNDED}",
        _ANALYSIS,
        {"project_id": "7", "analysis": analysis_job_examples.FAILED},
    ),
    EventType.MEMBER_UPDATED: EventDescription(
        "A member joined, left or changed",
        "Something in the member changed that `updated_at` covers: their name, nick, picture, access, "
        "account on the chat platform, joining or leaving. Sent once for each change by a request, by the "
        "person or by the chat platform. Nothing is sent for what members earn (XP, level, achievements) or "
        "for ranks. What is noticed while somebody comes to an anonymous project is sent at the end of the "
        "hour, or of the day if its times are rounded to days, with that time as `timestamp`. When two "
        "members turn out to be one person, one of them is sent, and the other is gone.",
        {"member": ref("MemberOut")},
        {"member": MEMBER_EXAMPLE},
    ),
    EventType.MEMBER_ERASED: EventDescription(
        "A member was erased",
        "All data about the member was erased, on their own request or by an admin. Delete what you hold of "
        "them. Their answers stay without a name; no `response.updated` is sent. If the member has begun an "
        "anonymous project and not completed it, the event follows at the end of the hour or day, with that "
        "time as `timestamp`, so that it does not reveal their answers.",
        {"member_id": _TEXT},
        {"member_id": "12"},
    ),
    EventType.WEBHOOK_PING: EventDescription(
        "A ping was requested",
        "Sent only to that webhook, even if it is off or its `events` do not include it.",
        {"webhook": ref("WebhookOut")},
        {"webhook": WEBHOOK},
    ),
}
_HEADERS: tuple[tuple[str, str, Schema], ...] = (
    (
        "webhook-id",
        "The event's id, the same for every attempt. Use it to recognise duplicates.",
        {"type": "string", "format": "uuid"},
    ),
    (
        "webhook-timestamp",
        "The Unix time of this attempt in seconds. Refuse requests that are more than 5 minutes off.",
        {"type": "string", "pattern": "^[0-9]+$"},
    ),
    (
        "webhook-signature",
        "One or two signatures, separated by a space. One that matches is enough.",
        {"type": "string", "pattern": "^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$"},
    ),
)
_RESPONSES: Schema = {
    "2XX": {"description": "Delivered."},
    "410": {"description": "The delivery is abandoned and the webhook is switched off."},
    "default": {
        "description": "The attempt failed; redirects count as failures. There are 10 attempts in all."
    },
}


def components() -> dict[str, Schema]:
    """The component `Event`, which all bodies share."""
    properties = {
        "id": {"type": "string", "format": "uuid", "description": "Also the header `webhook-id`."},
        "type": _TEXT,
        "timestamp": {"type": "string", "format": "date-time", "description": "When it happened."},
        "api_version": {"type": "string", "const": API_VERSION},
        "community_id": _TEXT,
        "data": {"type": "object"},
    }
    event = {
        "type": "object",
        "description": "The body that every attempt sends, byte for byte the same.",
        "required": list(properties),
        "properties": properties,
    }
    return {"Event": event}


def operations() -> dict[str, Schema]:
    """The object `webhooks`: the request that is sent for each type of event."""
    return {type.value: {"post": _operation(type, event)} for type, event in EVENTS.items()}


def _operation(type: EventType, event: EventDescription) -> Schema:
    return {
        "operationId": f"event_{type.value.replace('.', '_')}",
        "tags": [TAG],
        "summary": event.summary,
        "description": event.description,
        "security": [],
        "parameters": [
            {"in": "header", "name": name, "required": True, "description": words, "schema": schema}
            for name, words, schema in _HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": _body(type, event)}},
        "responses": _RESPONSES,
    }


def _body(type: EventType, event: EventDescription) -> Schema:
    data = {"type": "object", "required": list(event.data), "properties": event.data}
    specific = {"properties": {"type": {"const": type.value}, "data": data}}
    example = {
        "id": "5b7f2c1e-3f5e-4a35-8c68-0d7a7b0c7a11",
        "type": type.value,
        "timestamp": "2026-01-31T10:00:00Z",
        "api_version": API_VERSION,
        "community_id": "710000000000000001",
        "data": event.example,
    }
    return {
        "schema": {"allOf": [ref("Event"), specific]},
        "examples": {event.summary: {"value": example}},
    }
