"""Endpoints for the template library: ready-made scripts to read and to create projects from."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictBooleanField, StrictChoiceField, StrictIntegerField, StrictTextField
from communities.gate.pagination import PageIn
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from surveys.api.project_in import ScriptField
from surveys.api.project_out import BucketOut
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
    search = StrictTextField(
        max_length=200,
        required=False,
        help_text="Words that must all occur in the id, name, description or keywords; case is ignored.",
    )


class TemplateOut(serializers.Serializer[Any]):
    """A ready-made survey or poll."""

    id = StrictTextField(help_text="The value of `template` when creating a project.")
    name = StrictTextField()
    description = StrictTextField()
    type = StrictChoiceField(Project.Type.values)
    category = StrictChoiceField(templates.categories())
    question_count = StrictIntegerField(
        help_text="Number of questions, including those that conditions may hide."
    )
    estimated_minutes = StrictIntegerField(help_text="Approximate time needed to answer.")
    scoring_enabled = StrictBooleanField(help_text="Whether the script has correct answers or points.")


class TemplateScoringOut(serializers.Serializer[Any]):
    buckets = BucketOut(many=True, help_text="The buckets that collect its points.")


class TemplateWithScriptOut(TemplateOut):
    """A template with its script. It can be sent to `POST .../projects` unchanged."""

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
            "Returns ready-made surveys and polls in English, sorted by category and name. To create a "
            "project from one, send its id as `template` to `POST .../projects`. Without a language model, "
            "an `intent` selects and fills in the template that matches best."
        ),
        parameters=[TemplatesIn],
        responses=TemplateOut(many=True),
        examples=[OpenApiExample("A poll", EXAMPLE, response_only=True)],
    )
    def list(self, request: Request) -> Response:
        query = self.query(TemplatesIn)
        matches = templates.search_templates(
            type=query.get("type"), category=query.get("category"), search=query.get("search")
        )
        return self.page(matches, query, as_json=templates.as_json)

    @extend_schema(
        operation_id="templates_get",
        tags=[TAG],
        summary="Read a template",
        description=(
            "Returns one template with its script. Its prompts use a general phrase, such as `our "
            "community`, instead of a topic. You can send the script to `POST .../projects` unchanged, or "
            "change it first."
        ),
        responses=TemplateWithScriptOut,
        examples=[OpenApiExample("A poll with its script", EXAMPLE_WITH_SCRIPT, response_only=True)],
    )
    def retrieve(self, request: Request, template_id: str) -> Response:
        return Response(templates.as_json_with_script(templates.find(template_id)))
