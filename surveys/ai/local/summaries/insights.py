"""The most notable fact about one block of an analysis, in a sentence or two, and how clear the fact is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from communities.ground.words import plural
from surveys.ai.local.english import MAX_QUOTED_LABEL, format_number, format_share, join_words, quote
from surveys.ai.local.summaries.open_question import describe_tone

AnalysisBlock = Mapping[str, Any]
_ARCHIVED_WEIGHT = 0.3  # The weight of a question that is archived.


@dataclass(frozen=True, slots=True)
class Insight:
    """The most notable fact about one block.

    `weight`, from 0 to 1, grows with `Observation.clarity` and with the share of respondents who answered.
    `detail` is a sentence that may follow `sentence`, or an empty string.
    """

    block_type: str
    position: int
    weight: float
    sentence: str
    detail: str = ""


class Observation(NamedTuple):
    """A fact that the answers to a block show. `detail` is a further sentence, or empty.

    `clarity`, from 0 to 1, says how far the answers are from an even distribution.
    """

    clarity: float
    sentence: str
    detail: str = ""


def insight_of(block: AnalysisBlock, *, conversation_count: int) -> Insight | None:
    """Return the most notable fact about a block; None if the block has no answers or shows nothing."""
    observe = OBSERVERS.get(block["block_type"])
    answer_count = block["response_count"]
    if observe is None or not answer_count:
        return None
    observation = observe(block)
    if observation is None:
        return None
    reach = min(1.0, answer_count / max(conversation_count, 1))
    weight = observation.clarity * (0.5 + reach / 2)
    return Insight(
        block_type=block["block_type"],
        position=block["position"],
        weight=weight * (_ARCHIVED_WEIGHT if block.get("is_archived") else 1),
        sentence=observation.sentence,
        detail=observation.detail,
    )


# --- Choices --------------------------------------------------------------------------------------


def _observe_choice(block: AnalysisBlock) -> Observation | None:
    answer_count = block["response_count"]
    chosen = sorted((item for item in block["distribution"] or () if item["count"]), key=_count, reverse=True)
    if not chosen:
        return None
    most = _count(chosen[0])
    leading = [item for item in chosen if _count(item) == most]
    others = chosen[len(leading) :]
    prompt = quote(block["prompt"])
    if len(leading) > 1:
        return Observation(0.3, f"In {prompt}, {_tie(leading, answer_count=answer_count)}.")
    leader = _label(leading[0])
    if most == answer_count:
        everybody = "the one answer is" if answer_count == 1 else f"all {answer_count:,} chose"
        return Observation(0.9, f"In {prompt}, {everybody} {leader}.")
    share = f"{most:,} of {answer_count:,} ({format_share(most, answer_count)})"
    runner_up = _count(others[0]) if others else 0
    return Observation(
        0.4 + 0.5 * (most - runner_up) / answer_count,
        f"In {prompt}, the leading choice is {leader} with {share}.",
        _followers(others, answer_count=answer_count),
    )


def _tie(leading: Sequence[AnalysisBlock], *, answer_count: int) -> str:
    most = _count(leading[0])
    each = f"{most:,} each ({format_share(most, answer_count)})"
    if len(leading) > 3:
        return f"{len(leading):,} options share the lead with {each}"
    return f"{join_words([_label(item) for item in leading])} are tied in the lead with {each}"


def _followers(others: Sequence[AnalysisBlock], *, answer_count: int) -> str:
    """A sentence about the options in second place, unless they are more than three."""
    second = [item for item in others if _count(item) == _count(others[0])]
    if not second or len(second) > 3:
        return ""
    labels, count = join_words([_label(item) for item in second]), _count(second[0])
    verb, each = ("come", " each") if len(second) > 1 else ("comes", "")
    return f"Next {verb} {labels} with {count:,}{each} ({format_share(count, answer_count)})."


# --- Numbers --------------------------------------------------------------------------------------


def _observe_scale(block: AnalysisBlock) -> Observation | None:
    stats, points = block["stats"], block["distribution"]
    if not stats or stats["mean"] is None:
        return None
    if not points or len(points) < 2:
        return _observe_number(block)
    low, high = float(points[0]["value"]), float(points[-1]["value"])
    scale = f"on a scale from {format_number(low)} to {format_number(high)}"
    clarity = 0.4 + 0.5 * abs(stats["mean"] - (low + high) / 2) / ((high - low) / 2 or 1)
    sentence = f"{quote(block['prompt'])} {_average(stats)} {scale}{_range(stats)}."
    return Observation(min(clarity, 0.9), sentence, _most_frequent_point(points))


def _observe_number(block: AnalysisBlock) -> Observation | None:
    stats = block["stats"]
    if not stats or stats["mean"] is None:
        return None
    return Observation(0.35, f"{quote(block['prompt'])} {_average(stats)}{_range(stats)}.")


def _average(stats: AnalysisBlock) -> str:
    if stats["count"] == 1:
        return f"has one answer, {format_number(stats['mean'])}"
    return f"averages {format_number(stats['mean'])}"


def _range(stats: AnalysisBlock) -> str:
    if stats["count"] == 1:
        return ""
    if stats["min"] == stats["max"]:
        return f", the same in all {stats['count']:,} answers"
    low, high = format_number(stats["min"]), format_number(stats["max"])
    return f" ({plural(stats['count'], 'answer')}, from {low} to {high})"


def _most_frequent_point(points: Sequence[AnalysisBlock]) -> str:
    most = max(_count(point) for point in points)
    values = [point["value"] for point in points if _count(point) == most]
    if most < 2 or len(values) > 1:
        return ""
    return f"The answer most often given is {values[0]}, {most:,} times."


def _observe_nps(block: AnalysisBlock) -> Observation | None:
    nps = block["nps"]
    if not nps or nps["score"] is None:
        return None
    promoters, passives, detractors = nps["promoters"], nps["passives"], nps["detractors"]
    if promoters == detractors:
        meaning = f"as many promoters (9 or 10) as detractors (0 to 6), {promoters:,} each"
    elif promoters > detractors:
        meaning = f"more promoters (9 or 10) than detractors (0 to 6), {promoters:,} against {detractors:,}"
    else:
        meaning = f"more detractors (0 to 6) than promoters (9 or 10), {detractors:,} against {promoters:,}"
    score = format_number(nps["score"], decimals=1)
    between = f"{plural(passives, 'answer')} {'lies' if passives == 1 else 'lie'} between them, at 7 or 8."
    return Observation(
        0.95,
        f"{quote(block['prompt'])} gives a Net Promoter Score of {score}: {meaning}.",
        between if passives else "",
    )


# --- Rankings and texts ---------------------------------------------------------------------------


def _observe_ranking(block: AnalysisBlock) -> Observation | None:
    items = [item for item in block["ranking"] or () if item["ranked_count"]]
    if not items:
        return None
    total = len(block["ranking"])
    # Borda points. For full rankings they give the same order as the average ranks. If respondents rank only
    # their top few, they keep an item that one person put first behind an item that many people put second.
    points = [round(item["ranked_count"] * (total + 1 - item["average_rank"]), 6) for item in items]
    winners = [item for item, score in zip(items, points, strict=True) if score == max(points)]
    prompt, answer_count = quote(block["prompt"]), block["response_count"]
    if len(winners) > 3:
        return Observation(0.2, f"In {prompt}, {len(winners):,} items share the first place.")
    if len(winners) > 1:
        labels = join_words([_label(item) for item in winners])
        return Observation(0.3, f"In {prompt}, {labels} share the first place.")
    winner, first_choices = winners[0], winners[0]["first_choice_count"]
    average_rank = format_number(winner["average_rank"])
    support = f"put first by {first_choices:,} of {answer_count:,} and with an average rank of {average_rank}"
    sentence = f"In {prompt}, {_label(winner)} comes out on top, {support}."
    return Observation(0.5 + 0.4 * first_choices / answer_count, sentence)


def _observe_texts(block: AnalysisBlock) -> Observation | None:
    texts = block["open_text"]
    sentiment = texts["sentiment"] if texts else None
    judged_count = sum(sentiment.values()) if sentiment else 0
    if not sentiment or not judged_count:
        return None
    read_count = texts.get("analysed_count", judged_count)
    if judged_count < read_count:
        return _observe_tone_of_some(block, sentiment, judged_count, read_count)
    answers, verb = ("The one answer", "is") if read_count == 1 else ("The answers", "are")
    themes = sorted(texts.get("themes") or (), key=_count, reverse=True)
    sentence = f"{answers} to {quote(block['prompt'])} {verb} {describe_tone(sentiment)}"
    if themes and (len(themes) == 1 or _count(themes[0]) > _count(themes[1])):
        share = format_share(_count(themes[0]), read_count)
        sentence += f"; the leading theme is {quote(themes[0]['title'])} ({share})"
    # Answers such as names are all neutral and show nothing, so feelings add to the clarity.
    emotional = (sentiment["positive"] + sentiment["negative"]) / read_count
    balance = abs(sentiment["positive"] - sentiment["negative"]) / read_count
    return Observation(0.3 + 0.4 * emotional + 0.2 * balance, f"{sentence}.")


def _observe_tone_of_some(
    block: AnalysisBlock, sentiment: Mapping[str, int], judged_count: int, read_count: int
) -> Observation:
    """Return a sentence about the tone of some of the answers, which is less certain than the tone of all."""
    answers = f"{judged_count:,} of {read_count:,} answers to {quote(block['prompt'])}"
    return Observation(0.3, f"The tone of {answers} was read: they are {describe_tone(sentiment)}.")


OBSERVERS: Mapping[str, Callable[[AnalysisBlock], Observation | None]] = {
    "single_punch": _observe_choice,
    "multi_punch": _observe_choice,
    "rating": _observe_scale,
    "opinion_scale": _observe_scale,
    "open_numeric": _observe_number,
    "nps": _observe_nps,
    "ranking": _observe_ranking,
    "open_text": _observe_texts,
}


def _count(item: AnalysisBlock) -> int:
    return int(item["count"])


def _label(item: AnalysisBlock) -> str:
    return quote(item.get("label") or item["value"], length=MAX_QUOTED_LABEL)
