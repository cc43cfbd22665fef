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

from surveys.ai.local.drafts.ask_lists import after_verb, list_items, list_parts, parted
from surveys.ai.local.drafts.ask_words import (
    ABOUT_OTHERS,
    ADDITION,
    ALSO,
    ASKING,
    BULLET,
    CHOOSE,
    EACH,
    FEEDBACK,
    FOLLOW_UP,
    FORM,
    GLOBAL_SCALE,
    INTERROGATIVE,
    KIND,
    LEADING,
    NUMBERED,
    ONE_OPEN,
    OPTIONS_LEAD,
    PICK,
    POINTS,
    PRICE,
    RANK,
    RATING,
    SAYS_YES_NO,
    SENTENCES,
    SETTINGS,
    TO_US,
    TOPIC_OF_QUESTIONS,
    TOTAL,
    YES_AND_NO,
    YES_NO_LEAD,
    is_order,
)
from surveys.ai.local.drafts.bank import find
from surveys.ai.local.drafts.conditions import (
    IF,
    Condition,
    is_foreign_condition,
    leads_with_condition,
    read_condition,
    with_conditions_apart,
)
from surveys.ai.local.drafts.formats import (
    BRACKETS,
    CONJUNCTIONS,
    DATE,
    QUOTES,
    RIGHT,
    SEVERAL,
    TRAILING,
    Format,
    option_text,
    read_format,
    read_scale,
    split_options,
)
from surveys.ai.local.drafts.noun_phrases import is_noun_phrase

