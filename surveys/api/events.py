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
_ROUNDED = "On anonymous projects times are rounded, and nobody is named."
# The `data` of events, by the name of its component.
DATA: dict[str, Schema] = {
    "ProjectEventData": {"project": ref("Project")},
    "ResponseEventData": {"project_id": _TEXT, "response": ref("Response")},
    "ResponseDeletedEventData": {"project_id": _TEXT, "response_id": {"type": "string", "format": "uuid"}},
    "AnalysisEventData": {"project_id": _TEXT, "analysis": ref("Analysis")},
    "MemberEventData": {"member": ref("Member")},
    "MemberErasedEventData": {"member_id": _TEXT},
    "PingEventData": {"webhook": ref("Webhook")},
}


class EventDescription(NamedTuple):
    """One type of event: its texts, and the component and an example of its `data`."""

    summary: str
    description: str
    data: str
    example: dict[str, Any]


EVENTS: dict[EventType, EventDescription] = {
    EventType.PROJECT_CREATED: EventDescription(
        "A project was created",
        "The project is new or a copy.",
        "ProjectEventData",
        {"project": examples.PROJECT},
    ),
    EventType.PROJECT_UPDATED: EventDescription(
        "A project was changed",
        "The project's fields, script or address of shared results changed, or the project was restored in "
        "the admin. Sent once for each request. Not sent for responses or for the author's name.",
        "ProjectEventData",
        {"project": examples.UPDATED_PROJECT},
    ),
    EventType.PROJECT_OPENED: EventDescription(
        "A project was opened",
        "By a request or on schedule. On schedule, `timestamp` is the scheduled time, even if it is late.",
        "ProjectEventData",
        {"project": examples.OPEN_PROJECT},
    ),
    EventType.PROJECT_CLOSED: EventDescription(
        "A project was closed",
        "By a request or on schedule. On schedule, `timestamp` is the scheduled time, even if it is late.",
        "ProjectEventData",
        {"project": examples.PROJECT},
    ),
    EventType.PROJECT_DELETED: EventDescription(
        "A project was deleted",
        "Contains the project as it last was. Its responses are deleted too, without events of their own. "
        "If staff delete the project in the admin, the event is sent after ten minutes.",
        "ProjectEventData",
        {"project": examples.PROJECT},
    ),
    EventType.RESPONSE_SUBMITTED: EventDescription(
        "A response was completed",
        f"Sent once. If an answer is changed later, `response.updated` follows. {_ROUNDED}",
        "ResponseEventData",
        {"project_id": "7", "response": conversation_examples.RESPONSE},
    ),
    EventType.RESPONSE_UPDATED: EventDescription(
        "A completed response was changed",
        "An answer was changed, for example the vote on a poll with `change_poll`. Nothing is sent if the "
        f"same answer is given again, or if a person is erased. {_ROUNDED}",
        "ResponseEventData",
        {"project_id": "7", "response": conversation_examples.RESPONSE},
    ),
    EventType.RESPONSE_DELETED: EventDescription(
        "A response was deleted",
        f"A response was deleted, complete or partial, or a vote was retracted. {_ROUNDED}",
        "ResponseDeletedEventData",
        {"project_id": "7", "response_id": conversation_examples.RESPONSE["id"]},
    ),
    EventType.ANALYSIS_COMPLETED: EventDescription(
        "An analysis is finished",
        f"Contains the analysis as the API returns it, including quotes. {_ROUNDED}",
        "AnalysisEventData",
        {"project_id": "7", "analysis": analysis_job_examples.COMPLETED},
    ),
    EventType.ANALYSIS_FAILED: EventDescription(
        "An analysis failed",
        f"Contains the `error`. Credits for answers that were not read have been returned. {_ROUNDED}",
        "AnalysisEventData",
        {"project_id": "7", "analysis": analysis_job_examples.FAILED},
    ),
    EventType.MEMBER_UPDATED: EventDescription(
        "A member joined, left or changed",
        "The member joined or left, or their name, nick, picture, access or account on the chat platform "
        "changed. Not sent for XP, achievements or ranks. A change that is noticed when a person opens an "
        "anonymous project is sent at the end of the hour or day. If two members are found to be one "
        "person, the event contains the remaining member; the other no longer exists.",
        "MemberEventData",
        {"member": MEMBER_EXAMPLE},
    ),
    EventType.MEMBER_ERASED: EventDescription(
        "A member was erased",
        "Delete your data of the member. Their answers stay without a name; no `response.updated` is sent. "
        "If the member is answering an anonymous project, the event is sent at the end of the hour or day.",
        "MemberErasedEventData",
        {"member_id": "12"},
    ),
    EventType.WEBHOOK_PING: EventDescription(
        "A ping was requested",
        "Sent only to the pinged webhook, even if the webhook is off or its `events` do not include pings.",
        "PingEventData",
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
        "One or two signatures, separated by a space. One matching signature is enough.",
        {"type": "string", "pattern": "^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$"},
    ),
)
_RESPONSES: Schema = {
    "2XX": {"description": "Delivered."},
    "410": {"description": "The delivery is abandoned and the webhook is switched off."},
    "default": {"description": "The attempt failed."},
}


