"""Analyses: jobs that read all responses, and their results (chapter 10)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from communities.gate import idempotency
from communities.gate.fields import FlagField, StrictTextField
from communities.gate.idempotency import Claim, once
from communities.ground.actors import Role
from communities.ground.errors import Forbidden, NotFound
from surveys.ai.provider import MAX_QUESTION
from surveys.api.analysis_job_examples import ANSWERED, COMPLETED, FAILED, PENDING, QUESTION_SENT
from surveys.api.analysis_shapes import AnalysisBlockOut
from surveys.api.projects import OwnWorkViewSet, once_arguments
from surveys.api.refusals import TOO_FEW_CREDITS
from surveys.api.score_shapes import SCORES_HELP, VARIABLES_HELP, AnalysisScoreOut, AnalysisVariableOut
from surveys.models import Analysis, Project
from surveys.services.ai_work import question
from surveys.services.ai_work.analysis import service as analysis
from surveys.services.ground import access, lookup

TAG = "Analysis"
NO_ANALYSIS = "There is no such analysis of this project."


class AskIn(serializers.Serializer[Any]):
    """The responses that an analysis covers, and whether it reads texts."""

    ai = FlagField(default=True, help_text="`false`: without the texts and the summary, and free.")
    status = serializers.ChoiceField(
        choices=Analysis.Covers.values, default="all", help_text="The responses to analyse; by default all."
    )


class ReadIn(serializers.Serializer[Any]):
    """Selects an analysis: the newest that matches."""

    ai = FlagField(required=False, help_text="The newest analysis with (`true`) or without (`false`) AI.")
    status = serializers.ChoiceField(
        choices=Analysis.Covers.values, required=False, help_text="The newest analysis of these responses."
    )


class AnalysisOut(serializers.Serializer[Any]):
    """An analysis: a job and its result. Its counts are those of the project at the time of the analysis."""

    id = serializers.CharField()
    project_id = serializers.CharField()
    status = serializers.ChoiceField(choices=Analysis.Status.values)
    ai = serializers.BooleanField(help_text="Whether AI reads open answers and writes the summary.")
    covers = serializers.ChoiceField(choices=Analysis.Covers.values, help_text="Which responses.")
    progress = serializers.FloatField(min_value=0, max_value=1, help_text="0 to 1.")
    created_at = serializers.DateTimeField(help_text="Rounded on anonymous projects, like all their times.")
    completed_at = serializers.DateTimeField(allow_null=True)
    completion_count = serializers.IntegerField()
    response_count = serializers.IntegerField(help_text="Answered blocks, not responses.")
    credits_used = serializers.IntegerField(
        help_text="After a failure: only the credits for answers that were read. The others are returned."
    )
    generated_by = serializers.CharField(
        allow_null=True, help_text="Who wrote summaries and named themes: `anthropic`, `openai` or `local`."
    )
    summary = serializers.CharField(allow_null=True)
    scores = AnalysisScoreOut(
        many=True, allow_null=True, help_text=f"{SCORES_HELP} Null until the analysis is completed."
    )
    variables = AnalysisVariableOut(
        many=True, help_text=f"{VARIABLES_HELP} Empty until the analysis is completed."
    )
    blocks = AnalysisBlockOut(many=True, help_text="Empty until the analysis is completed.")
    error = serializers.CharField(allow_null=True, help_text="The reason for a failure, in a sentence.")


class QuestionIn(serializers.Serializer[Any]):
    question = StrictTextField(
        max_length=MAX_QUESTION, allow_blank=False, help_text="In plain words, and in any language."
    )


class ClaimOut(serializers.Serializer[Any]):
    """One sentence of the answer, with the figures that support the sentence."""

    text = serializers.CharField()
    references = serializers.ListField(
        child=serializers.CharField(), help_text="References of figures, such as `b12.mean`."
    )


class ReferencedFigureOut(serializers.Serializer[Any]):
    reference = serializers.CharField(
        help_text="The name of the figure, after `b` and the id of its block if it has one: `b12.mean`."
    )
    text = serializers.CharField(help_text="What the figure is, in words.")
    value = serializers.CharField(help_text="The value as it is shown: `3.82`, `31 of 140 (22.14 %)`.")


class AnswerToQuestionOut(serializers.Serializer[Any]):
    """An answer about results, from figures alone."""

    question = serializers.CharField()
    answer = serializers.CharField(
        help_text="The claims as one text, or the statement that the data has no answer."
    )
    claims = ClaimOut(many=True)
    figures = ReferencedFigureOut(many=True, help_text="The figures that the claims refer to.")
    can_be_told = serializers.BooleanField(help_text="False if there are no claims.")
    generated_by = serializers.CharField(help_text="`anthropic`, `openai` or `local`.")
    credits_used = serializers.IntegerField()


class AnalysisViewSet(OwnWorkViewSet):
    noun = "analysis"
    least_role = {
        "create": Role.CREATOR,
        "ask": Role.CREATOR,  # who may read the results; it may cost the community credits
        "retrieve": Role.MEMBER,
    }
    with_query = frozenset({"create"})

    def find(self, **kwargs: Any) -> None:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=kwargs["project_id"])
        access.require_results_reader(actor=self.actor, project=project, at=self.at)

    @extend_schema(
        operation_id="analysis_create",
        tags=[TAG],
        summary="Analyse the responses",
        description=(
            "Starts an analysis of every response, including partial ones, and returns this analysis with "
            "`202`: poll it, or wait for `analysis.completed` or `analysis.failed`. If nothing has changed "
            "since the last analysis, returns the last analysis with `200`, free of charge. An analysis "
            "costs 1 credit for each 100 answers (or part of 100) that are newly read. With `ai=false` or "
            "the `local` provider it is free. The response is `402` for too few credits, and `409` with "
            "`Retry-After` for too much AI within an hour. [What is read, counted and "
            "kept](/docs/details#analyse-the-responses)."
        ),
        parameters=[AskIn],
        request=None,
        responses={202: AnalysisOut, 200: AnalysisOut, 402: TOO_FEW_CREDITS},
        examples=[
            OpenApiExample("Begun", PENDING, response_only=True, status_codes=["202"]),
            OpenApiExample("Nothing has changed", COMPLETED, response_only=True, status_codes=["200"]),
        ],
    )
    @once
    def create(self, request: Request, project_id: int) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_owner(actor=self.actor, project=project)
        query = self.query(AskIn)
        asked, _ = analysis.ask(
            actor=self.actor, project=project, with_ai=query["ai"], covers=query["status"], at=self.at
        )
        status = 200 if asked.status == Analysis.Status.COMPLETED else 202
        return Response(analysis.as_json(asked), status=status)

    @extend_schema(
        operation_id="analysis_get",
        tags=[TAG],
        summary="Read the analysis",
        description=(
            "Returns the newest analysis, finished or not; `404 not_found` if there is none. Every reader "
            "of the results may read the analysis. Readers of shared results get the analysis of all "
            "responses, without quotes. [What they see](/docs/details#read-the-analysis)."
        ),
        parameters=[ReadIn],
        responses=AnalysisOut,
        examples=[
            OpenApiExample("Completed", COMPLETED, response_only=True),
            OpenApiExample("Failed", FAILED, response_only=True),
        ],
    )
    def retrieve(self, request: Request, project_id: int) -> Response:
        project = lookup.in_community(community_id=self.actor.community_id, project_id=project_id)
        access.require_results_reader(actor=self.actor, project=project, at=self.at)
        query = self.query(ReadIn)
        if access.may_read_people(actor=self.actor, project=project):
            return self._answer(project, covers=query.get("status"), with_ai=query.get("ai"))
        if query.get("ai") is not None or query.get("status", Analysis.Covers.ALL) != Analysis.Covers.ALL:
            raise Forbidden(
                "This analysis is shared as a whole: others are for the project's creator and admins."
            )
        return self._answer(project, covers=Analysis.Covers.ALL, is_whole=False)

    def _prepare_answer(self, claim: Claim | None) -> int | None:
        """Have a question answered, and wait for it. None if nothing is to be done."""
        if idempotency.is_settled(claim, at=self.at):
            return None
        return question.prepare(
            actor=self.actor,
            project_id=self.kwargs["project_id"],
            question=self.read(QuestionIn)["question"],
            **once_arguments(claim, at=self.at),
            at=self.at,
        )

    @extend_schema(
        operation_id="analysis_ask",
        tags=[TAG],
        summary="Ask the results",
        description=(
            "Answers a question from the current figures of the results and the counts of themes. Each "
            "claim names its figures; if there is no claim, `can_be_told` is false. If the answer is not "
            "ready within 60 seconds, the response is `503`; repeat the request with the same "
            "`Idempotency-Key` to fetch the answer. An answer costs one credit. It is free if it fails, if "
            "nobody fetches it within ten minutes, and with the `local` provider. [How claims are "
            "checked](/docs/details#ask-the-results)."
        ),
        request=QuestionIn,
        responses={200: AnswerToQuestionOut, 402: TOO_FEW_CREDITS},
        examples=[
            OpenApiExample("A question", QUESTION_SENT, request_only=True),
            OpenApiExample("Answered", ANSWERED, response_only=True, status_codes=["200"]),
        ],
    )
    @once(prepare=_prepare_answer)
    def ask(self, request: Request, project_id: int, *, prepared: int | None) -> Response:
        answer = question.answer(actor=self.actor, project_id=project_id, generation_id=prepared, at=self.at)
        return Response(answer)

    def _answer(
        self, project: Project, *, covers: str | None, with_ai: bool | None = None, is_whole: bool = True
    ) -> Response:
        newest = analysis.rendered(project_id=project.pk, covers=covers, with_ai=with_ai)
        if newest is None:
            raise NotFound(NO_ANALYSIS)
        if not is_whole:
            newest = analysis.in_aggregate(newest, project=project, at=self.at)
        if not access.may_read_solutions(actor=self.actor):
            newest = analysis.without_solutions(newest)
        return Response(newest)
