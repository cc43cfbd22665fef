"""Responses: listed, read and deleted (interface 2.7, decisions 8.4)."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.http.fields import UtcDateTimeField
from communities.http.idempotency import once
from communities.http.pagination import MAX_PAGE, PageIn
from communities.http.views import CommunityViewSet
from communities.models import Identity
from surveys.api.conversation_examples import RESPONSE
from surveys.models import Project
from surveys.services import access, lookup
from surveys.services.responses import service as responses

TAG = "Responses"


class ResponsesIn(PageIn):
    """Filters and paging of the listing."""

    page = serializers.IntegerField(
        min_value=1,
        max_value=MAX_PAGE,
        default=1,
        help_text=f"From 1. Pages reach the first {responses.MAX_PAGED_ROWS:,} rows; go on with `after`.",
    )
    after = serializers.UUIDField(
        required=False,
        help_text="A response's id: the page starts after it, at one cost at any depth. Without `page`.",
    )
    order = serializers.ChoiceField(
        choices=["asc", "desc"], default="asc", help_text="Oldest first, or newest first."
    )
    status = serializers.ChoiceField(choices=["all", "completed", "partial"], default="all")
    submitted_after = UtcDateTimeField(required=False, help_text="Completed then or later.")
    submitted_before = UtcDateTimeField(required=False, help_text="Completed before then.")
    updated_after = UtcDateTimeField(required=False, help_text="Changed then or later.")
    provider = serializers.ChoiceField(choices=Identity.Provider.values, required=False)
    user_id = serializers.IntegerField(
        required=False, min_value=0, max_value=2**63 - 1, help_text="All responses of one person."
    )
    session_number = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="The one response of `user_id` with this number; needs `user_id`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "session_number" in attrs and "user_id" not in attrs:
            raise serializers.ValidationError(
                {"session_number": "`session_number` needs `user_id`: it counts the sessions of one person."},
                code="required",
            )
        if "after" in attrs and "page" in self.initial_data:
            raise serializers.ValidationError(
                {"after": "`after` cannot be sent with `page`: it already says where the page starts."},
                code="conflicting",
            )
        return attrs


class AnswerOut(serializers.Serializer[Any]):
    """One stored answer: one for each chosen option of a multi punch, for each ranked item of a ranking."""

    block_id = serializers.IntegerField()
    value = serializers.CharField(
        allow_null=True,
        help_text="The option's value, the number, the text; for a ranking the rank, 1 first.",
    )
    option_id = serializers.IntegerField(allow_null=True)
    block_name = serializers.CharField(allow_null=True)
    label = serializers.CharField(  # type: ignore[assignment]
        allow_null=True,
        help_text="The text shown for the option or the scale's point; null for others.",
    )


class ResponseOut(serializers.Serializer[Any]):
    """One participant session with at least one answer, or completed."""

    id = serializers.UUIDField()
    project_id = serializers.CharField()
    session_number = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=["completed", "partial"])
    started_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    user_id = serializers.CharField(allow_null=True)
    platform_id = serializers.CharField(allow_null=True)
    provider = serializers.ChoiceField(choices=Identity.Provider.choices, allow_null=True)
    answers = AnswerOut(many=True)


class ResponseViewSet(CommunityViewSet):
    noun = "response"
    least_role = {
        "list": Role.MEMBER,
        "retrieve": Role.MEMBER,
        "destroy": Role.CREATOR,
    }

    @extend_schema(
        operation_id="responses_list",
        tags=[TAG],
        summary="List responses",
        description=(
            "Every conversation with at least one answer, or completed; oldest first, on anonymous projects "
            "in the order of their random ids. `submitted_at` is null until completion. On `anonymous` "
            "projects `user_id`, `platform_id` and `session_number` are null and times are rounded. Every "
            "role may read the responses of a `transparent` project; otherwise only its creator and admins "
            "may. For role member a project that is not active is `404 not_found`, and an open poll is "
            "readable only if its `poll_results_mode` is `public`, or `voters_only` and the key's user "
            "has voted. To continue where an earlier call stopped, send the last id as `after`. A `page` "
            f"beyond {responses.MAX_PAGED_ROWS:,} rows is `400 invalid_request`, with the id to go on with; "
            "past the end it is empty."
        ),
        parameters=[ResponsesIn],
        responses=ResponseOut(many=True),
        examples=[OpenApiExample("One response", RESPONSE, response_only=True)],
    )
    def list(self, request: Request, /, project_id: int, **kwargs: Any) -> Response:
        query = self.query(ResponsesIn)
        project = lookup.one(Project.objects.in_community(self.actor.community_id), project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
        page = responses.list_page(
            project=project,
            filters=query,
            descending=query["order"] == "desc",
            page=query["page"],
            per_page=query["per_page"],
            after=query.get("after"),
        )
        pagination = {"per_page": page.per_page, "total": page.total, "has_more": page.has_more}
        if page.page is not None:
            pagination = {"page": page.page, **pagination}
        return Response({"data": page.data, "pagination": pagination})

    @extend_schema(
        operation_id="responses_get",
        tags=[TAG],
        summary="Read a response",
        description="Keys that may read the listing may read each of its responses.",
        responses=ResponseOut,
        examples=[OpenApiExample("A response", RESPONSE, response_only=True)],
    )
    def retrieve(self, request: Request, /, response_id: uuid.UUID, **kwargs: Any) -> Response:
        return Response(responses.get(response_id=response_id, actor=self.actor, at=self.at))

    @extend_schema(
        operation_id="responses_delete",
        tags=[TAG],
        summary="Delete a response",
        description=(
            "Deletes a response with its answers, out of all counts. On a poll this retracts the vote. The "
            "respondent's place below `max_completes_per_user` becomes free, except on anonymous projects, "
            "where the respondent is unknown."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, /, response_id: uuid.UUID, **kwargs: Any) -> Response:
        responses.delete(response_id=response_id, actor=self.actor, at=self.at)
        return Response(status=204)
