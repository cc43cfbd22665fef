"""What an intent forbids to ask, in five languages.

    without_prohibitions("Gym: rooms. You must not ask for names")   → "Gym: rooms.", and ("names",)
    asks_about("names", block)                                       whether a question asks for it

A negation before a word of asking is never an ask.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from surveys.ai.local.drafts.stems import EMPTY

_PERSONAL = (
    r"(?:(?:any |their |your |full |den |die |das |ihren? |der |el |la |su |o |a |les? |"
    r"leurs? )?(?:names?|namen?|noms?|"
    r"nombres?|nomes?|e-?mails?|mails?|correos?|"
    r"(?:tele)?phones?(?: numbers?)?|telefon(?:nummern?)?|téléphones?|teléfonos?|telefones?|"
    r"(?:post)?adress?en?|"
    r"address(?:es)?|adresses?|direcci(?:ón|ones)|endereços?|ages?|alter|âges?|edad(?:es)?|idades?|"
    r"genders?|sex|"
    r"geschlecht|genre|sexe|sexo|g[éê]nero|birthdays?|dates? of birth|geburtsdat\w+|fecha de nacimiento|"
    r"data de nascimento|date de naissance|demographics?|demografie|demografische[ns]? \w+|incomes?|"
    r"einkommen|cpf|salar(?:y|ies)|gehalt|religion|"
    r"personal (?:data|details|info\w*)|contact (?:details|data)|kontaktdaten|persönlichen? \w+|"
    r"datos personales|"
    r"dados pessoais|données personnelles)\b)"
)
_AND_NOT = (
    r"(?:(?:\s{0,3},|\s{1,3}(?:or|nor|and|oder|und|noch|ou|ni|et|y|e|nem))\s{1,3}"
    r"(?:no |keine?n? |ohne |pas d[e'’]\s?|sans |sin |sem )?)"
)
_WHAT = rf"(?P<what>[^.!?;,\n]{{0,80}}(?:{_AND_NOT}{_PERSONAL}){{0,5}})"
_ASK = {
    "en": r"(?:ask(?:ed|ing)?|include[ds]?|including|collect(?:ed|ing)?|request(?:ed|ing)?|quer(?:y|ied|"
    r"ying))",
    "de": r"(?:(?:ab|er|nach)?fragen|(?:ab|er|ge|abge|nachge)fragt(?: werden)?|erheben|erhoben(?: werden)?)",
    "fr": r"(?:demande[rz]?|interroger|(?:poser|poses|posez)(?: (?:de|des|aucune))? questions?|recueillir)",
    "es": r"(?:ped(?:ir|imos)|pid[ae]s?|pregunt(?:ar(?:les?)?|amos|es?)|hacer preguntas|recoger)",
    "pt": r"(?:ped(?:ir|imos)|peça|pergunt(?:ar|amos|e)|fazer perguntas|coletar)",
}
_FOR = (
    r"(?:\s{1,3}(?:them|people|anyone|participants))?(?:\s{1,3}(?:for|about|on|nach|zu[rm]?|über|"
    r"sur|por|sobre))?"
)
_NEVER = {  # The words before a verb of asking that forbid to ask.
    "en": r"(?:(?<!people )(?<!\bthey )(?<!\bwho )(?<!\bdo )(?<!\bdoes )(?:(?:we|you|it|survey|form|"
    r"please)\s{1,3}){0,2}"
    r"(?:(?:must|may|should|can|shall|will|could|would|do|does|are|is)(?:\s?not|n['’]?t)|cannot|never|"
    r"(?<!\bif )not|without|"
    r"(?:it (?:is|'s)|it['’]s|is)\s{1,3}(?:forbidden|prohibited|illegal|taboo)|forbidden|prohibited|"
    r"refrain(?:ing)? from|avoid|no need)"
    r"(?:\s{1,3}(?:be|to|ever|please|want|wish|plan|intend|like|allowed|permitted|supposed|"
    r"the survey)){0,4})",
    "de": r"(?:(?:bitte|auch|wir|man)\s{1,3}){0,3}(?:(?:darf|dürfen|soll(?:en|te|ten)?|kann|können|"
    r"wollen|möchten|verboten ist)"
    r"\s{1,3})?(?:(?:wir|man|ihr|es|bitte|auch)\s{1,3}){0,2}(?<!\bfalls )(?<!\bwenn )(?:nicht|niemals|nie)",
    "fr": r"(?:(?:il|on|nous|vous|merci de)\s{1,3})?(?:(?:ne|n['’])\s{0,3}(?:faut|doit|doivent|peut|"
    r"devons|devez|pouvons|veut|"
    r"voulons|pas|jamais)(?:\s{1,3}(?:pas|jamais|surtout))?|interdi(?:t|ction) de|évite[rz]? de|"
    r"(?:est )?interdit de|sans)",
    "es": r"(?:(?<!\bsi )(?:no|nunca|jamás)(?:\s{1,3}(?:se|debe[ns]?|puede[ns]?|hay que|queremos|quiero|"
    r"debemos|podemos|está permitido|"
    r"les|le)){0,3}|(?:está |queda )?prohibido|evit(?:ar|en?)|sin)",
    "pt": r"(?:(?<!\bse )(?:não|nunca|jamais)(?:\s{1,3}(?:se|deve[m]?|pode[m]?|queremos|quero|devemos|"
    r"podemos|é permitido|lhes)){0,3}|"
    r"(?:é )?proibido|evit(?:ar|e)|sem)",
}
# Nouns: `no questions about pay`, `Fragen nach dem Alter sind tabu`.
_NO_QUESTIONS = (
    r"no questions? (?:about|on|regarding)|(?:avoid|leave out|skip|omit)(?: any|"
    r" all)?(?: questions? (?:about|on|regarding))?|"
    r"nothing (?:about|on)|(?:bitte )?(?:(?:es )?(?:darf|dürfen|soll(?:en)?) )?nicht nach|ohne nach|"
    r"(?:ohne|keine) fragen? (?:nach|zu[rm]?|über)|"
    r"(?:bitte )?auf fragen (?:nach|zu[rm]?)(?= .{1,60} verzichten)|nichts (?:über|zu[rm]?)|"
    r"ne (?:pas )?demande[rz]? pas|(?:pas|sans|aucune?) (?:de )?questions? sur|rien sur|"
    r"sin preguntas?(?! abiert)(?: sobre)?|nada (?:sobre|de preguntas sobre)|(?:ninguna )pregunta sobre|"
    r"sem perguntas?(?! abert)(?: sobre)?|nenhuma pergunta sobre"
)
_NO_ASKING = re.compile(
    r"[,;]?\s{0,3}\b(?:(?:and|but|please|und|aber|bitte|et|mais|y|pero|e)\s{1,3}){0,2}(?:"
    + "|".join(rf"{_NEVER[language]}\s{{1,3}}(?:a la gente )?{_ASK[language]}{_FOR}" for language in _ASK)
    + rf"|{_NO_QUESTIONS})(?! (?:more|too many|any|everyone|mehr|plus de|más de|mais de))(?:\s{{1,3}}|"
    rf"(?<=['’])){_WHAT}",
    re.IGNORECASE,
)
# `The age must not be asked`, `Nach dem Alter darf nicht gefragt werden`, `den Namen bitte nicht abfragen`.
_NOT_TO_BE_ASKED = re.compile(
    r"(?P<lead>(?:^|[.!?;,\n])\s{0,3}(?:(?:and|but|und|aber|bitte|auch|please)\s{1,3}){0,3})"
    r"(?:(?P<what>(?:(?:nach|the|questions? (?:about|on)|fragen (?:nach|"
    r"zu[rm]?))\s{1,3})?[^.!?;,:\n]{2,60}?)\s{1,3}"
    r"(?:(?:(?:must|may|should|can|shall|will)(?: ?not|n['’]t)|cannot|(?:is|are) not to|should never|"
    r"must never)\s{1,3}be\s{1,3}"
    r"(?:asked|included|collected|requested)(?:\s{1,3}(?:for|about))?"
    r"|(?:is|are)\s{1,3}(?:forbidden|prohibited|not allowed|taboo|off[- ]limits)"
    r"|(?:(?:darf|dürfen|soll(?:en)?)\s{1,3})?(?:(?:bitte|auch|auf keinen fall)\s{1,3})?(?:nicht\s{1,3}|"
    r"(?<=keinen fall\s))"
    r"(?:ge|er|abge)fragt(?:\s{1,3}werden)?"
    r"|(?:bitte\s{1,3})?nicht\s{1,3}(?:ab|er)?fragen|(?:sind|ist)\s{1,3}(?:verboten|tabu|unerwünscht|"
    r"nicht erlaubt)"
    r"|(?:est|sont)\s{1,3}interdite?s?|(?:está|están)\s{1,3}prohibid[oa]s?|(?:é|são)\s{1,3}proibid[oa]s?)"
    r"|(?:(?:darf|dürfen|soll(?:en)?|bitte|"
    r"auch)\s{1,3}){0,3}nicht\s{1,3}(?P<after>[^.!?;,:\n]{2,40}?)\s{1,3}(?:ab|er)fragen)"
    r"(?=\s{0,3}(?:[.!?;,\n]|$))",
    re.IGNORECASE,
)
_NOT_WHAT = re.compile(
    r"^(?:nach|the|for|about|questions? (?:about|on)|fragen (?:nach|zu[rm]?))\s{1,3}|\s{1,3}(?:(?:ge|er|"
    r"abge)fragt werden|verzichten|please|bitte|"
    r"fragen)$|\s{1,3}(?:because|since|weil|da|parce|car|porque|pois)\s.*$",
    re.IGNORECASE,
)
# `no names`, `kein Alter`, `pas d'âge`: what is named so is personal, or else it may be an option.
_NOTHING_PERSONAL = re.compile(
    r"(?:[,;.(]\s{0,3}|\b(?:and|but|und|aber|et|y|e|please|bitte)\s{1,3}|^)(?:(?:and|but|und|aber|et|y|"
    r"e|please|bitte)\s{1,3})?"
    r"(?:no|without|keine?n?|ohne|pas d[eu'’]|pas de l[a'’]|sans|sin|sem)\s{0,3}"
    rf"(?P<what>{_PERSONAL}(?:{_AND_NOT}{_PERSONAL}){{0,5}})(?=\s{{0,3}}(?:[,;.!)]|no\b|please|bitte|"
    rf"abfragen|erfragen|$))"
    r"(?:\s{1,3}(?:please|bitte|abfragen|erfragen))?",
    re.IGNORECASE,
)
_NEXT_PERSONAL = re.compile(r"(?<=\w)\s{1,3}(?=no (?:names?|e-?mails?|phone|age|address))", re.IGNORECASE)
NOTHING_ELSE = re.compile(
    r"[,;.]?\s{0,3}\b(?:(?:and |und |et |y |e )?(?:nothing (?:else|more)|no (?:other|more|further) questions|"
    r"sonst nichts|nichts weiter|mehr nicht|rien d['’]autre|rien de plus|c['’]est tout|nada m[aá][si]s?|"
    r"eso es todo|"
    r"só isso|that['’]s (?:it|all)))(?=\s{0,3}(?:[,;.!]|please|bitte|$))",
    re.IGNORECASE,
)
# Subjects that an intent may exclude, and the words by which we find questions about them.
_SUBJECTS = {
    "name": r"\bnam(?:e|es|en)\b|\bnoms?\b|\bnombres?\b|\bnomes?\b|\bwie heißt du\b",
    "e-mail": r"\be-?mails?\b|\bmail ?address|\bcorreo\b",
    "telephone": r"\btele?phone\b|\bphone\b|\btelefon\w*|\bteléfono\b|\btéléphone\b",
    "address": r"\b(?:postal )?address\b|\badress\w*|\bdirección\b|\bendereço\b",
    "age": r"\bage\b|\bhow old\b|\balter\b|\bwie alt\b|\bâge\b|\bedad\b|\bcuántos años tienes\b|\bidade\b|"
    r"\bquantos anos\b",
    "gender": r"\bgender\b|\bsex\b|\bgeschlecht\b|\bgenre\b|\bgénero\b|\bgênero\b",
    "pay": r"\bpay\b|\bsalar\w+|\bgehalt\w*|\blohn\b|\bbezahlung\b|\bsalaires?\b|\bsueldos?\b",
}
_ALL_PERSONAL = re.compile(
    r"\bdemogra|\bpersonal|\bpersönlich|\bpersonnel|\bpessoais|\bcontact|\bkontakt", re.IGNORECASE
)


def without_prohibitions(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a text without what it forbids to ask, and the forbidden subjects in the words of the text."""
    subjects: list[str] = []

    def cut(match: re.Match[str]) -> str:
        groups = match.groupdict()
        what = (groups["what"] or groups.get("after") or "").strip()
        while (shorter := _NOT_WHAT.sub("", what)) != what:
            what = shorter
        subjects.append(what)
        return (groups.get("lead") or "").strip()[:1]

    text = _NOT_TO_BE_ASKED.sub(cut, text)
    text = _NO_ASKING.sub(cut, text)
    text = _NEXT_PERSONAL.sub(", ", text)
    for match in _NOTHING_PERSONAL.finditer(text):
        subjects += [each.strip() for each in re.split(_AND_NOT, match["what"])]
    return _NOTHING_PERSONAL.sub("", text), tuple(what for what in subjects if what)


def asks_about(what: str, block: Mapping[str, Any]) -> bool:
    """Return whether a question asks about a subject that an intent excludes."""
    return bool(re.search(_words_for(what), str(block.get("prompt")), re.IGNORECASE))


def _words_for(what: str) -> str:
    """Return a pattern for questions about an excluded subject, which may be none of those that we know."""
    if _ALL_PERSONAL.search(what):
        return "|".join(words for subject, words in _SUBJECTS.items() if subject != "pay")
    patterns: list[str] = []
    for part in re.split(_AND_NOT, what):
        known = [words for words in _SUBJECTS.values() if re.search(words, part, re.IGNORECASE)]
        named = [word for word in re.findall(r"[^\W\d_]{5,40}", part) if word.lower() not in EMPTY]
        patterns += known or [rf"\b{re.escape(word[:-1] if word.endswith('s') else word)}" for word in named]
    return "|".join(patterns) or "(?!)"
