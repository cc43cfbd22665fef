"""English words by their stems, so that `Voting`, `votes` and `vote` are one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer


def word_set(written: str) -> frozenset[str]:
    """Words between spaces, as a set."""
    return frozenset(written.split())


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Words that say nothing about what a survey is for.
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
    """The words of a text in lower case, without accents and possessives, in order."""
    flat = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    return [re.sub(r"['’]s?$", "", word).replace("’", "'") for word in _WORD.findall(flat)]


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    # A stemmer of its own each time: it keeps its word in itself, and workers run threads.
    found: str = snowballstemmer.stemmer("english").stemWord(word)
    return found


def sentence(text: str) -> str:
    """All words by their stems, between spaces: what phrases are looked for in."""
    return f" {' '.join(map(stem, words(text)))} "


def stems(text: str) -> tuple[str, ...]:
    """The stems of the words that say something, in order."""
    return tuple(stem(word) for word in words(text) if word not in EMPTY)


def stems_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(each for text in texts for each in stems(text))
