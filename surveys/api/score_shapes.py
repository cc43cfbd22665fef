"""The figures for scores and for results of calculated blocks, the same in results and in analyses."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from surveys.api.analysis_shapes import AmountField, AnalysisStatsOut, EntryOut

SCORES_HELP = (
    "The scores of completed responses, or with `status=partial` the scores so far of partial responses. "
    "The list has an entry for each bucket, in order; if there are several buckets, a last entry with a "
    "null `key` covers all of them. Null if scoring is off, for the role member, and on anonymous projects "
    "for readers of shared results."
)
VARIABLES_HELP = (
    "The values of each calculated block, in script order, over the same responses as `scores`. Empty for "
    "the role member, and on anonymous projects for readers of shared results."
)


class RangeOut(serializers.Serializer[Any]):
    """One number, or a range of numbers."""

    value = serializers.FloatField(allow_null=True, help_text="The number; null for a range.")
    count = AmountField()
    percentage = serializers.FloatField(help_text="Of `count`, 0 to 100, two decimals.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Adds the field `from`, which is a keyword of Python."""
        fields = super().get_fields()
        value, *others = fields.items()
        return {
            value[0]: value[1],
            "from": serializers.FloatField(allow_null=True, help_text="The range's least number."),
            "to": serializers.FloatField(
                allow_null=True,
                help_text="The range ends below this; the last range includes it. Null for one number.",
            ),
            **dict(others),
        }


@extend_schema_field({"type": ["string", "number"]})
class TextOrNumber(serializers.JSONField):
    """A text or a number."""


class ResultEntryOut(RangeOut):
    """A text, a number, or a range of numbers."""

    value = TextOrNumber(  # type: ignore[assignment]
        allow_null=True,
        help_text="The number or the text, cut after 500 characters; null for a range. Where a block gave "
        "texts and numbers, all are texts.",
    )


class ScoreCorrectOut(serializers.Serializer[Any]):
    mean = serializers.FloatField(allow_null=True, help_text="Not rounded.")
    min = serializers.FloatField(allow_null=True)
    max = serializers.FloatField(allow_null=True)
    max_score_correct = serializers.FloatField(
        allow_null=True, help_text="The most of them that any of these respondents could reach."
    )


class ScoreFiguresOut(AnalysisStatsOut):
    distribution = RangeOut(
        many=True,
        help_text=(
            "Low to high. Up to 11 different numbers are listed singly; more numbers are in at most 10 "
            "ranges of equal width, including empty ranges."
        ),
    )
    max_score = serializers.FloatField(
        allow_null=True, help_text="The most points that any of these respondents could reach."
    )
    score_correct = ScoreCorrectOut(
        allow_null=True, help_text="The points of right answers alone; null if no question has one."
    )


class ScoreSegmentOut(EntryOut, ScoreFiguresOut):
    """The scores of one segment. Its distribution has the same entries as that of all responses."""


class AnalysisScoreOut(ScoreFiguresOut):
    """The scores in one bucket, or in all of them together."""

    key = serializers.CharField(allow_null=True, help_text="The bucket's key; null for all buckets.")
    name = serializers.CharField(help_text="The bucket's name, or `Total`.")


class ResultScoreOut(AnalysisScoreOut):
    segments = ScoreSegmentOut(
        many=True, required=False, help_text="The segments in the order of `segment_by`; left out without it."
    )


class VariableFiguresOut(AnalysisStatsOut):
    distribution = ResultEntryOut(
        many=True,
        help_text=(
            "The 100 most frequent texts, or numbers as in `scores`. Readers who may not read single "
            "responses get no texts, because respondents may have written them."
        ),
    )


class VariableSegmentOut(EntryOut, VariableFiguresOut):
    """The results in one segment. Its distribution has the same entries as that of all responses."""


class AnalysisVariableOut(VariableFiguresOut):
    """The results of one calculated block."""

    block_id = serializers.IntegerField()
    name = serializers.CharField(allow_null=True, help_text="The block's name.")
    is_text = serializers.BooleanField(help_text="Whether any value is a text.")
    other_values = serializers.IntegerField(help_text="How many different texts are not in `distribution`.")
    other_count = AmountField(help_text="How many responses have these other values.")


class ResultVariableOut(AnalysisVariableOut):
    segments = VariableSegmentOut(
        many=True, required=False, help_text="The segments in the order of `segment_by`; left out without it."
    )
