"""The questions that an intent asks for, one by one: `ask for their age, the city and why they come`.

    read_asks("Exit survey: why they leave, what we could improve", "en")
        → two asks, and "Exit survey" as the rest, which chooses the template

Asks come from lists after a colon or a dash, from numbered lines, after verbs such as `ask` and `fragen`, and
from questions that are written out. Each may have a format: options, a scale, yes or no.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from surveys.ai.local.drafts.bank import find
from surveys.ai.local.drafts.conditions import IF, Condition, leads_with_condition, read_condition
from surveys.ai.local.drafts.formats import (
    BRACKETS,
    CONJUNCTIONS,
    QUOTES,
    RIGHT,
    SCALE,
    TRAILING,
    YES_NO,
    Format,
    read_format,
    read_scale,
    split_options,
)
from surveys.ai.local.drafts.phrasing import PEOPLE

_MAX_ASKS = 40
_MAX_LEAD = 120  # A colon begins a list only after at most this many characters.


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing to ask. `is_question` is True for a question that is written out.

    `is_rated` and `is_field` say which verb introduced the ask: `rate the food` or `ask for the name`.
    """

    text: str
    format: Format = field(default_factory=Format)
    is_question: bool = False
    is_rated: bool = False
    is_field: bool = False
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Asks:
    """The asks of an intent, the rest of the intent, and the scale that the intent wants for all asks."""

    asks: tuple[Ask, ...]
    rest: str
    scale: Format | None = None
    is_added: bool = False  # The intent wants these asks in addition to the usual questions.
    orders: tuple[str, ...] = ()  # Orders to us are no questions: `email me the results`.


# --- Settings that are no asks ----------------------------------------------------------------------

_NUMBER = (
    r"(?:\d{1,3}(?:\s{0,3}(?:-|–|to|bis|à|a)\s{0,3}\d{1,3})?|one|two|three|four|five|six|seven|eight|nine|ten|"
    r"twelve|eine?|zwei|drei|vier|"
    r"fünf|sechs|sieben|acht|neun|zehn|une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|una?|dos|tres|"
    r"cuatro|cinco|seis|siete|"
    r"ocho|nueve|diez|uma?|dois|duas|três|quatro|sete|oito|nove|dez)"
)
_SETTINGS = re.compile(
    rf"(?:^|[,;(]\s{{0,3}}(?:(?:with|in|mit|avec|en|dans|con|com|em)\s{{1,3}})?|\s(?:with|in|mit|avec|en|dans|con|com|"
    rf"em|de|und|and)\s{{1,3}})(?:max\.? |maximum |at most |about |around "
    rf"|exactly |only |just |nur "
    rf"|maximal |höchstens |etwa |"
    rf"maximum )?{_NUMBER}\s{{1,3}}(?:[^\W\d]+\s{{1,3}}){{0,2}}?(?:questions?|fragen?|"
    rf"preguntas?|perguntas?)\b"
    r"(?! (?:for|to|on|about|zu|über|sur|sobre)\b)(?: (?:max(?:imum)?|in total|total|insgesamt))?\)?"
    r"|[,;]?\s{0,3}\b(?:it )?(?:takes?|dauert|in|under|unter|max\.?|dure|prend|tarda|"
    r"leva)\s{1,3}(?:about |only |"
    r"nur |around )?"
    rf"(?:a|{_NUMBER})\s{{0,3}}(?:minutes?|mins?|minuten?|minutos?)\b(?: or less)?"
    r"|[,;.]?\s{0,3}\b(?:just|only|nur) (?:ratings|scales|skalen|bewertungen)\b"
    r"|[,;.]?\s{0,3}\b(?:keep it|make it|please keep it) (?:very )?(?:short|brief|simple|friendly|quick)\b"
    r"|[,;]?\s{0,3}\bwhere it makes sense\b"
    r"|[,;]?\s{0,3}\beverything (?:is )?optional\b"
    r"|\bplease\b|\bbitte(?= [a-zäöü])\b|\bs'il vous plaît\b|\bpor favor\b",
    re.IGNORECASE,
)
_ONE_OPEN = re.compile(
    r"[,;]?\s{0,3}\b(?:and |und |et |y |e )?(?:only |nur )?(?:one|a single|1|eine|einer|une|una|uma) "
    r"(?:final |last |offene[nr]? |open[- ]?(?:ended)? ?|(?=question ouverte|pregunta abierta|pergunta "
    r"aberta))"
    r"(?:question|frage|pregunta|pergunta|text)?(?: ouverte| abierta| aberta)?(?: (?:at the end|am ende|"
    r"am schluss|à la fin|al final|no final))?",
    re.IGNORECASE,
)
_UNNAMED_SCALE = re.sub(r"\?P<\w+>", "?:", SCALE.pattern).replace(
    "(?:out of|sur|von|sobre) (?:5|7|10)\\b", "(?!)"
)
_GLOBAL_SCALE = re.compile(
    r"(?:^|[,;.]\s{0,3}|\s)(?:all |alle |using |with )?(?:on )?(?:a |an |einer |eine |une |una |uma )?"
    rf"(?:\b(?:scales?|ratings?|skala|échelle|escala|notes?|notas?)\b)[^,;.]{{0,200}}?(?={_UNNAMED_SCALE})",
    re.IGNORECASE,
)


