"""The form in which texts of people are stored and compared (rules 1.6 and 1.7).

Plain Python, because the engine of surveys uses it too. Tokens, secrets, passwords and web addresses are not
texts in this sense: they stay unchanged.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

import regex

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL stores neither
UNSTORABLE_MESSAGE = "must not contain null characters or unpaired surrogates."

# White space, control and format characters, and the five fillers that fonts draw as empty space.
_INVISIBLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\u115F\u1160\u2800\u3164\uFFA0]*+")

# More accents on one letter than any language uses: Unicode's format for streams has at most 30 (UAX 15).
_LONG_RUN = regex.compile(r"\p{M}{31,}+")

# Characters that no font draws, such as U+200B, soft hyphens and control characters. There are two
# exceptions: the tags that make a black flag a country's flag, and joiners between pictures or between
# letters of scripts that join.
_UNJOINED = r"\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}"
_JOINED = rf"[[\p{{L}}\p{{M}}]--[{_UNJOINED}\uFE00-\uFE0F]]"
_PICTURE = r"\p{Extended_Pictographic}"
_UNSEEN = regex.compile(
    r"(?V1)(\U0001F3F4[\U000E0020-\U000E007F]+"
    rf"|(?<=[{_PICTURE}\uFE0F\U0001F3FB-\U0001F3FF])\u200D(?={_PICTURE})"
    rf"|(?<={_JOINED})[\u200C\u200D](?={_JOINED}))"
    r"|[[\p{Default_Ignorable_Code_Point}\p{Cc}\uFFF9-\uFFFB]--\s]"
)
# A selector decides how the character before it is drawn.
_SELECTOR = regex.compile(r"\p{Variation_Selector}")
_EMPTY_LINES = regex.compile(r"\n{3,}+")
_BLANKS = regex.compile(r"[\s\p{Z}\u2800]+")
_IS_PLAIN = regex.compile(r"[!-~]++(?: [!-~]++)*+").fullmatch


def sent_text(text: str) -> str:
    """Return the text in NFC without white space at its ends; empty if no character is visible.

    White space means the characters that `str.strip` removes. White space and line breaks inside the text
    remain, and so do the joiners of emoji and of words.
    """
    text = composed(text.strip())
    return "" if _INVISIBLE.fullmatch(text) else text


def is_unstorable(text: str) -> bool:
    """Return whether PostgreSQL could not store this text."""
    return UNSTORABLE.search(text) is not None


def paragraphs(text: str) -> str:
    """Return the text with one space for several, and at most one empty line between lines."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


def appearance(text: str) -> str:
    """Return the visible form of a text. Two texts look the same if their visible forms are equal.

    The visible form is the text in NFC, without characters that no font draws, and with one space for any
    white space. Case is preserved, and so are letters of other scripts that look alike.
    """
    if _IS_PLAIN(text):
        return text
    return composed(_BLANKS.sub(" ", _UNSEEN.sub(r"\1", text)).strip())


def first_unseen(text: str) -> str:
    """Return the first character that no font draws; empty if there is none.

    Joiners of emoji and of words, and selectors of how a character is drawn, belong to the visible form.
    """
    if _IS_PLAIN(text):
        return ""
    unseen = (match[0] for match in _UNSEEN.finditer(text) if match[1] is None)
    return next((sign for sign in unseen if not _SELECTOR.match(sign)), "")


def composed(text: str) -> str:
    """Return the text in Unicode form NFC, in which an accented letter is one code point.

    The work grows only with the length of the text. Long runs of accents are sorted first, because Python
    sorts the accents of a letter in quadratic time.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _LONG_RUN.sub(lambda run: _sorted(run[0]), text))


def compatible(text: str) -> str:
    """Return the text in Unicode form NFKC, for comparisons: `ﬁ` is `fi`, and `２` is `2`.

    The work grows only with the length of the text, as by `composed`: some characters, such as U+FF9E, become
    accents by this form alone.
    """
    if text.isascii():
        return text
    return composed("".join(unicodedata.normalize("NFKD", char) for char in text))


def _sorted(run: str) -> str:
    """Combining characters in decomposed form and canonical order: an equivalent text (UAX 15, 1.1).

    A character of class 0 stays in its place, and the characters before and after it are sorted separately.
    """
    apart = [part for char in run for part in unicodedata.normalize("NFD", char)]
    groups = groupby(apart, key=lambda char: unicodedata.combining(char) == 0)
    return "".join(
        "".join(chars if stay else sorted(chars, key=unicodedata.combining)) for stay, chars in groups
    )
