"""Conditions that an intent sets for an ask: `if not, ask why`, `below 7`, `detractors`."""

from __future__ import annotations

import re
from dataclasses import dataclass

import stop_words

from surveys.ai.local.drafts.bank import folded
from surveys.ai.local.drafts.formats import TRAILING
from surveys.ai.local.drafts.stems import EMPTY


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of an ask: the answer `yes` or `no` to the previous ask, or a low or a high number.

    `kind` is `yes`, `no`, `never`, `below` or `above` (`number` itself belongs to neither), or `low`. `said`
    is the condition in the words of the intent, which may name the question whose answer is meant.
    """

    kind: str
    number: int | None = None
    said: str = ""


IF = r"(?:if|when|in case|falls|wenn|bei|si|s'|se|quando|cuando)"
WHO = (
    r"(?:any(?:one|body)|every(?:one|body)|those|people|whoever|wer|alle|ceux qui|celles qui|qui|"
    r"quien(?:es)?|quem|los que|os que)"
)
_OR = r"(?:or|oder|ou|o)"
_LESS = r"(?:less|fewer|lower|below|under|weniger|schlechter|moins|menos|inférieure?)"
_MORE = r"(?:more|higher|above|over|better|mehr|besser|plus|más|mais|supérieure?|10|zehn|ten)"
# What the author tells people to do, between a condition and what they are asked.
_TOLD = re.compile(
    r"^(?:(?:is|are|was|were|ist|sind|war|waren|wird|werden|wurden?|bewertet|gibt|geben|gave|gives?|rates?|bewerte[nt]|donnent?|pone[n]?|d[eáã]o?|it|them|us)\b[\s,]{0,3}){0,3}"
    r"(?:(?:should|must|soll(?:en|te)?|bitte|get|devrai(?:t|ent)|doi(?:t|vent)|debe[nr]?|deve[m]?)\s{1,3})?(?:be\s{1,3})?"
    r"(?:(?:to|uns|us|nous|nos)\s{1,3})?(?:(?:say|tell|explain|asked|sagen|erklären|dire|expliquer|decir|explicar|dizer|"
    r"preguntar(?:les)?|get asked)\b\s{0,3}(?:us|uns|nous|nos)?\s{0,3},?\s{0,3}(?:for\s|nach\s)?)?",
    re.IGNORECASE,
)
_INSTRUCTS = re.compile(
    r"\b(?:ask|tell|say|explain|end|skip|show|stop|jump|go to|send|thank|should|must|soll(?:en)?|sagen|"
    r"beende\w*|zeige\w*|"
    r"frage?n?|überspring\w*|demande\w*|dire|terminer|afficher|passer|devrai\w*|pregunt\w*|decir|terminar|mostrar|debe\w*|"
    r"pergunt\w*|dizer|encerrar|deve\w*)\b",
    re.IGNORECASE,
)
# Words of a condition that name no subject: who judges, how, and what was bad about it.
_JUDGES = re.compile(
    r"(?:rat(?:e|es|ed|ing|ings)|scor\w*|give[sn]?|gave|answer\w*|says?|said|choos\w*|pick\w*|vot\w*|less|fewer|lower|low|below|"
    r"under|more|above|higher|bad|badly|poor\w*|terrib\w*|awful|disli\w*|unhappy|(?:dis|un)?satisf\w*|happy|like|liked|good|negative\w*|"
    r"had|found|find|feel|felt|think|thought|should|must|not|he|she|any\w*|every\w*|people|who\w*|those|case|ones?|stars?|points?|"
    r"detractors?|customers?|members?|guests?|overall|experience|visit|us|"
    r"bewert\w*|gib\w*|gebe\w*|note\w*|punkt\w*|wert\w*|unter|weniger|schlecht\w*|mies|mangelhaft|unzufrieden|zufrieden|"
    r"gut|gefallen|falls|antwort\w*|kritiker|stern\w*|sagen|jemand|leute|kunden|"
    r"donne\w*|mettent|moins|mauvais\w*|mal|jug\w*|inferieur\w*|detracteurs|etoiles|gens|clients|repon\w*|disent|"
    r"dan|pon\w*|menos|mal[oa]s?|baj[oa]s?|inferior|insatisf\w*|detractores|puntu\w*|valor\w*|nota|estrellas|gente|clientes|dicen|"
    r"der\w*|dao|dar\w*|ruim|ruins|baix[oa]s?|abaixo|avali\w*|estrelas|detratores|dizem|pessoas|pesim[oa]s?|never|nie\w*|jamais|nunca|"
    r"yes|no|not|ja|nein|oui|non|si|sim|nao|otherwise|sinon|do|so|also|if|when|wenn|se|bei|quando|cuando|fue\w*|foi|foram)$"
)
_CONDITIONS = [
    (re.compile(rf"\b(?:{IF}|"
        rf"{WHO})\b[^,.;?]{{0,100}}?(?<!\d)(?P<number>\d{{1,2}})\s{{0,3}}{_OR}\s{{1,3}}{_LESS}\b", re.I),
     "at most"),
    (re.compile(rf"\b(?:{IF}|{WHO})\b[^,.;?]{{0,100}}?(?<!\d)[01]\s{{0,3}}(?:-|–|to|bis|à|a|"
        rf"al)\s{{0,3}}(?P<number>\d)\b(?!\s{{0,3}}$)", re.I),
     "at most"),
    (re.compile(rf"(?:\b(?:{IF}|{WHO})\b[^,.;?]{{0,100}}?|"
        rf"^)(?<!\d)(?P<number>\d{{1,2}})\s{{0,3}}(?:{_OR}\s{{1,3}}{_MORE}|[-–]\s{{0,3}}10)\b", re.I),
     "at least"),
    (re.compile(rf"\b(?:{IF}|{WHO})\b[^,.;?]{{0,200}}?(?:less than|under|below|lower than|menos (?:de|"
        rf"que)|unter|"
                rf"weniger als|moins de|"
                r"inférieure? à|inferior a|menor (?:que|de)|abaixo de|<)\s{0,3}(?:an? |"
                r"\w+ )?(?P<number>\d{1,2})\b"
                r"(?: stars?| sterne\w*| points?| punkte\w*| étoiles?| estrellas?| estrelas?)?",
                re.I), "below"),
    (re.compile(rf"\b(?:{IF}|{WHO})\s{{1,3}}(?:(?:they|you|du|sie|ihr|vous)\s{{1,3}})?(?:never|nie|niemals|jamais|nunca)\b",
                re.I), "never"),
    (re.compile(r"\b(?:if (?:yes|so|they (?:do|are|did|have|say yes|answer yes|"
        r"said yes)(?: \w+(?= (?:how|what|why|which|when|where)\b))?)|(?:falls|wenn) "
                r"ja|si oui|si (?:es )?(?:así|sí)|"
                r"si dicen que sí|se sim)\b", re.I), "yes"),
    (re.compile(r"\b(?:if (?:not?|they (?:don['’]t|do not|aren['’]t|haven['’]t|say no|answer no|said no))|"
                r"otherwise|(?:falls|wenn) nein|"
                r"(?:falls|wenn) nicht|sinon|si (?:la réponse est )?non|si (?:dicen que )?no|se "
                r"não)(?=\s{0,3}[,:]|\s{1,3}(?:ask|why|what|how|"
                r"which|fragen?|warum|demander|pourquoi|preguntar?|por|pergunt\w+|also)\b)", re.I), "no"),
    (re.compile(rf"\b(?:{IF}|{WHO})\b[^,.;?]{{0,200}}?\b(?:unhappy|dissatisfied|unsatisfied|disliked?|"
    rf"(?:not|n['’]t) (?:like|good|satisfied|happy)|"
        rf"poor(?:ly)?|terribl[ey]|awful|badly|low(?: score| "
                rf"rating)?|bad|negative|unzufrieden|"
                r"schlecht\w*|mies|mangelhaft|nicht (?:gut|gefallen|zufrieden)|mauvaise?s?|mal jugée?s?|"
                r"mal[oa]s?|p[ée]sim[oa]s?|mal\b|ru(?:im|ins)|insatisfaits?|(?<!de )bajas?|"
                r"insatisfech\w+|insatisfeit\w+|baixas?|"
                r"negativ\w+)\b"
                r"(?: score| rating| note)?|\b(?:the )?detractors\b|\bkritiker\b|\bdétracteurs\b|"
                r"\bdetractores\b|\bdetratores\b", re.I), "low"),
]  # fmt: skip


def read_condition(text: str) -> tuple[str, Condition | None]:
    """Return a text without its first condition, and the condition; None if the text has no condition."""
    for pattern, kind in _CONDITIONS:
        if match := pattern.search(text):
            rest = " ".join(
                f"{text[: match.start()]} {_TOLD.sub('', text[match.end() :].lstrip(' ,'))}".split()
            )
            if not rest.strip(TRAILING):
                continue  # A condition of nothing is an indirect question: `if the food was bad`.
            number = int(match["number"]) if "number" in pattern.groupindex else None
            if number is not None and kind.startswith("at"):
                number, kind = (number + 1, "below") if kind == "at most" else (number - 1, "above")
            return rest.strip(TRAILING), Condition(kind, number, match[0])
    return text, None


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case without accents."""
    return set(re.findall(r"[a-z]{2,40}", folded(text)))