def wants_one_open_question(text: str) -> bool:
    """Whether an intent wants one open question and no more."""
    return bool(_ONE_OPEN.search(text))


# --- Splitting ----------------------------------------------------------------------------------------

_BULLET = re.compile(r"^\s{0,3}(?:[-*•–▪◦]|\(?\d{1,2}[.)]|[a-zA-Z][.)])\s{1,3}(?P<item>\S.*?)\s{0,3}$")
_NUMBERED = re.compile(r"(?:(?<=\s)|^)\(?\d{1,2}[.)]\s{1,3}")
_SENTENCES = re.compile(
    r"(?<=[?])\s{1,3}|"
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bz\.B)(?<!\bmax)(?<!\bmin)(?<!\bNr)(?<!\bSt)(?<!\bDr)(?<!\bca)(?<!\bvs)(?<!\bno)(?<!\betc)"
    r"(?<!\d)(?<=[.!])\s{1,3}(?=[^\W\d_]|[¿¡«\"“])|\n+"
)
INTERROGATIVE = {
    "en": r"(?:(?:at |in |on |for |to |from |with )?(?:what|which|who|when|where|why|how|whether|if)|"
          r"(?:do|does|did|is|are|was|were|would|will|can|could|should|have|has) (?:you|they|we|the|it|"
          r"your|their|our|this|there|I))\b",
    "de": r"(?:(?:an |in |mit |für |auf |bei |von |bis |seit |aus )?(?:was|wer|wen|wem|wie|wo|wann|warum|"
          r"wieso|weshalb|woher|wohin|womit|"
          r"worüber|wofür|welche[rsnm]?|ob)|(?:ist|sind|war|hast|habt|haben|bist|seid|soll|sollen|sollten|"
          r"würdest|würdet|kann|kannst|könnt) "
          r"(?:du|ihr|wir|sie|Sie|der|die|das|es|man|euch|dir|\w+en))\b",
    "fr": r"(?:pourquoi|comment|combien|quand|où|quel(?:le)?s?|qu['’]|que |ce qu|s['’]ils|s['’]elles|si |"
          r"est-ce|qui |avec qui|à quelle|"
          r"avez-vous|êtes-vous|\w+-(?:vous|tu|t-il|il|on)\b|faut-il)",
    "es": r"(?:¿|(?:por |para |con |en |a |de |cada )?(?:qué|cuál(?:es)?|cómo|cuándo|dónde|cuánt[oa]s?|"
          r"quién(?:es)?|cuánto)\b|si |lo que )",
    "pt": r"(?:(?:por |para |com |em |a |de |o |d)?(?:que|qual|quais|como|quando|onde|quant[oa]s?|quem)\b|"
          r"se |tem |você )",
}  # fmt: skip
_ASKING = {
    "en": r"\b(?:(?:and|also|then|please|to|should|must|it should)\s{1,3})*(?:ask(?:ing|s)?|find(?:s|ing)? "
          r"out|(?:want|like|need|love) to "
          r"(?:know|find out|learn|understand)|we need|we want|collect(?:ing|s)?|includ(?:e|es|ing)|"
          r"cover(?:s|ing)?|questions? (?:on|about|like)|"
          r"with questions (?:on|about))\b",
    "de": r"\b(?:(?:und|auch|bitte|dann|außerdem)\s{1,3})*(?:frag(?:e|en|t)?|abfragen|erfragen|wissen|"
          r"erfahren|herausfinden|inklusive|(?:mit )?fragen "
          r"(?:zu[rm]?|nach|über))\b,?",
    "fr": r"\b(?:(?:et|aussi|puis|merci de)\s{1,3})*(?:demande[rz]?|savoir|inclu(?:re|ant|t)|(?:avec des "
          r")?questions sur|avis sur|connaître)\b",
    "es": r"\b(?:(?:y|también|además)\s{1,3})*(?:pregunta[rd]?(?: también)?|preguntando|saber|incluy\w+|"
          r"incluir|(?:con )?preguntas sobre|conocer|confirmar(?= asist))\b",
    "pt": r"\b(?:(?:e|também|além disso)\s{1,3})*(?:pergunt(?:e|ar|ando|em)(?: também)?|saber|"
          r"inclu\w+|(?:com "
          r")?perguntas sobre|descobrir)\b",
}  # fmt: skip
_RATING = {
    "en": r"\b(?:(?:and|also|please|should|to)\s{1,3})*(?:rate|rating|score|"
          r"evaluate|assess)\b(?! from| of \d|"
          r" \d)",
    "de": r"\bbewerten\b(?: lassen)?", "fr": r"\b(?:noter|évaluer)\b", "es": r"\b(?:valorar|puntuar|"
    r"calificar)\b",
    "pt": r"\b(?:avaliar|dar nota para)\b",
}  # fmt: skip
_ABOUT = {
    "en": r"^(?:(?:them|people|everyone|everybody|respondents|participants|users|customers|clients|guests|"
          r"members|staff|volunteers|donors|players|"
          r"students|parents|patients|readers|also|too)\s{1,3})*(?:(?:our|the) [\w-]+\s{1,3}(?=for\b|about\b|"
          r"why\b|what\b|how\b|whether\b|if\b|which\b|"
          r"when\b|where\b))?(?P<how>for|about|on)?\s{0,3}",
    "de": r"^(?:(?:auch|sie|unsere \w+|die \w+|alle)\s{0,3},?\s{1,3})*(?P<how>nach|zu[rm]?|über)?\s{0,3}",
    "fr": r"^(?:(?:aussi|à nos \w+|aux \w+|leur|également)\s{1,3})*(?P<how>sur)?\s{0,3}",
    "es": r"^(?:(?:también|a los \w+|a las \w+|a nuestros \w+|les)\s{1,3})*(?P<how>por|sobre)?\s{0,3}",
    "pt": r"^(?:(?:também|aos \w+|às \w+|para os \w+|para as \w+)\s{1,3})*(?P<how>por(?! que)|sobre)?\s{0,3}",
}  # fmt: skip
_ALSO = re.compile(
    r"\b(?:also|plus|additionally|in addition|including|auch|zusätzlich|außerdem|aussi|également|también|"
    r"además|também|incluindo)\b",
    re.I,
)
_LEADING = re.compile(
    r"^(?:and|or|plus|also|then|finally|as well as|und|sowie|dazu|außerdem|auch|et|puis|ainsi que|aussi|y|"
    r"además|también|e|também|bem como|&|with|"
    r"mit|maybe|perhaps|optionally)\s{1,3}",
    re.IGNORECASE,
)
_TO_US = re.compile(
    r"\b(?:can|could|would|will|kannst|könnt|können|könnten|peux|pouvez|pourriez|puedes|podrías|podéis|"
    r"pode|poderia)[ -]"
    r"(?:you|du|ihr|sie|tu|vous|você)?\s{0,3}(?:please |bitte )?(?:make|create|build|write|draft|give|help|"
    r"set|prepare|generate|eine? |erstell|mach|"
    r"créer|faire|crear|hacer|criar|fazer|ayudar)|\b(?:surveys?|polls?|questionnaires?|umfrage|sondage|"
    r"encuesta|pesquisa|enquete)\b[^?]*\?",
    re.IGNORECASE,
)
_ABOUT_OTHERS = {
    "en": r"\b(?:people|they|(?:our (?:\w+ )?)?(?:customers|members|users|staff|clients|donors|employees|"
          r"viewers|readers|players|guests))\b",
    "de": r"\b(?:Leute|unsere (?:Kunden|Mitglieder|Gäste|Nutzer|Spender)|Kunden|Mitglieder)\b",
    "fr": r"\b(?:les gens|nos (?:clients|membres|donateurs|employés|adhérents))\b",
    "es": r"\b(?:la gente|nuestros (?:clientes|socios|miembros|empleados))\b",
    "pt": r"\b(?:as pessoas|nossos (?:clientes|membros|funcionários|sócios))\b",
}  # fmt: skip
_OPTIONS_LEAD = re.compile(
    r"(?:^|\b(?:with|and|these|the following|mit|und|avec|et|con|y|com|e)\s{1,3})(?:the |these |"
    r"these |diesen "
    r"|les |las |los |os |as )?"
    r"(?:options?|choices|results|outcomes|answers|answer options|possible answers|antworten|"
    r"antwortmöglichkeiten|optionen|auswahl"
    r"|ergebnisse[n]?|réponses|choix|résultats|opciones|respuestas|resultados|opções|respostas)(?: are| "
    r"sind)?$",
    re.IGNORECASE,
)
_YES_NO_LEAD = re.compile(
    r"^(?:a )?(?:quick )?(?:yes ?/ ?no|ja ?/ ?nein|oui ?/ ?non|s[ií] ?/ ?no|sim ?/ ?não)(?: question| "
    r"poll)?$",
    re.I,
)


