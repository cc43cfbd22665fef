"""Options that an intent lists: `pizza, sushi or tacos`, `between A, B and C`, a list of lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from surveys.ai.local.counting import MAX_OPTIONS
from surveys.ai.local.stems import word_set

LONGEST = 100  # characters of one choice; what is longer is no choice but a sentence
_MOST_WORDS = 8  # of one in a plain series; what is announced as a list may say more
_BULLET = re.compile(r"^\s*(?:[-*•–▪◦]|\(?\d{1,2}[.)]|\(?[a-zA-Z][.)])\s+(\S.*?)\s*$")
# What ends a sentence: a full stop within `v1.2` or `e.g.` does not.
_END = r"(?=[.!?;](?:\s|$)|[;\n]|$)"
_ANNOUNCED = re.compile(
    r"(?:\b(?:between|among(?:st)?|choose from|pick from|choosing from|"
    r"with (?:the )?(?:results|outcomes|options|choices|answers))\s+|"
    r"\b(?:options?|choices|answers|alternatives|candidates|items|results?|types|outcomes)\b[^:.\n]{0,40}:\s*)"
    rf"(?P<list>[^\n]{{3,1500}}?){_END}",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(rf":\s*(?P<list>[^:\n]{{3,1500}}?){_END}")
_AFTER_QUESTION = re.compile(rf"\?\s+(?P<list>[^?:.!\n]{{1,200}}(?:,[^?:.!\n,]{{1,200}}){{2,24}}){_END}")
_IN_BRACKETS = re.compile(r"\((?P<list>[^()\n]{3,1500})\)")
_ITEM = r"[^.!?;:\n,()]{1,200}"
_SERIES = re.compile(rf"(?P<list>{_ITEM}(?:,{_ITEM}){{1,24}},?\s(?:or|and|vs\.?)\s{_ITEM})")
_SLASHES = re.compile(r"(?P<list>[^.!?;:\n,()/]{1,200}(?:\s?/\s?[^.!?;:\n,()/]{1,200}){2,24})")
_PAIR = re.compile(
    r"(?P<list>[^.!?;:\n,()]{1,200}\s(?:or|vs\.?|versus)\s[^.!?;:\n,()]{1,200})", re.IGNORECASE
)
_PARTS = re.compile(
    r"\s*,\s*(?:or|and|and/or|vs\.?|versus|&)\s+|\s+(?:or|vs\.?|versus)\s+|\s*[,/|;]\s*", re.IGNORECASE
)
_AND = re.compile(r"\s+(?:and|&)\s+", re.IGNORECASE)
# Where the last of a series ends although the sentence goes on.
_AFTERTHOUGHT = re.compile(
    r"\s+(?:for|with|without|on|at|as|to|when|while|who|that|which|please|so|because|if|next|tonight|today|"
    r"tomorrow|this|using|via|make|keep|let)\b.*$",
    re.IGNORECASE,
)
# What stands before the first of a series and is no part of it.
_LEAD = word_set(
    """a an about among and are ask asking at be best better between by choose choosing could do does
    eat favorite favourite for from get go have i in into is like make me of on option options or
    order pick play poll prefer preferred rather rank rate should shall survey that the to us use
    vote voting watch we whether which with would you your quiz: versus vs"""
)
_PREPOSITIONS = word_set("about at between by for from in of on to with")
_QUOTES = "\"'“”‘’«»„`*_ \t"
_UNSAID = frozenset({"", "etc", "etc.", "other", "others", "more", "so on", "...", "…"})
_SURVEY_WORDS = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questions?|questionnaires?|minutes?)\b", re.IGNORECASE
)


def listed(intent: str, *, is_poll: bool) -> tuple[str, ...]:
    """The options, two at least, as they are to be read; none where the intent lists none.

    Of a poll a plain series counts too (`pizza, sushi and tacos`); in a survey's intent that is more likely
    what the survey is about, so there they have to be announced, or stand in lines of their own.
    """
    lines = _tidy(found[1] for line in intent.splitlines() if (found := _BULLET.match(line)))
    if len(lines) > 1:
        return lines
    for found in _ANNOUNCED.finditer(intent):
        if len(choices := _tidy(_split(found["list"], is_announced=True))) > 1:
            return choices
    if not is_poll:
        return ()
    for pattern in (_AFTER_COLON, _AFTER_QUESTION, _IN_BRACKETS):
        for found in pattern.finditer(intent):
            if len(choices := _tidy(_split(found["list"], is_announced=True))) > 1:
                return choices
    for pattern in (_SERIES, _SLASHES, _PAIR):
        for found in pattern.finditer(intent):
            parts = _split(found["list"], is_announced=False)
            if len(choices := _tidy(parts, most_words=_MOST_WORDS)) > 1:
                return choices
    return ()


def without_lists(intent: str, choices: tuple[str, ...]) -> str:
    """The intent without the options that it lists, so that none of them is taken for its topic."""
    if not choices:
        return intent
    lines = [line for line in intent.splitlines() if not _BULLET.match(line)]
    text = "\n".join(lines)
    for choice in sorted(choices, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(choice)}(?!\w)", " ; ", text, flags=re.IGNORECASE)
    return text


def _split(series: str, *, is_announced: bool) -> list[str]:
    parts = _PARTS.split(series.strip(" ,.;"))
    if len(parts) == 1 or (len(parts) > 1 and _AND.search(parts[-1])):
        parts[-1:] = _AND.split(parts[-1]) if is_announced or len(parts) > 1 else parts[-1:]
    if len(parts) < 2:
        return []
    parts[-1] = _AFTERTHOUGHT.sub("", parts[-1])
    if not is_announced:
        parts = [_without_lead(parts[0], parts[1:]), *(_without_prepositions(part) for part in parts[1:])]
    return parts


def _without_lead(first: str, others: list[str]) -> str:
    """The first of a series without what leads to it: no longer than the others, and a name is kept whole."""
    words = first.split()
    kept = min(max(len(other.split()) for other in others), len(words))
    while kept < len(words) - 1 and words[-kept][:1].isupper() and words[-kept - 1][:1].isupper():
        kept += 1
    words = words[len(words) - kept :]
    while len(words) > 1 and words[0] in _LEAD:
        words = words[1:]
    return " ".join(words)


def _without_prepositions(part: str) -> str:
    words = part.split()
    while len(words) > 1 and words[0] in _PREPOSITIONS:
        words = words[1:]
    return " ".join(words)


def _tidy(parts: Iterable[str], *, most_words: int = LONGEST) -> tuple[str, ...]:
    """As they are to be read: each once, without quotation marks, and with a capital letter."""
    tidy: dict[str, str] = {}
    for part in parts:
        said = " ".join(part.split()).strip(_QUOTES).strip(".,;:!?").strip(_QUOTES)
        if said.casefold() in _UNSAID:
            continue
        if len(said) > LONGEST or len(said.split()) > most_words or _SURVEY_WORDS.search(said):
            return ()
        tidy.setdefault(said.casefold(), _with_capital(said))
    return tuple(tidy.values())[:MAX_OPTIONS]


def _with_capital(said: str) -> str:
    first = said.split(" ", 1)[0]
    return said[:1].upper() + said[1:] if first.islower() and first.isalpha() else said
