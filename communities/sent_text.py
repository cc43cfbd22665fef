"""The text that was sent: the one form in which texts of people are stored and compared (decisions 17.2).

Plain Python, so that the engine of surveys uses it too. Tokens, secrets, passwords and web addresses are not
texts: they stay as they were sent.
"""

from __future__ import annotations

import unicodedata

import regex

# White space, control and format characters, and the five fillers that fonts draw as nothing.
_INVISIBLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\u115F\u1160\u2800\u3164\uFFA0]*+")


def sent_text(text: str) -> str:
    """Return the text in NFC without white space at its ends; empty if nothing of it is visible.

    White space and line breaks inside stay, and so do the joiners of emoji and of words.
    """
    text = composed(text.strip())
    return "" if _INVISIBLE.fullmatch(text) else text


def composed(text: str) -> str:
    """Return the text in Unicode form NFC, in which an accented letter is one code point."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)
