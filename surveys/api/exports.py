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
_DESCRIPTION = (
    "Returns all responses of the listing, in its order, as a file. Keys that may read the listing may "
    "export it. `json` and `ndjson` contain the same objects as the listing.\n\n`csv` and `xlsx` have a row "
    "for each response. The first columns are `id`, `status`, `session_number`, `started_at`, "
    "`submitted_at`, `user_id`, `platform_id` and `provider`; then comes a column for each question in "
    "script order, headed by its prompt, and one for each option of a multi punch or ranking, headed "
    "`prompt: option label`; then removed questions that have answers; then `score.<bucket key>`, "
    "`variable.<block name>` and `field.<metadata name>`, `suspected` (1 or 0) if any response is, and "
    "`outcome` if a limit refused any. Equal headers get the block's name in parentheses; if that is not "
    "enough, also the option's value, or the id. In headers, a prompt, label, name or value of more than 300 "
    "bytes is cut and ends with `…`. In a table of more than 1,666 columns of questions less is left of "
    "each, so that the headers of the largest script have less than 3 MB. A cell holds the chosen option's "
    "label, the number, or the text; for multi punch `1` if the option was chosen, `0` if not, also where "
    "the option was added after the answer, for a ranking the rank. Cells without an answer are empty, "
    "unless `missing=marked`. In `csv`, a text or header that a spreadsheet could read as a formula starts "
    "with an apostrophe; nothing else in it is changed. In `xlsx` all texts are exactly as they were given. "
    "Times are UTC: texts such as `2026-11-22T12:39:44Z` in `csv`, cells of date and time in `xlsx`, where "
    "numbers are numbers too.\n\n`form=long` has the same first columns, then `block_id`, `block` (its "
    "name), `prompt` (at most 300 bytes of it), `item` (the ranked item of a ranking), `value` (the chosen "
    "option's label or own value, the number, the text, or the rank), `number` (the value, if it is a "
    "number) and with `values=codes` the option's `code`. A multi punch has a row for each chosen option, a "
    "ranking one for each ranked item.\n\n`parquet` has the columns of `csv` with types: numbers and "
    "timestamps (UTC) instead of texts, and texts exactly as they were given. Columns of calculated results "
    "are texts if any result is. A cell that is not of its column's type, an answer from when the question "
    "had another type, is empty.\n\n`sav` is for SPSS. Variables are named after the blocks, as far as SPSS "
    "accepts their names; variable labels are the prompts, cut as in headers. A single punch is its option's "
    "code, with the options' labels as value labels, or with `values=values` their own values. Choices are "
    "nominal; ratings, opinion scales and NPS are scale, and their labels value labels. Whole numbers have "
    "the narrowest format that holds them. With `missing=marked`, -99 (skipped) and -98 (not shown) are "
    "user-missing values. Times are UTC without a zone. Texts are cut after 32,767 bytes, variable labels "
    "after 255 and value labels after 120, which is what SPSS holds. A table of more than 5,000 variables, "
    "2,000,000 cells, or 1,000 MB before compression, is refused: export fewer responses at a time, or use "
    "`parquet` or `csv`.\n\n`csv` is UTF-8 with lines ended by CR LF. `xlsx` is refused if it needs more "
    "than 16,384 columns or 2,000,000 cells; `csv` has no such limits. A community downloads one file at a "
    "time: another may be refused with `503`, which says when to retry. The file is written while it is "
    "sent, so there is no `Content-Length`, and the connection breaks off if an error occurs in the middle."
)


class ExportIn(field_filters.FilteredByFields):
    """The kind of file, and filters like those of the listing."""

    format = serializers.ChoiceField(choices=list(exports.MEDIA_TYPES), default="csv")
    status = serializers.ChoiceField(choices=["all", "completed", "partial"], default="all")
    outcome = serializers.ChoiceField(
        choices=["completed", "full", "screened_out"],
        required=False,
        help_text="Only responses with this `outcome`. Nothing else exports those that were screened out.",
    )
    submitted_after = UtcDateTimeField(required=False, help_text="Completed then or later.")
    submitted_before = UtcDateTimeField(required=False, help_text="Completed before then.")
    provider = serializers.ChoiceField(choices=Conversation.Provider.values, required=False)
    bom = serializers.ChoiceField(
        choices=["0", "1"],
        default="0",
        help_text="`1` begins a `csv` with a byte order mark, by which Excel knows it for UTF-8.",
    )

    values = serializers.ChoiceField(
        choices=["labels", "codes", "values"],
        default="labels",
        help_text=(
            "What stands for the option that was chosen. `codes` adds the option's code beside each label: "
            "in "
            "wide form a column `<header>.code` beside each single punch, in long form the column `code`. "
            "Options get their codes (1, 2, 3, ...) in order when they are first written, and keep them "
            "when options are reordered, inserted or removed. The cells of multi punch, ranking, rating, "
            "opinion scale and NPS are numbers already and need no code. `values` has the options' own "
            "values in place of their labels, in headers too. Not for `json` and `ndjson`."
        ),
    )
    missing = serializers.ChoiceField(
        choices=["empty", "marked"],
        default="empty",
        help_text=(
            "`marked` fills the cells of a question without an answer: `[skipped]` if it was shown, `[not "
            "shown]` if the response went past it. The cells stay empty where a partial response has not "
            "come "
            "yet. Columns of numbers in `parquet` and `sav` have -99 and -98 instead. For `csv`, `xlsx` and "
            "`parquet` in wide form, and `sav`."
        ),
    )
    form = serializers.ChoiceField(
        choices=["wide", "long"],
        default="wide",
        help_text=(
            "`wide` has a row for each response, `long` one for each answer, and none for a response without "
            "answers. `long` is for `csv`, `xlsx` and `parquet`."
        ),
    )

    headers = serializers.ChoiceField(
        choices=["prompts", "names"],
        default="prompts",
        help_text=(
            "What heads the columns of questions: their prompts, or for programs the names of their blocks "
            "(`<name>.<option value>` for one option, the value cut as in other headers), which stay when a "
            "prompt is reworded. For `csv`, `xlsx` and `parquet` in wide form."
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
        description=_DESCRIPTION,
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
        query = self.query(ExportIn)
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_responses_reader(actor=self.actor, project=project, at=self.at)
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
