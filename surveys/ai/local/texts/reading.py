"""Reading of a batch of open answers: themes from phrases and their clusters, sentiment from a lexicon.

Everything happens in memory: nothing is sent, stored or logged. The same answers with the same known themes
give the same reading every time, in any order.
"""

from __future__ import annotations

from collections import Counter

from surveys.ai.local.texts.discovery import discover_themes
from surveys.ai.local.texts.languages import is_english, language_of, most_common_language
from surveys.ai.local.texts.quotes import quote_around
from surveys.ai.local.texts.sentiment import sentiment_of
from surveys.ai.local.texts.themes import ThemeMatcher, TokenizedAnswer, matcher_for, matching_themes
from surveys.ai.local.texts.tokens import Tokenizer, is_no_answer
from surveys.ai.provider import BatchReading, TextBatch, TextReading

MAX_THEMES_OF_ANSWER = 2
_MIN_ANSWERS_OF_THEME = 2


def read_texts(batch: TextBatch) -> BatchReading:
    """Assign answers to the known themes, and discover new themes among those that fit none."""
    languages = [language_of(answer) for answer in batch.answers]
    language = most_common_language(languages, locale=batch.locale)
    tokenizer = Tokenizer(language)
    answers = [
        _tokenize(text, tokenizer, own_language)
        for text, own_language in zip(batch.answers, languages, strict=True)
    ]
    known = [matcher_for(theme, tokenizer) for theme in batch.known_themes]
    new = discover_themes(
        [answer for answer in answers if answer.words and not matching_themes(answer, known)],
        tokenizer=tokenizer,
        prompt=batch.prompt,
        limit=batch.max_new_themes,
        taken_titles=[theme.title for theme in batch.known_themes],
    )
    assigned = [
        (matching_themes(answer, known) + matching_themes(answer, new))[:MAX_THEMES_OF_ANSWER]
        for answer in answers
    ]
    counts = Counter(_title(matcher) for matchers in assigned for matcher in matchers)
    shared = [matcher for matcher in new if counts[_title(matcher)] >= _MIN_ANSWERS_OF_THEME]
    titles = {_title(matcher) for matcher in (*known, *shared)}
    return BatchReading(
        themes=[matcher.theme for matcher in shared],
        texts=[
            _read(answer, [matcher for matcher in matchers if _title(matcher) in titles], language=language)
            for answer, matchers in zip(answers, assigned, strict=True)
        ],
    )


def _title(matcher: ThemeMatcher) -> str:
    return matcher.theme.title


def _tokenize(text: str, tokenizer: Tokenizer, language: str | None) -> TokenizedAnswer:
    words = [] if is_no_answer(text) else tokenizer.words(text, language=language)
    return TokenizedAnswer(text, words, language=language)


def _read(answer: TokenizedAnswer, matchers: list[ThemeMatcher], *, language: str | None) -> TextReading:
    span = matchers[0].find_in(answer) if matchers else None
    is_judged = is_english(answer.text, others=language)
    return TextReading(
        themes=tuple(_title(matcher) for matcher in matchers),
        sentiment=sentiment_of(answer.text) if is_judged else None,
        quote=quote_around(answer.text, span) if span else None,
    )
