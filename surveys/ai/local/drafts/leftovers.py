"""The parts of an intent that nothing in a draft uses, so that a draft can name them.

    leftovers("Gym survey: rooms, staff. must fit on a "
        "phone", "en", used)   → the parts, and the shares in use

A part lies between punctuation marks or conjunctions. It is used if at least half of its words with a meaning
of their own are in the draft, in any form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import stop_words

from surveys.ai.local.drafts.ask_words import EACH, FORM, KIND, RANK, SATISFIED
from surveys.ai.local.drafts.bank import folded
from surveys.ai.local.drafts.conditions import read_condition
from surveys.ai.local.drafts.formats import CONJUNCTIONS, SCALE
from surveys.ai.local.drafts.stems import word_set

_AROUND = " .\"'“”„«»"
_MOST = 6  # At most this many parts are named.
_BEGINNING = 4  # Two forms of a word share at least this many letters at the beginning.
_WORD = re.compile(r"[^\W_]{2,40}")
# Words that say that there shall be a survey, and nothing about what it asks.
_EMPTY = word_set(
    """
    danach dann then puis ensuite despues luego depois finally zuletzt anschliessend
    survey surveys poll form questionnaire question questions ask asks want wants wanted like know
    find need needs make create please quick short simple feedback people they them their also rate
    rating scale scales open answer answers about each new our out other follow first then should
    must tell say here let get optional exactly max minutes minute points customers members users
    guests visitors clients employees staff team everyone umfrage fragebogen frage fragen kurze kurz
    bitte wissen wollen mochten unsere unserem unseren fragt leute kunden mitglieder gaste
    mitarbeitern mitarbeiter sagen soll sollen abfragen befragung genau offene enquete sondage
    demander savoir aupres gens membres notre nos libre encuesta preguntas pregunta saber preguntar
    sobre gente clientes socios vecinos nuestra nuestro pesquisa perguntas pergunta perguntar
    pessoas nossa nosso aberta
    """
)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Parts of an intent that a draft does not use, and the share of the words that it uses, from 0 to 1."""

    parts: tuple[str, ...]
    share: float
    covered: float = 1.0  # The same share, with the words that name the survey and its people.


def leftovers(
    text: str, language: str, used: Iterable[str], *, naming: Iterable[str] = (), has_conditions: bool = True
) -> Leftovers:
    """Compare an intent with the texts that a draft took from it or wrote for it.

    The part with which an intent names the survey and its people is left over only if none of it is used, nor
    is among the words `naming`.
    """
    known = {word[:_BEGINNING] for each in used for word in _WORD.findall(folded(each))}
    of_name = {word[:_BEGINNING] for each in naming for word in _WORD.findall(folded(each))}
    parts, total, in_use, all_words, all_found = list[str](), 0, 0, 0, 0
    for number, part in enumerate(_parts(text, language)):
        words = [word for word in _WORD.findall(folded(SCALE.sub(" ", part))) if _has_meaning(word, language)]
        found = sum(word[:_BEGINNING] in known for word in words)
        if (
            EACH.match(part)
            or RANK.search(part)
            or SATISFIED.search(part)
            or (has_conditions and read_condition(part)[1])
        ):
            continue  # Other rules decide whether these are met.
        all_words, all_found = all_words + len(words), all_found + found
        if number == 0 or _NAMES_SURVEY.search(part):
            if len(words) > 1 and not found and not any(word[:_BEGINNING] in of_name for word in words):
                parts.append(part)
            continue
        total += len(words)
        in_use += found
        if words and 2 * found < len(words):
            parts.append(part)
    return Leftovers(
        tuple(parts[:_MOST]), in_use / total if total else 1.0, all_found / all_words if all_words else 1.0
    )


def _parts(text: str, language: str) -> list[str]:
    parts = re.split(r"[,;:!?()\n]|(?<!\d)\.(?=\s|$)|\s[-–—]\s", text)
    first, *others = [part.strip(_AROUND) for part in parts if part.strip(_AROUND)] or [""]
    halves = (half for part in others for half in re.split(rf"\s(?:{CONJUNCTIONS[language]})\s", part))
    return [first, *(half.strip(_AROUND) for half in halves)]


def _has_meaning(word: str, language: str) -> bool:
    return word not in _EMPTY and word not in _common(language) and (len(word) > 2 or word.isdecimal())


_NAMES_SURVEY = re.compile(f"{KIND.pattern}|{FORM.pattern}", re.IGNORECASE)


@cache
def _common(language: str) -> frozenset[str]:
    return frozenset(folded(word) for word in stop_words.get_stop_words(language))
