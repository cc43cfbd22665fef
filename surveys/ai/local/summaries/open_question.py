"""A summary of the answers to one open question: how many there are, their themes and their sentiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from communities.ground.words import plural
from surveys.ai.local.english import format_share, join_words, quote
from surveys.ai.provider import SENTIMENTS, CountedTheme, TextFigures

FEW_ANSWERS = 5  # With fewer answers, a summary names no themes.
LEADING_SHARE = 0.05  # A leading theme has at least this share of the answers.


def summarize_texts(figures: TextFigures) -> str:
    """Write one to four sentences about the answers to one open question."""
    prompt = quote(figures.prompt)
    if not figures.answer_count:
        return f"There are no answers to {prompt} yet."
    read_count = sum(figures.sentiment.values()) + figures.unjudged_count
    if not read_count:
        return f"{_there_are_answers(figures.answer_count)} to {prompt}, and none could be read."
    was_or_were = "was" if read_count == 1 else "were"
    sentences = [
        f"{_answers_read(figures.answer_count, read_count)} to {prompt} {was_or_were} read.",
        _themes(figures.themes, read_count=read_count),
        *_tone(figures, read_count=read_count),
        _theme_against_the_tone(figures),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _there_are_answers(count: int) -> str:
    return f"There {'is' if count == 1 else 'are'} {plural(count, 'answer')}"


def _answers_read(answer_count: int, read_count: int) -> str:
    if read_count == 1 == answer_count:
        return "The one answer"
    if read_count >= answer_count:
        return f"{'Both' if read_count == 2 else f'All {read_count:,}'} answers"
    return f"{read_count:,} of {answer_count:,} answers"


def _themes(themes: Sequence[CountedTheme], *, read_count: int) -> str:
    ranked = sorted((theme for theme in themes if theme.count), key=lambda theme: -theme.count)
    if not ranked:
        if read_count < FEW_ANSWERS:
            return "That is too little to speak of themes."
        return "No theme stands out."
    first = ranked[0]
    leading = [theme for theme in ranked if theme.count == first.count]
    if first.count < LEADING_SHARE * read_count:
        return f"No theme stands out: {_most_frequent(leading, read_count=read_count)}."
    if len(leading) > 1:
        return _tied_themes(leading, read_count=read_count)
    followers = [f"{quote(theme.title)} ({_count_and_share(theme, read_count)})" for theme in ranked[1:3]]
    followed_by = f", followed by {join_words(followers)}" if followers else ""
    return f"The leading theme is {quote(first.title)} ({_count_and_share(first, read_count)}){followed_by}."


def _most_frequent(leading: Sequence[CountedTheme], *, read_count: int) -> str:
    if len(leading) > 1:
        return f"the {len(leading):,} most frequent have {plural(leading[0].count, 'answer')} each"
    return f"the most frequent, {quote(leading[0].title)}, has {_count_and_share(leading[0], read_count)}"


def _tied_themes(leading: Sequence[CountedTheme], *, read_count: int) -> str:
    share = _count_and_share(leading[0], read_count, each=" each")
    if len(leading) > 3:
        return f"{len(leading):,} themes share the lead with {share}."
    return f"{join_words([quote(theme.title) for theme in leading])} are tied in the lead with {share}."


def _count_and_share(theme: CountedTheme, read_count: int, *, each: str = "") -> str:
    # `theme.percentage` is rounded already: rounding 19.047 twice would give 19.1.
    return f"{plural(theme.count, 'answer')}{each}, {format_share(theme.count, read_count)}"


def _tone(figures: TextFigures, *, read_count: int) -> list[str]:
    """The tone of the answers that have one. Others say nothing, or are in a language that was not judged."""
    judged = read_count - figures.unjudged_count
    if not judged:
        return [f"{'Its' if read_count == 1 else 'Their'} tone was not read."]
    tone = f"{describe_tone(figures.sentiment)}{_sentiment_counts(figures)}."
    if judged == read_count:
        return [f"{'It is' if judged == 1 else 'They are'} {tone}"]
    those_are = "The one whose tone was read is" if judged == 1 else f"The {judged:,} whose tone was read are"
    return [f"{those_are} {tone}"]


def _sentiment_counts(figures: TextFigures) -> str:
    present = [count for count in figures.sentiment.values() if count]
    return f": {list_counts(figures.sentiment)}" if len(present) > 1 else ""


def _theme_against_the_tone(figures: TextFigures) -> str:
    """Return the largest negative theme if most answers are positive; otherwise the largest
    positive theme.
    """
    positive, negative = figures.sentiment.get("positive", 0), figures.sentiment.get("negative", 0)
    if positive == negative:
        return ""
    opposite = "negative" if positive > negative else "positive"
    themes = [theme for theme in figures.themes if theme.count and theme.sentiment == opposite]
    if not themes:
        return ""
    theme = max(themes, key=lambda theme: theme.count)
    return f"The tone of {quote(theme.title)} ({plural(theme.count, 'answer')}) is mostly {opposite}."


def describe_tone(sentiment: Mapping[str, int]) -> str:
    """The words that follow `the answers are`: `mostly positive in tone (30 of 42)`."""
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