_MAX_ASKS = 40
RANKED = "Put these in order, with the most important on top."
# The day of an event is neither a topic nor an ask.
_EVENT_DATE = re.compile(
    rf"(?:,\s{{0,3}})?\b(?:on|am|vom|le|du|el|del|em|no dia|do dia)\s{{1,3}}(?:the\s{{1,3}})?{DATE}(?!\w)",
    re.IGNORECASE,
)
_SLASHED = re.compile(
    r"^(?P<of>[^\W\d_][\w'’-]*(?:\s[\w'’-]+)?)\s(?P<list>[^\W\d_]\w*(?:/[^\W\d_]\w*){1,6})$"
)
_EITHER = re.compile(
    r"^(?:(?P<of>[^\W\d_][\w'’-]*)\s(?=\S+\s))?(?P<list>[^\W\d_][\w'’-]*(?:\s[^\W\d_][\w'’-]*)?)\s(?:or|"
    r"oder|ou|o)\s(?P<last>[^\W\d_][\w'’-]*)$"
)
_EITHER_WORD = re.compile(r"\s(?:or|oder|ou|o)\s(?!(?:not|nicht|pas|non|no|não)\b)", re.IGNORECASE)
_THEN = re.compile(
    r"(?:and )?(?:then|finally|danach|dann|anschließend|zuletzt|zum schluss|puis|ensuite|enfin|después|luego|"
    r"finalmente|depois)\s(?!they\b|we\b|it\b|you\b|sie\b|wir\b)",
    re.IGNORECASE,
)
_TONE = re.compile(
    r"(?:very )?(?:short|brief|friendly|simple|anonymous|quick|easy|mobile|kurz|freundlich|einfach|anonym|"
    r"court|simple|anonyme|corto|amable|sencillo|anónimo|curto|simples|anônimo)\w?(?: please)?$",
    re.IGNORECASE,
)
# `wie zufrieden die Gäste mit Zimmer, Frühstück und Service sind`: the list is what people rate.
_SATISFIED_WITH = re.compile(
    r"\bwie (?:zufrieden|glücklich) (?:(?:die|unsere|"
    r"alle) )?\w{2,20} mit (?P<list>[^.;:!?\n]{1,120}?,[^.;:!?\n]{1,120}?) "
    r"(?:sind|waren)\b",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\b(?:\d{0,2}X{0,3}[SL]|M|\d{2,3}(?:/\d{2,3})?)\b")
_SIZES = re.compile(
    r"\b(?P<of>(?i:(?:[^\W\d_]{1,20}[ -])?(?:sizes?|größen?|tailles?|tallas?|tamanhos?)))\s{0,3}:?\s{1,3}\(?"
    rf"(?P<list>{_SIZE.pattern}(?:\s{{0,3}}[,/]?\s{{0,3}}(?:(?:or|and|oder|und|ou|o|y|et|e)\s{{1,3}})?{_SIZE.pattern}){{2,20}})\)?"
)
_OR_NOT = re.compile(r"\s{1,3}(?:or not|oder nicht|ou (?:pas|non)|o no|ou não)$", re.IGNORECASE)


# `whether the pace was too fast, too slow or just right` has the answers in it.
_EITHER_PART = r",?\s(?:or|oder|ou|o)\s|,\s"
_MEASURED = re.compile(
    r"^(?:too|just|zu|genau|trop|demasiado|muy|muito)\s|\s(?:enough|demais)$|^(?:fine|ok|right|good|gut|bien|bon|bom)$",
    re.I,
)
_WORD = r"(?!(?:and|und|et|e|y|or|oder|ou|o)\b)[\w'’-]+"
_WORDS = rf"(?![\dA-ZÄÖÜ_]){_WORD}(?:\s{_WORD}){{0,2}}?"
_PARTS = (
    rf"(?P<list>{_WORDS}(?:,\s{_WORDS}){{0,5}},?\s(?:or|oder|ou|o)\s(?!(?:not|nicht|no|non|não)\b){_WORDS})"
    r"(?=\s{0,3}(?:[.,;?!)]|$)|\s(?:and|und|et|y|e|ist|sind|war|waren)\b)"
)
_OF = r"[^,;.:?!()\n]{0,60}?"
_ALTERNATIVES = {
    "en": (
        rf"\b(?:whether|if) (?P<of>(?:the|our|your|their|this|it)\b{_OF}) (?P<verb>is|are|was|were) "
        rf"{_PARTS}",
        "how {verb} {of} ({options})",
    ),
    "de": (
        rf"\bob (?P<of>(?:der|die|das|unser\w*|euer|eure)\b{_OF}) {_PARTS} (?P<verb>ist|sind|war|waren)\b",
        "wie {of} {verb} ({options})",
    ),
    "fr": (
        rf"\bsi (?P<of>(?:l['’]|(?:le|la|les|notre|nos|votre)\b){_OF}) (?P<verb>est|sont|étai(?:en)?t) "
        rf"{_PARTS}",
        "comment {verb} {of} ({options})",
    ),
    "es": (
        rf"\bsi (?P<of>(?:el|la|los|las|nuestr\w+)\b{_OF}) (?P<verb>es|son|eran?|fue|fueron) "
        rf"{_PARTS}",
        "cómo {verb} {of} ({options})",
    ),
    "pt": (
        rf"\bse (?P<of>(?:o|a|os|as|noss\w+)\b{_OF}) (?P<verb>é|são|eram?|foi|foram|está|estava) {_PARTS}",
        "como {verb} {of} ({options})",
    ),
}


# A negation before a word of asking, in a wording that is no prohibition that we know.
_NOT_ASKED = {
    language: re.compile(
        rf"^(?!(?:{IF})\b).{{0,80}}?(?<!\bif\s)(?<!\bwenn\s)(?<!\bfalls\s)(?<!\bsi\s)(?<!\bse\s)(?:\b(?:not|never|nicht|niemals|jamais|nunca|jamás|não)|n['’]t|\bno\s(?:se|hay))\s"
        rf"(?:(?!and\b|but\b|und\b|aber\b|only\b|nur\b|forget\b|vergessen\b)\w+\s){{0,3}}?{asking}",
        re.IGNORECASE,
    )
    for language, asking in ASKING.items()
}
# A phrase about who answers is no question: `only ask adults over 18`.
_AUDIENCE = re.compile(
    r"(?:please\s)?(?:only|just|nur|solo|sólo|seulement|uniquement|apenas|só)\s(?:bitte\s)?\w+\s"
    r"(?:(?:the|our|die|unsere|les|nos|a|los|las|os|as)\s){0,2}(?:\w+\s){0,2}(?:adults?|people|persons?|"
    r"women|men|members?|residents?|"
    r"customers?|students?|parents?|staff|employees?|those|anyone|everyone|erwachsene\w*|personen|leute|"
    r"frauen|männer|"
    r"mitglieder|kunden|eltern|adultes?|personnes|femmes|hommes|adultos|personas|mujeres|hombres|"
    r"pessoas|mulheres|homens)\b",
    re.IGNORECASE,
)


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
    wants_open: bool = False  # The intent wants an open question in addition.
    told: tuple[str, ...] = ()  # wishes that no draft can contain, such as other conditions.


def additions(text: str, language: str) -> tuple[str, tuple[Ask, ...], bool]:
    """Return a text without the questions that it wants in addition, such as `plus two questions about pay`,
    the asks of these questions, and whether an open question about anything is among them.
    """
    asks: list[Ask] = []
    wants_open = False
    parts, end = [], 0
    for match in ADDITION.finditer(text):
        is_open = bool(match["open"] or match["open_after"])
        is_further = bool(match["further"] or match["further_after"])
        is_and = re.match(r"[,;.]?\s{0,3}(?:with|mit|avec|con|com)\b", match[0], re.IGNORECASE) is None
        is_addition = (is_open and match["about"]) or (is_and and (is_open or match["about"]))
        if not (match["sure"] or is_further or is_addition):
            continue
        parts.append(text[end : match.start()])
        end = match.end()
        if match["about"]:
            named = [_ask(item, language) for item in list_items(match["about"], language)]
            asks += [replace(ask, format=replace(ask.format, is_open=is_open)) for ask in named if ask.text]
        else:
            wants_open = True
    return "".join([*parts, text[end:]]), tuple(asks), wants_open


def read_asks(text: str, language: str, *, is_poll: bool = False) -> Asks:
    """Return the asks of an intent, in the order in which the intent names them."""
    text, added, wants_open = additions(text, language)
    scale = None
    if (match := GLOBAL_SCALE.search(text)) and (found := read_scale(text[match.start() :])):
        scale = found[1]
        start = match.start()
        text = f"{text[:start]} {text[start + found[0].end() :]}"
    told: list[str] = []
    points = POINTS.search(text)
    shared = (
        (points["list"] or points["list_first"] or points["list_to_spend"] or "").strip() if points else ""
    )
    ranked = split_options(re.split(r"\s(?:for|für|pour|para)\s", shared)[0], language) if points else ()
    if points:
        told.append(points[0].strip(TRAILING))
        after = shared.partition(" for ")[2]
        text = f"{text[: points.start()]} {after} {text[points.end() :]}"
    text = re.sub(r"\(\s{0,3}\)", "", SEVERAL.sub("", text)) if is_poll else _EVENT_DATE.sub("", text)
    if language == "de":
        text = _SATISFIED_WITH.sub(lambda match: match["list"], text)
    text = _SIZES.sub(lambda match: f"{match['of']} ({', '.join(_SIZE.findall(match['list']))})", text)
    text = _with_alternatives(without_settings(text), language)
    asks: list[Ask] = [Ask(RANKED, Format(options=ranked, is_ranked=True))] if ranked else []
    rest: list[str] = []
    orders: list[str] = []
    in_addition = 0
    for sentence in (part for each in _sentences(text) for part in with_conditions_apart(each) if part):
        if is_foreign_condition(sentence) or _NOT_ASKED[language].search(sentence):
            told.append(re.split(r"\.\s{1,3}\d", sentence)[0].strip(TRAILING))
            continue
        if is_order(sentence) or _AUDIENCE.match(sentence):
            orders.append(sentence.strip(TRAILING))
            continue
        if asks and (completed := _completed(asks[-1], sentence, language, is_poll=is_poll)):
            asks[-1] = completed
            continue
        if asks and asks[-1].is_question and (said := SAYS_YES_NO.match(sentence)):
            asks[-1] = replace(asks[-1], format=replace(asks[-1].format, is_yes_no=True))
            sentence = sentence[said.end() :].strip(TRAILING)
            if not sentence:
                continue
        is_continued = (
            _continues(sentence, text, language) if asks else _is_plain_list(sentence, text, language)
        )
        found_asks, lead = _of_sentence(sentence, language, is_list=is_continued, is_poll=is_poll)
        if found_asks and ALSO.search(sentence) and not _has_list(lead, sentence):
            in_addition += len(found_asks)
        if not found_asks and (aspects := _aspects(lead, language)):
            found_asks, in_addition = aspects, in_addition + len(aspects)
        if asks and found_asks and not found_asks[0].text and asks[-1].is_question:
            asks[-1] = replace(
                asks[-1], format=replace(asks[-1].format, options=found_asks[0].format.options)
            )
            found_asks = []
        found_asks = [ask for ask in found_asks if not _is_rank(ask)]
        if (rank := RANK.search(sentence)) and not any(ask.format.is_ranked for ask in found_asks):
            told.append(rank[0].strip(TRAILING))
        is_scale = len(found_asks) == 1 and not found_asks[0].text and found_asks[0].format.is_scale
        if asks and is_scale and scale is None:
            found_asks, scale = [], found_asks[0].format
        asks += found_asks
        if lead:
            rest.append(lead)
    orders += [ask.text for ask in asks if is_order(ask.text)]
    asks = [ask for ask in asks if not is_order(ask.text)]
    if any(PRICE.search(ask.text) for ask in asks):  # The numbers of an order are asked item by item.
        told += [ask.text for ask in asks if TOTAL.match(ask.text)]
        asks = [ask for ask in asks if not (EACH.match(ask.text) or TOTAL.match(ask.text))]
    is_added = in_addition == len(asks) and bool(asks or added)
    return Asks(
        (*asks, *added)[:_MAX_ASKS], ". ".join(rest), scale, is_added, tuple(orders), wants_open, tuple(told)
    )


def _with_alternatives(text: str, language: str) -> str:
    """Return a text with what is one of several in brackets: `whether it was too long or too short` →
    `how was it (too long / too short)`.
    """

    def listed(match: re.Match[str]) -> str:
        parts = [part for part in re.split(_EITHER_PART, match["list"]) if part]
        # A part that asks belongs to a condition: "if the rating is low, ask why".
        asking = f"(?:{INTERROGATIVE[language]}|{ASKING[language]})"
        if any(re.match(asking, part, re.IGNORECASE) for part in parts):
            return match[0]
        is_vague = len(parts) == 2 or match["of"] in ("this", "it")
        if is_vague and not all(_MEASURED.search(part) for part in parts):
            return match[0]
        return _ALTERNATIVES[language][1].format(**match.groupdict(), options=" / ".join(parts))

    return re.sub(_ALTERNATIVES[language][0], listed, text)


def without_settings(text: str) -> str:
    """Return a text without its wishes about the whole survey, such as the number of its questions."""
    text = ONE_OPEN.sub("", text)
    text = SETTINGS.sub(lambda match: match[0][0] if match[0][0] in ",." else " ", text)
    return re.sub(r"\.\s{0,3},", ".", text)


def _with_either(ask: Ask, language: str) -> Ask:
    """Return an ask with the options that its words are: `vegetarian or meat`, `shift early or late`."""
    if ask.format == Format() and (slashed := _SLASHED.match(ask.text)):
        options = tuple(option_text(word) for word in slashed["list"].split("/"))
        return replace(ask, text=slashed["of"], format=Format(options=options))
    match = _EITHER.match(ask.text)
    if ask.format != Format() or ask.is_question or not match:
        return ask
    if re.match(INTERROGATIVE[language], ask.text, re.IGNORECASE) or (
        match["of"] and find(ask.text, language)
    ):
        return ask
    words = [*match["list"].split(), match["last"]] if match["of"] else [match["list"], match["last"]]
    options = tuple(option_text(word) for word in words)
    return replace(ask, text=match["of"] or ask.text, format=Format(options=options))


def _is_rank(ask: Ask) -> bool:
    return not ask.format.is_ranked and RANK.match(ask.text) is not None


def _continues(sentence: str, text: str, language: str) -> bool:
    """Whether a sentence continues the list of the sentence before it, as the fields of a form do."""
    if _THEN.match(sentence) or find(LEADING.sub("", sentence), language):
        return True
    if leading := LEADING.match(sentence):
        rest = sentence[leading.end() :]
        if sentence[:1].islower() or re.match(INTERROGATIVE[language], rest, re.IGNORECASE):
            return True
    parts = re.split(rf",|\s(?:{CONJUNCTIONS[language]})\s", sentence)
    is_list = len(parts) > 1 and not re.search(r"[?:\d]", sentence) and FORM.search(text) is not None
    return is_list and all(0 < len(part.split()) <= 4 for part in parts)


def _is_plain_list(sentence: str, text: str, language: str) -> bool:
    """Return whether a sentence is a list of what to ask, after one that names the survey: `Feedback on our
    dinner. Food, venue, would they come again`.
    """
    before = text.partition(sentence)[0]
    if not (KIND.search(before) or FEEDBACK.search(before) or FORM.search(before)) or ":" in sentence:
        return False
    parts = [BRACKETS.sub("", part).strip(TRAILING) for part in list_parts(sentence) if part.strip(TRAILING)]
    return len(parts) > 2 and all(
        len(part.split()) <= 9
        if re.match(INTERROGATIVE[language], part, re.IGNORECASE)
        else len(part.split()) <= 5 and is_noun_phrase(part, language) and not _TONE.match(part)
        for part in parts
    )


def _aspects(sentence: str, language: str) -> list[Ask]:
    """Return well-known asks that a sentence names as its subject, without a list: `about stress and
    workload`.
    """
    match = re.search(r"\b(?:about|on|zu|über|sur|sobre)\s{1,3}(?P<list>[^.?!:]+)$", sentence, re.IGNORECASE)
    items = list_items(match["list"], language) if match else []
    is_known = len(items) > 1 and all(find(item, language) for item in items)
    return [_ask(item, language) for item in items] if is_known else []


def _has_list(lead: str, sentence: str) -> bool:
    return bool(lead) and bool(re.search(rf"{re.escape(lead)}\s{{0,3}}:", sentence))


def _sentences(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if match := BULLET.match(line):
            yield f"• {match['item']}"
        elif (numbers := NUMBERED.findall(line))[1:] and numbers[0].strip(" (.)") == "1":
            first, *items = NUMBERED.split(line)
            if first.strip():
                yield first.strip(TRAILING)
            yield from (f"• {item.strip()}" for item in items)
        else:
            yield from (part.strip() for part in SENTENCES.split(line) if part and part.strip(TRAILING))


def _completed(ask: Ask, sentence: str, language: str, *, is_poll: bool) -> Ask | None:
    """Return a question with the options or the scale that the next sentence names; None if that sentence
    names neither.
    """
    if not ask.is_question or ask.format.options:
        return None
    sentence = CHOOSE.sub("", sentence)
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
    if re.search(ASKING[language], sentence, re.IGNORECASE):
        return None
    if not is_poll and sum(find(part, language) is not None for part in parts) > 1:
        return None  # The sentence names something else to ask, and no answers.
    right = next((n for n, part in enumerate(parts) if part.endswith("✓")), None)
    options = tuple(part.rstrip("✓ ") for part in parts)
    if {option.casefold() for option in options} <= YES_AND_NO and len(options) == 2:
        return replace(ask, format=replace(ask.format, is_yes_no=True))
    return replace(ask, format=replace(ask.format, options=options, right=right))


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
        verb = re.match(ASKING[language], item, re.IGNORECASE)
        return [_ask(after_verb(item, language)[1] if verb else item, language)], ""
    without, condition = read_condition(sentence)
    if condition and (why := FOLLOW_UP.search(without)):
        before = without[: why.start()].strip(TRAILING)
        if before and leads_with_condition(sentence):  # Its object: `if they disliked the food ask why`.
            condition, before = replace(condition, said=f"{condition.said} {before}"), ""
        asks_before, lead = _of_sentence(before, language, is_poll=is_poll) if before else ([], "")
        return [*asks_before, Ask(why["what"] or why["reason"], condition=condition)], lead
    if condition and sentence.lower().startswith(without.lower()[:4]) and not leads_with_condition(sentence):
        condition = None
    if condition:
        items = [_ask(item, language) for item in list_items(after_verb(without, language)[1], language)]
        return [replace(ask, condition=condition) for ask in items if ask.text], ""
    lead, items_text, how = ("", sentence, "") if is_list else parted(sentence, language)
    if items_text is None:
        beginning, _, listed = sentence.partition(":")
        if re.match(INTERROGATIVE[language], beginning, re.IGNORECASE) and split_options(listed, language):
            return [_ask(sentence, language, is_question=True)], ""
        if sentence.endswith("?") and _is_asked(sentence, language):
            return [_ask(each, language, is_question=True) for each in _questions(sentence, language)], ""
        return [], sentence.strip(TRAILING)
    if YES_NO_LEAD.match(lead.strip()):
        return [_ask(items_text, language, is_question=True, format=Format(is_yes_no=True))], ""
    head, _, announcement = lead.rpartition(",")
    if (rank := RANK.search(lead)) and (options := split_options(items_text, language)):
        return [Ask(RANKED, Format(options=options, is_ranked=True))], lead[: rank.start()].strip(TRAILING)
    picked = PICK.match(announcement.strip())
    if picked and (options := split_options(items_text, language)):
        fields_first = [_ask(item, language) for item in list_items(head, language)] if head else []
        chosen = Ask(picked["what"].strip(TRAILING) or announcement.strip(), Format(options=options))
        return [*(ask for ask in fields_first if ask.text), chosen], ""
    if found := OPTIONS_LEAD.search(announcement.strip()):
        head = f"{head} {announcement.strip()[: found.start()]}".strip()
        options = split_options(items_text, language)
        return [Ask("", Format(options=options))] if options else [], head
    asks = []
    for item in list_items(items_text, language):
        of_item, condition = read_condition(item)
        verb = re.match(f"(?:{ASKING[language]}|{RATING[language]})", of_item, re.IGNORECASE)
        if verb:
            is_rated = re.match(RATING[language], of_item, re.IGNORECASE) is not None
            how, of_item = after_verb(of_item, language)
            how = "rate" if is_rated else how
        if (
            of_item.endswith("?")
            and (is_poll or not _EITHER_WORD.search(of_item))
            and "," in items_text
            and not re.match(INTERROGATIVE[language], of_item, re.IGNORECASE)
        ):
            of_item = of_item.rstrip("? ") + ("" if is_poll else " (yes/no)")
        ask = _ask(of_item, language, is_rated=how == "rate", is_field=how in ("for", "nach"))
        if ask.text or ask.format.options or ask.format.is_scale:
            asks.append(replace(ask if is_poll else _with_either(ask, language), condition=condition))
    if len(asks) == 1 and TOPIC_OF_QUESTIONS.search(sentence):
        return [], sentence.strip(TRAILING)
    return _with_common_scale(asks), lead


def _with_common_scale(asks: list[Ask]) -> list[Ask]:
    """Give a scale after the last of several noun phrases to all of them."""
    if len(asks) == 1:
        return asks
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


def _is_asked(sentence: str, language: str) -> bool:
    """Return whether a question addresses the respondents. Other questions address us, or are about the
    respondents.
    """
    return not TO_US.search(sentence) and not re.search(ABOUT_OTHERS[language], sentence, re.IGNORECASE)


def _questions(sentence: str, language: str) -> list[str]:
    """Return a question as one text, or its parts if each part is a question: `How was the food, how was the
    music?`.
    """
    parts = [part.strip(TRAILING) for part in re.split(r",\s{1,3}", sentence.rstrip("?"))]
    clean = [LEADING.sub("", part) for part in parts]
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
    if _OR_NOT.search(text):
        text, format = _OR_NOT.sub("", text), Format(is_yes_no=True)
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
