"""The check whether words of respondents may be shown as a quote, for all providers."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import regex

# Every repetition is bounded and possessive, so that near-misses cost no more time than any other text.
_ADDRESS = regex.compile(
    r"https?://\S++|www\.\S++|(?<![\w.+-])[\w.+-]{1,64}+(?:@|\s?\(at\)\s?|\s?\[at\]\s?)[\w.-]{3,250}+"
    r"|(?<![\w@.-])[\w-]{2,60}+\.(?:com|org|net|de|fr|es|pt|br|io|gg|co|uk|eu|app)\b"
    r"|<[@#!&]{1,2}+\d{1,20}+>|(?<![\w@])@\w{2,40}|\b\w{2,32}#\d{4}\b",  # Mentions of people and channels.
    regex.IGNORECASE,
)
_HOST = regex.compile(r"(?<![\w@.-])(?:[\w-]{2,63}+\.){1,8}+\p{L}{2,24}+(?!\w)")  # A host of any domain.
# The number of a telephone, an account or a customer.
_NUMBER = regex.compile(r"\+?\(?\d(?:[\s()./–-]{0,3}\d){6,}")
_DATE = regex.compile(r"\b(?:\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}|\d{4}-\d{2}-\d{2})\b")
_TITLE = (
    r"mr|mrs|ms|miss|sir|madam|dr|prof|professor|herr|herrn|frau|hr|fr|monsieur|madame|mme|mlle"
    r"|señor|señora|sr|sra|srta|don|doña|doutor|doutora|senhor|senhora|dona|coach|nurse|officer"
)
_NAMED = regex.compile(
    rf"\b(?i:{_TITLE})\b\.?\s+\p{{Lu}}\p{{L}}+"
    r"|\b(?i:my name is|i am called|ich heiße|ich heisse|mein name ist|je m['’]appelle|mon nom est|me llamo"
    r"|mi nombre es|me chamo|meu nome é)\s+\p{L}+"
)
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+")
# Some first names are also words, and begin a sentence like any other word. Such a word is a name only before
# a surname.
_FULL_NAME = regex.compile(
    r"\b(?:Angel|April|Art|Bill|Charity|Daisy|Dawn|Drew|Faith|Frank|Grace|Guy|Hope|Ian|Iris|Ivy|Jade|Jasmine"
    r"|Joy|June|Lily|Mark|Max|May|Mercedes|Pat|Ray|Rob|Rose|Ruby|Sky|Summer|Victor|Violet|Will)\s+\p{Lu}\p{Ll}+"
)
# In some language, these names are words when they begin with a small letter.
_WORDS_TOO = """
    adam ali andre angela ben carl christian clara donna elif ella eva florence frank gloria hans jack jan
    jean jill joan jordan kai karen kelly kim leo linda luc manuel marco marie marina marion martin matt max
    mia mila noah olivier pascal pierre regina robin roman rosa sean simone till tim timo tom vera victoria
    virginie
"""


def is_quotable(text: str) -> bool:
    """Return whether a text can be shown: it contains no telephone number, address, handle or name of a
    person.
    """
    return not (
        _has_contact(text)
        or _NAMED.search(text)
        or _FULL_NAME.search(text)
        or any(match[0] in _first_names() for match in _WORD.finditer(text))
    )


def points_elsewhere(text: str) -> bool:
    """Whether a text names an address, a host, a handle or a telephone number."""
    return _has_contact(text) or _HOST.search(text) is not None


def _has_contact(text: str) -> bool:
    return bool(_ADDRESS.search(text) or _NUMBER.search(_DATE.sub("", text)))


@cache
def _first_names() -> frozenset[str]:
    """Common first names, as they are written, in capitals and in small letters."""
    names = Path(__file__).with_name("first_names.txt").read_text(encoding="utf-8").split()
    small = {name.lower() for name in names} - {*_WORDS_TOO.split()}
    return frozenset((*names, *small, *(name.upper() for name in names)))
