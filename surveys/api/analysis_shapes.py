"""The figures for a block's answers, in the same shape in results and in analyses (rule 6.54)."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from surveys.engine.script import BLOCK_TYPES
from surveys.engine.statistics import REPORTED_TYPES

# Where results are weighted, these are sums of weights.
COUNT_HELP = "A whole number; with `weight_by` a sum of weights."
WEIGHTED_HELP = "With `weight_by`: the sum of their weights."
_TYPES = [each for each in BLOCK_TYPES if each in REPORTED_TYPES]


class EntryOut(serializers.Serializer[Any]):
    """An option, or a point of a scale."""

    option_id = serializers.IntegerField(allow_null=True, help_text="Null for a scale's point.")
    value = serializers.CharField(help_text="The option's value, or the point's number.")
    label = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="The label shown to readers, if it differs from the value."
    )


class AmountField(serializers.FloatField):
    """A number of answers, or the sum of their weights."""

    def __init__(self, **options: Any) -> None:
        text = options.pop("help_text", "")
        super().__init__(help_text=f"{text} {COUNT_HELP}".strip(), **options)


class WeightedCountField(serializers.FloatField):
    """The sum of the weights of a base."""

    def __init__(self) -> None:
        super().__init__(required=False, help_text=WEIGHTED_HELP)


class AnalysisDistributionItemOut(EntryOut):
    count = AmountField()
    percentage = serializers.FloatField(
        help_text="Of the respondents who answered the block, 0 to 100, two decimals."
    )


class SpreadOut(serializers.Serializer[Any]):
    """Statistics of numbers. Older analyses lack quartiles and the deviation."""

    lower_quartile = serializers.FloatField(
        allow_null=True, required=False, help_text="Interpolated, like every quartile: see `median`."
    )
    median = serializers.FloatField(
        allow_null=True,
        required=False,
        help_text=(
            "Interpolated. Null without numbers, and in filtered or segmented results with more than "
            "2,000,000 different numbers. [How quartiles are counted](/docs/details#quartiles)."
        ),
    )
    upper_quartile = serializers.FloatField(allow_null=True, required=False)
    standard_deviation = serializers.FloatField(
        allow_null=True,
        required=False,
        help_text=(
            "Of a sample, with n - 1; null for fewer than two numbers. [With "
            "weights](/docs/details#quartiles)."
        ),
    )


class AnalysisStatsOut(SpreadOut):
    count = serializers.IntegerField(
        help_text="How many answers are numbers, or how many responses have a number."
    )
    weighted_count = WeightedCountField()
    mean = serializers.FloatField(allow_null=True, help_text="Not rounded. Null for texts.")
    min = serializers.FloatField(allow_null=True)
    max = serializers.FloatField(allow_null=True)


class HistogramRangeOut(serializers.Serializer[Any]):
    count = AmountField()
    percentage = serializers.FloatField(help_text="Of the `count` of `stats`, 0 to 100, two decimals.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Adds the field `from`, which is a keyword of Python."""
        return {
            "from": serializers.FloatField(help_text="The range's least number."),
            "to": serializers.FloatField(help_text="The range ends below this."),
            **super().get_fields(),
        }


class HistogramOut(serializers.Serializer[Any]):
    """Numbers in ranges of equal width."""

    width = serializers.FloatField(
        help_text=(
            "By Scott's normal reference rule, rounded down to 1, 2 or 5 times a power of ten; at least 1 "
            "for whole numbers. Wider if there would be more than 20 ranges."
        )
    )
    is_whole = serializers.BooleanField(help_text="Whether all numbers are whole.")
    ranges = HistogramRangeOut(many=True, help_text="At most 20, low to high, including empty ranges.")


class AnalysisRankingItemOut(EntryOut):
    points = AmountField(
        required=False,
        help_text=(
            "The first place gives as many points as the ranking has places, and each later place one "
            "point less. An item without a place gets no points."
        ),
    )
    average_rank = serializers.FloatField(
        allow_null=True,
        help_text=(
            "The mean rank among respondents who ranked the item; 1 is best. Not rounded. Null if nobody "
            "ranked the item."
        ),
    )
    first_choice_count = AmountField()
    ranked_count = AmountField()


class AnalysisNpsOut(serializers.Serializer[Any]):
    score = serializers.FloatField(
        allow_null=True,
        help_text="Percentage of promoters minus that of detractors, one decimal; null without answers.",
    )
    promoters = AmountField(help_text="9 and 10.")
    passives = AmountField(help_text="7 and 8.")
    detractors = AmountField(help_text="0 to 6.")


