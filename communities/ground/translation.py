"""Our own texts in the language of a respondent.

    with in_language("de-AT"):
        say("{n} of {all}", n=3, all=8)     → "3 von 8"

The texts are written in English where they are used. Outside `in_language`, such as in the interface and
for staff, they stay English. A catalog is `translation.<language>.json` beside this module: the translation
of each text, by the English one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

ENGLISH = "en"
LANGUAGES = (ENGLISH, "de", "es", "fr", "pt")
NUMBER = "1,234.5"  # its translation has the separators of a language
_language = ContextVar("the language of our texts", default=ENGLISH)


def language_of(tag: str) -> str:
    """The language of our texts for a tag, or for the first one of an Accept-Language header.

    It is `de` for `de-AT`, and `en` where we have no other.
    """
    language = tag[:2].lower()
    return language if language in LANGUAGES and tag[2:3] in ("", "-", "_", ",", ";") else ENGLISH


@contextmanager
def in_language(tag: str) -> Iterator[None]:
    """Let `say` and `number` speak the language of a tag."""
    token = _language.set(language_of(tag))
    try:
        yield
    finally:
        _language.reset(token)


def language() -> str:
    """The current language, one of LANGUAGES."""
    return _language.get()


@cache
def catalog(language: str) -> Mapping[str, str]:
    """The texts of one of LANGUAGES by the English ones; empty for English."""
    if language == ENGLISH:
        return {}
    texts: dict[str, str] = json.loads(Path(__file__).with_suffix(f".{language}.json").read_text("utf-8"))
    return texts


def say(text: str, /, **values: object) -> str:
    """One of our texts in the current language, with the values in place of its names in braces."""
    text = catalog(_language.get()).get(text, text)
    return text.format(**values) if values else text


def count(n: int, one: str, more: str) -> str:
    """The text for one thing or for several, with the number in place of `{n}`."""
    return say(one if n == 1 else more, n=number(n))


def number(value: float) -> str:
    """A number with separators of thousands, in the notation of the current language."""
    written = f"{value:,}"
    signs = catalog(_language.get()).get(NUMBER)
    return written.translate({ord(","): signs[1], ord("."): signs[5]}) if signs else written
