"""What one block of an analysis shows, in a sentence or two, and how much that tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surveys.ai.local import moods
from surveys.ai.local.phrasing import LABEL_LENGTH, counted, listed, number, quoted, share

Block = Mapping[str, Any]
_ARCHIVED = 0.3  # what is asked no longer tells less about what is


@dataclass(frozen=True, slots=True)
class Fact:
    """`weight` is 0 to 1: how clear what it tells is, and how many it speaks for. `detail` may follow it."""

    kind: str
    position: int
    weight: float
    sentence: str
    detail: str = ""


def fact(block: Block, *, conversation_count: int) -> Fact | None:
    """What stands out in a block; None where it has no answers or nothing to tell."""
    told = TOLD_BY.get(block["block_type"])
    answered = block["response_count"]
    if told is None or not answered:
        return None
    clear = told(block)
    if clear is None:
        return None
    clarity, sentence, detail = clear
    reach = min(1.0, answered / max(conversation_count, 1))
    weight = clarity * (0.5 + reach / 2) * (_ARCHIVED if block.get("is_archived") else 1)
    return Fact(
        kind=block["block_type"],
        position=block["position"],
        weight=weight,
        sentence=sentence,
        detail=detail,
    )


Told = tuple[float, str, str]  # how clear it is from 0 to 1, a sentence, and one more or ""


def _choice(block: Block) -> Told | None:
    answered = block["response_count"]
    chosen = sorted((item for item in block["distribution"] or () if item["count"]), key=_count, reverse=True)
    if not chosen:
        return None
    most = _count(chosen[0])
    leading = [item for item in chosen if _count(item) == most]
    others = chosen[len(leading) :]
    prompt = quoted(block["prompt"])
    if len(leading) > 1:
        return 0.3, f"In {prompt}, {_tie(leading, most=most, answered=answered)}.", ""
    name = _label(leading[0])
    if most == answered:
        all_of_them = "the one answer is" if answered == 1 else f"all {answered:,} chose"
        return 0.9, f"In {prompt}, {all_of_them} {name}.", ""
    sentence = (
        f"In {prompt}, the leading choice is {name} with {most:,} of {answered:,} ({share(most, answered)})."
    )
    runner_up = _count(others[0]) if others else 0
    return 0.4 + 0.5 * (most - runner_up) / answered, sentence, _followers(others, answered=answered)


def _tie(leading: Sequence[Block], *, most: int, answered: int) -> str:
    each = f"{most:,} each ({share(most, answered)})"
    if len(leading) > 3:
        return f"{len(leading):,} options share the lead with {each}"
    return f"{listed([_label(item) for item in leading])} are tied in the lead with {each}"


def _followers(others: Sequence[Block], *, answered: int) -> str:
    second = [item for item in others if _count(item) == _count(others[0])]
    if not second or len(second) > 3:
        return ""
    names, count = listed([_label(item) for item in second]), _count(second[0])
    each = " each" if len(second) > 1 else ""
    return f"Next {'come' if each else 'comes'} {names} with {count:,}{each} ({share(count, answered)})."


def _scale(block: Block) -> Told | None:
    stats, points = block["stats"], block["distribution"]
    if not stats or stats["mean"] is None:
        return None
    if not points or len(points) < 2:
        return _numeric(block)
    low, high = float(points[0]["value"]), float(points[-1]["value"])
    scale = f"on a scale from {number(low)} to {number(high)}"
    clarity = 0.4 + 0.5 * abs(stats["mean"] - (low + high) / 2) / ((high - low) / 2 or 1)
    sentence = f"{quoted(block['prompt'])} {_average(stats)} {scale}{_spread(stats)}."
    return min(clarity, 0.9), sentence, _most_given(points)


def _numeric(block: Block) -> Told | None:
    stats = block["stats"]
    if not stats or stats["mean"] is None:
        return None
    return 0.35, f"{quoted(block['prompt'])} {_average(stats)}{_spread(stats)}.", ""


def _average(stats: Block) -> str:
    if stats["count"] == 1:
        return f"has one answer, {number(stats['mean'])}"
    return f"averages {number(stats['mean'])}"


def _spread(stats: Block) -> str:
    if stats["count"] == 1:
        return ""
    if stats["min"] == stats["max"]:
        return f", the same in all {stats['count']:,} answers"
    low, high = number(stats["min"]), number(stats["max"])
    return f" ({counted(stats['count'], 'answer')}, from {low} to {high})"


def _most_given(points: Sequence[Block]) -> str:
    most = max(_count(point) for point in points)
    given = [point["value"] for point in points if _count(point) == most]
    if most < 2 or len(given) > 1:
        return ""
    return f"The answer most often given is {given[0]}, {most:,} times."


def _nps(block: Block) -> Told | None:
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
    score = number(nps["score"], decimals=1)
    sentence = f"{quoted(block['prompt'])} gives a Net Promoter Score of {score}: {meaning}."
    between = f"{counted(passives, 'answer')} {'lies' if passives == 1 else 'lie'} between them, at 7 or 8."
    return 0.95, sentence, between if passives else ""


def _ranking(block: Block) -> Told | None:
    items = [item for item in block["ranking"] or () if item["ranked_count"]]
    if not items:
        return None
    total = len(block["ranking"])
    # Points as by Borda. Over full rankings it is the order of the average ranks; where only the top few are
    # ranked, an item that a single respondent put first does not pass one that many put second.
    points = [round(item["ranked_count"] * (total + 1 - item["average_rank"]), 6) for item in items]
    first = [item for item, sum_ in zip(items, points, strict=True) if sum_ == max(points)]
    prompt, answered = quoted(block["prompt"]), block["response_count"]
    if len(first) > 1:
        if len(first) > 3:
            return 0.2, f"In {prompt}, {len(first):,} items share the first place.", ""
        return 0.3, f"In {prompt}, {listed([_label(item) for item in first])} share the first place.", ""
    best, favoured = first[0], first[0]["first_choice_count"]
    put_first = f"put first by {favoured:,} of {answered:,} and with an average rank of"
    sentence = f"In {prompt}, {_label(best)} comes out on top, {put_first} {number(best['average_rank'])}."
    return 0.5 + 0.4 * favoured / answered, sentence, ""


def _texts(block: Block) -> Told | None:
    texts = block["open_text"]
    sentiment = texts["sentiment"] if texts else None
    read = sum(sentiment.values()) if sentiment else 0
    if not sentiment or not read:
        return None
    the_answers = "The one answer" if read == 1 else "The answers"
    mood = moods.tone(sentiment)
    themes = sorted(texts.get("themes") or (), key=_count, reverse=True)
    sentence = f"{the_answers} to {quoted(block['prompt'])} {'is' if read == 1 else 'are'} {mood}"
    if themes and (len(themes) == 1 or _count(themes[0]) > _count(themes[1])):
        theme = quoted(themes[0]["title"])
        sentence += f"; the leading theme is {theme} ({share(_count(themes[0]), read)})"
    # Names and the like are all neutral, and tell nothing.
    felt = (sentiment["positive"] + sentiment["negative"]) / read
    balance = abs(sentiment["positive"] - sentiment["negative"]) / read
    return 0.3 + 0.4 * felt + 0.2 * balance, f"{sentence}.", ""


TOLD_BY: Mapping[str, Callable[[Block], Told | None]] = {
    "single_punch": _choice,
    "multi_punch": _choice,
    "rating": _scale,
    "opinion_scale": _scale,
    "open_numeric": _numeric,
    "nps": _nps,
    "ranking": _ranking,
    "open_text": _texts,
}


def _count(item: Block) -> int:
    return int(item["count"])


def _label(item: Block) -> str:
    return quoted(item.get("label") or item["value"], length=LABEL_LENGTH)
