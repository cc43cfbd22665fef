"""What is told of a block's answers, the same in results and in an analysis (interface 2.11)."""

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
        allow_null=True, help_text="What a reader sees in its place, where that is something else."
    )


class AnalysisDistributionItemOut(EntryOut):
    count = serializers.IntegerField()
    percentage = serializers.FloatField(
        help_text="Of the respondents who answered the block, 0 to 100, two decimals."
    )


class AnalysisStatsOut(serializers.Serializer[Any]):
    count = serializers.IntegerField(
        help_text="Answers that are numbers; below `response_count` where a block was of another type once."
    )
    mean = serializers.FloatField(allow_null=True, help_text="Not rounded.")
    min = serializers.FloatField(allow_null=True)
    max = serializers.FloatField(allow_null=True)


class AnalysisRankingItemOut(EntryOut):
    average_rank = serializers.FloatField(
        allow_null=True,
        help_text="Over those who ranked the item, 1 is best, not rounded; null where nobody did.",
    )
    first_choice_count = serializers.IntegerField()
    ranked_count = serializers.IntegerField()


class AnalysisNpsOut(serializers.Serializer[Any]):
    score = serializers.FloatField(
        allow_null=True,
        help_text="Promoters less detractors in percent of all, one decimal; null without answers.",
    )
    promoters = serializers.IntegerField(help_text="9 and 10.")
    passives = serializers.IntegerField(help_text="7 and 8.")
    detractors = serializers.IntegerField(help_text="0 to 6.")


class DropOffOut(serializers.Serializer[Any]):
    left = serializers.IntegerField(help_text="Unfinished conversations that stand at this block.")
    percentage = serializers.FloatField(
        help_text="Of all conversations that were begun, also those without an answer; two decimals."
    )


class CountedOut(serializers.Serializer[Any]):
    """What the answers to a block come to, all of them or a part."""

    response_count = serializers.IntegerField(
        allow_null=True,
        help_text="Respondents who answered the block. Null, as all that is counted, where fewer than 5 "
        "answered on an anonymous project and it is shared with whoever reads this.",
    )
    distribution = AnalysisDistributionItemOut(
        many=True,
        allow_null=True,
        help_text=(
            "Of a choice each option that was chosen, in script order, removed ones last. Of a scale each "
            "declared point, low to high, and points that were answered before the scale was changed. "
            "Null for other types."
        ),
    )
    stats = AnalysisStatsOut(allow_null=True, help_text="Of scales and `open_numeric`; else null.")
    ranking = AnalysisRankingItemOut(
        many=True, allow_null=True, help_text="Of a `ranking` every item, in script order; else null."
    )
    nps = AnalysisNpsOut(allow_null=True, help_text="Of `nps`; else null.")


class BlockSegmentOut(EntryOut, CountedOut):
    """The answers of those who gave one answer to the block that results are divided by.

    Its distribution has the same entries as that of all answers, so segments can be laid side by side.
    """


class OpenTextThemeOut(serializers.Serializer[Any]):
    title = serializers.CharField()
    description = serializers.CharField()
    count = serializers.IntegerField()
    percentage = serializers.FloatField(help_text="Of `analysed_count`.")
    sentiment = serializers.ChoiceField(choices=["positive", "neutral", "negative"])
    quotes = serializers.ListField(child=serializers.CharField(), help_text="Verbatim parts of answers.")


class OpenTextSentimentOut(serializers.Serializer[Any]):
    positive = serializers.IntegerField()
    neutral = serializers.IntegerField()
    negative = serializers.IntegerField()


class OpenTextOut(serializers.Serializer[Any]):
    summary = serializers.CharField(allow_null=True)
    themes = OpenTextThemeOut(many=True)
    sentiment = OpenTextSentimentOut()
    answer_count = serializers.IntegerField()
    analysed_count = serializers.IntegerField()


class AnalysisBlockOut(CountedOut):
    """A question or content block, and what was answered."""

    block_id = serializers.IntegerField()
    block_name = serializers.CharField(allow_null=True)
    block_type = serializers.ChoiceField(choices=_TYPES)
    prompt = serializers.CharField()
    position = serializers.IntegerField(help_text="In the script, from 0; removed blocks come behind it.")
    is_archived = serializers.BooleanField(help_text="Removed from the script, kept for its answers.")
    drop_off = DropOffOut(allow_null=True)
    open_text = OpenTextOut(
        allow_null=True, help_text="Of `open_text`, in an analysis that has read the texts; else null."
    )
