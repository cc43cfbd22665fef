"""Dashboards: chosen charts of a project, read, kept and removed (rules 6.379 and 6.430)."""

from __future__ import annotations

from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import (
    StrictBooleanField,
    StrictIntegerField,
    StrictListField,
    StrictStringField,
    StrictTextField,
)
from communities.gate.idempotency import once
from communities.ground.actors import Role
from communities.ground.ids import MAX_ID
from surveys.api.analysis_examples import DASHBOARD
from surveys.api.projects import OwnWorkViewSet
from surveys.api.results import WEIGHT_BY
from surveys.engine.intake.reader import MAX_BLOCKS
from surveys.engine.language.lexer import MAX_LENGTH
from surveys.models import Dashboard, Project
from surveys.services.ground import access, lookup
from surveys.services.results import dashboards, dividing

TAG = "Analysis"


class DashboardIn(serializers.Serializer[Any]):
    """A dashboard. It replaces the earlier dashboard; missing fields get their defaults."""

    title = StrictTextField(
        max_length=dashboards.MAX_TITLE,
        allow_blank=True,
        default="",
        help_text="The title above the charts; if empty, the project's name.",
    )
    block_ids = StrictListField(
        child=StrictIntegerField(min_value=1, max_value=MAX_ID),
        min_length=1,
        max_length=MAX_BLOCKS,
        help_text="Questions of the script, each once, in the order of their charts.",
    )
    where = StrictStringField(
        max_length=MAX_LENGTH,
        allow_null=True,
        default=None,
        help_text=(
            "As `where` of results, without `themes.` and `sentiment.`. Stored with names instead of "
            "positions. Null for all responses."
        ),
    )
    weight_by = StrictStringField(
        validators=[RegexValidator(WEIGHT_BY, "must be `field.` and the name of a declared field.")],
        allow_null=True,
        default=None,
        help_text="As `weight_by` of results. Null for no weight.",
    )
    is_shared = StrictBooleanField(
        default=False,
        help_text="Whether the page of the shared results shows the dashboard instead of all questions.",
    )


class DashboardOut(serializers.Serializer[Any]):
    """A dashboard. Questions that are no longer in the script are left out of `block_ids`."""

    title = serializers.CharField(allow_blank=True)
    block_ids = serializers.ListField(child=serializers.IntegerField())
    where = serializers.CharField(allow_null=True)
    weight_by = serializers.CharField(allow_null=True)
    is_shared = serializers.BooleanField()


class DashboardViewSet(OwnWorkViewSet):
    noun = "dashboard"
    least_role = {"retrieve": Role.MEMBER, "update": Role.CREATOR, "destroy": Role.CREATOR}

    @extend_schema(
        operation_id="dashboards_get",
        tags=[TAG],
        summary="Read the dashboard of a project",
        description=(
            "Returns the charts that staff have chosen, in their order. Needs a key that may read the "
            "project's responses. The figures are those of `…/analysis/results` with the same `where` and "
            "`weight_by`. `404` for a project without a dashboard."
        ),
        responses=DashboardOut,
        examples=[OpenApiExample("Two charts", DASHBOARD, response_only=True)],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
        return Response(_as_json(project, dashboards.required(project)))

    @extend_schema(
        operation_id="dashboards_put",
        tags=[TAG],
        summary="Keep a dashboard of a project",
        description=(
            "Saves a dashboard, and replaces the earlier one. You can send back a dashboard as you read "
            "it. Needs a key that may change the project and read its responses. On anonymous projects, a "
            "shared dashboard has neither `where` nor `weight_by`."
        ),
        request=DashboardIn,
        responses=DashboardOut,
        examples=[
            OpenApiExample("Two charts", DASHBOARD, request_only=True),
            OpenApiExample("Kept", DASHBOARD, response_only=True),
        ],
    )
    @once
    def update(self, request: Request, project_id: int) -> Response:
        sent = self.read(DashboardIn)
        kept = dashboards.change(
            actor=self.actor,
            project_id=project_id,
            title=sent["title"],
            block_ids=sent["block_ids"],
            where=sent["where"] or "",
            weight_by=(sent["weight_by"] or "").removeprefix(dividing.FIELD),
            is_shared=sent["is_shared"],
            at=self.at,
        )
        return Response(_as_json(kept.project, kept))

    @extend_schema(
        operation_id="dashboards_delete",
        tags=[TAG],
        summary="Remove the dashboard of a project",
        description=(
            "Removes the dashboard. The page of the shared results then shows all questions again. A "
            "second removal changes nothing."
        ),
        responses={204: None},
    )
    @once
    def destroy(self, request: Request, project_id: int) -> Response:
        dashboards.remove(actor=self.actor, project_id=project_id, at=self.at)
        return Response(status=204)


def _as_json(project: Project, board: Dashboard) -> dict[str, Any]:
    known = dashboards.questions(project)
    return {
        "title": board.title,
        "block_ids": [each for each in board.block_ids if each in known],
        "where": board.where or None,
        "weight_by": f"{dividing.FIELD}{board.weight_by}" if board.weight_by else None,
        "is_shared": board.is_shared,
    }
