"""Conditions that an intent sets for an ask: `if not, ask why`, `below 7`, `detractors`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from surveys.ai.local.drafts.formats import TRAILING


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of an ask: the answer `yes` or `no` to the previous ask, or a low number.

    `kind` is `yes`, `no`, `below` (the number `below`) or `low`.
    """

    kind: str
    below: int | None = None


IF = r"(?:if|when|in case|falls|wenn|bei|si|s'|se|quando|cuando)"
_CONDITIONS = [
    (re.compile(rf"\b{IF}\b[^,.;?]{{0,200}}?(?:less than|under|below|lower than|menos (?:de|que)|unter|"
                rf"weniger als|moins de|"
                r"inférieure? à|inferior a|menor (?:que|de)|abaixo de|<)\s{0,3}(?:an? |"
                r"\w+ )?(?P<below>\d{1,2})\b"
                r"(?: stars?| sterne\w*| points?| punkte\w*| étoiles?| estrellas?| estrelas?)?",
                re.I), "below"),
    (re.compile(r"\b(?:if (?:yes|so|they (?:do|are|did|have|say yes|answer yes|said yes))|(?:falls|wenn) "
                r"ja|si oui|si (?:es )?(?:así|sí)|"
                r"si dicen que sí|se sim)\b", re.I), "yes"),
    (re.compile(r"\b(?:if (?:not?|they (?:don['’]t|do not|aren['’]t|haven['’]t|say no|answer no|said no))|"
                r"otherwise|(?:falls|wenn) nein|"
                r"(?:falls|wenn) nicht|sinon|si (?:la réponse est )?non|si (?:dicen que )?no|se "
                r"não)(?=\s{0,3}[,:]|\s{1,3}(?:ask|why|what|how|"
                r"which|fragen?|warum|demander|pourquoi|preguntar?|por|pergunt\w+|also)\b)", re.I), "no"),
    (re.compile(rf"\b{IF}\b[^,.;?]{{0,200}}?\b(?:unhappy|dissatisfied|not (?:satisfied|happy)|low(?: score| "
                rf"rating)?|bad|negative|unzufrieden|"
                r"schlecht\w*|mauvaise?|insatisfaits?|bajas?|insatisfech\w+|insatisfeit\w+|baixas?|"
                r"negativ\w+)\b"
                r"(?: score| rating| note)?|\b(?:the )?detractors\b|\bkritiker\b|\bdétracteurs\b|"
                r"\bdetractores\b|\bdetratores\b", re.I), "low"),
]  # fmt: skip


def read_condition(text: str) -> tuple[str, Condition | None]:
    """Return a text without its first condition, and the condition; None if the text has no condition."""
    for pattern, kind in _CONDITIONS:
        if match := pattern.search(text):
            rest = f"{text[: match.start()]} {text[match.end() :]}"
            below = int(match["below"]) if kind == "below" else None
            return " ".join(rest.split()).strip(TRAILING), Condition(kind, below)
    return text, None


def leads_with_condition(sentence: str) -> bool:
    """Whether a sentence begins with a condition."""
    return any((match := pattern.search(sentence)) and match.start() < 8 for pattern, _ in _CONDITIONS)
