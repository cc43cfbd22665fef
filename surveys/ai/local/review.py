"""Rules that find weaknesses of questions, from books on questionnaires (rule 10.36).

The words are English, German, French, Spanish and Portuguese. A rule says nothing where it is not sure.
Source of the kinds: Dillman, Smyth and Christian, Internet, Phone, Mail, and Mixed-Mode Surveys, chapter 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from surveys.ai.provider import Remark, RemarkCode

MAX_WORDS = 45  # A prompt with more words is a long one.
MAX_WORDS_OF_SENTENCE = 30
MANY_OPTIONS = 8  # The order of options matters from this number of options on.
_SCALES = frozenset({"rating", "opinion_scale", "nps"})
_CHOICES = frozenset({"single_punch", "multi_punch"})
_LEADING = re.compile(
    r"\b(?:don['’]?t|wouldn['’]?t|isn['’]?t|aren['’]?t) (?:you|it|they)\b|\bsurely\b"
    r"|\b(?:finden|sind) sie nicht auch\b|\bfindest du nicht auch\b"
    r"|\bne (?:trouvez|pensez)-vous pas\b|\b¿?no (?:cree|crees|le parece|te parece) que\b|\bnão acha que\b"
    r"|\bhow (?:great|amazing|wonderful|awful|terrible|bad) (?:is|was|were|are|do|did)\b",
    re.IGNORECASE,
)
_LOADED = re.compile(
    r"\b(?:outrageous|disgraceful|disastrous|scandalous|wonderful|unfair|ridiculous|greedy|incompetent)\b"
    r"|\b(?:unverschämt|skandalös|katastrophal|wunderbar|unfair|lächerlich|gierig|inkompetent)\w*\b"
    r"|\b(?:scandaleu|désastreu|merveilleu|injuste|ridicule)\w*\b"
    r"|\b(?:escandalos|desastros|maravillos|injust|ridícul|vergonh|vergonzos)\w*\b",
    re.IGNORECASE,
)
_ARTICLE = (
    r"(?:the|our|your|its|der|die|das|den|dem|unser\w*|le|la|les|notre|nos|el|los|las|o|os|as|noss[oa]s?)"
)
_AND = re.compile(rf"\b{_ARTICLE} \w+ (?:and|und|et|y|e) {_ARTICLE} \w+", re.IGNORECASE)
_SOURCES = re.compile(
    r"^(?:why\b|what (?:stops|keeps|prevents|brought)|(?:how|where) did you (?:hear|find out|find us|learn))"
    r"|^(?:warum|weshalb|woher|wie (?:haben sie|hast du) von)\b"
    r"|^(?:pourquoi|comment avez-vous (?:connu|entendu))\b"
    r"|^¿?(?:por qué|cómo (?:nos )?(?:conoció|conociste|se enteró))"
    r"|^(?:por que|como (?:nos )?(?:conheceu|soube))\b",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:(?:an)?other|none|some(?:thing|where) else|don['’]?t know|ander\w+|sonstig\w+|kein\w*|weiß nicht"
    r"|autre\w*|ailleurs|aucun\w*|otr[oa]s?|ningun[oa]?|outr[oa]s?|nenhum\w*)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"^\D{0,3}(\d{1,6})\s*(?:-|–|—|to|bis|à|a|até)\s*(\d{1,6})\D{0,20}$")
# The pattern matches the last of several marks, because a repetition would take quadratic time.
_END_OF_SENTENCE = re.compile(r"[.!?…](?:\s|$)")
Block = Mapping[str, Any]


def review(blocks: Sequence[Block]) -> list[Remark]:
    """The weaknesses of a script's questions in its order, each kind once for a question."""
    return [
        Remark(place, code, message)
        for place, block in enumerate(blocks)
        if block.get("prompt")
        for code, message in _weaknesses(block)
    ]


def _weaknesses(block: Block) -> Iterator[tuple[RemarkCode, str]]:
    kind, prompt = block.get("type"), str(block["prompt"])
    if kind not in {*_SCALES, *_CHOICES, "open_text", "open_numeric", "ranking"}:
        return
    if _LEADING.search(prompt):
        yield (
            "leading",
            "The question suggests an answer. Ask it so that each answer is equally easy to give.",
        )
    if word := _LOADED.search(prompt):
        yield "loaded", f"“{word[0]}” judges already. A plain word lets respondents judge themselves."
    if kind in _SCALES and _AND.search(prompt):
        message = "The question asks about two things, and one answer cannot tell which. Ask two questions."
        yield "double_barrelled", message
    words = len(prompt.split())
    if words > MAX_WORDS:
        yield "too_long", f"The question has {words} words. Most people stop reading after about 25."
    elif max(len(sentence.split()) for sentence in _END_OF_SENTENCE.split(prompt)) > MAX_WORDS_OF_SENTENCE:
        yield (
            "hard_to_read",
            f"A sentence has more than {MAX_WORDS_OF_SENTENCE} words. Shorter ones are easier.",
        )
    if kind in _CHOICES:
        yield from _weaknesses_of_options(block, prompt)


def _weaknesses_of_options(block: Block, prompt: str) -> Iterator[tuple[RemarkCode, str]]:
    texts = [str(option.get("label") or option.get("value") or "") for option in block.get("options") or ()]
    ranges = [(int(found[1]), int(found[2]), text) for text in texts if (found := _RANGE.match(text.strip()))]
    in_order = sorted(each for each in ranges if each[0] <= each[1])
    # If any two ranges overlap, two neighbours do.
    for (_, high, first), (low, _, second) in pairwise(in_order):
        if block["type"] == "single_punch" and low <= high:
            yield "overlapping_options", f"Some answers fit “{first}” and “{second}”."
            break
    if _SOURCES.search(prompt) and len(texts) > 2 and not any(_OTHER.search(text) for text in texts):
        yield "missing_other", "A respondent whose answer is not listed has none to choose. Add “Other”."
    is_ordered = len(ranges) > 1 or all(text[:1].isdigit() for text in texts)
    if len(texts) >= MANY_OPTIONS and not block.get("randomize_options") and not is_ordered:
        message = (
            "The first of many options are chosen more often. Shuffle them unless their order has a meaning."
        )
        yield "order_effect", message
