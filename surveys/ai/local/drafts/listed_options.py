"""Options that an intent lists: `pizza, sushi or tacos`, `between A, B and C`, a list of lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from surveys.ai.local.drafts.stems import word_set
from surveys.engine.rules.option import CHAT_OPTIONS

MAX_LENGTH = 100  # An option has at most this many characters; a longer text is a sentence.
# An option in a plain series has at most this many words; an announced list may have longer options.
_MAX_WORDS = 8
_BULLET = re.compile(r"^\s{0,3}(?:[-*•–▪◦]|\(?\d{1,2}[.)]|\(?[a-zA-Z][.)])\s{1,3}(\S.*?)\s{0,3}$")
# The end of a sentence; not the full stop in `v1.2` or `e.g.`
_END = r"(?=[.!?;](?:\s|$)|[;\n]|$)"
_ANNOUNCED = re.compile(
    r"(?:\b(?:between|among(?:st)?|choose from|pick from|choosing from|"
    r"with (?:the )?(?:results|outcomes|options|choices|answers))\s{1,3}|"
    r"\b(?:options?|choices|answers|alternatives|candidates|items|results?|types|outcomes)\b[^:.\n]{0,40}:\s{0,3})"
    rf"(?P<list>[^\n]{{3,1500}}?){_END}",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(rf":\s{{0,3}}(?P<list>[^:\n]{{3,1500}}?){_END}")
_AFTER_QUESTION = re.compile(
    rf"\?\s{{1,3}}(?P<list>[^?:.!\n]{{1,200}}(?:,[^?:.!\n,]{{1,200}}){{2,24}}){_END}"
)
_IN_BRACKETS = re.compile(r"\((?P<list>[^()\n]{3,1500})\)")
_ITEM = r"[^.!?;:\n,()]{1,200}"
_SERIES = re.compile(rf"(?P<list>{_ITEM}(?:,{_ITEM}){{1,24}},?\s(?:or|and|vs\.?)\s{_ITEM})")
_SLASHES = re.compile(r"(?P<list>[^.!?;:\n,()/]{1,200}(?:\s?/\s?[^.!?;:\n,()/]{1,200}){2,24})")
_PAIR = re.compile(
    r"(?P<list>[^.!?;:\n,()]{1,200}\s(?:or|vs\.?|versus)\s[^.!?;:\n,()]{1,200})", re.IGNORECASE
)
_PARTS = re.compile(
    r"\s{0,3},\s{0,3}(?:or|and|and/or|vs\.?|versus|&)\s{1,3}|\s{1,3}(?:or|vs\.?|versus)\s{1,3}|\s{0,3}[,/|;]\s{0,3}",
    re.IGNORECASE,
)
_AND = re.compile(r"\s{1,3}(?:and|&)\s{1,3}", re.IGNORECASE)
# The sentence may continue after the last option.
_AFTERTHOUGHT = re.compile(
    r"\s{1,3}(?:for|with|without|on|at|as|to|when|while|who|that|which|please|so|because|if|next|tonight|today|"
    r"tomorrow|this|using|via|make|keep|let)\b.*$",
    re.IGNORECASE,
)
# Words that lead to the first option of a series without belonging to it.
_LEAD = word_set(
    """a an about among and are ask asking at be best better between by choose choosing could do does
    eat favorite favourite for from get go have i in into is like make me of on option options or
    order pick play poll prefer preferred rather rank rate should shall survey that the to us use
    vote voting watch we whether which with would you your quiz: versus vs"""
)
_PREPOSITIONS = word_set("about at between by for from in of on to with")
_QUOTES = "\"'“”‘’«»„`*_ \t"
_NOT_OPTIONS = frozenset({"", "etc", "etc.", "other", "others", "more", "so on", "...", "…"})
_SURVEY_WORDS = re.compile(
    r"\b(?:surveys?|polls?|quiz(?:zes)?|questions?|questionnaires?|minutes?)\b", re.IGNORECASE
)


def find_options(intent: str, *, is_poll: bool) -> tuple[str, ...]:
    """Return the options that an intent lists, at least two, as they are to be shown; else an empty tuple.

    In the intent of a poll, a plain series counts too (`pizza, sushi and tacos`). In the intent of a survey
    it probably lists topics, so there the options must be announced, or have lines of their own.
    """
    lines = _tidy(match[1] for line in intent.splitlines() if (match := _BULLET.match(line)))
    if len(lines) > 1:
        return lines
    announced = (_ANNOUNCED, _AFTER_COLON, _AFTER_QUESTION, _IN_BRACKETS) if is_poll else (_ANNOUNCED,)
    for pattern in announced:
        for match in pattern.finditer(intent):
            if len(options := _tidy(_split(match["list"], is_announced=True))) > 1:
                return options
    for pattern in (_SERIES, _SLASHES, _PAIR) if is_poll else ():
        for match in pattern.finditer(intent):
            parts = _split(match["list"], is_announced=False)
            if len(options := _tidy(parts, max_words=_MAX_WORDS)) > 1:
                return options
    return ()


def without_options(intent: str, options: tuple[str, ...]) -> str:
    """Return the intent without the options that it lists, so that no option becomes its topic."""
    if not options:
        return intent
    text = "\n".join(line for line in intent.splitlines() if not _BULLET.match(line))
    for option in sorted(options, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(option)}(?!\w)", " ; ", text, flags=re.IGNORECASE)
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
    """The first option without the words that lead to it.

    The option keeps as many words as the longest of the other options, and more if they are part of a name.
    """
    words = first.split()
    length = min(max(len(other.split()) for other in others), len(words))
    while length < len(words) - 1 and words[-length][:1].isupper() and words[-length - 1][:1].isupper():
        length += 1
    words = words[len(words) - length :]
    while len(words) > 1 and words[0] in _LEAD:
        words = words[1:]
    return " ".join(words)


def _without_prepositions(part: str) -> str:
    words = part.split()
    while len(words) > 1 and words[0] in _PREPOSITIONS:
        words = words[1:]
    return " ".join(words)


def _tidy(parts: Iterable[str], *, max_words: int = MAX_LENGTH) -> tuple[str, ...]:
    """Remove duplicates and quotation marks, and begin each option with a capital letter.

    Returns an empty tuple if a part cannot be an option.
    """
    options: dict[str, str] = {}
    for part in parts:
        option = " ".join(part.split()).strip(_QUOTES).strip(".,;:!?").strip(_QUOTES)
        if option.casefold() in _NOT_OPTIONS:
            continue
        if len(option) > MAX_LENGTH or len(option.split()) > max_words or _SURVEY_WORDS.search(option):
            return ()
        options.setdefault(option.casefold(), _capitalize(option))
    return tuple(options.values())[:CHAT_OPTIONS]


def _capitalize(option: str) -> str:
    """Capitalize a word in lower case, but leave `e4` and `iPhone` as they are."""
    first = option.split(" ", 1)[0]
    return option[:1].upper() + option[1:] if first.islower() and first.isalpha() else option
