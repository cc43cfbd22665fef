"""What drf-spectacular cannot see for itself: the key, the headers, and what every operation may refuse.

A view says what is its own by `extend_schema` (operation_id, tags, summary, request, responses, examples);
the rest is added here to each operation: the Idempotency-Key of writes, the headers of all responses, the
refusals with an example for each, and the envelope of lists.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema as SpectacularSchema
from drf_spectacular.utils import OpenApiParameter

from communities.http.envelope import MESSAGES

VIOLATION_CODES = (
    "required null blank invalid invalid_type invalid_choice too_short too_long too_small too_large too_few "
    "too_many duplicate not_found not_allowed conflicting unknown_reference later_reference self_reference "
    "syntax_error too_deep too_many_emoji in_use in_past read_only"
).split()
_REFUSALS: dict[str, tuple[str, dict[str, Any]]] = {
    "400": (
        "A value breaks a rule; `violations` names each field at fault.",
        {
            "error": "invalid_request",
            "message": "name: must not be blank.",
            "violations": [{"field": "name", "code": "blank", "message": "must not be blank."}],
        },
    ),
    "401": (
        "No API key (`missing_api_key`), or one that is unknown, revoked or expired (`invalid_api_key`).",
        {"error": "missing_api_key", "message": "Send the API key in the header X-API-Key."},
    ),
    "403": (
        "The key's role may not do this (`forbidden`), or the tier lacks the feature (`tier_required`).",
        {"error": "forbidden", "message": "Creators may do this on their own projects only."},
    ),
    "404": (
        "No such object within the key's community.",
        {"error": "not_found", "message": "There is no such project."},
    ),
    "405": (
        "The address does not take this method; `Allow` lists those it does.",
        {"error": "method_not_allowed", "message": "This address takes GET."},
    ),
    "409": (
        "The object's state forbids it, or the Idempotency-Key is in flight or was used for another request.",
        {"error": "conflict", "message": "This project is already open."},
    ),
    "413": (MESSAGES[413][1], {"error": "invalid_request", "message": MESSAGES[413][1]}),
    "415": (MESSAGES[415][1], {"error": "invalid_request", "message": MESSAGES[415][1]}),
    "429": (
        "Too many requests within a minute; wait `retry_after` seconds.",
        {"error": "rate_limit_exceeded", "retry_after": 12},
    ),
    "500": (MESSAGES[500][1], {"error": "internal_error", "message": MESSAGES[500][1]}),
    "503": (MESSAGES[503][1], {"error": "unavailable", "message": MESSAGES[503][1]}),
}
_OF_WRITES_ALONE = {"409", "413", "415"}
_RETRY_AFTER = {"429", "503"}
COMPONENTS: dict[str, dict[str, Any]] = {
    "Error": {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {"type": "string", "description": "A machine-readable code.", "examples": ["invalid_request"]},
            "message": {"type": "string", "description": "A sentence for people."},
            "violations": {"type": "array", "items": {"$ref": "#/components/schemas/Violation"}},
        },
    },
    "RateLimited": {
        "type": "object",
        "required": ["error", "retry_after"],
        "properties": {
            "error": {"type": "string", "const": "rate_limit_exceeded"},
            "retry_after": {"type": "integer", "minimum": 1, "description": "Seconds to wait."},
        },
    },
    "Violation": {
        "type": "object",
        "required": ["field", "code", "message"],
        "properties": {
            "field": {"type": "string", "examples": ["script.blocks[2].options[0].value"]},
            "code": {"type": "string", "enum": VIOLATION_CODES},
            "message": {"type": "string"},
            "column": {"type": "integer", "minimum": 1, "description": "In expressions: where, from 1."},
        },
    },
    "Pagination": {
        "type": "object",
        "required": ["per_page", "total", "has_more"],
        "properties": {
            "page": {"type": "integer", "minimum": 1, "description": "Absent where `after` was sent."},
            "per_page": {"type": "integer", "minimum": 1, "maximum": 100},
            "total": {"type": "integer", "minimum": 0},
            "has_more": {"type": "boolean"},
        },
    },
}
SECURITY = {"ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}
HEADERS: dict[str, dict[str, Any]] = {
    "X-Request-Id": {
        "description": "The caller's, when it is 1 to 64 of `[A-Za-z0-9_-]`, else a new one.",
        "schema": {"type": "string"},
    },
    "X-RateLimit-Limit": {"description": "Requests a minute for the tier.", "schema": {"type": "integer"}},
    "X-RateLimit-Remaining": {"description": "Requests left in the current minute.", "schema": {"type": "integer"}},
    "X-RateLimit-Reset": {
        "description": "Unix second at which the oldest counted request leaves the window.",
        "schema": {"type": "integer"},
    },
}
_IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description=(
        "A UUID v4 (any 1 to 255 visible ASCII characters are taken). The same request sent again within "
        "24 hours gets the first answer again, with `Idempotency-Replayed: true`."
    ),
)


class AutoSchema(SpectacularSchema):
    def get_override_parameters(self) -> list[Any]:
        return [_IDEMPOTENCY_KEY] if self.method in {"POST", "PUT", "PATCH", "DELETE"} else []

    def get_auth(self) -> list[dict[str, Any]]:
        return [{"ApiKey": []}]

    def _is_list_view(self, serializer: Any = None) -> bool:
        return bool(super()._is_list_view(serializer)) and self.method == "GET"

    def _get_paginator(self) -> Any:
        return _Envelope() if self.method == "GET" else None

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        is_write = self.method != "GET"
        for status, told in operation["responses"].items():
            _add_headers(told, status)
        for status, (description, example) in _REFUSALS.items():
            if is_write or status not in _OF_WRITES_ALONE:
                operation["responses"].setdefault(status, _refusal(status, description, example))
        return operation


class _Envelope:
    """Tells drf-spectacular how a list is wrapped."""

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["data", "pagination"],
            "properties": {"data": schema, "pagination": {"$ref": "#/components/schemas/Pagination"}},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook: the components that no serializer stands for."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(COMPONENTS)
    components["securitySchemes"] = SECURITY
    components["headers"] = HEADERS
    return result


def _refusal(status: str, description: str, example: dict[str, Any]) -> dict[str, Any]:
    name = "RateLimited" if status == "429" else "Error"
    told: dict[str, Any] = {
        "description": description,
        "content": {
            "application/json": {
                "schema": {"$ref": f"#/components/schemas/{name}"},
                "examples": {example["error"]: {"value": example}},
            }
        },
    }
    _add_headers(told, status)
    return told


def _add_headers(told: dict[str, Any], status: str) -> None:
    headers = told.setdefault("headers", {})
    headers.update({name: {"$ref": f"#/components/headers/{name}"} for name in HEADERS})
    if status in _RETRY_AFTER:
        headers["Retry-After"] = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
