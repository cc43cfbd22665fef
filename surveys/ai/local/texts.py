"""Open answers, sorted by classical statistics of text: key phrases, clusters of them, a lexicon of moods.

Everything is done here, in memory: nothing is sent, written or logged, and the same answers with the same
known themes are read the same way every time, in whatever order they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from surveys.ai.local.quotes import quote
from surveys.ai.local.sentiments import sentiment
from surveys.ai.local.themes import KnownTheme, Text, fitting, known_theme, new_themes
from surveys.ai.local.tokens import ENGLISH, Reader, language_of, most_common_language, says_nothing
from surveys.ai.provider import Reading, ReadText, TextBatch

TEXTS_AT_ONCE = 2_000
THEMES_OF_AN_ANSWER = 2
_LEAST_ANSWERS = 2


def read_texts(batch: TextBatch) -> Reading:
    """Answers that fit a known theme get it; what fits none may make new ones."""
    languages = [language_of(answer) for answer in batch.answers]
    language = most_common_language(languages, locale=batch.locale)
    reader = Reader(language)
    texts = [_text(answer, reader, own) for answer, own in zip(batch.answers, languages, strict=True)]
    known = [known_theme(theme, reader) for theme in batch.known]
    new = new_themes(
        [text for text in texts if text.words and not fitting(text, known)],
        reader=reader,
        prompt=batch.prompt,
        room=batch.room,
        taken=[theme.title for theme in batch.known],
    )
    assigned = _assigned(texts, known, new)
    counts = Counter(theme.theme.title for themes in assigned for theme in themes)
    kept = {theme.theme.title for theme in new if counts[theme.theme.title] >= _LEAST_ANSWERS}
    kept.update(theme.title for theme in batch.known)
    return Reading(
        themes=[theme.theme for theme in new if theme.theme.title in kept],
        texts=[
            _read(text, [theme for theme in themes if theme.theme.title in kept], language=language)
            for text, themes in zip(texts, assigned, strict=True)
        ],
    )


def _text(answer: str, reader: Reader, language: str | None) -> Text:
    words = [] if says_nothing(answer) else reader.words(answer, language=language)
    return Text(answer, words, language=language)


def _assigned(
    texts: Sequence[Text],
    known: Sequence[KnownTheme],
    new: Sequence[KnownTheme],
) -> list[list[KnownTheme]]:
    return [(fitting(text, known) + fitting(text, new))[:THEMES_OF_AN_ANSWER] for text in texts]


def _read(text: Text, themes: Sequence[KnownTheme], *, language: str | None) -> ReadText:
    place = themes[0].place(text) if themes else None
    return ReadText(
        themes=tuple(theme.theme.title for theme in themes),
        sentiment=sentiment(text.answer, is_english=(text.language or language or ENGLISH) == ENGLISH),
        quote=quote(text.answer, place) if place else None,
    )
