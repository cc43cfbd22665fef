"""Preparation of answers: links, mentions and mark-up are masked, and spellings are made comparable."""

from __future__ import annotations

import unicodedata

import regex

# At most this many characters of an answer are read. The subject of a longer answer is clear by then.
MAX_READ_LENGTH = 1_500

# Every repetition is bounded and possessive, so that near-misses cost no more time than any other text.
_ADDRESS = (
    r"https?://\S++|www\.\S++|(?<![\w.+-])[\w.+-]{1,64}+@[\w.-]{3,250}+"
    r"|<[@#!&]{1,2}+\d{1,20}+>"  # Mentions of a person or a channel in the notation of the chat platform.
)
_MARKUP = r"<a?:\w{1,32}+:\d{1,20}+>|</?[a-z][^<>]{0,300}+>|&[a-z0-9#]{2,8}+;|:\w{2,32}+:"
_NOISE = regex.compile(f"{_ADDRESS}|{_MARKUP}", regex.IGNORECASE)

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def mask_noise(text: str) -> str:
    """Replace addresses, mentions and mark-up by bars.

    The text keeps its length, so offsets stay valid; a bar is not part of a word, so no phrase crosses it.
    """
    return str(_NOISE.sub(lambda match: "|" * len(match[0]), text))


def plain(text: str) -> str:
    """Return a form in which texts are equal even if one of them lacks its accents: `Música` and `musica`.

    Umlauts become two letters, as people without those keys write them, because `schon` is not `schön`.
    """
    folded = unicodedata.normalize("NFKD", fold(text).translate(_UMLAUTS))
    return "".join(sign for sign in folded[:MAX_READ_LENGTH] if not unicodedata.combining(sign))


def fold(word: str) -> str:
    """Return a form of a word without differences of upper and lower case and of apostrophes.

    The form is also cut, because normalisation can turn one character into 18 characters.
    """
    folded = unicodedata.normalize("NFKC", word[:MAX_READ_LENGTH]).casefold()[:MAX_READ_LENGTH]
    return folded.replace("’", "'").replace("‑", "-")
