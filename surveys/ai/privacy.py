"""The wishes of an intent or an instruction for the privacy of respondents, in five languages (rule 10.90).

    wished("It was not anonymous. This one must be anonymous.")    "anonymous"
    wished("Vertrauliche Umfrage")                                 "confidential"
    wished("It need not be anonymous")                             None

In doubt the stricter privacy counts. A negation cancels only the words after the negation, and a second
negation in the same sentence cancels nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

ANONYMOUS, CONFIDENTIAL, TRANSPARENT = "anonymous", "confidential", "transparent"
_ORDER = (TRANSPARENT, CONFIDENTIAL, ANONYMOUS)  # The strictest privacy is the last one.
_MAY = (
    r"(?:(?:may|can|could|will|must|should|shall|ever|darf|kann|soll|sollte|wird|doit|peut|puisse|pourra|"
    r"debe|puede|pueda|sabrá|deve|pode|possa|saberá|be able to|ne|to) )"
)
_SEES = (
    r"(?:knows?|sees?|finds? out|tells?|learns?|wissen|weiß|sehen|sieht|erfahren|erfährt|savoir|"
    r"sache|sait|voir|voit|"
    r"saber|sepa|sabe|sabrá|ver|vea|saiba|saberá|veja)"
)
ANONYMOUS_WORDS = re.compile(
    r"\b(?:an[oóô]n[iy]m\w*"
    r"|(?:without|no|ohne|sans|sin|sem) (?:(?:any|real|giving|their|the|die|irgendwelche|les|leurs?|"
    r"los|os) )?"
    r"(?:names?|namen|noms?|nombres?|nomes?)\b(?! (?:tags?|badges?|brands?)\b)"
    r"|(?:nobody|no[ -]?one|none of us|niemand|keiner|personne|nadie|ninguém|ninguem)"
    rf" {_MAY}{{0,3}}{_SEES},? (?:\w+ ){{0,3}}?(?:who|whose|wer|wem|von wem|qui|quién|quien|quem)\b"
    r"|(?:do not|don['’]t) (?:store|save|show|record|collect|use) (?:any |their |the )?names?\b"
    r"|(?:not be |not |un)(?:identifiable|traceable)\b"
    r"|(?:secret (?:ballot|vote|poll)|geheime\w* (?:wahl|abstimmung|umfrage)|(?:scrutin|vote) secret"
    r"|vot(?:o|ación) secret[oa]|votação secreta))",
    re.IGNORECASE,
)
CONFIDENTIAL_WORDS = re.compile(
    r"\b(?:confidential\w*|in (?:strict )?confidence\b|vertraulich\w*|confidentiel\w*|confidentialité"
    r"|(?:en toute|con|com) (?:confidentialité|confidencialidad)|confidencia\w*)",
    re.IGNORECASE,
)
_NO = (
    r"(?:not|non|never|no|cannot|\w+n['’]t|nicht|kein\w*|nie|pas|jamais|sans être|nunca|não|nao|"
    r"jamás|without being"
    r"|rather than|instead of|statt)"
)
_BETWEEN = (
    r"(?:be|being|have|has|need|needs|want|to|necessarily|really|fully|completely|strictly|entirely|any|an?|the"
    r"|unbedingt|wirklich|ganz|völlig|est|être|d['’]être|une?|besoin|necesita|precisa|tiene que|"
    r"tem que|ser|es|é|"
    r"answers?|survey|in|keine)"
)
_NEGATED = re.compile(rf"\b{_NO}(?:[ -]+{_BETWEEN}){{0,4}}[ -]+$", re.IGNORECASE)
_ANY_NO = re.compile(rf"\b{_NO}\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;:\n](?=\s|$)")
_LOOKED_AT = 200  # At most this many characters before a word are searched for a negation.


def wished(text: str) -> str | None:
    """Return the strictest privacy that a text wishes, such as `anonymous` or `confidential`; None if it
    names none.
    """
    if any(anonymous_words(text)):
        return ANONYMOUS
    return CONFIDENTIAL if any(_wishes(CONFIDENTIAL_WORDS, text)) else None


def anonymous_words(text: str) -> Iterator[re.Match[str]]:
    """Each place where a text wishes anonymous answers."""
    return _wishes(ANONYMOUS_WORDS, text)


def stricter(one: str | None, other: str | None) -> str | None:
    """Return the wish that protects respondents more."""
    known = [each for each in (one, other) if each in _ORDER]
    return max(known, key=_ORDER.index, default=None)


def names_privacy(sentence: str) -> bool:
    """Return whether a sentence contains words about privacy."""
    return bool(ANONYMOUS_WORDS.search(sentence) or CONFIDENTIAL_WORDS.search(sentence))


def _wishes(words: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return (match for match in words.finditer(text) if not is_cancelled(text, match.start()))


def is_cancelled(text: str, start: int) -> bool:
    """Whether a negation cancels the words about privacy that start there."""
    before = text[max(0, start - _LOOKED_AT) : start]
    sentence = _SENTENCE_END.split(before)[-1]
    return bool(_NEGATED.search(sentence)) and len(_ANY_NO.findall(sentence)) == 1