def read_asks(text: str, language: str, *, is_poll: bool = False) -> Asks:
    """Return the asks of an intent, in the order in which the intent names them."""
    scale = None
    if (match := _GLOBAL_SCALE.search(text)) and (found := read_scale(text[match.start() :])):
        scale = found[1]
        start = match.start()
        text = f"{text[:start]} {text[start + found[0].end() :]}"
    text = _ONE_OPEN.sub("", text)
    text = _SETTINGS.sub(lambda match: "," if match[0].startswith(",") else " ", text)
    asks: list[Ask] = []
    rest: list[str] = []
    orders: list[str] = []
    additions = 0
    for sentence in _sentences(text):
        if is_order(sentence):
            orders.append(sentence.strip(TRAILING))
            continue
        if asks and (completed := _completed(asks[-1], sentence, language, is_poll=is_poll)):
            asks[-1] = completed
            continue
        if asks and asks[-1].is_question and (said := _SAYS_YES_NO.match(sentence)):
            asks[-1] = replace(asks[-1], format=replace(asks[-1].format, is_yes_no=True))
            sentence = sentence[said.end() :].strip(TRAILING)
            if not sentence:
                continue
        is_continued = bool(asks) and sentence[:1].islower() and _LEADING.match(sentence) is not None
        found_asks, lead = _of_sentence(sentence, language, is_list=is_continued, is_poll=is_poll)
        if found_asks and _ALSO.search(sentence) and not _has_list(lead, sentence):
            additions += len(found_asks)
        if not found_asks and (aspects := _aspects(lead, language)):
            found_asks, additions = aspects, additions + len(aspects)
        if asks and found_asks and not found_asks[0].text and asks[-1].is_question:
            asks[-1] = replace(
                asks[-1], format=replace(asks[-1].format, options=found_asks[0].format.options)
            )
            found_asks = []
        asks += found_asks
        if lead:
            rest.append(lead)
    orders += [ask.text for ask in asks if is_order(ask.text)]
    asks = [ask for ask in asks if not is_order(ask.text)]
    is_added = bool(asks) and additions == len(asks)
    return Asks(tuple(asks[:_MAX_ASKS]), ". ".join(rest), scale, is_added, tuple(orders))


