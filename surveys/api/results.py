"""Results: figures over the answers as they are now (interface 2.11, decisions 11.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.actors import Role
from communities.errors import Forbidden
from communities.http.fields import UtcDateTimeField
from communities.http.paths import MAX_ID
from surveys.api.analysis_examples import RESULTS
from surveys.api.analysis_shapes import AnalysisBlockOut, BlockSegmentOut, EntryOut
from surveys.api.projects import OwnWorkViewSet
from surveys.models import Conversation, Project, ResultsCount
from surveys.services import access, lookup
from surveys.services.results import figures, very_large
from surveys.services.results import shared as shared_results
from surveys.services.results.figures import Selection

TAG = "Analysis"
SECONDS_BETWEEN_LOOKS = 5
COUNTING = {"project_id": "1", "status": "running", "progress": 0.42}
STATUSES = ("all", "completed", "partial")
_FILTERS = ("status", "submitted_after", "submitted_before", "provider")
_WHOLE_ALONE = (
    "These results are shared as a whole: filters and segments, which could single out a person, are for "
    "the project's creator and admins."
)


class ResultsIn(serializers.Serializer[Any]):
    """Which responses are counted, and how they are segmented."""

    status = serializers.ChoiceField(choices=STATUSES, default="all")
    submitted_after = UtcDateTimeField(required=False, help_text="Completed then or later.")
    submitted_before = UtcDateTimeField(required=False, help_text="Completed before then.")
    provider = serializers.ChoiceField(choices=Conversation.Provider.values, required=False)
    segment_by = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_ID,
        help_text="The id of a choice or scale: each block's figures are repeated for each of its options.",
    )


class FiltersOut(serializers.Serializer[Any]):
    """The filters as they were applied."""

    status = serializers.ChoiceField(choices=STATUSES)
    submitted_after = serializers.DateTimeField(allow_null=True)
    submitted_before = serializers.DateTimeField(allow_null=True)
    provider = serializers.ChoiceField(choices=Conversation.Provider.choices, allow_null=True)


class SegmentOut(EntryOut):
    count = serializers.IntegerField(help_text="Responses that gave this answer.")


class SegmentByOut(serializers.Serializer[Any]):
    """The block that results are divided by, and its options or points, also those that nobody chose."""

    block_id = serializers.IntegerField()
    block_name = serializers.CharField(allow_null=True)
    prompt = serializers.CharField()
    segments = SegmentOut(many=True)


class ResultBlockOut(AnalysisBlockOut):
    segments = BlockSegmentOut(
        many=True, required=False, help_text="With `segment_by`: one for each of its segments, in its order."
    )


class ResultsOut(serializers.Serializer[Any]):
    project_id = serializers.CharField()
    filters = FiltersOut()
    conversation_count = serializers.IntegerField(help_text="Responses that were counted.")
    completion_count = serializers.IntegerField(help_text="Those of them that are completed.")
    response_count = serializers.IntegerField(
        allow_null=True, help_text="Answered blocks in them; null where some of them are withheld."
    )
    segment_by = SegmentByOut(allow_null=True)
    blocks = ResultBlockOut(many=True)


class ResultsCountOut(serializers.Serializer[Any]):
    """A part of very many responses that is being counted."""

    project_id = serializers.CharField()
    status = serializers.ChoiceField(choices=["pending", "running"])
    progress = serializers.FloatField(min_value=0, max_value=1, help_text="0 to 1.")


_NOT_SHARED = {"is_archived": False, "drop_off": None, "open_text": None}


class ResultsViewSet(OwnWorkViewSet):
    noun = "results"
    least_role = {
        "retrieve": Role.MEMBER,  # of the projects that surveys.services.access allows
    }

    @extend_schema(
        operation_id="analysis_results",
        tags=[TAG],
        summary="Count the answers",
        description=(
            "Distributions, statistics, rankings and where respondents left, over every response at this "
            "moment, without AI or credits. First the questions and content blocks in script order, then "
            "removed questions that have answers. Filters are those of the responses listing. `segment_by` "
            "repeats the figures of every block for each option of one choice, or each point of one scale. "
            "A respondent who chose several options of a multi punch is in several segments. The number of "
            "segments times the number of options and points of all blocks (a block without any counts as "
            "one) may be 50,000 at most; otherwise the response is `400 invalid_request`, `too_many`. While "
            "other results of 50,000 or more responses are being counted, results of so many are `503 "
            "unavailable`; retry after `Retry-After` seconds. From 10,000,000 responses on, filtered and "
            "segmented results are counted in the background: the response is `202` with the progress "
            "until they are there; request the same address again after `Retry-After` seconds. They are "
            "then returned as they were counted for ten minutes, or until an answer changes if that is "
            "later. While two other parts of the project are being counted, the response is `503`. "
            "Every role may read the results of a `transparent` project; otherwise only its creator and "
            "admins may. If results are shared (`settings.share_results`), every role may read them, but "
            "without filters and segments, because these could single out a person; results of an "
            "anonymous project are then those of the page at `info.results_url`: questions with fewer than "
            "5 answers are null, and figures and counts stay as they were last shown until at least 5 "
            "responses differ. For role member a project that is not active is `404 not_found`."
        ),
        parameters=[ResultsIn],
        responses={200: ResultsOut, 202: ResultsCountOut},
        examples=[
            OpenApiExample("Results", RESULTS, response_only=True, status_codes=["200"]),
            OpenApiExample("Being counted", COUNTING, response_only=True, status_codes=["202"]),
        ],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        query = self.query(ResultsIn)
        project = lookup.one(Project.objects.in_community(self.actor.community_id), project_id)
        selection = Selection(
            covers=query["status"],
            submitted_after=query.get("submitted_after"),
            submitted_before=query.get("submitted_before"),
            provider=query.get("provider"),
        )
        segment_by = query.get("segment_by")
        self._refuse_unless_readable(project, in_part=(selection, segment_by) != (figures.ALL, None))
        if project.is_anonymous and not access.may_read_people(actor=self.actor, project=project):
            return self._shared(project, query)
        counted = very_large.count(project=project, selection=selection, segment_by=segment_by, at=self.at)
        if isinstance(counted, ResultsCount):
            return self._going_on(request, project, counted)
        return Response(
            {
                "project_id": str(project.pk),
                "filters": {name: query.get(name) for name in _FILTERS},
                "conversation_count": counted.conversation_count,
                "completion_count": counted.completion_count,
                "response_count": counted.response_count,
                "segment_by": counted.segment_by,
                "blocks": counted.blocks,
            }
        )

    def _going_on(self, request: Request, project: Project, job: ResultsCount) -> Response:
        """How far a worker's count has come, and where its figures will be."""
        headers = {"Location": request.get_full_path(), "Retry-After": str(SECONDS_BETWEEN_LOOKS)}
        body = {"project_id": str(project.pk), "status": job.status, "progress": job.progress}
        return Response(body, status=202, headers=headers)

    def _shared(self, project: Project, query: Mapping[str, Any]) -> Response:
        """What everybody may see, with few answers withheld."""
        seen = shared_results.read(project=project, at=self.at)
        return Response(
            {
                "project_id": str(project.pk),
                "filters": {name: query.get(name) for name in _FILTERS},
                "conversation_count": seen.conversation_count,
                "completion_count": seen.completion_count,
                "response_count": seen.response_count,
                "segment_by": None,
                "blocks": [{**block, **_NOT_SHARED} for block in seen.blocks],
            }
        )

    def _refuse_unless_readable(self, project: Project, *, in_part: bool) -> None:
        access.require_results_reader(actor=self.actor, project=project, at=self.at)
        if in_part and not access.may_read_people(actor=self.actor, project=project):
            raise Forbidden(_WHOLE_ALONE)
