"""The settings, prohibitions and limits in an intent, in five languages (rule 10.41).

    read_wishes(text)            what is wished, and the text without it
    apply_wishes(blocks, …)      the blocks as wished, with sentences about what was met and what was not

The wishes are cut out of the text, so that `do not ask for their email` does not become a topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from surveys.ai import privacy
from surveys.ai.local.drafts.formats import DATE, LIMIT
from surveys.ai.local.drafts.prohibitions import NOTHING_ELSE, asks_about, without_prohibitions
from surveys.engine.script import QUESTIONS

Block = dict[str, Any]
WILL_BE_ANONYMOUS = "The answers shall be anonymous."
_END = r"[^.!?;,\n]{0,80}"
_LEADS_TO_ANONYMOUS = re.compile(
    r"[,;]?\s{0,3}(?:\b(?:and |und |et |y |e ))?"
    r"(?:\b(?:stay |remain |keep it |make it |it should be |must be |should be |bitte ))?"
    r"(?:\b(?:completely |strictly |fully |ganz ))?$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"[,;]?\s{0,3}\b(?:(?:open |runs? |running |geöffnet |offen )?"
    r"(?:until|till|bis(?: zum)?|jusqu['’]au?|hasta(?: el)?|até(?: o| dia)?|avant(?: le)?|antes d(?:el?|o))"
    r"|clos(?:es?|ing)(?: it)?(?: (?:on|at|by))?|ends? on|deadline(?: is)?:?"
    r"|(?:anmelde|einsende|melde|abgabe|teilnahme|bestell)(?:schluss|frist)(?: ist)?:?|(?:date|fecha|"
    r"data) l[ií]mite:?)\s{1,3}"
    r"(?P<when>(?:next |this |nächsten? |kommenden |am |den |le |el |the |dia )?"
    r"(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo"
    r"|segunda|terça|quarta|quinta|sexta|tomorrow|morgen|demain|mañana|amanhã|the end of \w+(?: \w+)?"
    rf"|{DATE}))",
    re.IGNORECASE,
)
_NO_TEXT = re.compile(
    r"[,;]?\s{0,3}\b(?:no|without|avoid|keine?|ohne|pas de|sans|sin|sem|nenhuma)\s{1,3}(?:any )?"
    r"(?:open[- ](?:text|ended|questions?)\w*(?: questions?| answers?)?"
    r"|free[- ]?text\w*|freitext\w*|offenen? fragen"
    r"|questions? ouvertes?|texte libre|preguntas abiertas|texto libre|perguntas abertas|texto livre)",
    re.IGNORECASE,
)
# The address that our texts do not have: they say `du`, `vous`, `tú` and `você`.
_OTHER_ADDRESS = re.compile(
    r"[,;.]?\s{0,3}\b(?:bitte |please |por favor )?(?:(?:mit|per|in(?: der)?|auf|"
    r"use)\s)?(?:Sie[- ]Form(?: verwenden)?|siezen|(?<=per )Sie\b|"
    r"Sie ansprechen|höfliche Anrede|formelle Anrede|tutoyer|tutoiement|(?:tratar )?de usted|usar usted|"
    r"o senhor)\b",
    re.IGNORECASE,
)
_NUMBER = (
    r"(?P<{name}>\d{{1,2}}|two|three|four|five|zwei|drei|vier|deux|trois|quatre|dos|tres|cuatro|dois|três|"
    r"quatro)\b"
)
_AT_MOST = re.compile(
    r"(?P<lead>(?:\s[-–—]\s|[,;])?\s{0,3}\b(?P<verb>(?:(?:people|they|you)\s{1,3})?(?:can\s{1,3}|"
    r"pode\s{1,3})?"
    r"(?:pick|choose|select|wähle?|choisir|choisissez|elegir|elige|escolher|escolha)\s{1,3})?)"
    r"(?:(?:up to|at most|no more than|a maximum of|max\.?|maximum|maximal|bis zu|höchstens|jusqu['’][àa]|"
    r"au plus|"
    r"hasta|até|ate(?=\s\d{1,2}\s{0,3}(?:[.,;!)]|$))|m[áa]ximo)\s{1,3}"
    + _NUMBER.format(name="number")
    + r"(?!\s{0,3}(?:\w+ )?(?:questions?|fragen|preguntas|perguntas|minutes?|minuten|people|stars?|"
    r"points?|punkte|sternen?"
    r"|étoiles|estrellas|estrelas|letters?|characters?|words?|zeichen|buchstaben|lettres|caractères|letras|caracteres|\w*?%))"
    r"(?:\s{1,3}(?:of them|options?|choices?|answers?|items?|dishes|votes?|each|per person|davon|"
    r"antworten|optionen|stimmen"
    r"|voix|réponses?|votos?|opciones|opções))?(?:\s{1,3}möglich)?"
    r"|(?:(?:people|they|you|everyone|everybody|jeder|jede|alle|man|chacun|on|cada uno|cada um)\s{1,3}"
    r"(?:can|may|could|darf|dürfen|kann|können|peut|puede|pode)|se pueden?|puedes|podéis|pode-se)\s{1,3}"
    r"(?:(?:pick|choose|select|tick|vote for|choisir|elegir|escoger|escolher)\s{1,3})?"
    + _NUMBER.format(name="each")
    + r"(?=\s{0,3}(?:[.,;!)]|$|wählen|auswählen|ankreuzen|of them|options?|votes?|stimmen|réponses|op[cç]))"
    r"(?:\s{1,3}(?:wählen|auswählen|ankreuzen|of them|options?|votes?|stimmen|réponses|opciones|opções))?"
    r"|" + _NUMBER.format(name="before") + r"\s{1,3}(?:max(?:imum)?|máximo|höchstens|au plus)\b)"
    r"(?P<of>\s{1,3}(?:of|aus|von|parmi|de|entre|among|from)\b(?! (?:them|the)\b)|\s{0,3}:)?",
    re.IGNORECASE,
)
_NUMBERS = {
    **{"two": 2, "three": 3, "four": 4, "five": 5, "zwei": 2, "drei": 3, "vier": 4},
    **{
        "deux": 2,
        "trois": 3,
        "quatre": 4,
        "dos": 2,
        "tres": 3,
        "cuatro": 4,
        "dois": 2,
        "três": 3,
        "quatro": 4,
    },
}
_LANGUAGES = {
    "en": r"english|englisch|anglais|inglés|inglês",
    "de": r"german|deutsch|allemand|alemán|alemão",
    "fr": r"french|französisch|français|francés|francês",
    "es": r"spanish|spanisch|espagnol|español|espanhol",
    "pt": r"portuguese|portugiesisch|portugais|portugués|português",
    "it": r"italian|italienisch|italien|italiano",
    "nl": r"dutch|niederländisch|néerlandais|neerlandés|holandês",
    "pl": r"polish|polnisch|polonais|polaco|polonês",
    "ru": r"russian|russisch|russe|ruso|russo",
    "tr": r"turkish|türkisch|turc|turco",
    "ja": r"japanese|japanisch|japonais|japonés|japonês",
    "zh": r"chinese|chinesisch|chinois|chino|chinês",
    "ar": r"arabic|arabisch|arabe|árabe",
}
_ANY_LANGUAGE = "|".join(_LANGUAGES.values())
_LANGUAGE = re.compile(
    rf"[,;]?\s{{0,3}}\b(?:(?:written |please |bitte )?(?:in|auf|en|em|"
    rf"in the language) (?P<named>{_ANY_LANGUAGE})"
    rf"|(?P<before>{_ANY_LANGUAGE})(?=[ -](?:language )?(?:survey|poll|questionnaire|quiz|form)\b))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """The wishes of an intent. `text` is the intent without its wishes. `closing` contains its words about
    the time of closing.

    `language` is the tag of a language that the intent names.
    """

    text: str
    is_anonymous: bool = False
    closing: str | None = None
    no_open_text: bool = False
    other_address: str | None = None  # An address that our texts do not have: `Sie-Form`.
    not_asked: tuple[str, ...] = ()  # The excluded subjects in the words of the intent.
    nothing_else: bool = False  # The intent wants no question besides its own.
    at_most: int | None = None  # The most options that a respondent may choose.
    language: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def read_wishes(text: str) -> Wishes:
    """Read the wishes of an intent. Any text gives a result."""
    is_anonymous = privacy.wished(text) == privacy.ANONYMOUS
    closing, limit = _CLOSING.search(text), _limit(_CLOSING.sub("", text))
    rest, not_asked = without_prohibitions(text)
    address = _OTHER_ADDRESS.search(text)
    named = _LANGUAGE.search(text)
    language = named and _tag(named["named"] or named["before"])
    for pattern in (_OTHER_ADDRESS, NOTHING_ELSE, _NO_TEXT, _CLOSING, _LANGUAGE):
        rest = pattern.sub("", rest)
    rest = _AT_MOST.sub(_without_limit, rest)
    rest = _without_anonymity(rest)
    settings = {"privacy_mode": privacy.ANONYMOUS} if is_anonymous else {}
    return Wishes(
        text=rest if rest.strip(" .,;:!?\n") else text,
        is_anonymous=is_anonymous,
        closing=" ".join(closing["when"].split()).removesuffix(" .") if closing else None,
        other_address=address[0].strip(" ,;.") if address else None,
        no_open_text=bool(_NO_TEXT.search(text)),
        not_asked=not_asked,
        nothing_else=bool(NOTHING_ELSE.search(text)),
        at_most=_number(limit["number"] or limit["each"] or limit["before"]) if limit else None,
        language=language,
        settings={
            **settings,
            **({"closing": closing["when"]} if closing else {}),
            **({"language": language} if language else {}),
        },
    )


def _limit(text: str) -> re.Match[str] | None:
    return next((match for match in _AT_MOST.finditer(text) if not _is_of_field(match)), None)


def _is_of_field(match: re.Match[str]) -> bool:
    """Return whether a limit in brackets has no options beside it, as in `how many guests (max 3)`."""
    _, _, inner = match.string[: match.start()].rpartition("(")
    inside = f"{inner}{match.string[match.end() :].partition(')')[0]}"
    return (
        "(" in match.string[: match.start()]
        and ")" not in inner
        and not re.search("[,/;]|:", inside + match[0][-1])
    )


def _without_limit(match: re.Match[str]) -> str:
    """Return what remains of a limit: its mark beside options in brackets, and a verb that has an object."""
    if _is_of_field(match):
        return match[0]
    before, after = match.string[: match.start()], match.string[match.end() :]
    if before.rfind("(") > before.rfind(")"):
        return f"{LIMIT}{_number(match['number'] or match['before'])} "
    return match["lead"] if match["verb"] and not match["of"] and re.match(r"\s{1,3}\w", after) else ""


def _without_anonymity(text: str) -> str:
    """Return the text without the words that wish anonymous answers, and without the words that
    introduce the wish.
    """
    kept: list[str] = []
    after = 0
    for match in privacy.anonymous_words(text):
        kept.append(_LEADS_TO_ANONYMOUS.sub("", text[after : match.start()], count=1))
        after = match.end()
    return "".join([*kept, text[after:]])


def _tag(name: str) -> str:
    return next(tag for tag, words in _LANGUAGES.items() if re.fullmatch(words, name, re.IGNORECASE))


def apply_wishes(
    blocks: Sequence[Mapping[str, Any]], wishes: Wishes, *, is_composed: bool = False
) -> tuple[list[Block], tuple[str, ...], tuple[str, ...]]:
    """Return the blocks as wished, and two tuples of sentences: what was understood, and what was not met."""
    kept, understood, unmet = [dict(block) for block in blocks], list[str](), list[str]()
    if wishes.is_anonymous:
        understood.append(WILL_BE_ANONYMOUS)
    if wishes.closing:
        unmet.append(f"The closing time ({wishes.closing}) is set when you open the project.")
    if wishes.other_address:
        unmet.append(f"Not done: “{wishes.other_address}”. The texts say du, vous, tú and você.")
    if wishes.no_open_text:
        kept = _without(kept, _is_open_text, "open questions", understood, unmet)
    for what in wishes.not_asked:
        kept = _without(kept, partial(asks_about, what), f"questions about {what}", understood, unmet)
    if wishes.nothing_else:
        understood.append("Nothing else is asked.")
    if wishes.at_most:
        kept = _with_limit(kept, wishes, understood, unmet, is_composed=is_composed)
    return kept, tuple(understood), tuple(unmet)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text.lower()]


def _is_open_text(block: Block) -> bool:
    return bool(block["type"] == "open_text")


def _without(
    blocks: list[Block],
    is_unwanted: Callable[[Block], bool],
    what: str,
    understood: list[str],
    unmet: list[str],
) -> list[Block]:
    """Return the blocks without unwanted questions. A question stays if others refer to it or no question
    would be left.
    """
    others = [block for block in blocks if not is_unwanted(block)]
    names = {block["name"] for block in blocks if is_unwanted(block) and block.get("name")}
    is_referred = any(name in str({**block, "name": ""}) for block in others for name in names)
    if is_referred or not any(block["type"] in QUESTIONS for block in others):
        unmet.append(f"The draft still has {what}.")
        return blocks
    understood.append(f"There are no {what}.")
    return others


def _with_limit(
    blocks: list[Block], wishes: Wishes, understood: list[str], unmet: list[str], *, is_composed: bool
) -> list[Block]:
    """Let a choice with more than `at_most` options take several answers, up to that limit.

    It is the choice whose options the intent lists. Where the questions come from a template, it may be one
    that takes several answers anyway, or the first one.
    """
    at_most, text = wishes.at_most or 0, wishes.text.casefold()
    places = [
        place
        for place, block in enumerate(blocks)
        if block["type"] in ("single_punch", "multi_punch")
        and "correct_answer_index" not in block
        and len(block.get("options", ())) > at_most
    ]
    limited = [n for n in places if blocks[n].get("max") == at_most]
    listed = limited or [
        n for n in places if all(each["value"].casefold() in text for each in blocks[n]["options"])
    ]
    several = [n for n in places if blocks[n]["type"] == "multi_punch"]
    for place in (listed if is_composed else [*listed, *several, *places])[:1]:
        understood.append(f"At most {at_most} options can be chosen.")
        changed = {**blocks[place], "type": "multi_punch", "max": at_most}
        return [*blocks[:place], changed, *blocks[place + 1 :]]
    unmet.append(f"No question has more than {at_most} options, of which up to {at_most} could be chosen.")
    return blocks
