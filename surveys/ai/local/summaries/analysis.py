"""A summary of a whole analysis: participation, the most notable facts, and where most people stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surveys.ai.local.english import format_percentage, format_share, join_words, quote
from surveys.ai.local.summaries.insights import Insight, insight_of
from surveys.ai.provider import AnalysisOverview

MAX_INSIGHTS = 4  # With participation and drop-off, a summary has at most six sentences.
WANTED_SENTENCES = 3
MIN_DROP_OFF_PERCENTAGE = 5.0
MIN_DROP_OFF = 2
_REPEATED_TYPE = 0.75  # The weight of each further insight about one block type: a fifth average adds little.


def summarize_analysis(overview: AnalysisOverview) -> str:
    """Write up to six sentences: participation, the clearest insights, and where most people stopped.

    The differences that are beyond chance follow.
    """
    name = f" to {quote(overview.name)}" if overview.name.strip() else ""
    if not overview.conversation_count:
        return f"There are no responses{name} yet."
    insights = _clearest_insights(overview)
    sentences = [_participation(overview), *(insight.sentence for insight in insights)]
    drop_off = _drop_off(overview)
    details = [insight.detail for insight in insights if insight.detail]
    missing = max(0, WANTED_SENTENCES - len(sentences) - bool(drop_off))
    ends = [drop_off] if drop_off else []
    return " ".join([*sentences, *details[:missing], *ends, *overview.differences])


def _participation(overview: AnalysisOverview) -> str:
    started, complete = overview.conversation_count, overview.completion_count
    if started == 1:
        return f"There is one response, {'complete' if complete else 'not yet complete'}."
    if complete >= started:
        return f"There are {started:,} responses, all of them complete."
    if not complete:
        return f"There are {started:,} responses, none of them complete yet."
    share = format_share(complete, started)
    return f"There are {started:,} responses, {complete:,} of them ({share}) complete."


def _clearest_insights(overview: AnalysisOverview) -> list[Insight]:
    """Choose the insights of the greatest weight, preferring block types that are not chosen yet."""
    insights = [
        insight
        for block in overview.blocks
        if (insight := insight_of(block, conversation_count=overview.conversation_count))
    ]
    chosen: list[Insight] = []
    while insights and len(chosen) < MAX_INSIGHTS:
        types = [insight.block_type for insight in chosen]
        best = max(
            insights,
            key=lambda insight: (
                insight.weight * _REPEATED_TYPE ** types.count(insight.block_type),
                -insight.position,
            ),
        )
        insights.remove(best)
        chosen.append(best)
    return chosen


def _drop_off(overview: AnalysisOverview) -> str:
    """Return a sentence about the one or two blocks where most people stopped; empty if only a few stopped
    there.

    The share is of all conversations that were started, including those without any answer, which do not
    count as responses.
    """
    counts = [(_drop_off_count(block), block) for block in overview.blocks if not block.get("is_archived")]
    most = max((count for count, _ in counts), default=0)
    blocks = [block for count, block in counts if count == most]
    if most < MIN_DROP_OFF or len(blocks) > 2:
        return ""
    percentage = float(_drop_off_of(blocks[0])["percentage"])
    if percentage < MIN_DROP_OFF_PERCENTAGE:
        return ""
    prompts = join_words([quote(str(block["prompt"])) for block in blocks])
    each = " each" if len(blocks) > 1 else ""
    share = f"{most:,}{each}, {format_percentage(percentage)} of all that were begun"
    return f"Conversations that stop early stop most often at {prompts} ({share})."


def _drop_off_count(block: Mapping[str, object]) -> int:
    return int(_drop_off_of(block).get("left") or 0)


def _drop_off_of(block: Mapping[str, Any]) -> Mapping[str, Any]:
    return block.get("drop_off") or {}
