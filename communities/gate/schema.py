"""The parts of the OpenAPI description that are the same for all operations.

Each view describes its own parts with `extend_schema`: operation_id, tags, summary, description, request,
responses and examples. This module adds the Idempotency-Key of writes, the headers of all responses, the
error responses with an example for each code, and the pages of lists.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.openapi import AutoSchema as SpectacularSchema
from drf_spectacular.utils import OpenApiParameter

from communities.gate import idempotency
from communities.gate import schema_words as words
from communities.ground.actors import Role

SECURITY = {
    "ApiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "`cq_live_…`, `cq_test_…`",
    },
    "ConversationToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "`cqt_…`, for pages: it leads one conversation.",
    },
}
IDEMPOTENCY_KEY = OpenApiParameter(
    idempotency.HEADER,
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    OpenApiParameter.HEADER,
    description=(
        "A UUID v4 (any 1 to 255 visible ASCII characters are accepted). If the same request is repeated "
        "within 24 hours, it gets the first response again."
    ),
)

IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description=(
        "The `ETag` of the object as it was read. If the object has changed since, the write is "
        "`409 conflict`."
    ),
)
_WHO = {
    Role.MEMBER: "any key",
    Role.CREATOR: "a `creator` or `admin` key",
    Role.ADMIN: "an `admin` key",
}
# Names of components that do not follow from the names of serializers.
_NAMES = {
    "ChangedWebhook": "Webhook",
    "DeliveryIn": "ProjectDelivery",
    "EndIn": "ProjectEnd",
    "Info": "ProjectInfo",
    "Key": "ApiKey",
    "NewKey": "NewApiKey",
    "OtherEnd": "FurtherEnd",
    "Settings": "CommunitySettings",
    "WholeDelivery": "DeliveryWithBody",
}


class AutoSchema(SpectacularSchema):
    def get_override_parameters(self) -> list[Any]:
        if not self._is_write():
            return []
        view: Any = self.view  # a CommunityViewSet
        return [IDEMPOTENCY_KEY, *([IF_MATCH] if view.takes_if_match(self.method) else [])]

    def get_description(self) -> str:  # type: ignore[override] # so it is in drf-spectacular
        return ""  # A view's docstring is for developers.

    def get_auth(self) -> list[dict[str, Any]]:
        view: Any = self.view  # a CommunityViewSet
        token: list[dict[str, Any]] = [{"ConversationToken": []}] if view.action in view.of_tokens else []
        return [{"ApiKey": []}, *token]

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        view: Any = self.view  # a CommunityViewSet
        operation["description"] += f"\n\n{self._who()}"
        responses = operation["responses"]
        if view.reads_conflict and not self._is_write():
            responses.setdefault("409", _refusal(*words.REFUSALS["409"]))
        for status, response in responses.items():
            _add_headers(response, status)
        responses["default"] = {"$ref": "#/components/responses/Refusal"}
        return operation

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}List"

    def _get_serializer_name(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> str:
        """The name of a component: that of the object that is read; `Request` marks what is sent to make it,
        `Patch` what changes it.
        """
        name: str = super()._get_serializer_name(serializer, direction, bypass_extensions)
        is_sent, is_patch = name.endswith("Request"), name.startswith("Patched")
        own = name.removeprefix("Patched").removesuffix("Request")
        plain = _NAMES.get(own) or own.removesuffix("Out").removesuffix("In").removesuffix("Shape")
        plain = _NAMES.get(plain, plain)
        return plain + ("Patch" if is_patch else "Request" if is_sent else "")

    def _who(self) -> str:
        """A sentence that says which keys may call the operation."""
        view: Any = self.view  # a CommunityViewSet
        action = view.action
        scope = ", also of scope `conversations`" if action in view.of_conversations else ""
        token = ", and a token of the conversation" if action in view.of_tokens else ""
        return f"Who may call: {_WHO[view.least_role[action]]}{scope}{token}."

    def _is_write(self) -> bool:
        return self.method in {"POST", "PUT", "PATCH", "DELETE"}

    def _is_list_view(self, serializer: Any = None) -> bool:
        return bool(super()._is_list_view(serializer)) and self.method == "GET"

    def _get_paginator(self) -> Any:
        return _Envelope() if self.method == "GET" else None


class _Envelope:
    """Describes the wrapping of lists to drf-spectacular."""

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        pagination = {
            "$ref": "#/components/schemas/Pagination",
            "example": words.PAGINATION_EXAMPLE,  # drf-spectacular uses this value in the examples of lists.
        }
        return {
            "type": "object",
            "required": ["data", "pagination"],
            "properties": {"data": schema, "pagination": pagination},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return []


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook: adds the introduction, and components without a serializer."""
    result["info"]["description"] = words.INTRODUCTION
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(words.COMPONENTS)
    components["securitySchemes"] = SECURITY
    components["headers"] = words.HEADERS
    components["responses"] = {"Refusal": _any_refusal()}
    return result


def _any_refusal() -> dict[str, Any]:
    """The response of every status that refuses requests of all operations, or of all writes."""
    lines = [f"- `{status}`: {description}" for status, (description, _) in words.REFUSALS.items()]
    examples = [each for _, found in words.REFUSALS.values() for each in found]
    refusal = _refusal("\n".join([words.ANY_REFUSAL, "", *lines]), examples)
    refusal["content"]["application/json"]["schema"] = {
        "anyOf": [{"$ref": f"#/components/schemas/{name}"} for name in ("Error", "RateLimited")]
    }
    for status in words.REFUSALS:
        _add_headers(refusal, status)
    return refusal


def _refusal(description: str, examples: list[words.Example]) -> dict[str, Any]:
    content = {
        "schema": {"$ref": "#/components/schemas/Error"},
        "examples": {example["error"]: {"value": example} for example in examples},
    }
    return {"description": description, "content": {"application/json": content}}


def _add_headers(response: dict[str, Any], status: str) -> None:
    """Add the headers that matter with this status. The introduction names those that all responses have."""
    headers = response.setdefault("headers", {})
    for name in words.HEADERS if status >= "400" else ():
        headers[name] = {"$ref": f"#/components/headers/{name}"}
    headers.update(words.HEADERS_OF_STATUS.get(status, {}))
    if not headers:
        del response["headers"]