def _aspects(sentence: str, language: str) -> list[Ask]:
    """Return well-known asks that a sentence names as its subject, without a list: `about stress and
    workload`.
    """
    match = re.search(r"\b(?:about|on|zu|über|sur|sobre)\s{1,3}(?P<list>[^.?!:]+)$", sentence, re.IGNORECASE)
    items = _items(match["list"], language) if match else []
    is_known = len(items) > 1 and all(find(item, language) for item in items)
    return [_ask(item, language) for item in items] if is_known else []


def _has_list(lead: str, sentence: str) -> bool:
    return bool(lead) and bool(re.search(rf"{re.escape(lead)}\s{{0,3}}:", sentence))


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if match := _BULLET.match(line):
            yield f"• {match['item']}"
        elif len(_NUMBERED.findall(line)) > 1:
            first, *items = _NUMBERED.split(line)
            if first.strip():
                yield first.strip(TRAILING)
            yield from (f"• {item.strip()}" for item in items)
        else:
            yield from (part.strip() for part in _SENTENCES.split(line) if part and part.strip(TRAILING))


_CHOOSE = re.compile(
    r"[\s,-]{0,5}\b(?:choose|pick|select|vote|you can (?:choose|pick))[\s.]{0,5}$", re.IGNORECASE
)


def _completed(ask: Ask, sentence: str, language: str, *, is_poll: bool) -> Ask | None:
    """Return a question with the options or the scale that the next sentence names; None if that sentence
    names neither.
    """
    if not ask.is_question or ask.format.options:
        return None
    sentence = _CHOOSE.sub("", sentence)
    if (scale := read_scale(sentence)) and not re.search(r"[^\W\d_]", sentence.replace(scale[0][0], "")):
        return replace(
            ask, format=replace(ask.format, low=1, high=scale[1].high, has_stars=scale[1].has_stars)
        )
    if (
        sentence.endswith("?")
        or re.match(INTERROGATIVE[language], sentence, re.IGNORECASE)
        or ":" in sentence
    ):
        return None
    parts = split_options(RIGHT.sub("✓", sentence), language)
    if not parts or not all(len(part.split()) <= 6 for part in parts):
        return None
    if re.search(_ASKING[language], sentence, re.IGNORECASE):
        return None
    if not is_poll and sum(find(part, language) is not None for part in parts) > 1:
        return None  # The sentence names something else to ask, and no answers.
    right = next((n for n, part in enumerate(parts) if part.endswith("✓")), None)
    options = tuple(part.rstrip("✓ ") for part in parts)
    if {option.casefold() for option in options} <= _YES_AND_NO and len(options) == 2:
        return replace(ask, format=replace(ask.format, is_yes_no=True))
    return replace(ask, format=replace(ask.format, options=options, right=right))