def subject_of(said: str, language: str) -> set[str]:
    """Return the words by which a condition names what is judged: `if the catering was bad` → catering."""
    common = EMPTY if language == "en" else {folded(word) for word in stop_words.get_stop_words(language)}
    return {word for word in words_of(said) if word not in common and not _JUDGES.match(word)}


def leads_with_condition(sentence: str) -> bool:
    """Whether a sentence begins with a condition."""
    return any((match := pattern.search(sentence)) and match.start() < 8 for pattern, _ in _CONDITIONS)


def is_foreign_condition(sentence: str) -> bool:
    """Whether a sentence says what to do under a condition that this module does not understand."""
    begins = _BEGINS.match(sentence)
    return bool(begins and _INSTRUCTS.search(sentence, begins.end())) and read_condition(sentence)[1] is None


def with_conditions_apart(sentence: str) -> list[str]:
    """Return a sentence, divided before each condition that names a number or people."""
    cuts = [match.start("condition") for match in _LATER.finditer(sentence)]
    parts = [sentence[start:end].strip(" ,;") for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
    return [_JOINT.sub("", part) for part in parts]


_BEGINS = re.compile(rf"^(?:(?:and|und|et|y|e)\s{{1,3}})?(?:{IF}|{WHO})\b", re.IGNORECASE)
# `whether they recommend us from 0 to 10` asks, and sets no condition.
_WHOLE_SCALE = r"[^,.;?]{0,60}?\b[01]\s{0,3}(?:-|–|to|bis|à|al?)\s{0,3}\d{1,2}\s{0,3}(?:[,.;?)]|$)"
_LATER = re.compile(
    rf"(?:[,;]\s{{0,3}}|[\s,;](?:and|und|et|y|e)\s{{1,3}}|[-–—]\s{{1,3}})(?P<condition>(?:{IF}\b(?!{_WHOLE_SCALE})(?!\s{{1,3}}[\d.,]+\s{{1,3}}(?:is|are|would)\b)[^,.;?]{{0,60}}?\d|(?:anyone|"
    r"anybody|everyone|everybody|those|whoever|wer|alle|ceux qui|celles qui|quien(?:es)?|quem)\b|"
    r"se a nota\b|si la (?:note|nota)\b"
    r"|\d{1,2} (?:or|oder|ou|o) \d{1,2}\b))",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\s,;]{1,3}(?:and|und|et|y|e)$", re.IGNORECASE)
