"""Results: figures over the current answers (rules 6.54 and 6.55)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate.fields import StrictStringField, UtcDateTimeField
from communities.ground.actors import Role
from communities.ground.ids import id_of
from surveys.api.analysis_examples import CROSS_TABLE, RESULTS
from surveys.api.analysis_shapes import (
    AmountField,
    AnalysisBlockOut,
    BlockSegmentOut,
    EntryOut,
    OpenTextOut,
    WeightedCountField,
)
from surveys.api.field_filters import PARAMETER, FilteredByFields, of_query
from surveys.api.participation import PARTICIPATION, ParticipationFiguresOut
from surveys.api.projects import OwnWorkViewSet
from surveys.api.score_shapes import SCORES_HELP, VARIABLES_HELP, ResultScoreOut, ResultVariableOut
from surveys.engine import chance
from surveys.models import Conversation, Project, ResultsCount
from surveys.services.counting import fields as field_counting
from surveys.services.counting import weights
from surveys.services.ground import access, lookup
from surveys.services.results import crossing, dividing, participation, readers
from surveys.services.results.figures import Figures, Selection
from surveys.services.results.shared import SharedResults

TAG = "Analysis"
SECONDS_BETWEEN_LOOKS = 5
COUNTING = {"project_id": "1", "status": "running", "progress": 0.42}
WEIGHT_BY = r"^field\.[a-z0-9_]{1,40}\Z"
STATUSES = ("all", "completed", "partial")
FIELDS_HELP = (
    "One for each field declared in `settings.hidden_fields`: how many responses have which value. Empty "
    "for readers of shared results."
)
DIVISIONS = (
    "The id or the name of a block (`12`, `years`; with the numbers at which bands begin, `years:2,10`), "
    "`score`, `field.campaign`, `language`, or `completed.day`, `.week` or `.month`. "
    "[All ways](/docs/details#segments)."
)
_FILTERS = ("status", "submitted_after", "submitted_before", "provider", "suspected", "where")


@extend_schema_field({"type": "string", "pattern": f"^{dividing.TEXT}$"})
class SegmentBy(serializers.Field[Any, Any, Any, Any]):
    """What divides responses: the id or the name of a block, or a text of the module `dividing`."""

    default_error_messages = {
        "invalid": "must be the id or name of a block, `field.` and a name, a time or a variable of scores."
    }

    def to_internal_value(self, data: Any) -> int | str:
        if not re.fullmatch(dividing.TEXT, data, re.ASCII):
            self.fail("invalid")
        what, *_ = data.split(":")
        if what.isdigit() and id_of(what) is None:
            self.fail("invalid")
        return int(data) if data.isdigit() else str(data)

    def to_representation(self, value: Any) -> Any:
        return value


class FilteredResponses(FilteredByFields):
    """Which responses are counted."""

    status = serializers.ChoiceField(choices=STATUSES, default="all")
    submitted_after = UtcDateTimeField(required=False, help_text="Completed at this time or later.")
    submitted_before = UtcDateTimeField(required=False, help_text="Completed before this time.")
    provider = serializers.ChoiceField(choices=Conversation.Provider.values, required=False)


class WeighedResponses(FilteredResponses):
    """Which responses are counted, and what weighs them."""

    weight_by = StrictStringField(
        required=False,
        validators=[RegexValidator(WEIGHT_BY, "must be `field.` and the name of a declared field.")],
        help_text=(
            "`field.` and the name of a declared field, whose numbers weigh the responses: above 0 and at "
            f"most {weights.MOST:,}. Responses without such a number are left out. Needs a key that may "
            "read single responses. [What is weighted](/docs/details#weights)."
        ),
    )


class ResultsIn(WeighedResponses):
    """Which responses are counted, and how they are segmented."""

    segment_by = SegmentBy(
        required=False,
        help_text="All figures are repeated for each segment. " + DIVISIONS,
    )


class CrossIn(WeighedResponses):
    """Which responses are in the table, and what divides them into rows and columns."""

    rows = SegmentBy(help_text="As `segment_by` of results. " + DIVISIONS)
    columns = SegmentBy(help_text="As `rows`, with another value.")


class FiltersOut(serializers.Serializer[Any]):
    """The filters that were applied."""

    status = serializers.ChoiceField(choices=STATUSES)
    submitted_after = serializers.DateTimeField(allow_null=True)
    submitted_before = serializers.DateTimeField(allow_null=True)
    provider = serializers.ChoiceField(choices=Conversation.Provider.choices, allow_null=True)
    suspected = serializers.BooleanField(allow_null=True)
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.CharField(allow_blank=True), help_text="Values by the names of fields."
    )
    where = serializers.CharField(allow_null=True)


class LeftOutOut(serializers.Serializer[Any]):
    """The numbers of selected responses without a usable weight, by reason."""

    missing = serializers.IntegerField()
    not_a_number = serializers.IntegerField()
    zero = serializers.IntegerField(help_text="Including weights that round to zero.")
    negative = serializers.IntegerField()
    too_large = serializers.IntegerField(help_text=f"Above {weights.MOST:,}.")


class WeightingOut(serializers.Serializer[Any]):
    """The weighting of the responses."""

    by = serializers.CharField(help_text="As in the request.")
    field = serializers.CharField(help_text="The field's name.")
    count = serializers.IntegerField(help_text="Responses with a usable weight. No others are counted.")
    weighted_count = serializers.FloatField(help_text="The sum of their weights.")
    effective_count = serializers.FloatField(
        help_text="Kish's effective base: the square of the sum of the weights by the sum of their squares."
    )
    largest_share = serializers.FloatField(
        help_text="The largest weight of a response, in percent of the sum, with two decimals."
    )
    is_dominated = serializers.BooleanField(
        help_text=f"Whether `largest_share` is above {weights.DOMINATES:.0%}, and the weight above "
        f"{weights.TIMES_THE_MEAN} times the mean. A respondent may have changed the field in the page's "
        "address."
    )
    left_out = LeftOutOut()


class SegmentOut(EntryOut):
    count = serializers.IntegerField(help_text="Responses in this segment, row or column.")
    weighted_count = WeightedCountField()


class SegmentByOut(serializers.Serializer[Any]):
    """The division of the results into segments. Options, points, bands, themes and declared values are
    listed even without responses.
    """

    by = serializers.CharField(help_text="As in the request.")
    title = serializers.CharField(help_text="The prompt of the block, or the name of another division.")
    block_id = serializers.IntegerField(allow_null=True, help_text="Null without a question.")
    block_name = serializers.CharField(allow_null=True)
    prompt = serializers.CharField(allow_null=True)
    field = serializers.CharField(allow_null=True, help_text="The field's name; null for a block.")
    segments = SegmentOut(
        many=True,
        help_text=(
            "Of a field: its declared values, then others by their number, and at the end responses "
            "without one, whose `value` is empty. Times are in order, with their first day as `value`; "
            "themes have their ids, the most frequent first, and at the end answers without one. Responses "
            "without an answer are in no segment."
        ),
    )


class CrossSegmentOut(SegmentOut):
    percentage = serializers.FloatField(help_text="Of all responses in the table, 0 to 100, two decimals.")


class CrossDivisionOut(SegmentByOut):
    """The rows or the columns, in the order of `cells`."""

    is_multiple = serializers.BooleanField(help_text="Whether a response can be in several rows or columns.")
    segments = CrossSegmentOut(many=True)


class CrossCellOut(serializers.Serializer[Any]):
    """The responses in a row and a column. Percentages are 0 to 100, with two decimals."""

    count = AmountField()
    row_percentage = serializers.FloatField(help_text="Of the responses in the row.")
    column_percentage = serializers.FloatField(help_text="Of the responses in the column.")
    percentage = serializers.FloatField(help_text="Of all responses in the table.")
    differs = serializers.ChoiceField(
        choices=[crossing.MORE, crossing.LESS],
        allow_null=True,
        help_text="`more` or `less` than in all other rows together, beyond chance, corrected by Holm's rule "
        "for the number of tested cells; null otherwise.",
    )


class CrossTestOut(serializers.Serializer[Any]):
    """A test of whether the rows differ by more than chance."""

    name = serializers.ChoiceField(choices=["chi-squared test", chance.YATES, chance.FISHER])
    p = serializers.FloatField(min_value=0, max_value=1)
    statistic = serializers.FloatField(allow_null=True, help_text="Chi-squared; null for Fisher's test.")
    degrees_of_freedom = serializers.IntegerField(allow_null=True)
    effect = serializers.FloatField(min_value=0, max_value=1, help_text="Cramér's V.")
    is_beyond_chance = serializers.BooleanField(help_text=f"Whether `p` is below {chance.LEVEL}.")
    text = serializers.CharField(help_text="The same in words.")


class CrossTableOut(serializers.Serializer[Any]):
    project_id = serializers.CharField()
    filters = FiltersOut()
    rows = CrossDivisionOut()
    columns = CrossDivisionOut()
    count = serializers.IntegerField(help_text="Responses in the table: those in a row and a column.")
    weighted_count = WeightedCountField()
    weighting = WeightingOut(
        allow_null=True,
        help_text="With `weight_by`; otherwise null. Tests then take weighted counts scaled to the effective "
        "base of the table.",
    )
    cells = serializers.ListField(
        child=CrossCellOut(many=True), help_text="A list for each row, with a cell for each column."
    )
    test = CrossTestOut(
        allow_null=True,
        help_text=(
            "Fisher's exact test, or chi-squared. Null if a response can be in several rows or columns, or "
            "if expected counts are too small. [Which test](/docs/details#tests-of-cross-tables)."
        ),
    )
    tested_cells = serializers.IntegerField(help_text="The number of tests for `differs`.")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Warnings as sentences, for instance about small numbers."
    )


class ResultBlockOut(AnalysisBlockOut):
    open_text = OpenTextOut(
        allow_null=True,
        help_text=(
            "For `open_text`, if an analysis has read answers; otherwise null. In results, `summary` is "
            "null and `quotes` are empty."
        ),
    )
    segments = BlockSegmentOut(
        many=True, required=False, help_text="With `segment_by`: one for each of its segments, in its order."
    )


class FieldEntryOut(EntryOut):
    value = serializers.CharField(
        allow_blank=True, help_text="The field's value; empty for responses without a value."
    )
    label = serializers.CharField(
        allow_null=True, help_text="`Not given` for responses without a value; otherwise null."
    )
    count = AmountField()
    percentage = serializers.FloatField(help_text="Of `count` responses, 0 to 100, two decimals.")


class FieldFiguresOut(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Responses, with and without a value.")
    weighted_count = WeightedCountField()
    distribution = FieldEntryOut(
        many=True,
        help_text=f"The {field_counting.MAX_LISTED} most frequent values, and responses without a value; the "
        "most frequent first.",
    )
    other_count = AmountField(help_text="How many responses have values that are not listed.")


class FieldSegmentOut(EntryOut, FieldFiguresOut):
    """The values in one segment. Its distribution has the same entries as that of all responses."""


class ResultFieldOut(FieldFiguresOut):
    """The values of one declared field."""

    name = serializers.CharField(help_text="The field's name, for instance `campaign`.")
    other_values = serializers.IntegerField(help_text="How many different values are not in `distribution`.")
    segments = FieldSegmentOut(
        many=True, required=False, help_text="The segments in the order of `segment_by`; left out without it."
    )


class ResultsOut(serializers.Serializer[Any]):
    project_id = serializers.CharField()
    filters = FiltersOut()
    conversation_count = serializers.IntegerField(help_text="Responses that were counted.")
    completion_count = serializers.IntegerField(help_text="Those of them that are completed.")
    response_count = serializers.IntegerField(
        allow_null=True, help_text="Answered blocks in them; null where some of them are withheld."
    )
    weighting = WeightingOut(allow_null=True, help_text="With `weight_by`; otherwise null.")
    segment_by = SegmentByOut(allow_null=True)
    scores = ResultScoreOut(many=True, allow_null=True, help_text=SCORES_HELP)
    variables = ResultVariableOut(many=True, help_text=VARIABLES_HELP)
    fields = ResultFieldOut(many=True, help_text=FIELDS_HELP)  # type: ignore[assignment]
    blocks = ResultBlockOut(many=True)


class ProjectParticipationOut(ParticipationFiguresOut):
    """When conversations began and were completed, and which questions they reached."""

    project_id = serializers.CharField()
    filters = FiltersOut()


class ResultsCountOut(serializers.Serializer[Any]):
    """A part of very many responses that is being counted."""

    project_id = serializers.CharField()
    status = serializers.ChoiceField(choices=["pending", "running"])
    progress = serializers.FloatField(min_value=0, max_value=1, help_text="0 to 1.")


def _filters(query: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: query.get(name) for name in _FILTERS}, "fields": query.get("field", {})}


def _selection(query: Mapping[str, Any], project: Project) -> Selection:
    return Selection(
        covers=query["status"],
        submitted_after=query.get("submitted_after"),
        submitted_before=query.get("submitted_before"),
        provider=query.get("provider"),
        suspected=query.get("suspected"),
        weight_by=query["weight_by"].removeprefix(dividing.FIELD) if "weight_by" in query else None,
        **of_query(query),
    )


_NOT_SHARED = {"is_archived": False, "drop_off": None, "open_text": None}


def _of_figures(seen: Figures) -> dict[str, Any]:
    return {
        "conversation_count": seen.conversation_count,
        "completion_count": seen.completion_count,
        "response_count": seen.response_count,
        "weighting": seen.weighting,
        "segment_by": seen.segment_by,
        "scores": seen.scores,
        "variables": seen.variables,
        "fields": seen.fields,
        "blocks": seen.blocks,
    }


def _of_shared(seen: SharedResults) -> dict[str, Any]:
    """The results that everybody may see; results over few answers are withheld."""
    return {
        "conversation_count": seen.conversation_count,
        "completion_count": seen.completion_count,
        "response_count": seen.response_count,
        "weighting": None,
        "segment_by": None,
        "scores": None,
        "variables": [],
        "fields": [],
        "blocks": [{**block, **_NOT_SHARED} for block in seen.blocks],
    }


class ResultsViewSet(OwnWorkViewSet):
    noun = "results"
    least_role = {
        "retrieve": Role.MEMBER,  # for the projects that surveys.services.ground.access allows
        "cross": Role.MEMBER,  # for readers of single responses
        "participation": Role.MEMBER,  # for readers of single responses
    }

    def find(self, **kwargs: Any) -> None:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=kwargs["project_id"])
        access.require_results_reader(actor=self.actor, project=project, at=self.at)

    @extend_schema(
        operation_id="analysis_results",
        tags=[TAG],
        summary="Count the answers",
        description=(
            "Counts distributions, statistics, rankings, and the blocks where respondents left, over the "
            "selected responses at this moment, without AI or credits. Counts themes if an analysis has "
            "read the answers. Takes the filters of the responses listing; `segment_by` repeats the "
            "figures for each segment. A long count is `202` with the progress, or `503` while other "
            "projects are counted: repeat the request after `Retry-After` seconds. Too many figures are "
            "`400` (`too_many`). Readers of shared results (`settings.share_results`) cannot use filters "
            "or segments. [Limits, and who sees which figures](/docs/details#count-the-answers)."
        ),
        parameters=[ResultsIn, PARAMETER],
        responses={200: ResultsOut, 202: ResultsCountOut},
        examples=[
            OpenApiExample("Results", RESULTS, response_only=True, status_codes=["200"]),
            OpenApiExample("Being counted", COUNTING, response_only=True, status_codes=["202"]),
        ],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        query = self.query(ResultsIn)
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        seen = readers.read(
            actor=self.actor,
            project=project,
            selection=_selection(query, project),
            segment_by=query.get("segment_by"),
            at=self.at,
        )
        if isinstance(seen, ResultsCount):
            return self._going_on(request, project, seen)
        told = _of_shared(seen) if isinstance(seen, SharedResults) else _of_figures(seen)
        return Response({"project_id": str(project.pk), "filters": _filters(query), **told})

    @extend_schema(
        operation_id="analysis_cross_table",
        tags=[TAG],
        summary="Cross two questions",
        description=(
            "Counts the responses in each row and column, with shares, and tests whether they differ by "
            "more than chance. Takes the filters of results. The table counts only responses with an "
            "answer to both questions, and has at most 2,500 cells. Keys that may not read single "
            "responses get `403 forbidden`. A long count is `202` or `503`, as for results."
        ),
        parameters=[CrossIn, PARAMETER],
        responses={200: CrossTableOut, 202: ResultsCountOut},
        examples=[
            OpenApiExample("A cross table", CROSS_TABLE, response_only=True, status_codes=["200"]),
            OpenApiExample("Being counted", COUNTING, response_only=True, status_codes=["202"]),
        ],
    )
    def cross(self, request: Request, project_id: int) -> Response:
        query = self.query(CrossIn)
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        seen = readers.cross(
            actor=self.actor,
            project=project,
            selection=_selection(query, project),
            rows=query["rows"],
            columns=query["columns"],
            at=self.at,
        )
        if isinstance(seen, ResultsCount):
            return self._going_on(request, project, seen)
        told = asdict(seen)
        if seen.weighted_count is None:
            del told["weighted_count"]
        return Response({"project_id": str(project.pk), "filters": _filters(query), **told})

    @extend_schema(
        operation_id="analysis_participation",
        tags=[TAG],
        summary="Count begun and completed responses over time",
        description=(
            "Counts the conversations that began and were completed on each day (UTC), or in each week or "
            "month of a longer time. For each question, counts the conversations that saw the question, "
            "answered it, and left there. Takes the filters of results. Needs a key that may read single "
            "responses. The response is `400` (`too_large`) for a project with 10,000,000 responses or "
            "more, and may be `503` while other projects are counted."
        ),
        parameters=[FilteredResponses, PARAMETER],
        responses=ProjectParticipationOut,
        examples=[
            OpenApiExample(
                "Participation",
                {"project_id": "7", "filters": RESULTS["filters"], **PARTICIPATION},
                response_only=True,
            )
        ],
    )
    def participation(self, request: Request, project_id: int) -> Response:
        query = self.query(FilteredResponses)
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        found = participation.read(
            actor=self.actor, project=project, selection=_selection(query, project), at=self.at
        )
        return Response({"project_id": str(project.pk), "filters": _filters(query), **asdict(found)})

    def _going_on(self, request: Request, project: Project, job: ResultsCount) -> Response:
        """The progress of a worker's count, and the address of its figures."""
        headers = {"Location": request.get_full_path(), "Retry-After": str(SECONDS_BETWEEN_LOOKS)}
        body = {"project_id": str(project.pk), "status": job.status, "progress": job.progress}
        return Response(body, status=202, headers=headers)
