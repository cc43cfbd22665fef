"""What webhooks are told, for the OpenAPI description: its object `webhooks`, and the shapes of bodies.

Here, because bodies hold projects and responses, which `webhooks` does not know.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from surveys.api import analysis_job_examples, conversation_examples, examples
from surveys.api.blocks import ref
from webhooks.api.examples import WEBHOOK
from webhooks.events import API_VERSION, EventType

Schema = dict[str, Any]

TAG = "Events"
_TEXT: Schema = {"type": "string"}
_ROUNDED = "Of an anonymous project, all times are rounded and nobody is named."
_PROJECT: Schema = {"project": ref("ProjectOut")}
_RESPONSE: Schema = {"project_id": _TEXT, "response": ref("ResponseOut")}
_ANALYSIS: Schema = {"project_id": _TEXT, "analysis": ref("AnalysisOut")}


class Told(NamedTuple):
    """One type of event: in words, and the shape and an example of its `data`."""

    summary: str
    description: str
    data: Schema
    example: dict[str, Any]


EVENTS: dict[EventType, Told] = {
    EventType.PROJECT_CREATED: Told(
        "A project was created",
        "Made anew or copied.",
        _PROJECT,
        {"project": examples.PROJECT},
    ),
    EventType.PROJECT_OPENED: Told(
        "A project was opened",
        "By hand or by the clock; then `timestamp` is the scheduled moment, however late it was noticed.",
        _PROJECT,
        {"project": examples.OPEN_PROJECT},
    ),
    EventType.PROJECT_CLOSED: Told(
        "A project was closed",
        "By hand or by the clock; then `timestamp` is the scheduled moment, however late it was noticed.",
        _PROJECT,
        {"project": examples.PROJECT},
    ),
    EventType.PROJECT_DELETED: Told(
        "A project was deleted",
        "With the project as it was last; its responses are gone with it and are not told of one by one.",
        _PROJECT,
        {"project": examples.PROJECT},
    ),
    EventType.RESPONSE_SUBMITTED: Told(
        "A response was completed",
        f"Told once. A vote that is changed later is not told again. {_ROUNDED}",
        _RESPONSE,
        {"project_id": "7", "response": conversation_examples.RESPONSE},
    ),
    EventType.RESPONSE_DELETED: Told(
        "A response was deleted",
        f"Over the interface, a partial one too, or a vote that its voter took back. {_ROUNDED}",
        {"project_id": _TEXT, "response_id": {"type": "string", "format": "uuid"}},
        {"project_id": "7", "response_id": conversation_examples.RESPONSE["id"]},
    ),
    EventType.ANALYSIS_COMPLETED: Told(
        "An analysis is finished",
        f"With the analysis as the interface tells it, quotes too. {_ROUNDED}",
        _ANALYSIS,
        {"project_id": "7", "analysis": analysis_job_examples.COMPLETED},
    ),
    EventType.ANALYSIS_FAILED: Told(
        "An analysis failed",
        f"With its `error`; its credits have been given back. {_ROUNDED}",
        _ANALYSIS,
        {"project_id": "7", "analysis": analysis_job_examples.FAILED},
    ),
    EventType.WEBHOOK_PING: Told(
        "Somebody asked for a ping",
        "Told to that webhook alone, whatever its `events` and even while it is off.",
        {"webhook": ref("WebhookOut")},
        {"webhook": WEBHOOK},
    ),
}
_HEADERS: tuple[tuple[str, str, Schema], ...] = (
    (
        "webhook-id",
        "The event's id, the same on each attempt: deduplicate by it.",
        {"type": "string", "format": "uuid"},
    ),
    (
        "webhook-timestamp",
        "When this attempt was made, in Unix seconds. Refuse what is more than 5 minutes off.",
        {"type": "string", "pattern": "^[0-9]+$"},
    ),
    (
        "webhook-signature",
        "One or two signatures with a space between; one that fits is enough.",
        {"type": "string", "pattern": "^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$"},
    ),
)
_RESPONSES: Schema = {
    "2XX": {"description": "Delivered."},
    "410": {"description": "The delivery is abandoned, and the webhook is switched off."},
    "default": {"description": "A failure, redirects too. There are 10 attempts in all."},
}


def components() -> dict[str, Schema]:
    """Event, which all bodies share."""
    properties = {
        "id": {"type": "string", "format": "uuid", "description": "Also the header `webhook-id`."},
        "type": _TEXT,
        "timestamp": {"type": "string", "format": "date-time", "description": "When it happened."},
        "api_version": {"type": "string", "const": API_VERSION},
        "community_id": _TEXT,
        "data": {"type": "object"},
    }
    described = "The body that each attempt sends, byte for byte the same."
    event = {
        "type": "object",
        "description": described,
        "required": list(properties),
        "properties": properties,
    }
    return {"Event": event}


def described() -> dict[str, Schema]:
    """The object `webhooks`: what is sent for each type of event."""
    return {type.value: {"post": _sent(type, told)} for type, told in EVENTS.items()}


def _sent(type: EventType, told: Told) -> Schema:
    return {
        "operationId": f"event_{type.value.replace('.', '_')}",
        "tags": [TAG],
        "summary": told.summary,
        "description": told.description,
        "security": [],
        "parameters": [
            {"in": "header", "name": name, "required": True, "description": words, "schema": schema}
            for name, words, schema in _HEADERS
        ],
        "requestBody": {"required": True, "content": {"application/json": _body(type, told)}},
        "responses": _RESPONSES,
    }


def _body(type: EventType, told: Told) -> Schema:
    data = {"type": "object", "required": list(told.data), "properties": told.data}
    own = {"properties": {"type": {"const": type.value}, "data": data}}
    example = {
        "id": "5b7f2c1e-3f5e-4a35-8c68-0d7a7b0c7a11",
        "type": type.value,
        "timestamp": "2026-01-31T10:00:00Z",
        "api_version": API_VERSION,
        "community_id": "710000000000000001",
        "data": told.example,
    }
    return {
        "schema": {"allOf": [ref("Event"), own]},
        "examples": {told.summary: {"value": example}},
    }