def components() -> dict[str, Schema]:
    """The body of each type of event, the union of all, and their parts."""
    properties = {
        "id": {"type": "string", "format": "uuid", "description": "Also the header `webhook-id`."},
        "timestamp": {"type": "string", "format": "date-time", "description": "When the event happened."},
        "api_version": {"type": "string", "const": API_VERSION},
        "community_id": _TEXT,
    }
    common = {"type": "object", "required": list(properties), "properties": properties}
    names = {type.value: _body_name(type) for type in EVENTS}
    union = {
        "description": "The body that every attempt sends, byte for byte the same.",
        "oneOf": [ref(name) for name in names.values()],
        "discriminator": {
            "propertyName": "type",
            "mapping": {type: ref(name)["$ref"] for type, name in names.items()},
        },
    }
    data = {
        name: {"type": "object", "required": list(fields), "properties": fields}
        for name, fields in DATA.items()
    }
    bodies = {_body_name(type): _body(type, event) for type, event in EVENTS.items()}
    return {
        "EventFields": common,
        "WebhookEvent": union,
        "Event": {
            "description": "An event in the form of a delivery.",
            "anyOf": [ref("WebhookEvent"), ref("EventWithoutData")],
        },
        "EventWithoutData": _with_own(
            "An event of an anonymous project. Its data is deleted after delivery.",
            {"type": {"type": "string", "enum": EventType.values}, "data": {"type": "null"}},
        ),
        **data,
        **bodies,
    }


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
        "requestBody": {"required": True, "content": {"application/json": _content(type, event)}},
        "responses": _RESPONSES,
    }


def _body_name(type: EventType) -> str:
    """`project.created` → `ProjectCreatedEvent`."""
    return "".join(word.title() for word in type.value.split(".")) + "Event"


def _body(type: EventType, event: EventDescription) -> Schema:
    own = {"type": {"type": "string", "const": type.value}, "data": ref(event.data)}
    return _with_own(event.summary, own)


def _with_own(description: str, own: Schema) -> Schema:
    fields = {"type": "object", "required": list(own), "properties": own}
    return {"description": description, "allOf": [ref("EventFields"), fields]}


def _content(type: EventType, event: EventDescription) -> Schema:
    example = {
        "id": "5b7f2c1e-3f5e-4a35-8c68-0d7a7b0c7a11",
        "type": type.value,
        "timestamp": "2026-01-31T10:00:00Z",
        "api_version": API_VERSION,
        "community_id": "710000000000000001",
        "data": event.example,
    }
    return {"schema": ref(_body_name(type)), "examples": {event.summary: {"value": example}}}