_YES_AND_NO = frozenset(["yes", "no", "ja", "nein", "oui", "non", "sí", "si", "no", "sim", "não"])


_SAYS_YES_NO = re.compile(
    rf"(?:{YES_NO.pattern})[\s,;]*(?:(?:and|und|et|y|e)\s{{1,3}})?(?={IF}\b|$)", re.IGNORECASE
)


def _of_sentence(
    sentence: str, language: str, *, is_list: bool = False, is_poll: bool = False
) -> tuple[list[Ask], str]:
    """Return the asks of a sentence, and the part of the sentence that asks nothing."""
    if sentence.startswith("• "):
        item = sentence[2:]
        lead, colon, rest = item.partition(":")
        options = split_options(rest, language) if colon else ()
        if options:
            return [_ask(lead, language, format=Format(options=options))], ""
        verb = re.match(_ASKING[language], item, re.IGNORECASE)
        return [_ask(_after_verb(item, language)[1] if verb else item, language)], ""
    without, condition = read_condition(sentence)
    if condition and (why := _FOLLOW_UP.search(without)):
        before = without[: why.start()].strip(TRAILING)
        asks_before, lead = _of_sentence(before, language, is_poll=is_poll) if before else ([], "")
        return [*asks_before, Ask(why["what"], condition=condition)], lead
    if condition and sentence.lower().startswith(without.lower()[:4]) and not leads_with_condition(sentence):
        condition = None
    if condition:
        items = [_ask(item, language) for item in _items(_after_verb(without, language)[1], language)]
        return [replace(ask, condition=condition) for ask in items if ask.text], ""
    lead, items_text, how = ("", sentence, "") if is_list else _parted(sentence, language)
    if items_text is None:
        beginning, _, listed = sentence.partition(":")
        if re.match(INTERROGATIVE[language], beginning, re.IGNORECASE) and split_options(listed, language):
            return [_ask(sentence, language, is_question=True)], ""
        if sentence.endswith("?") and _is_asked(sentence, language):
            return [_ask(each, language, is_question=True) for each in _questions(sentence, language)], ""
        return [], sentence.strip(TRAILING)
    if _YES_NO_LEAD.match(lead.strip()):
        return [_ask(items_text, language, is_question=True, format=Format(is_yes_no=True))], ""
    head, _, announcement = lead.rpartition(",")
    if found := _OPTIONS_LEAD.search(announcement.strip()):
        head = f"{head} {announcement.strip()[: found.start()]}".strip()
        options = split_options(items_text, language)
        return [Ask("", Format(options=options))] if options else [], head
    asks = []
    for item in _items(items_text, language):
        of_item, condition = read_condition(item)
        verb = re.match(f"(?:{_ASKING[language]}|{_RATING[language]})", of_item, re.IGNORECASE)
        if verb:
            is_rated = re.match(_RATING[language], of_item, re.IGNORECASE) is not None
            how, of_item = _after_verb(of_item, language)
            how = "rate" if is_rated else how
        if (
            of_item.endswith("?")
            and "," in items_text
            and not re.match(INTERROGATIVE[language], of_item, re.IGNORECASE)
        ):
            of_item = of_item.rstrip("? ") + ("" if is_poll else " (yes/no)")
        ask = _ask(of_item, language, is_rated=how == "rate", is_field=how in ("for", "nach"))
        if ask.text or ask.format.options or ask.format.is_scale:
            asks.append(replace(ask, condition=condition))
    if len(asks) == 1 and _TOPIC_OF_QUESTIONS.search(sentence):
        return [], sentence.strip(TRAILING)
    return _with_common_scale(asks), lead


