"""Phrases about the sentiment of many answers, from how many are positive, neutral and negative."""

from __future__ import annotations

from collections.abc import Mapping

from surveys.ai.local.english import join_words
from surveys.ai.provider import SENTIMENTS


def describe_tone(sentiment: Mapping[str, int]) -> str:
    """What follows `the answers are`: `mostly positive in tone (30 of 42)`."""
    positive, neutral, negative = (sentiment.get(name, 0) for name in SENTIMENTS)
    total = positive + neutral + negative
    for name, count in zip(SENTIMENTS, (positive, neutral, negative), strict=True):
        if count == total:
            return f"{name} in tone" if total == 1 else f"all {name} in tone"
        if count * 2 > total:
            return f"mostly {name} in tone ({count:,} of {total:,})"
    if positive == negative:
        return f"mixed in tone, with {positive:,} positive and as many negative"
    more, less = ("positive", "negative") if positive > negative else ("negative", "positive")
    return f"mixed in tone, more often {more} ({sentiment[more]:,}) than {less} ({sentiment.get(less, 0):,})"


def list_counts(sentiment: Mapping[str, int]) -> str:
    """`30 positive, 8 neutral and 4 negative`, without those that are zero."""
    return join_words([f"{sentiment[name]:,} {name}" for name in SENTIMENTS if sentiment.get(name)])
