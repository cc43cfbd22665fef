"""The template library: well-made scripts, to look at and to make projects of."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.http.fields import StrictBooleanField, StrictChoiceField, StrictIntegerField, StrictTextField
from communities.http.pagination import PageIn
from communities.http.views import CommunityViewSet
from surveys.api.project_shapes import BucketOut, ScriptField
from surveys.models import Project
from surveys.services.scripts import templates

TAG = "Templates"
EXAMPLE: dict[str, Any] = {
    "id": "recommendation-poll",
    "name": "Recommendation poll",
    "description": "The one question of the Net Promoter Score, as a poll.",
    "type": "poll",
    "category": "satisfaction",
    "question_count": 1,
    "estimated_minutes": 1,
    "scoring_enabled": False,
}
EXAMPLE_WITH_SCRIPT = EXAMPLE | {
    "scoring": {"buckets": []},
    "script": {
        "blocks": [
            {
                "name": "likelihood",
                "type": "nps",
                "prompt": "How likely are you to recommend our community to a friend?",
            }
        ]
    },
}


class TemplatesIn(PageIn):
    type = serializers.ChoiceField(choices=Project.Type.values, required=False)
    category = serializers.ChoiceField(choices=templates.categories(), required=False)
    search = serializers.CharField(
        max_length=200,
        required=False,
        help_text="Words that all stand, in any case, in the id, name, description or keywords.",
    )


class TemplateOut(serializers.Serializer[Any]):
    """A survey or poll, ready to be used."""

    id = StrictTextField(help_text="What `template` means where a project is made.")
    name = StrictTextField()
    description = StrictTextField()
    type = StrictChoiceField(Project.Type.values)
    category = StrictChoiceField(templates.categories())
    question_count = StrictIntegerField(help_text="Blocks that ask something, shown or hidden.")
    estimated_minutes = StrictIntegerField(help_text="What it takes to answer it, about.")
    scoring_enabled = StrictBooleanField(help_text="Whether its script has grades or points.")


class TemplateScoringOut(serializers.Serializer[Any]):
    buckets = BucketOut(many=True, help_text="Those that its points are counted in.")


class TemplateWithScriptOut(TemplateOut):
    """A template with its script. Sent as it is to `POST .../projects`, it makes a project."""

    scoring = TemplateScoringOut()
    script = ScriptField()


class TemplateViewSet(CommunityViewSet):
    noun = "template"
    least_role = {
        "list": Role.MEMBER,
        "retrieve": Role.MEMBER,
    }

    @extend_schema(
        operation_id="templates_list",
        tags=[TAG],
        summary="List templates",
        description=(
            "Surveys and polls that are ready to be used, by category and name. Their texts are English. A "
            "project is made of one by `template` in `POST .../projects`; where no language model is "
            "connected, an `intent` picks and fills the best of them."
        ),
        parameters=[TemplatesIn],
        responses=TemplateOut(many=True),
        examples=[OpenApiExample("A poll", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request) -> Response:
        query = self.query(TemplatesIn)
        found = templates.search_templates(
            type=query.get("type"), category=query.get("category"), search=query.get("search")
        )
        return self.page(found, query, as_json=templates.as_json)

    @extend_schema(
        operation_id="templates_get",
        tags=[TAG],
        summary="Read a template",
        description=(
            "With its script, whose prompts speak of `our community` or the like where they could name a "
            "topic. What is read can be sent to `POST .../projects` as it is, or changed before."
        ),
        responses=TemplateWithScriptOut,
        examples=[OpenApiExample("A poll with its script", EXAMPLE_WITH_SCRIPT, response_only=True)],
    )
    def retrieve(self, request: Request, template_id: str) -> Response:
        return Response(templates.as_json_with_script(templates.find(template_id)))