_TOPIC_OF_QUESTIONS = re.compile(
    r"\b(?:questions? (?:on|about)|fragen (?:zu[rm]?|nach|über)|questions sur|preguntas sobre|perguntas "
    r"sobre)\b",
    re.IGNORECASE,
)


_FOLLOW_UP = re.compile(
    r"[,;]?\s{0,3}\b(?:(?:and|with|plus|only|und|mit|nur|et|avec|seulement|y|con|s[oó]lo|e|com|apenas|só)\s{1,3}){0,6}"
    r"(?:an?\s{1,3}|une?\s{1,3}|una?\s{1,3}|uma?\s{1,3}|"
    r"eine[rm]?\s{1,3})?"
    r"(?:follow[- ]?up|ask(?:ing)?|(?:nach)?fragen?|nachfrage|demande[rz]?|preguntar?|pregunta|perguntar?|"
    r"pergunte)\s{1,3}(?:question\s{1,3})?"
    r"(?P<what>why|warum|pourquoi|por qu[eéê])\W*$",
    re.IGNORECASE,
)


def _with_common_scale(asks: list[Ask]) -> list[Ask]:
    """Give a scale after the last of several noun phrases to all of them."""
    scaled = [n for n, ask in enumerate(asks) if ask.format.is_scale]
    if len(scaled) != 1 or (not asks[scaled[0]].format.low):
        return asks
    if any(re.match(each, asks[scaled[0]].text, re.IGNORECASE) for each in INTERROGATIVE.values()):
        return asks
    scale = asks[scaled[0]].format
    if not asks[scaled[0]].text:
        asks = [ask for ask in asks if ask.text]
    return [
        replace(ask, format=scale, is_rated=True)
        if n <= scaled[0] and ask.format == Format() and not ask.is_question
        else ask
        for n, ask in enumerate(asks)
    ]


