"""The mood of many answers in words, from how many are positive, neutral and negative."""

from __future__ import annotations

from collections.abc import Mapping

from surveys.ai.local.phrasing import listed


def tone(sentiment: Mapping[str, int]) -> str:
    """What follows `the answers are`: `mostly positive (30 of 42)`."""
    positive, neutral, negative = (sentiment.get(name, 0) for name in ("positive", "neutral", "negative"))
    read = positive + neutral + negative
    for name, count in (("positive", positive), ("neutral", neutral), ("negative", negative)):
        if count == read:
            return f"{name} in tone" if read == 1 else f"all {name} in tone"
        if count * 2 > read:
            return f"mostly {name} in tone ({count:,} of {read:,})"
    if positive == negative:
        return f"mixed in tone, with {positive:,} positive and as many negative"
    more, less = ("positive", "negative") if positive > negative else ("negative", "positive")
    most, least = max(positive, negative), min(positive, negative)
    return f"mixed in tone, more often {more} ({most:,}) than {less} ({least:,})"


def counts(sentiment: Mapping[str, int]) -> str:
    """`30 positive, 8 neutral and 4 negative`, leaving out what there is none of."""
    present = [
        f"{sentiment[name]:,} {name}" for name in ("positive", "neutral", "negative") if sentiment.get(name)
    ]
    return listed(present)
