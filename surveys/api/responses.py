"""Responses: listing, importing, reading and deleting (rules 6.46 to 6.48, 6.67 and 6.68)."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiRequest,
    PolymorphicProxySerializer,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import bodies
from communities.gate.fields import StrictStringField, StrictTextField, UtcDateTimeField
from communities.gate.idempotency import Claim, is_settled, once
from communities.gate.pagination import MAX_PAGE, PageOrAfterIn, PerPageIn
from communities.ground.actors import Role
from communities.ground.errors import Conflict, InvalidRequest
from communities.ground.ids import MAX_ID
from surveys.ai.provider import SENTIMENTS
from surveys.api import field_filters, imports
from surveys.api.conversation_examples import RESPONSE
from surveys.api.imports import PreparedImport
from surveys.api.projects import OwnWorkViewSet
from surveys.models import Conversation
from surveys.services.ground import access, lookup
from surveys.services.imports import service, walking
from surveys.services.responses import changes
from surveys.services.responses import service as responses
from surveys.services.responses.changes import ChangesPage

TAG = "Responses"


class ResponsesIn(field_filters.FilteredByFields, PageOrAfterIn):
    """Filters and paging of the listing."""

    page = serializers.IntegerField(
        min_value=1,
        max_value=MAX_PAGE,
        required=False,  # without a default, because generated clients would send it beside `after`
        help_text=(
            f"From 1, the default. Pages reach the first {responses.MAX_PAGED_ROWS:,} rows; for later "
            "rows, use `after`."
        ),
    )
    after = serializers.UUIDField(
        required=False,
        help_text=(
            "A response's id: the page starts after it in the order of this listing, equally fast at any "
            "depth. Without `page`."
        ),
    )
    order = serializers.ChoiceField(
        choices=["asc", "desc"], default="asc", help_text="Oldest first, or newest first."
    )
    status = serializers.ChoiceField(choices=["all", "completed", "partial"], default="all")
    outcome = serializers.ChoiceField(
        choices=["completed", "full", "screened_out"],
        required=False,
        help_text=(
            "Only responses with this `outcome`. Without it, responses that were screened out are missing."
        ),
    )
    submitted_after = UtcDateTimeField(required=False, help_text="Completed at this time or later.")
    submitted_before = UtcDateTimeField(required=False, help_text="Completed before this time.")
    updated_after = UtcDateTimeField(required=False, help_text="Changed at this time or later.")
    provider = serializers.ChoiceField(choices=Conversation.Provider.values, required=False)
    user_id = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=MAX_ID,
        help_text=(
            "All responses of one person. On anonymous projects, `user_id`, `platform_id` and `member_id` "
            "match nothing."
        ),
    )
    member_id = serializers.IntegerField(
        required=False, min_value=0, max_value=MAX_ID, help_text="All responses of one member."
    )
    platform_id = StrictTextField(
        required=False,
        max_length=128,
        help_text=(
            "All responses with this `platform_id`: an account on the chat platform, or the `external_id` "
            "of the conversation."
        ),
    )
    session_number = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="The response of `user_id` with this number; needs `user_id`.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "session_number" in attrs and "user_id" not in attrs:
            raise serializers.ValidationError(
                {"session_number": "`session_number` needs `user_id`: it counts the sessions of one person."},
                code="required",
            )
        return super().validate(attrs)


class FollowUpOut(serializers.Serializer[Any]):
    """A further question that a model asked about an answer."""

    question = serializers.CharField()
    answer = serializers.CharField(allow_null=True, help_text="Null if it was skipped.")


class AnswerOut(serializers.Serializer[Any]):
    """One stored answer: one for each chosen option of a multi punch, and for each ranked item of a
    ranking.
    """

    block_id = serializers.IntegerField()
    value = serializers.CharField(
        allow_null=True,
        help_text="The option's value, the number or the text; for a ranking, the rank (1 is first).",
    )
    option_id = serializers.IntegerField(allow_null=True)
    block_name = serializers.CharField(allow_null=True)
    label = serializers.CharField(  # type: ignore[assignment]
        allow_null=True,
        help_text="The text shown for the option or the scale's point; null for others.",
    )
    themes = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The titles of themes in the answer. Left out unless an analysis has read the answer.",
    )
    sentiment = serializers.ChoiceField(
        choices=SENTIMENTS,
        allow_null=True,
        required=False,
        help_text="Present with `themes`; null if the sentiment could not be judged.",
    )
    other_text = serializers.CharField(
        required=False,
        help_text="The respondent's text for an option with `is_other`; else left out.",
    )
    follow_ups = FollowUpOut(
        many=True,
        required=False,
        help_text="Further questions about the answer, in the order in which they were asked; else left out.",
    )


class ScoreOut(serializers.Serializer[Any]):
    """The points in one bucket, over the blocks that were shown."""

    name = serializers.CharField()
    score = serializers.FloatField()
    max_score = serializers.FloatField(help_text="The most that was possible.")
    score_correct = serializers.FloatField(help_text="From questions that were answered correctly.")
    max_score_correct = serializers.FloatField(help_text="The most that correct answers could have.")


class ConsentOut(serializers.Serializer[Any]):
    """What a respondent agreed to."""

    text = serializers.CharField(help_text="The text of the project's `consent` at that time.")
    at = serializers.DateTimeField(help_text="Rounded on anonymous projects, like all their times.")


class ResponseOut(serializers.Serializer[Any]):
    """One participant session with at least one answer, or completed."""

    id = serializers.UUIDField()
    project_id = serializers.CharField()
    session_number = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=["completed", "partial"])
    started_at = serializers.DateTimeField()
    submitted_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(
        help_text=(
            "When the response last changed: an answer, its completion, its respondent, or its themes and "
            "sentiment. A renamed theme is not a change."
        )
    )
    user_id = serializers.CharField(allow_null=True)
    platform_id = serializers.CharField(allow_null=True)
    provider = serializers.ChoiceField(
        choices=Conversation.Provider.choices,
        allow_null=True,
        help_text=(
            "The source that admitted the respondent: the required verified source, otherwise the source "
            "of their account; `import` for imported responses. On anonymous projects, the only required "
            "verified source, otherwise `chat` or `web`."
        ),
    )
    metadata = serializers.DictField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The metadata from the beginning of the conversation; null without metadata.",
    )
    language = serializers.CharField(
        allow_null=True,
        help_text="The requested language, such as `de`. Null if unknown, and on anonymous projects.",
    )
    outcome = serializers.ChoiceField(
        choices=["completed", "full", "screened_out"],
        allow_null=True,
        help_text=(
            "How the response ended: `completed`, `full` (by `max_completes` or a quota), or "
            "`screened_out` (by one of `settings.ends`); null before the end. The `status` of the last two "
            "is `partial`."
        ),
    )
    consent = ConsentOut(
        allow_null=True, help_text="Null if the project had no `consent` when the conversation began."
    )
    suspected = serializers.BooleanField(
        help_text=(
            "Whether a program may have given the response, because it was too fast for a person. A "
            "suspected response counts like every other."
        )
    )
    scores = serializers.DictField(
        child=ScoreOut(),
        allow_null=True,
        help_text=(
            "The scores by bucket key, at the end or so far. Null if scoring is off, for the role member, "
            "and for old responses."
        ),
    )
    variables = serializers.DictField(
        child=serializers.JSONField(),
        help_text=(
            "The value of each calculated block by its name: a number, a text, or null if the respondent "
            "did not reach the block. Empty for the role member."
        ),
    )
    answers = AnswerOut(many=True)


class ChangesIn(PerPageIn):
    """The position to continue from, and the amount to read."""

    cursor = StrictStringField(
        required=False,
        max_length=500,
        help_text="The cursor of the previous page. Without a cursor, the feed starts again.",
    )


@extend_schema_field({"type": "boolean", "const": True, "description": "Only a deletion has this field."})
class AlwaysTrue(serializers.BooleanField):
    """The mark of a deletion."""


class DeletionOut(serializers.Serializer[Any]):
    """A response that was deleted."""

    id = serializers.UUIDField()
    project_id = serializers.CharField()
    deleted = AlwaysTrue()


class ChangesOut(serializers.Serializer[Any]):
    """The changes, in their order."""

    data = serializers.ListField(  # type: ignore[assignment]
        child=PolymorphicProxySerializer(
            component_name="ResponseChange",
            serializers=[ResponseOut, DeletionOut],
            resource_type_field_name=None,
        )
    )
    cursor = serializers.CharField(
        help_text="Send this cursor with the next request. Present even if `data` is empty."
    )
    has_more = serializers.BooleanField(help_text="Whether there are more changes now.")


_FEED = (
    "Returns the responses that have changed since your last request, for a copy of your own, in the order "
    'of the changes. A deleted response is `{"id", "project_id", "deleted": true}`. Start without a '
    "`cursor`. Store the `cursor` of each page with your copy, and send this cursor with the next request, "
    "without a pause while `has_more` is true. No change is skipped; a response may be returned again "
    "without a change. A cursor is valid for 30 days. An older cursor is `400` (`cursor_expired`): start "
    "again without a cursor, into an empty copy. [What the feed "
    "promises](/docs/keep-a-copy#what-the-feed-promises)."
)
_CHANGES = OpenApiExample(
    "A response and a deletion",
    {
        "data": [
            RESPONSE,
            {"id": "0190a5d2-7c1e-7b3a-9f00-2f6b1c9d8e7a", "project_id": "7", "deleted": True},
        ],
        "cursor": "WyJwcm9qZWN0OjciLDc0...",
        "has_more": False,
    },
    response_only=True,
)


def _read_and_walk(view: ResponseViewSet, claim: Claim | None) -> PreparedImport | None:
    """Read the responses and walk the script with them, before the transaction.

    None if there is nothing to do. Conditions that depend on stored responses are not checked here. Otherwise
    a second request with the same claim could be refused because of the responses that the first has just
    stored.
    """
    if is_settled(claim, at=view.at):
        return None
    options = imports.options_of(view.query(imports.ImportIn))
    with walking.import_slot(community_id=view.actor.community_id):
        try:
            batch = imports.read(view.elements, options)
        except InvalidRequest:
            view.find(**view.kwargs)  # The object comes before the body.
            raise
        walked = walking.walk(
            actor=view.actor,
            project_id=view.kwargs["project_id"],
            sent=batch.sent,
            violations=batch.violations,
            at=view.at,
        )
    return PreparedImport(walked, options, batch.ignored)


class ResponseViewSet(OwnWorkViewSet):
    noun = "response"
    least_role = {
        "changes": Role.MEMBER,
        "all_changes": Role.MEMBER,
        "list": Role.MEMBER,
        "retrieve": Role.MEMBER,
        "create": Role.CREATOR,
        "destroy": Role.CREATOR,
    }
    with_query = frozenset({"create"})
    with_lines = frozenset({"create"})

    def lock(self, **kwargs: Any) -> None:
        responses.lock(response_id=kwargs["response_id"], actor=self.actor)

    @extend_schema(
        operation_id="responses_list",
        tags=[TAG],
        summary="List responses",
        description=(
            "Returns every conversation that has an answer or is completed, oldest first. Anonymous "
            "projects order them by random ids, with rounded times and without `user_id`, `platform_id` "
            "and `session_number`. Every role may read a `transparent` project; others only their creator "
            "and admins. The role member gets `404` unless the project is active, and reads an open poll "
            "only as `poll_results_mode` allows. With `after` you miss changes of earlier responses: to "
            f"keep a copy, read `.../responses/changes`. A `page` beyond {responses.MAX_PAGED_ROWS:,} rows "
            "is `400`, and the error names the id for `after`."
        ),
        parameters=[ResponsesIn, field_filters.PARAMETER],
        responses=ResponseOut(many=True),
        examples=[OpenApiExample("One response", RESPONSE, response_only=True)],
    )
    def list(self, request: Request, /, project_id: int, **kwargs: Any) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
        query = self.query(ResponsesIn)
        chosen = field_filters.of_query(query)
        field_filters.require_known(chosen["fields"], project=project)
        page = responses.list_page(
            project=project,
            filters={**query, **chosen},
            descending=query["order"] == "desc",
            page=query.get("page", 1),
            per_page=query["per_page"],
            after=query.get("after"),
            solutions=access.may_read_solutions(actor=self.actor),
        )
        pagination = {"per_page": page.per_page, "total": page.total, "has_more": page.has_more}
        if page.page is not None:
            pagination = {"page": page.page, **pagination}
        return Response({"data": page.data, "pagination": pagination})

    @extend_schema(
        operation_id="responses_import",
        tags=[TAG],
        summary="Import past responses",
        description=imports.DESCRIPTION,
        parameters=[imports.ImportIn],
        request={
            "application/json": imports.ResponsesIn,
            bodies.LINES_MEDIA_TYPE: OpenApiRequest(OpenApiTypes.STR, examples=[imports.AS_LINES]),
        },
        responses={201: imports.ImportedOut, 200: imports.ImportedOut, 400: imports.REFUSED},
        examples=imports.EXAMPLES,
    )
    @once(prepare=_read_and_walk)
    def create(self, request: Request, /, *, prepared: PreparedImport | None, **kwargs: Any) -> Response:
        if prepared is None:  # the stored response expired after `_read_and_walk` saw it
            message = "The response to this Idempotency-Key has just expired; please retry."
            raise Conflict(message, retry_after=1)
        self.ignore(prepared.ignored)
        options = prepared.options
        count = service.import_responses(
            actor=self.actor, walked=prepared.walked, options=options, at=self.at
        )
        left_out = prepared.walked.left_out
        body = {"imported": 0, "valid": count} if options.is_dry_run else {"imported": count}
        body |= {"left_out": left_out} if left_out else {}
        return Response(body, status=200 if options.is_dry_run else 201)

    @extend_schema(
        operation_id="responses_changes",
        tags=[TAG],
        summary="Read what has changed in a project",
        description=f"{_FEED} Needs a key that may read the listing.",
        parameters=[ChangesIn],
        responses=ChangesOut,
        examples=[_CHANGES],
    )
    def changes(self, request: Request, /, project_id: int, **kwargs: Any) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
        query = self.query(ChangesIn)
        return _page_of_changes(
            changes.of_project(
                project=project,
                actor=self.actor,
                cursor=query.get("cursor"),
                per_page=query["per_page"],
                at=self.at,
            )
        )

    @extend_schema(
        operation_id="responses_all_changes",
        tags=[TAG],
        summary="Read what has changed in all projects",
        description=f"{_FEED} Covers the projects whose responses the key may read at that time.",
        parameters=[ChangesIn],
        responses=ChangesOut,
        examples=[_CHANGES],
    )
    def all_changes(self, request: Request, /, **kwargs: Any) -> Response:
        query = self.query(ChangesIn)
        return _page_of_changes(
            changes.of_community(
                actor=self.actor, cursor=query.get("cursor"), per_page=query["per_page"], at=self.at
            )
        )

    @extend_schema(
        operation_id="responses_get",
        tags=[TAG],
        summary="Read a response",
        description="Returns one response. Needs a key that may read the listing.",
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
            "Deletes a response with its answers, and removes both from all counts. On a poll, this "
            "retracts the vote. The response no longer counts towards `max_completes_per_user`, except on "
            "anonymous projects, where the respondent is unknown."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, /, response_id: uuid.UUID, **kwargs: Any) -> Response:
        responses.delete(response_id=response_id, actor=self.actor, at=self.at)
        return Response(status=204)


def _page_of_changes(page: ChangesPage) -> Response:
    return Response({"data": page.data, "cursor": page.cursor, "has_more": page.has_more})