def _parted(sentence: str, language: str) -> tuple[str, str | None, str]:
    """Return the text before a list, the list, and the word that introduces the list; None if there is no
    list.
    """
    depth_free = BRACKETS.sub(lambda match: " " * len(match[0]), sentence)
    colon = re.search(r"\s?:(?=\s)", depth_free)
    if colon and colon.start() <= _MAX_LEAD:
        lead, rest = sentence[: colon.start()], sentence[colon.end() :]
        inner_dash = re.search(r"\s[-–—]\s", rest)
        if inner_dash and "," in rest[inner_dash.end() :] and "," not in rest[: inner_dash.start()]:
            return f"{lead}: {rest[: inner_dash.start()].strip()}", rest[inner_dash.end() :], ""
        if rest.strip(TRAILING) and not re.match(
            INTERROGATIVE[language], lead.split(",")[-1].strip(), re.IGNORECASE
        ):
            inner = _verb(rest, language)
            return lead, rest, inner or ""
    dash = re.search(r"\s[-–—]\s", depth_free)
    if dash and "," in depth_free[dash.end() :]:
        return sentence[: dash.start()], sentence[dash.end() :], ""
    if language == "de" and (match := re.search(_RATING["de"], depth_free)):
        return "", sentence.replace(match[0], ""), "rate"
    verb = min(
        (
            match
            for pattern in (_ASKING, _RATING)
            if (match := re.search(pattern[language], depth_free, re.IGNORECASE))
        ),
        key=lambda match: match.start(),
        default=None,
    )
    if verb is None:
        clause = re.search(rf",\s{{1,3}}(?={INTERROGATIVE[language]})", depth_free, re.IGNORECASE)
        begins = re.match(INTERROGATIVE[language], depth_free, re.IGNORECASE)
        if begins and depth_free.count(",") > 1 and not sentence.endswith("?"):
            return "", sentence, ""
        if clause and not begins:
            is_item = find(sentence[: clause.start()].split(",")[-1], language) is not None
            return (
                ("", sentence, "") if is_item else (sentence[: clause.start()], sentence[clause.end() :], "")
            )
        known = [part for part in split_options(sentence, language) if find(part, language)]
        return ("", sentence, "") if len(known) > 1 else (sentence, None, "")
    is_rated = bool(re.fullmatch(_RATING[language], verb[0], re.IGNORECASE))
    how, items = _after_verb(sentence[verb.start() :], language)
    if not items.strip(TRAILING) or re.fullmatch(PEOPLE[language], items.strip(TRAILING), re.IGNORECASE):
        return sentence[: verb.start()].strip(TRAILING), "", ""
    return sentence[: verb.start()].strip(TRAILING), items, "rate" if is_rated else how


def _verb(text: str, language: str) -> str | None:
    match = re.match(rf"\s{{0,3}}{_RATING[language]}", text, re.IGNORECASE)
    ends_rated = language == "de" and re.search(_RATING["de"], text)
    return "rate" if match or ends_rated else None


def _after_verb(text: str, language: str) -> tuple[str, str]:
    """Return the word after a verb of asking (`for`, `about`), and what is asked."""
    for pattern in (_ASKING, _RATING):
        if match := re.match(rf"\s{{0,3}}{pattern[language]}", text, re.IGNORECASE):
            text = text[match.end() :].strip(" ,:")
            break
    else:
        return "", text
    found = re.match(_ABOUT[language], text, re.IGNORECASE)
    how = (found["how"] or "") if found else ""
    rest = text[found.end() :] if found else text
    if how:
        return how.lower(), rest
    # `customers who cancelled why they cancelled`: the ask begins at the word that asks
    inner = re.search(rf"\b(?!who\b)(?={INTERROGATIVE[language]})", rest, re.IGNORECASE)
    of_people = re.compile(rf"(?:who|die|qui|que)\b|.*{PEOPLE[language]}", re.IGNORECASE)
    if inner and 0 < inner.start() < 60 and of_people.match(rest[: inner.start()]):
        rest = rest[inner.start() :]
    return how, rest


def _items(text: str, language: str) -> list[str]:
    """Return the items of a list. Commas inside brackets do not divide the list. After a colon, options
    follow.
    """
    parts: list[str] = []
    depth, current = 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char in ",;?" and depth <= 0:
            parts.append(current + ("?" if char == "?" else ""))
            current = ""
        else:
            current += char
    parts.append(current)
    items: list[str] = []
    for part in parts:
        part = part.strip().strip(QUOTES)
        while match := _LEADING.match(part):
            part = part[match.end() :]
        if not part.strip(TRAILING + "?"):
            continue
        if (
            items
            and re.search(r":\s", items[-1])
            and not re.match(INTERROGATIVE[language], part, re.IGNORECASE)
        ):
            items[-1] += f", {part}"
        else:
            items += _halves(part, language)
    return items