class DropOffOut(serializers.Serializer[Any]):
    left = serializers.IntegerField(
        help_text="Conversations that are not completed and whose current block is this block."
    )
    percentage = serializers.FloatField(
        help_text=(
            "The share of all conversations, including those without an answer. For a block with `since`, "
            "the share of conversations that could reach the block. Two decimals."
        )
    )


class CountedOut(serializers.Serializer[Any]):
    """The figures for the answers to a block, for all of them or for a segment."""

    response_count = serializers.IntegerField(
        allow_null=True,
        help_text=(
            "Respondents who answered the block. If fewer than 5 answered on an anonymous project, this "
            "and all other figures are null for readers of shared results."
        ),
    )
    weighted_count = WeightedCountField()
    distribution = AnalysisDistributionItemOut(
        many=True,
        allow_null=True,
        help_text=(
            "Choices: each option that was chosen, in script order, removed options last. Scales: each "
            "declared point, low to high. Null for other types."
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
    count = AmountField()
    percentage = serializers.FloatField(help_text="Of `analysed_count`.")
    sentiment = serializers.ChoiceField(
        choices=["positive", "neutral", "negative"],
        allow_null=True,
        help_text="The most frequent sentiment; null if no sentiment could be judged.",
    )


class OpenTextThemeOut(SegmentThemeOut):
    description = serializers.CharField()
    quotes = serializers.ListField(child=serializers.CharField(), help_text="Verbatim parts of answers.")


class OpenTextSentimentOut(serializers.Serializer[Any]):
    positive = AmountField()
    neutral = AmountField()
    negative = AmountField()


class SegmentTextOut(serializers.Serializer[Any]):
    """The themes of the whole question, in their order, with the counts of one segment."""

    themes = SegmentThemeOut(many=True)
    sentiment = OpenTextSentimentOut(
        allow_null=True,
        help_text=(
            "The number of answers with each sentiment; null if no sentiment could be judged. The sum may "
            "be less than `analysed_count`."
        ),
    )
    analysed_count = serializers.IntegerField(help_text="Answers that were read.")


class OpenTextOut(SegmentTextOut):
    summary = serializers.CharField(allow_null=True)
    themes = OpenTextThemeOut(many=True)
    answer_count = serializers.IntegerField()


class BlockSegmentOut(EntryOut, CountedOut):
    """The figures for one segment, with the same entries as the distribution of all answers."""

    open_text = SegmentTextOut(
        allow_null=True, help_text="For `open_text`, if an analysis has read answers; otherwise null."
    )


class AddedOptionOut(serializers.Serializer[Any]):
    """An option that was added later."""

    option_id = serializers.IntegerField()
    since = serializers.DateTimeField()


class AnalysisBlockOut(CountedOut):
    """A question or content block, and the figures for its answers."""

    block_id = serializers.IntegerField()
    block_name = serializers.CharField(allow_null=True)
    block_type = serializers.ChoiceField(choices=_TYPES)
    prompt = serializers.CharField()
    position = serializers.IntegerField(help_text="In the script, from 0; removed blocks follow at the end.")
    is_archived = serializers.BooleanField(
        help_text=(
            "Whether the block was removed from the script. The block stays in the figures because it has "
            "answers."
        )
    )
    drop_off = DropOffOut(allow_null=True)
    since = serializers.DateTimeField(
        allow_null=True,
        required=False,
        help_text=(
            "When the block was added, if that was after the project first opened; otherwise null. Also null "
            "once the history of the project has been deleted."
        ),
    )
    added_options = AddedOptionOut(
        many=True,
        required=False,
        help_text="The options that were added after the project opened, and after their block.",
    )
    could_see_count = serializers.IntegerField(
        allow_null=True,
        required=False,
        help_text=(
            "With `since`: the responses whose script had the block before they passed its place. "
            "Otherwise null, also for readers of shared results of an anonymous project."
        ),
    )
    histogram = HistogramOut(
        allow_null=True,
        required=False,
        help_text=(
            "For `open_numeric`, if there are numbers; otherwise null, also for readers of shared results "
            "of an anonymous project."
        ),
    )
    open_text = OpenTextOut(
        allow_null=True,
        help_text="For `open_text`, if an analysis has read answers; otherwise null. In results, `summary` "
        "is null and `quotes` are empty.",
    )
