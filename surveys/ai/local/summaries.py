"""Counts → a few English sentences. Nothing is said that the counts do not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from surveys.ai.local import block_facts, moods
from surveys.ai.local.block_facts import Fact
from surveys.ai.local.phrasing import (
    PROMPT_LENGTH,
    capitalised,
    counted,
    listed,
    percentage,
    quoted,
    share,
)
from surveys.ai.provider import CountedTheme, Overview, TextFigures

FEW_ANSWERS = 5  # with fewer, nothing is called a theme of many
FACTS_TOLD = 4  # with participation and where people left: six sentences at most
SENTENCES_WANTED = 3
STANDS_OUT = 0.05  # of the answers, for a theme to be told as leading
NOTABLE_PERCENTAGE_LEFT = 5.0
NOTABLE_LEFT = 2
_SAME_KIND_AGAIN = 0.75  # the fifth average tells less than the first mood


def summarize_texts(figures: TextFigures) -> str:
    """One to four sentences: how many answers, what they are about, their mood."""
    prompt = quoted(figures.prompt, length=PROMPT_LENGTH)
    if not figures.answer_count:
        return f"There are no answers to {prompt} yet."
    read = sum(figures.sentiment.values())
    if not read:
        return f"{capitalised(_answers(figures.answer_count))} to {prompt}, and none could be read."
    sentences = [
        f"{capitalised(_read(figures.answer_count, read))} {prompt} {'was' if read == 1 else 'were'} read.",
        _themes(figures.themes, read=read),
        f"{'It is' if read == 1 else 'They are'} {moods.tone(figures.sentiment)}{_all_counts(figures)}.",
        _against_the_mood(figures),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def summarize(overview: Overview) -> str:
    """Up to six sentences: participation, the most telling of the blocks, and where most people left."""
    name = f" to {quoted(overview.name)}" if overview.name.strip() else ""
    if not overview.conversation_count:
        return f"There are no responses{name} yet."
    facts = _most_telling(overview)
    sentences = [_participation(overview), *(fact.sentence for fact in facts)]
    left = _where_most_left(overview)
    details = [fact.detail for fact in facts if fact.detail]
    missing = max(0, SENTENCES_WANTED - len(sentences) - bool(left))
    return " ".join([*sentences, *details[:missing], *([left] if left else [])])


# --- Texts ----------------------------------------------------------------------------------------


def _answers(count: int) -> str:
    return f"there {'is' if count == 1 else 'are'} {counted(count, 'answer')}"


def _read(answer_count: int, read: int) -> str:
    if read == 1 == answer_count:
        return "the one answer to"
    if read >= answer_count:
        return f"{'both' if read == 2 else f'all {read:,}'} answers to"
    return f"{read:,} of {answer_count:,} answers to"


def _themes(themes: Sequence[CountedTheme], *, read: int) -> str:
    told = sorted((theme for theme in themes if theme.count), key=lambda theme: -theme.count)
    if not told:
        if read < FEW_ANSWERS:
            return "That is too little to speak of themes."
        return "No theme stands out."
    most = told[0].count
    leading = [theme for theme in told if theme.count == most]
    if told[0].count < STANDS_OUT * read:
        return f"No theme stands out: {_most_frequent(leading, read=read)}."
    if len(leading) > 3:
        return f"{len(leading):,} themes share the lead with {_count_and_share(told[0], read, each=' each')}."
    if len(leading) > 1:
        names = listed([quoted(theme.title) for theme in leading])
        return f"{names} are tied in the lead with {_count_and_share(told[0], read, each=' each')}."
    followers = [f"{quoted(theme.title)} ({_count_and_share(theme, read)})" for theme in told[1:3]]
    followed = f", followed by {listed(followers)}" if followers else ""
    return f"The leading theme is {quoted(told[0].title)} ({_count_and_share(told[0], read)}){followed}."


def _most_frequent(leading: Sequence[CountedTheme], *, read: int) -> str:
    if len(leading) > 1:
        return f"the {len(leading):,} most frequent have {counted(leading[0].count, 'answer')} each"
    return f"the most frequent, {quoted(leading[0].title)}, has {_count_and_share(leading[0], read)}"


def _count_and_share(theme: CountedTheme, read: int, *, each: str = "") -> str:
    # Not by `percentage`, which is rounded already: 19.047 would be told as 19.1.
    return f"{counted(theme.count, 'answer')}{each}, {share(theme.count, read)}"


def _all_counts(figures: TextFigures) -> str:
    given = sum(1 for count in figures.sentiment.values() if count)
    return f": {moods.counts(figures.sentiment)}" if given > 1 else ""


def _against_the_mood(figures: TextFigures) -> str:
    """Where the mood is good, the theme that is not, and the other way about."""
    positive, negative = figures.sentiment.get("positive", 0), figures.sentiment.get("negative", 0)
    if positive == negative:
        return ""
    other = "negative" if positive > negative else "positive"
    against = [theme for theme in figures.themes if theme.count and theme.sentiment == other]
    if not against:
        return ""
    theme = max(against, key=lambda theme: theme.count)
    return f"The tone of {quoted(theme.title)} ({counted(theme.count, 'answer')}) is mostly {other}."


# --- A whole analysis -----------------------------------------------------------------------------


def _participation(overview: Overview) -> str:
    given, complete = overview.conversation_count, overview.completion_count
    if given == 1:
        return f"There is one response, {'complete' if complete else 'not yet complete'}."
    if complete >= given:
        return f"There are {given:,} responses, all of them complete."
    if not complete:
        return f"There are {given:,} responses, none of them complete yet."
    return f"There are {given:,} responses, {complete:,} of them ({share(complete, given)}) complete."


def _most_telling(overview: Overview) -> list[Fact]:
    facts = [
        fact
        for block in overview.blocks
        if (fact := block_facts.fact(block, conversation_count=overview.conversation_count))
    ]
    chosen: list[Fact] = []
    while facts and len(chosen) < FACTS_TOLD:
        kinds = [fact.kind for fact in chosen]
        best = max(
            facts, key=lambda fact: (fact.weight * _SAME_KIND_AGAIN ** kinds.count(fact.kind), -fact.position)
        )
        facts.remove(best)
        chosen.append(best)
    return chosen


def _where_most_left(overview: Overview) -> str:
    """Told where it is more than a few, and one or two places stand out.

    The share is of all conversations that were begun, also those without an answer, which are no responses.
    """
    left = [(_left(block), block) for block in _asked(overview.blocks)]
    most = max((count for count, _ in left), default=0)
    places = [block for count, block in left if count == most]
    if most < NOTABLE_LEFT or len(places) > 2:
        return ""
    of_all = float(places[0]["drop_off"]["percentage"])
    if of_all < NOTABLE_PERCENTAGE_LEFT:
        return ""
    prompts = listed([quoted(block["prompt"]) for block in places])
    each = " each" if len(places) > 1 else ""
    share_left = f"{most:,}{each}, {percentage(of_all)} of all that were begun"
    return f"Conversations that stop early stop most often at {prompts} ({share_left})."


def _asked(blocks: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    return (block for block in blocks if not block.get("is_archived"))


def _left(block: Mapping[str, Any]) -> int:
    return int((block.get("drop_off") or {}).get("left") or 0)