def _halves(part: str, language: str) -> list[str]:
    """Return the parts of an item that `and` joins, if both parts can be asked alone."""
    if re.search(r":\s", part):
        return [part]
    conjunction = (
        CONJUNCTIONS[language]
        .replace("|or|", "|")
        .replace("|oder|", "|")
        .replace("|ou|", "|")
        .replace("|o|u|", "|")
    )
    halves = re.split(rf"\s{{1,3}}(?:{conjunction})\s{{1,3}}(?![^()]*\))", part)
    if len(halves) == 1:
        return [part]
    first_ask = _after_verb(halves[0], language)[1]
    asking = [
        bool(re.match(INTERROGATIVE[language], half.strip(), re.IGNORECASE))
        for half in (first_ask, *halves[1:])
    ]
    if all(is_asking or find(half, language) for is_asking, half in zip(asking, halves, strict=True)):
        return halves
    if find(part, language):
        return [part]
    if asking[0]:
        cuts = [
            n
            for n in range(1, len(halves))
            if asking[n]
            or find(halves[n], language)
            or _is_asking_verb(halves[n], language)
            or is_order(halves[n])
        ]
        if not cuts:
            return [part]
        first = re.split(rf"\s{{1,3}}(?:{conjunction})\s{{1,3}}(?![^()]*\))", part, maxsplit=1)
        return [first[0], *_halves(first[1], language)] if 1 in cuts else [part]
    return [half for half in halves if half.strip()]


_ORDER = re.compile(
    r"(?:then |please )*(?:e-?mail|mail|send|forward|share|show|post|publish|remind|notify|inform|tell|give|"
    r"let|export|thank|invite)\s{1,3}(?:me|us|them|it|him|her|everyone|everybody|all|the|our|my|their|a|an)\b"
    r"|(?:dann |bitte )*(?:schicke?n?|sende?n?|maile?n?|teile?n?|zeige?n?|gib|informiere?n?)\s{1,3}"
    r"(?:mir|uns|ihnen|allen|sie|es|die|das|den)\b"
    r"|(?:envoye[zr]|partage[zr]|montre[zr]|publie[zr])[ -](?:moi|nous|leur|les?|la)\b|(?:m['’]|nous )"
    r"envoyer\b"
    r"|(?:env[ií](?:a|e|ar)|comp[aá]rt(?:e|ir))(?:me|nos|les?)\b|(?:me|nos) "
    r"envi(?:e|ar)\b|envi[ea]-(?:me|nos)\b",
    re.IGNORECASE,
)


def is_order(text: str) -> bool:
    """Return whether a clause requests something other than a survey: `email me the results`."""
    return bool(_ORDER.match(text.strip())) and not _KIND.search(text)


_KIND = re.compile(
    r"\b(?:surveys?|polls?|questionnaires?|quiz|forms?|umfrage|fragebogen|sondage|encuesta|pesquisa|enquete)\b",
    re.IGNORECASE,
)


def _is_asking_verb(text: str, language: str) -> bool:
    return bool(re.match(_ASKING[language], text.strip(), re.IGNORECASE))


def _is_asked(sentence: str, language: str) -> bool:
    """Return whether a question addresses the respondents. Other questions address us, or are about the
    respondents.
    """
    return not _TO_US.search(sentence) and not re.search(_ABOUT_OTHERS[language], sentence, re.IGNORECASE)


def _questions(sentence: str, language: str) -> list[str]:
    """Return a question as one text, or its parts if each part is a question: `How was the food, how was the
    music?`.
    """
    parts = [part.strip(TRAILING) for part in re.split(r",\s{1,3}", sentence.rstrip("?"))]
    clean = [_LEADING.sub("", part) for part in parts]
    if len(parts) > 1 and all(
        re.match(INTERROGATIVE[language], part, re.IGNORECASE) and " " in part for part in clean
    ):
        return [f"{part}?" for part in clean]
    return [sentence]


def _ask(
    text: str, language: str, *, is_question: bool = False, is_rated: bool = False, is_field: bool = False,
    format: Format | None = None,
) -> Ask:  # fmt: skip
    is_question = is_question or text.rstrip().endswith("?")
    lead, colon, rest = text.partition(": ")
    options = split_options(rest, language) if colon and format is None else ()
    if options:
        text, format = lead, Format(options=options)
    text, found = read_format(text, language)
    is_question = is_question or text.rstrip().endswith("?")
    if format is not None:
        found = replace(found, **{
            name: value for name in ("options", "is_yes_no") if (value := getattr(format, name))
        })  # fmt: skip
    return Ask(
        text.strip(QUOTES + ".,;:!"), found, is_question=is_question, is_rated=is_rated, is_field=is_field
    )
