"""Questions made from the asks of an intent. Each has a prompt, a type and options in its language.

    compose(asks, language, …)   → blocks in the order of the asks, with what could not be made of them

An ask that the bank knows gets the bank's question. A clause is put to the respondents. A noun phrase is
rated or, in a form, filled in. A question that is written out stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from surveys.ai.local.drafts import bank, languages
from surveys.ai.local.drafts.answering import answered, formatted, in_language, is_closed, text_in, with_scale
from surveys.ai.local.drafts.ask_words import FILE, INTERROGATIVE, NEED, PRICE
from surveys.ai.local.drafts.asks import RANKED, Ask
from surveys.ai.local.drafts.conditions import Condition, subject_of, words_of
from surveys.ai.local.drafts.formats import DATE, Format, option_text
from surveys.ai.local.drafts.length import MutableBlock
from surveys.ai.local.drafts.library import RawBlock
from surveys.ai.local.drafts.noun_phrases import AGREEMENT, is_day, is_noun_phrase, is_statement
from surveys.ai.local.drafts.phrasing import addressed, question_from
from surveys.ai.local.drafts.stems import EMPTY, word_set
from surveys.engine.script import SCALES, title_case

_MAX_ASPECT = 60  # No question is made from a longer noun phrase, in characters.
_BEGINNING = 5  # Two forms of a word share at least this many letters at the beginning.
_ANSWERS = {"yes": "Yes", "no": "No", "never": "Never so far"}
_LOW = {"nps": 7, 10: 7, 7: 4, 5: 3}  # On each scale, a smaller answer than this is a low one.
_NUMERIC_LABEL = re.compile(r"\b(?:number of|how many|anzahl|nombre de|numero de|age|alter|edad|idade)\b")
# Phrases that end so name facts, which nobody rates.
_FACT = re.compile(
    r"(?:\b(?:household size|group size|family size|number|postcode|post code|zip(?: code)?|job title|"
    r"reading)|postleitzahl|plz|"
    r"haushaltsgrosse|\bcode postal|\btaille du foyer|\bcodigo postal|\bcep)$"
)
_LABELLED = re.compile(r"^(?:their|your|his|her|ihre?|deine?|eure?|votre|vos|leurs?|su|sus|tu|tus|seu|sua|"
                       r"seus|suas)\b|"
                       r"\bfavou?rite\b|\blieblings|\bprefere|\bfavorit|\bpreferid",
                       re.IGNORECASE)  # fmt: skip
_OVERALL = re.compile(r"overall(?: (?:impression|rating))?|insgesamt|gesamteindruck|(?:note|avis|"
    r"impression) (?:globale?|general)|"
                      r"(?:nota|impresion|valoracion) (?:general|global)|(?:nota|impressao|"
                      r"avaliacao) geral")  # fmt: skip
_ALLOWS = re.compile(
    r"\b(?:allow|consent|agree|ok |okay|permi|may we|take|taking|erlaub|einverst|zustimm|autori|quality|"
    r"qualität)",
    re.I,
)
_DAYS = "📅"  # The text of an ask that has days as its options.
HOW_MANY = "How many would you like: {label}?"
NEEDED = "What do you need: {label}?"
AGREE = "How much do you agree? “{Label}.”"
OVERALL, CHILD = "Which overall rating would you give?", "How old is the child?"
_CHILD = re.compile(
    r"\b(?:child|kid|son|daughter|kind|enfant|hij[oa]|niñ[oa]|filh[oa]|criança)(?:e?s|"
    r"['’]s|ren)?\b",
    re.IGNORECASE,
)
# Questions of the bank that are about the child where parents fill in a form, with their words for that.
_OF_CHILD = {
    "age": CHILD,
    "pictures": "May we take pictures of the child and publish them?",
    "diet": "Which of these apply to the food that the child eats?",
    **dict.fromkeys(("birthday", "grade", "allergies", "gender", "shirt"), "What is the child's {label}?"),
}


def _of_child(known: RawBlock, ask: Ask, language: str) -> MutableBlock:
    block = in_language(known, language)
    if known["name"] == "age":
        block = {"name": "age", "type": "open_numeric", "min": 0}
    label = re.sub(
        r"^(?:(?:the |any |their )?child['’]s|the|any|their|der|die|das) ", "", ask.text, flags=re.IGNORECASE
    )
    prompt = _filled(_OF_CHILD[known["name"]], label, language)
    if language == languages.ENGLISH and _is_plural(label):
        prompt = prompt.replace("What is the child", "What are the child")
    return formatted({**block, "prompt": prompt}, ask.format, language, None)


_WHO_COMES = {
    "en": (r"who(?:'s| is| will be| wants to)? com(?:e|ing|es)\b(?P<rest>.*)", "Are you coming{rest}?"),
    "de": (r"wer (?:kommt|ist dabei)\b(?P<rest>.*)", "Kommst du{rest}?"),
    "fr": (r"qui vient\b(?P<rest>.*)", "Venez-vous{rest} ?"),
    "es": (r"¿?qui[eé]n(?:es)? viene[n]?\b(?P<rest>.*)", "¿Vienes{rest}?"),
    "pt": (r"quem (?:vem|vai)\b(?P<rest>.*)", "Você vem{rest}?"),
}


def _who_comes(question: str, language: str) -> str | None:
    pattern, asked = _WHO_COMES[language]
    match = re.fullmatch(pattern, question.strip(" ?"), re.IGNORECASE)
    return asked.format(rest=match["rest"].rstrip(" ?")) if match else None


_WHY = re.compile(r"(?:and |ask )*(?:the )?(?:why(?: not)?|warum(?: nicht)?|wieso|weshalb|pourquoi(?: "
                  r"pas)?|por que(?: no| nao)?|reasons?|(?:de[mn] )?(?:grund|grunden|ursachen?)|"
                  r"(?:la )?raison|(?:por )?(?:el |o )?motivo|for the reasons?)(?: is that| that is|"
                  r" so)?", re.IGNORECASE)  # fmt: skip
_DETERMINED = re.compile(
    r"^(?:the|our|your|my|this|these|that|their|each|all|any|some|how|[A-Z]\w*)\b|^\w+['’]s\b|\b(?:with|"
    r"you|we)\b"
)
# Questions of the bank that do not fit where people rate a thing: `rate the transport`.
_ASPECTS = word_set(
    "company department price_fair format length mood city address pictures stay bring pace role channel "
    "employment transport"
)
_PERSONAL = frozenset(
    {"name", "email", "phone", "address", "birthday", "age", "allergies", "diet", "gender", "city"}
)
_POSSESSED = re.compile(
    r"(?:.+['’]s (?P<en>[\w -]+)|(?P<de>[\w-]+) (?:des|der|vom|von) .+|(?P<fr>[\w-]+) (?:de l['’]|du |des "
    r"|de la |d['’]).+|"
    r"(?P<es>[\w-]+) (?:del|de la|de los|do|da|dos|das) .+|(?P<of>[\w -]+?) of (?:the|your|their) .+)",
    re.IGNORECASE,
)


@dataclass
class Composed:
    """Blocks made from asks, the words of these asks, the names of bank questions, and the asks that could
    not be used.
    """

    blocks: list[MutableBlock] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    unmet: list[str] = field(default_factory=list)
    not_asked: list[str] = field(default_factory=list)  # topics that the intent excludes in a list of asks.


def compose(
    asks: Iterable[Ask],
    language: str,
    *,
    spoken: str,
    is_form: bool,
    scale: Format | None,
    is_scored: bool = True,
    before: Sequence[RawBlock] = (),
    is_about_leaving: bool = False,
    is_agreed: bool = False,
    is_judged: bool = True,
    no_open_text: bool = False,
) -> Composed:
    """Return the questions for asks. The asks are in the language `spoken`, the questions in `language`.

    The condition of an ask refers to an earlier question, or to one of the questions in `before`. With
    `is_agreed` people say how much they agree with the statements among the asks. With `no_open_text` people
    rate what they would else describe.
    """
    composed = Composed()
    names: set[str] = set()
    said: list[tuple[RawBlock, str]] = []  # The blocks with the words from which they are made.
    asks = _with_days_together(asks)
    siblings = " ".join(ask.text for ask in asks)
    for ask in asks:
        if (excluded := _EXCLUDED.fullmatch(ask.text)) and not ask.format.options:
            composed.not_asked.append(excluded["what"])
            continue
        if _WHICH_ONE.match(ask.text) and not ask.format.options and composed.blocks:
            listed = tuple(option["value"] for option in composed.blocks[-1].get("options", ()))
            ask = replace(ask, format=replace(ask.format, options=listed))
        made = _block_for(
            ask,
            language,
            spoken=spoken,
            is_form=is_form,
            scale=scale,
            composed=composed,
            is_about_leaving=is_about_leaving,
            is_agreed=is_agreed,
            is_judged=is_judged,
            siblings=siblings,
        )
        if made is None and is_file(ask.text):
            continue
        if made is None:
            composed.unmet.append(f"Not asked: “{ask.text}”.")
            continue
        if no_open_text and made["type"] == "open_text":
            if not _OPINION.match(bank.folded(made["prompt"])):
                composed.unmet.append(f"Not asked, as it needs an open question: “{ask.text}”.")
                continue
            made = with_scale({"prompt": made["prompt"]}, scale, language, ("Very poor", "Very good"))
        if any(block["prompt"].casefold() == made["prompt"].casefold() for block in composed.blocks):
            continue
        place = len(composed.blocks)
        if ask.condition:
            about = _meant(ask.condition, [*((each, "") for each in before), *said], language)
            is_named = bool(subject_of(ask.condition.said, language))
            if about is None and is_named and _WHY.fullmatch(bank.folded(ask.text)):
                composed.unmet.append(f"Not asked: “{ask.condition.said} {ask.text}”.")
                continue
            if about is None:
                composed.unmet.append(
                    f"Asked of everybody, as its condition was not understood: “{made['prompt']}”"
                )
            else:
                made["show_when"] = _shown_when(ask.condition, about, language)
                place = next((n + 1 for n, each in enumerate(composed.blocks) if each is about), place)
                while place < len(composed.blocks) and composed.blocks[place].get("show_when"):
                    place += 1
        made["name"] = _unique(made.get("name") or _name_for(made["prompt"]), names)
        if ask.format.right is not None and is_scored:
            made |= {"correct_answer_index": ask.format.right}
        composed.blocks.insert(place, made)
        said.append((made, ask.text))
        named = (
            ", ".join(ask.format.options)
            if ask.format.is_ranked or ask.text == _DAYS
            else ask.text.rstrip("? ")
        )
        composed.words.append(named or "a rating")
    return composed


def _with_days_together(asks: Iterable[Ask]) -> list[Ask]:
    """Return the asks with several days among them as the options of one."""
    asks = list(asks)
    days = [ask for ask in asks if ask.format == Format() and is_day(ask.text)]
    if len(days) < 2:
        return asks
    options = tuple(option_text(ask.text) for ask in days)
    several = replace(days[0], text=_DAYS, format=Format(options=options, takes_several=True))
    return [several if ask is days[0] else ask for ask in asks if ask is days[0] or ask not in days]


def _block_for(
    ask: Ask,
    language: str,
    *,
    spoken: str,
    is_form: bool,
    scale: Format | None,
    composed: Composed,
    is_about_leaving: bool,
    is_agreed: bool,
    is_judged: bool,
    siblings: str,
) -> MutableBlock | None:
    if not ask.text and ask.format.is_scale:
        overall = {"name": "rating", "prompt": text_in(OVERALL, language)}
        return with_scale(overall, ask.format, language, ("Very poor", "Very good"))
    if not ask.text:
        return None
    if _OVERALL.fullmatch(bank.folded(ask.text)):
        overall = {"name": "overall", "prompt": text_in(OVERALL, language)}
        wanted = ask.format if ask.format.is_scale else scale
        return with_scale(overall, wanted, language, ("Very poor", "Very good"))
    if ask.text == _DAYS:
        return formatted(in_language(bank.blocks()["days_available"], language), ask.format, language, None)
    if ask.format.is_ranked:
        options = [{"value": option} for option in ask.format.options]
        return {"name": "ranked", "type": "ranking", "prompt": text_in(RANKED, language), "options": options}
    if is_file(ask.text):
        composed.unmet.append(f"No question takes a file: “{ask.text}”.")
        return None
    if (price := PRICE.search(ask.text)) and spoken == language:
        thing = ask.text if price.start() else f"{ask.text[price.end() :].strip()}{price[0]}"
        return {"type": "open_numeric", "prompt": _filled(HOW_MANY, thing.strip(), language), "min": 0}
    if is_agreed and spoken == language and not ask.is_question and is_statement(ask.text, language):
        said = re.sub(rf"\s[-–—]\s(?:{AGREEMENT.pattern}).*$", "", ask.text, flags=re.IGNORECASE)
        said = re.sub(r"\bi\b", "I", said) if language == "en" else said
        wanted = ask.format if ask.format.is_scale else scale
        ends = ("Strongly disagree", "Strongly agree")
        return with_scale({"prompt": _filled(AGREE, said, language)}, wanted, language, ends)
    known = bank.find(ask.text, spoken)
    is_of_child = is_form and known is not None and _CHILD.search(siblings) is not None
    if is_of_child and known and known["name"] in _OF_CHILD:
        return _of_child(known, ask, language)
    if (asked := _who_comes(ask.text, spoken)) and spoken == language:
        composed.known.add("coming")
        return {**in_language(bank.blocks()["coming"], language), "prompt": asked}
    if known and known["name"] == "reason" and not ask.condition and not composed.blocks and is_about_leaving:
        known = bank.blocks()["leaving"]
    if (
        ask.condition
        and (ask.condition.kind != "yes" or known is None)
        and _WHY.fullmatch(bank.folded(ask.text))
    ):
        prompt = "Why not?" if ask.condition.kind == "no" else "Why?"
        known = {"name": "reason", "type": "open_text", "prompt": prompt}
    is_aspect = ask.is_rated or (scale is not None and not ask.is_question)
    if known and is_aspect and known["name"] in _ASPECTS:
        known = None
    if ask.is_question and spoken == language:
        prompt = ask.text.rstrip("?").rstrip()
        prompt = addressed(prompt, language).rstrip("?").rstrip()
        mark = " ?" if language == "fr" else "?"
        prompt = re.sub(r"^(¿?)(\w)", lambda match: match[1] + match[2].upper(), prompt)
        prompt = (
            f"¿{prompt}" if language == "es" and not prompt.startswith("¿") and "¿" not in prompt else prompt
        )
        return answered(f"{prompt}{mark}", ask.format, language, scale, known)
    if known:
        composed.known.add(known["name"])
        block = in_language(known, language)
        if ask.format.most and known["name"] == "number_of_people":
            block = in_language(bank.blocks()["guests"], language)
        if spoken == language and block["type"] not in SCALES and not _COUNTS.match(bank.folded(ask.text)):
            block["prompt"] = _in_their_words(ask.text, block, language) or block["prompt"]
        if known["type"] == "open_text" and ask.format.is_scale:
            return block
        return formatted(
            block, ask.format, language, scale if known["type"] in ("rating", "opinion_scale") else None
        )
    if spoken != language:
        return None  # The clause cannot be translated.
    if question := question_from(ask.text, language):
        return answered(question, ask.format, language, scale, None)
    is_about_needs = NEED.search(siblings) is not None and not is_judged
    return _of_phrase(ask, language, is_form=is_form, scale=scale, is_about_needs=is_about_needs)


_OPINION = re.compile(
    r"what (?:do|did) you think|was (?:haltst|denkst) du|wie (?:findest|fandest) du|"
    r"(?:que|qu'est-ce que vous) pense|¿?que (?:te parec|opinas|piensas)|o que voce (?:ach|pens)"
)
_LIKED = re.compile(r"(?:preferred|favou?rite|main|current|highest|usual)\b", re.IGNORECASE)
_NO_ASK = re.compile(
    r"(?:nothing|everything|all|no|not|only|just|without|nichts|keine?|alles|nur|ohne|rien|tout|sans|nada|"
    r"todo|tudo|"
    r"sin|solo|sem|apenas)\b"
)
_SENTENCE = re.compile(
    r"\b(?:you|we|your|is|are|was|were|would|will|can|could|should|do|does|did|has|have|went|made|"
    r"brought)\b",
    re.IGNORECASE,
)
# `no phone number` in a list of asks.
_EXCLUDED = re.compile(
    r"(?:no|without|keine?n?|ohne|pas d[eu]|pas de l[a'’]|pas d['’]|sans|sin|sem)\s{0,3}(?!more|longer|"
    r"less|mehr|länger)"
    r"(?P<what>(?<=[\s'’])\S+(?: \S+){0,3})",
    re.IGNORECASE,
)
_WHICH_ONE = re.compile(r"which (?:one|of (?:these|them|those))\b|welche[rsn]? davon\b", re.IGNORECASE)
_SUPERLATIVE = {
    "en": r"(?:the )?(?:most|least|best|worst|biggest|greatest|main|single most) .+",
    "de": r"(?:(?:der|die|das) )?(?:beste|schlechteste|größte|wichtigste|nützlichste|schönste|"
    r"schlimmste|hilfreichste)[rsn]? .+",
}
_COUNTS = re.compile(r"(?:how many|wie viele|combien|combien de|cuant[oa]s|quant[oa]s)(?: \w+)?$")


def _in_their_words(text: str, block: MutableBlock, language: str) -> str | None:
    """Return the question that a clause of the intent reports; None for a phrase, and if the block's options
    would not answer the question.
    """
    is_clause = len(text.split()) > 2 and re.match(INTERROGATIVE[language], text, re.IGNORECASE)
    question = question_from(text, language) if is_clause else None
    if question and language == languages.ENGLISH and not _SENTENCE.search(question):
        return None  # `how much per month` is not a whole question.
    if question is None or not is_closed(bank.folded(question), language):
        return question
    values = [option["value"] for option in block.get("options", ())]
    return question if text_in("Yes", language) in values else None


def _of_phrase(
    ask: Ask, language: str, *, is_form: bool, scale: Format | None, is_about_needs: bool
) -> MutableBlock | None:
    """Return the question for a noun phrase. People rate the phrase, choose one of its options, or fill it
    in.
    """
    phrase = ask.text.strip()
    if len(phrase) > _MAX_ASPECT or not re.search(r"[^\W\d_]{2}", phrase):
        return None
    plain = bank.folded(phrase)
    if re.match(rf"{DATE}(?!\w)", phrase, re.IGNORECASE):
        return None  # A date is never what people are asked for.
    if re.search(r"[.!?;:]", phrase) or _NO_ASK.match(plain):
        return None
    label = phrase[:1].upper() + phrase[1:]
    is_bare = " " not in phrase and re.fullmatch(INTERROGATIVE[language], phrase, re.IGNORECASE) is not None
    if ask.format == Format(most=ask.format.most) and _COUNTS.match(plain):
        mark = " ?" if language == "fr" else "?"
        prompt = f"{'¿' if language == 'es' else ''}{label}{mark}"
        return formatted({"type": "open_numeric", "prompt": prompt, "min": 0}, ask.format, language, None)
    if not (ask.format.options or ask.format.is_yes_no) and re.match(
        INTERROGATIVE[language], phrase, re.IGNORECASE
    ):
        if " " in phrase:
            return None  # A clause that gives no whole question is reported, and not asked.
        return answered(f"{label}{' ?' if language == 'fr' else '?'}", ask.format, language, None, None)
    if ask.format.is_yes_no or (ask.format.options and not ask.format.is_scale):
        if language == "en" and ask.format.options and not (is_bare or re.match(r"(?:which|what)\b", plain)):
            bare = re.sub(r"^(?:the|their|your|any|some|a|an) ", "", phrase)
            label = f"{'What is your' if _LIKED.match(bare) else 'Which'} {bare}"
        mark = " ?" if language == "fr" else "?"
        prompt = f"{'¿' if language == 'es' else ''}{label}{mark}"
        return answered(prompt, ask.format, language, None, None)
    if not is_noun_phrase(phrase, language):
        return None
    possessed = _POSSESSED.fullmatch(phrase)
    known = _owned(phrase, language)
    is_field = bool(known and known["name"] in _PERSONAL) or _FACT.search(plain) is not None
    is_need = NEED.search(phrase) is not None and not ask.is_rated and not scale
    if (
        is_about_needs
        and not (is_need or is_field or is_form or ask.is_rated or scale)
        and ask.format == Format()
    ):
        return {"type": "open_text", "prompt": _filled(NEEDED, phrase, language)}
    if ask.condition and not (is_form or is_field):
        return None  # Nobody rates a thing under a condition.
    is_plain = not scale and ask.format == Format() and not ask.is_rated
    if is_plain and re.fullmatch(_SUPERLATIVE.get(language, "(?!)"), phrase, re.IGNORECASE):
        bare = re.sub(r"^(?:the|der|die|das) ", "", phrase, flags=re.IGNORECASE)
        return {"type": "open_text", "prompt": _filled("What is the {label}?", bare, language)}
    if (
        is_form
        and language == "en"
        and plain.startswith("the ")
        and not (ask.is_field or is_field or possessed)
    ):
        return None  # Such as the place of an event, which is no field of a form.
    if ask.format.is_open and not (is_form or ask.is_field or is_field):
        thing = phrase if language != "en" or _DETERMINED.search(phrase) else f"the {phrase}"
        return {"type": "open_text", "prompt": _filled("What do you think of {aspect}?", thing, language)}
    if (
        ask.is_rated
        or scale
        or not (
            is_form or ask.is_field or is_field or is_need or _LABELLED.search(plain) or ask.format.is_open
        )
    ):
        rated = phrase if language != "en" or _DETERMINED.search(phrase) else f"the {phrase}"
        prompt = _filled("How would you rate {aspect}?", rated, language)
        return with_scale(
            {"prompt": prompt},
            ask.format if ask.format.is_scale else scale,
            language,
            ("Very poor", "Very good"),
        )
    bare = re.sub(r"^(?:their|your|the|any|some|a|an) ", "", phrase) if language == "en" else phrase
    key = "What is the {label}?" if possessed else "What is your {label}?"
    prompt = _filled(key, bare, language)
    if language == "en" and _is_plural(bare):
        prompt = prompt.replace("What is ", "What are ")
    if _NUMERIC_LABEL.search(plain) or (known and known["name"] == "age"):
        return {"type": "open_numeric", "prompt": prompt, "min": 0}
    return {"type": "open_text", "prompt": prompt}


def is_file(text: str) -> bool:
    """Return whether a phrase asks for a file. A wish to be photographed or not asks for none."""
    return FILE.search(text) is not None and _ALLOWS.search(text) is None


def is_fact(phrase: str, language: str) -> bool:
    """Return whether a phrase names a fact to fill in, such as the age of a person or of an animal."""
    known = bank.find(phrase, language) or _owned(phrase, language)
    return bool(known and known["name"] in _PERSONAL)


def _owned(phrase: str, language: str) -> RawBlock | None:
    """Return the question for the first part of a phrase such as `age of the dog`."""
    match = _POSSESSED.fullmatch(phrase.strip())
    owned = next((value for value in match.groupdict().values() if value), None) if match else None
    return bank.find(owned, language) if owned else None


def _is_plural(phrase: str) -> bool:
    head = re.split(r" (?:of|for|with|in|on|at|to) ", phrase, maxsplit=1)[0].split()[-1].lower()
    return head.endswith("s") and not head.endswith(("ss", "us", "is"))


def _filled(english: str, phrase: str, language: str) -> str:
    text = text_in(english, language)
    for key in ("aspect", "label"):
        text = text.replace(f"{{{key}}}", phrase).replace(
            f"{{{key.capitalize()}}}", phrase[:1].upper() + phrase[1:]
        )
    return text


# --- Conditions and names ---------------------------------------------------------------------------------


def _shown_when(condition: Condition, about: RawBlock, language: str) -> dict[str, Any]:
    """Return the condition as `show_when` on the answer to a question that fits it."""
    if condition.kind in _ANSWERS:
        value, never = (text_in(_ANSWERS[kind], language) for kind in (condition.kind, "never"))
        values = [option["value"] for option in about.get("options", ())]
        if condition.kind == "yes" and never in values:
            return {"block": about["name"], "op": "ne", "value": never}
        return {"block": about["name"], "op": "eq", "value": value}
    if condition.kind == "above":
        return {"block": about["name"], "op": "gt", "value": condition.number}
    return {"block": about["name"], "op": "lt", "value": _below(condition, about)}


def _below(condition: Condition, about: RawBlock) -> int:
    high = about.get("max", 10)
    return condition.number or _LOW.get("nps" if about["type"] == "nps" else high, (high + 2) // 2)


def _fits(condition: Condition, about: RawBlock, language: str) -> bool:
    """Return whether the answers to a question can meet a condition."""
    if condition.kind in _ANSWERS:
        values = [option["value"] for option in about.get("options", ())]
        kinds = (condition.kind, "never") if condition.kind == "yes" else (condition.kind,)
        return any(text_in(_ANSWERS[kind], language) in values for kind in kinds)
    if about["type"] not in SCALES:
        return False
    if condition.kind == "above":
        return bool(about.get("min", 0) <= (condition.number or 0) < about.get("max", 10))
    return bool(1 < _below(condition, about) <= about.get("max", 10))


def _meant(condition: Condition, earlier: Sequence[tuple[RawBlock, str]], language: str) -> RawBlock | None:
    """Return the earlier question whose answer a condition means: one that it names, else the nearest that
    fits. None if it names something that no question is about, or if none fits.
    """
    subject = subject_of(condition.said, language)
    fitting = [(block, text) for block, text in earlier if _fits(condition, block, language)]

    def shared(each: tuple[RawBlock, str]) -> int:
        words = words_of(f"{each[0].get('prompt')} {each[1]}")
        return len({word[:_BEGINNING] for word in words} & {word[:_BEGINNING] for word in subject})

    named = [each for each in fitting if shared(each)]
    if named:
        return max(reversed(named), key=shared)[0]
    is_clear = not subject or len(fitting) == 1 or all(block["type"] == "nps" for block, _ in fitting)
    return fitting[-1][0] if fitting and is_clear else None


def _name_for(prompt: str) -> str:
    words = re.findall(r"[a-z]+", bank.folded(prompt))
    content = [word for word in words if word not in EMPTY and len(word) > 2] or words
    name = "_".join(content[:3])[:40]
    return name if name and not re.fullmatch(r"q\d*|true|false", name) else "question"


def _unique(name: str, names: set[str]) -> str:
    unique, number = name, 2
    while title_case(unique) in names:
        unique, number = f"{name}_{number}", number + 1
    names.add(title_case(unique))
    return unique


def with_names_beside(
    blocks: Iterable[MutableBlock], others: Iterable[Mapping[str, Any]]
) -> list[MutableBlock]:
    """Return the blocks under names that no other block has. Their conditions use the new names."""
    names = {title_case(block["name"]) for block in others if block.get("name")}
    renamed: dict[str, str] = {}
    result = []
    for block in blocks:
        name = renamed[block["name"]] = _unique(block["name"], names)
        block = {**block, "name": name}
        if condition := block.get("show_when"):
            block["show_when"] = {**condition, "block": renamed.get(condition["block"], condition["block"])}
        result.append(block)
    return result


def with_format(ask: Ask, **changes: Any) -> Ask:
    """An ask with another format."""
    return replace(ask, format=replace(ask.format, **changes))
