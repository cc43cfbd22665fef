"""Formats of answers in an intent: options, scales, stars, yes or no, and how many options can be chosen.

read_format("their level (low, middle, high)", "en")   → "their level", with three options
split_options("pizza, sushi or tacos", "en")           → Pizza, Sushi, Tacos
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from communities.ground.sent_text import appearance, sent_text
from surveys.ai.local.drafts.stems import word_set


@dataclass(frozen=True, slots=True)
class Format:
    """How an ask is answered, as far as the intent says so. `at_most` is how many options can be chosen."""

    options: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    has_stars: bool = False
    is_yes_no: bool = False
    is_open: bool = False
    takes_several: bool = False
    at_most: int | None = None
    is_ranked: bool = False
    most: int | None = None  # The highest number, as in `how many guests (max 3)`.
    is_grade: bool = False  # 1 is the best and 6 the worst, as in German schools.
    right: int | None = None  # The index of the right answer in a quiz.

    @property
    def is_scale(self) -> bool:
        """Whether the format is a scale."""
        return self.high is not None


MONTHS = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mai|okt|dez|janv|févr|avr|juin|juil|août|déc|"
    r"ene|abr|ago|dic|fev|set|out)\w*\.?"
)
DATE = (
    rf"(?:{MONTHS}\s{{1,3}}\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s{{1,3}}\d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.)?(?:\s{{1,3}}(?:of |de )?{MONTHS}|\.\d{{1,2}}\.?|/\d{{1,2}})"
    r"(?:/?\s{0,3}(?:de\s{1,3}|del\s{1,3})?\d{4})?|\d{4}-\d{2}-\d{2})"
)
YES_NO = re.compile(
    r"\(?\b(?:yes ?(?:/|or) ?no|y ?/ ?n|j ?/ ?n|ja ?(?:/|oder) ?nein|oui ?(?:/|ou) ?non|s[ií] ?(?:/|"
    r"o) ?no|sim ?(?:/|"
    r"ou) ?não)\b\)?"
    r"(?: questions?)?",
    re.IGNORECASE,
)
_STARS = r"(?:stars?|sternen?|étoiles?|estrellas?|estrelas?)"
SCALE = re.compile(
    r"\(?(?:\b(?:on|with|mit|auf|sur|en|con|com|in|a|an|all|alle|une|einer|eine|um|uma|una|each|from|of|"
    r"von|de|del|"
    r"scales?|skala|échelle|escala|ratings?|rate|notes?|notas?|noté|bewertung|bewertet|puntuación|je|"
    r"nach|(?:schul)?noten?|"
    r"jeweils)\s{1,3}){0,8}"
    rf"(?:(?<![\d:.,])(?P<low>[01])\s{{0,3}}(?:-|–|\bto\b|\bbis\b|à|\ba\b|\bal\b|\baté\b|"
    rf"\bthrough\b)\s{{0,3}}(?P<high>\d{{1,2}})\b"
    rf"(?!\s{{0,3}}(?:questions?|minutes?|min\b|fragen|people|weeks?|days?|hours?|uhr|h\b|sentences?)|"
    rf"[:.]\d)(?:\s{{0,3}}{_STARS})?"
    rf"|(?<![\d:.,])(?P<top>\d{{1,2}})[ -]?{_STARS}"
    r"|(?:out of|sur|von|sobre) (?P<of>5|7|10)\b)"
    r"(?:\s{1,3}(?:scales?|skalen?|punkten?|points?))?\)?(?:\s{0,3}(?:bewerten|rating|each))?",
    re.IGNORECASE,
)
_WITH_STARS = re.compile(
    rf"\(?\b(?:with|in|by|using|mit|avec(?: des)?|en|con|com|em)\s{{1,3}}{_STARS}\b\)?", re.IGNORECASE
)
_GRADES = re.compile(r"\b(?:schul)?noten?\b", re.IGNORECASE)
_STARRED = re.compile(_STARS, re.IGNORECASE)
BRACKETS = re.compile(r"\(([^()]{1,300})\)")
_OPEN = re.compile(
    r"^(?:open|free|open[- ]ended|open text|free text|offen|freitext|ouverte?|libre|abierta|aberta)$", re.I
)
SEVERAL = re.compile(
    r"[\s,;–—-]{0,5}(?:"
    r"\b(?:(?:everyone|people|they|you) )?(?:can )?(?:select|check|choose|pick|mark|tick)s? (?:all|any|"
    r"multiple|several)\b[^,.;)]*|\bmultiple (?:answers|"
    r"choice|selection)\b"
    r"|\bmulti(?:-?select)?\b(?=\s{0,3}[,)])(?:, with other)?|\bmehrere(?: antworten)?(?: möglich)?\b|"
    r"\bplusieurs choix\b|\bmehrfachauswahl\b|\bplusieurs r[ée]ponses\b(?: possibles?)?|\bchoix "
    r"multiples?\b"
    r"|\bvarias respuestas\b(?: posibles)?|\bselecci[óo]n m[úu]ltiple\b|"
    r"\bv[áa]rias respostas\b(?: possíveis)?|\bmúltipla escolha\b)",
    re.IGNORECASE,
)
LIMIT = "⩽"  # Before how many options can be chosen, in an intent that was read already.
_LIMIT = re.compile(rf"{LIMIT}(\d{{1,2}})\s{{0,3}}:?\s{{0,3}}")
_MOST = re.compile(
    r"\((?:max\.?|maximum|maximal|at most|up to|no more than|höchstens|bis zu|au plus|jusqu['’]à|máximo|"
    r"máx\.?|hasta|até)\s(\d{1,3})\)",
    re.IGNORECASE,
)
RIGHT = re.compile(
    r"\s{0,3}\((?:right|correct|true|richtig|korrekt|juste|bonne réponse|correct[oa]|cert[oa])\)|"
    r"\s{0,3}[✓✔✅]",
    re.IGNORECASE,
)
QUOTES = "\"'“”‘’«»„`*_ \t"
TRAILING = " .,;:!-–—"
CONJUNCTIONS = {
    "en": "and|or|&",
    "de": "und|oder|&",
    "fr": "et|ou|&",
    "es": "y|e|o|u|&",
    "pt": "e|ou|&",
}
_MAX_WORDS_OF_OPTION = 8
_ETC = word_set("etc etc. usw usw. ... …")


def read_format(text: str, language: str) -> tuple[str, Format]:
    """Return a text without the format that the text names, and that format."""
    found = Format()
    if match := SEVERAL.search(text):
        text, found = text.replace(match[0], ""), replace(found, takes_several=True)
    if match := _LIMIT.search(text):
        text, found = text.replace(match[0], ""), replace(found, takes_several=True, at_most=int(match[1]))
    if match := _MOST.search(text):
        text, found = text.replace(match[0], " "), replace(found, most=int(match[1]))
    for match in BRACKETS.finditer(text):
        inner = match[1].strip()
        options = split_options(inner, language)
        if YES_NO.fullmatch(inner) or SCALE.fullmatch(inner):
            continue
        if _OPEN.match(inner):
            found = replace(found, is_open=True)
        elif len(options) > 1 and not re.match(r"(?:e\.g\.|z\. ?B\.|for example|par ex|por ej)", inner, re.I):
            found = replace(found, options=options)
        elif inner:
            continue
        text = text.replace(match[0], " ")
    if match := YES_NO.search(text):
        text, found = text.replace(match[0], " "), replace(found, is_yes_no=True)
    if scale := read_scale(text):
        match, of_scale = scale
        text = text[: match.start()] + " " + text[match.end() :]
        found = replace(found, low=of_scale.low, high=of_scale.high, has_stars=of_scale.has_stars,
                        is_grade=of_scale.is_grade)  # fmt: skip
    text = re.sub(r"\(\s{0,3}\)", " ", text)
    return " ".join(text.split()).strip(TRAILING), found


def read_scale(text: str) -> tuple[re.Match[str], Format] | None:
    """Return the first scale in a text and its place; None if the text names no scale."""
    for match in SCALE.finditer(text):
        high = int(match["high"] or match["top"] or match["of"])
        low = int(match["low"]) if match["high"] else 1
        if 2 <= high <= 10 and high > low and (low or high == 10):
            return match, Format(
                low=None if match["of"] else low,
                high=high,
                has_stars=bool(_STARRED.search(match[0])),
                is_grade=(low, high) == (1, 6) and bool(_GRADES.search(text[: match.end()])),
            )
    stars = _WITH_STARS.search(text)
    return (stars, Format(low=1, high=5, has_stars=True)) if stars else None


def split_options(text: str, language: str) -> tuple[str, ...]:
    """Return the parts of a list of options; an empty tuple if the parts cannot be options."""
    conjunctions = CONJUNCTIONS[language]
    text = text.strip(TRAILING + "?")
    separator = r"\s{1,3}/\s{1,3}|/" if "/" in text and "," not in text else r"\s{0,3}[,;|]\s{0,3}"
    either = "|".join(
        word for word in conjunctions.split("|") if word not in ("and", "und", "et", "y", "e", "&")
    )
    parts = [part for part in re.split(separator, text) if part.strip()]
    if len(parts) > 1:
        parts = [half for part in parts for half in re.split(rf"\s{{1,3}}(?:{either})\s{{1,3}}", part)]
    if len(parts) > 1 or re.search(rf"\s(?:{conjunctions}|vs\.?|versus)\s", text):
        last = re.split(
            rf"\s{{1,3}}(?:{conjunctions}|vs\.?|versus)\s{{1,3}}",
            re.sub(rf"^(?:{conjunctions})\s{{1,3}}", "", parts[-1]),
        )
        is_pair = len(parts) > 1 or re.search(r"\s(?:or|oder|ou|o|u|vs\.?|versus)\s", text)
        parts[-1:] = last if is_pair else parts[-1:]
    options: dict[str, str] = {}
    for part in parts:
        option = " ".join(part.split()).strip(QUOTES).strip(TRAILING).strip(QUOTES)
        if option.casefold() in _ETC or not sent_text(option):
            continue
        if len(option) > 100 or len(option.split()) > _MAX_WORDS_OF_OPTION:
            return ()
        options.setdefault(appearance(option).casefold(), option_text(option))
    return tuple(options.values()) if len(options) > 1 else ()


def option_text(option: str) -> str:
    """Return an option with a capital letter. `iPhone` and `9:00` remain as they are."""
    first = option.split(" ", 1)[0]
    return option[:1].upper() + option[1:] if first.islower() else option
