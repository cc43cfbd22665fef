"""Exports: all responses of a project as one file (rule 6.60)."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from communities.gate.downloads import download
from communities.gate.fields import UtcDateTimeField
from communities.gate.views import CommunityViewSet
from communities.ground.actors import Role
from communities.ground.slots import of_community
from surveys.api import field_filters
from surveys.api.conversation_examples import RESPONSE
from surveys.api.responses import TAG, ResponseOut
from surveys.models import Conversation
from surveys.services.exports import service as exports
from surveys.services.exports.cells import FileOptions
from surveys.services.ground import access, lookup
from surveys.services.results.figures import Selection

CSV, XLSX, NDJSON = "text/csv", exports.MEDIA_TYPES["xlsx"], exports.MEDIA_TYPES["ndjson"]
PARQUET, SAV = exports.MEDIA_TYPES["parquet"], exports.MEDIA_TYPES["sav"]
# Formats that support only the default value of a parameter.
_WITHOUT = {
    "values": ("json", "ndjson"),
    "missing": ("json", "ndjson"),
    "form": ("json", "ndjson", "sav"),
    "headers": ("json", "ndjson", "sav"),
}


class ExportIn(field_filters.FilteredByFields):
    """The kind of file, and filters like those of the listing."""

    format = serializers.ChoiceField(choices=list(exports.MEDIA_TYPES), default="csv")
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
    provider = serializers.ChoiceField(choices=Conversation.Provider.values, required=False)
    bom = serializers.ChoiceField(
        choices=["0", "1"],
        default="0",
        help_text="`1` begins a `csv` with a byte order mark, so that Excel reads the file as UTF-8.",
    )

    values = serializers.ChoiceField(
        choices=["labels", "codes", "values"],
        default="labels",
        help_text=(
            "How a chosen option is written: as its label, as its code beside the label, or as its value. "
            "[Codes](/docs/details#options-of-exports). Not for `json` and `ndjson`."
        ),
    )
    missing = serializers.ChoiceField(
        choices=["empty", "marked"],
        default="empty",
        help_text=(
            "`marked` fills the cells of a question without an answer: `[skipped]` or `[not shown]`, and "
            "-99 or -98 among numbers. For `csv`, `xlsx` and `parquet` in wide form, and `sav`."
        ),
    )
    form = serializers.ChoiceField(
        choices=["wide", "long"],
        default="wide",
        help_text=(
            "`wide`: a row for each response. `long`: a row for each answer; for `csv`, `xlsx` and `parquet`."
        ),
    )

    headers = serializers.ChoiceField(
        choices=["prompts", "names"],
        default="prompts",
        help_text=(
            "The headers of question columns: prompts, or names of blocks. For `csv`, `xlsx` and `parquet` "
            "in wide form."
        ),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        refused = {}
        if attrs["form"] == "long" and attrs["headers"] != "prompts":
            refused["headers"] = "`headers` must be `prompts` for `form=long`."
        if attrs["form"] == "long" and attrs["missing"] != "empty":
            refused["missing"] = "`missing` must be `empty` for `form=long`, which has rows of answers only."
        for name, formats in _WITHOUT.items():
            if attrs["format"] in formats and attrs[name] != self.fields[name].default:
                refused[name] = f"`{name}` must be `{self.fields[name].default}` for `{attrs['format']}`."
        if refused:
            raise serializers.ValidationError(refused, code="not_allowed")
        return attrs


class ExportOut(serializers.Serializer[Any]):
    """All responses."""

    data = ResponseOut(many=True)  # type: ignore[assignment]


class ExportViewSet(CommunityViewSet):
    noun = "export"
    least_role = {
        "retrieve": Role.MEMBER,  # for the projects that surveys.services.ground.access allows
    }

    @extend_schema(
        operation_id="responses_export",
        tags=[TAG],
        summary="Export responses",
        description=(
            "Returns the responses as a file: tables (`csv`, `xlsx`, `parquet`, `sav` for SPSS), or "
            "Responses as in the listing (`json`, `ndjson`). Takes the filters of the listing; every "
            "reader of the listing may export. A community downloads one file at a time; a second may get "
            "`503`. `xlsx` and `sav` refuse tables that are too large. If an error occurs while the file "
            "is sent, the connection breaks off. [Columns and cells of each "
            "format](/docs/details#export-responses)."
        ),
        parameters=[ExportIn, field_filters.PARAMETER],
        responses={
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="The file."),
            (200, XLSX): OpenApiResponse(OpenApiTypes.BINARY, description="The file."),
            (200, "application/json"): OpenApiResponse(ExportOut, description="The file."),
            (200, PARQUET): OpenApiResponse(OpenApiTypes.BINARY, description="The file."),
            (200, SAV): OpenApiResponse(OpenApiTypes.BINARY, description="The file."),
            (200, NDJSON): OpenApiResponse(OpenApiTypes.STR, description="The file."),
        },
        examples=[
            OpenApiExample(
                "One response",
                {"data": [RESPONSE]},
                response_only=True,
                status_codes=["200"],
                media_type="application/json",
            ),
        ],
    )
    def retrieve(self, request: Request, /, project_id: int, **kwargs: Any) -> StreamingHttpResponse:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
        query = self.query(ExportIn)
        chosen = field_filters.of_query(query)
        field_filters.require_known(chosen["fields"], project=project)
        made = exports.export(
            project=project,
            options=FileOptions(
                format=query["format"],
                with_bom=query["bom"] == "1",
                solutions=access.may_read_solutions(actor=self.actor),
                codes=query["values"] == "codes",
                own_values=query["values"] == "values",
                marks_missing=query["missing"] == "marked",
                is_long=query["form"] == "long",
                by_name=query["headers"] == "names",
            ),
            selection=Selection(
                covers=query["status"],
                submitted_after=query.get("submitted_after"),
                submitted_before=query.get("submitted_before"),
                provider=query.get("provider"),
                suspected=query.get("suspected"),
                outcome=query.get("outcome"),
                **chosen,
            ),
        )
        response = download(request, made, owner=of_community(self.actor.community_id))
        if request.method == "GET":
            exports.note_export(actor=self.actor, project=project, format=query["format"], at=self.at)
        return response
