"""The figures for a block's answers, in the same shape in results and in analyses (rule 6.54)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from surveys.engine.script import BLOCK_TYPES
from surveys.engine.statistics import REPORTED_TYPES

_TYPES = [each for each in BLOCK_TYPES if each in REPORTED_TYPES]


class EntryOut(serializers.Serializer[Any]):
    """An option, or a point of a scale."""

    option_id = serializers.IntegerField(allow_null=True, help_text="Null for a scale's point.")
    value = serializers.CharField(help_text="The option's value, or the point's number.")
    label = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="The label shown to readers, if it differs from the value."
    )


class AnalysisDistributionItemOut(EntryOut):
    count = serializers.IntegerField()
    percentage = serializers.FloatField(
        help_text="Of the respondents who answered the block, 0 to 100, two decimals."
    )


class AnalysisStatsOut(serializers.Serializer[Any]):
    count = serializers.IntegerField(
        help_text="Answers that are numbers; fewer than `response_count` if the block once had another type."
    )
    mean = serializers.FloatField(allow_null=True, help_text="Not rounded.")
    min = serializers.FloatField(allow_null=True)
    max = serializers.FloatField(allow_null=True)


class AnalysisRankingItemOut(EntryOut):
    average_rank = serializers.FloatField(
        allow_null=True,
        help_text="Mean over those who ranked the item; 1 is best. Not rounded. Null if nobody ranked it.",
    )
    first_choice_count = serializers.IntegerField()
    ranked_count = serializers.IntegerField()


class AnalysisNpsOut(serializers.Serializer[Any]):
    score = serializers.FloatField(
        allow_null=True,
        help_text="Percentage of promoters minus that of detractors, one decimal; null without answers.",
    )
    promoters = serializers.IntegerField(help_text="9 and 10.")
    passives = serializers.IntegerField(help_text="7 and 8.")
    detractors = serializers.IntegerField(help_text="0 to 6.")


class DropOffOut(serializers.Serializer[Any]):
    left = serializers.IntegerField(
        help_text="Conversations that are not completed and have this as their current block."
    )
    percentage = serializers.FloatField(
        help_text="Of all conversations begun, including those without an answer; two decimals."
    )


class CountedOut(serializers.Serializer[Any]):
    """The figures for the answers to a block, for all of them or for a segment."""

    response_count = serializers.IntegerField(
        allow_null=True,
        help_text="Respondents who answered the block. Readers of shared results get null for this and all "
        "other figures if fewer than 5 answered on an anonymous project.",
    )
    distribution = AnalysisDistributionItemOut(
        many=True,
        allow_null=True,
        help_text=(
            "Choices: each option that was chosen, in script order, removed options last. Scales: each "
            "declared point, low to high, and points that were answered before the scale was changed. "
            "Null for other types."
        ),
    )
    stats = AnalysisStatsOut(allow_null=True, help_text="For scales and `open_numeric`; otherwise null.")
    ranking = AnalysisRankingItemOut(
        many=True, allow_null=True, help_text="For `ranking`: every item, in script order; otherwise null."
    )
    nps = AnalysisNpsOut(allow_null=True, help_text="For `nps`; otherwise null.")


class SegmentThemeOut(serializers.Serializer[Any]):
    """How many answers mention a theme."""

    title = serializers.CharField()
    count = serializers.IntegerField()
    percentage = serializers.FloatField(help_text="Of `analysed_count`.")
    sentiment = serializers.ChoiceField(
        choices=["positive", "neutral", "negative"],
        allow_null=True,
        help_text="The most frequent one; null if that of no answer could be judged.",
    )


class OpenTextThemeOut(SegmentThemeOut):
    description = serializers.CharField()
    quotes = serializers.ListField(child=serializers.CharField(), help_text="Verbatim parts of answers.")


class OpenTextSentimentOut(serializers.Serializer[Any]):
    positive = serializers.IntegerField()
    neutral = serializers.IntegerField()
    negative = serializers.IntegerField()


class SegmentTextOut(serializers.Serializer[Any]):
    """The themes of the whole question, in their order, with the counts of one segment."""

    themes = SegmentThemeOut(many=True)
    sentiment = OpenTextSentimentOut(
        allow_null=True,
        help_text=(
            "Counts of the answers whose sentiment could be judged; null if none could. They may be fewer "
            "than `analysed_count`."
        ),
    )
    analysed_count = serializers.IntegerField(help_text="Answers that were read.")


class OpenTextOut(SegmentTextOut):
    summary = serializers.CharField(allow_null=True)
    themes = OpenTextThemeOut(many=True)
    answer_count = serializers.IntegerField()


class BlockSegmentOut(EntryOut, CountedOut):
    """The figures for one segment: respondents who gave the same answer to the `segment_by` block.

    Its distribution has the same entries as that of all answers, so segments can be compared.
    """

    open_text = SegmentTextOut(
        allow_null=True, help_text="For `open_text`, if an analysis has read answers; otherwise null."
    )


class AnalysisBlockOut(CountedOut):
    """A question or content block, and the figures for its answers."""

    block_id = serializers.IntegerField()
    block_name = serializers.CharField(allow_null=True)
    block_type = serializers.ChoiceField(choices=_TYPES)
    prompt = serializers.CharField()
    position = serializers.IntegerField(help_text="In the script, from 0; removed blocks follow at the end.")
    is_archived = serializers.BooleanField(help_text="Removed from the script, kept for its answers.")
    drop_off = DropOffOut(allow_null=True)
    open_text = OpenTextOut(
        allow_null=True, help_text="For `open_text`, if the analysis has read the texts; otherwise null."
    )
