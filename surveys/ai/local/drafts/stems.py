"""English words reduced to their stems, so that `Voting`, `votes` and `vote` are the same."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer


def word_set(text: str) -> frozenset[str]:
    """The words of a text, separated by spaces, as a set."""
    return frozenset(text.split())


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Words that say nothing about the topic of a survey.
EMPTY = word_set(
    """a about all also am an and any are as ask asking at be been but by can could create design do
    does each every few for from get give good great has have help how i if in include including
    into is it its just let like make making many me more my need needs new nice of on one or our
    out over people please quick really set short simple so some something than that the their them
    then there these they this those to us use using very want wants was we were what when where
    whether which who will with would write you your fun cool little small brief basic generate
    build prepare put together run i'd i'm we'd we're let's"""
)


def words(text: str) -> list[str]:
    """The words of a text in order, in lower case, without accents and possessives."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return [re.sub(r"['’]s?$", "", word).replace("’", "'") for word in _WORD.findall(plain)]


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """The stem of one word in lower case."""
    # A new stemmer for each word: a stemmer keeps state, and workers run threads.
    result: str = snowballstemmer.stemmer("english").stemWord(word)
    return result


def stemmed_line(text: str) -> str:
    """The stems of all words, with a space on either side of each, so that phrases can be searched for."""
    return f" {' '.join(map(stem, words(text)))} "


def stems(text: str) -> tuple[str, ...]:
    """The stems of the words that carry meaning, in order."""
    return tuple(stem(word) for word in words(text) if word not in EMPTY)


def stem_set(texts: Iterable[str]) -> frozenset[str]:
    """The stems of the words that carry meaning in any of the texts."""
    return frozenset(stem for text in texts for stem in stems(text))
