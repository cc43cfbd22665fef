"""Answers to questions about results, without a model. An answer consists of figures that share their words
with the question.

    answer_question(question)    claims of the form "What it is: its value."

Every word of a question must occur in a figure, or name a kind of figure ("average", "most"). So a question
for which there is no figure, such as a question about a group of people, gets no answer instead of a wrong
one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import regex

from surveys.ai.provider import Claim, ReferencedFigure, ResultsQuestion

MAX_CLAIMS = 3
_WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}]+")
_NUMBER = regex.compile(r"-?\d+(?:[.,]\d+)*")
_MIN_BEGINNING = 4  # Two forms of a word share at least this many letters at the beginning.

# For each kind of figure: the words of a question that ask for the kind, and the words that figures of the
# kind contain.
_KINDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    kind: (frozenset(_WORD.findall(asked)), frozenset(_WORD.findall(known)))
    for kind, asked, known in (
        (
            "mean",
            "average mean durchschnitt durchschnittlich mittelwert moyenne promedio media média",
            "mean average",
        ),
        ("median", "median médiane mediana", "median"),
        ("nps", "nps promoter promoters recommendation", "nps promoter"),
        (
            "share",
            "percent percentage share proportion prozent anteil pourcentage porcentaje percentagem",
            "percentage share",
        ),
    )
}
_MOST = frozenset(
    _WORD.findall(
        "most best highest favourite favorite top popular häufigsten häufigste meisten meiste beliebteste "
        "plus más mais principal"
    )
)
_LEAST = frozenset(_WORD.findall("least worst lowest fewest wenigsten seltensten moins menos"))
# Words that say nothing about the subject of a question.
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at be by did do does for from give given had has have how i in is it its me "
        "many much my of often on or our say show tell that the their them there they this to was we "
        "were what when where which who will with would you your answer answered answers chosen "
        "choose chose picked option options people members everybody respondents score survey result "
        "results number mentioned mention theme themes was wie wer wo ist sind war wird wurde wurden "
        "haben hat der die das den dem ein eine einen und oder von mit für im in am auf es zu viele "
        "viel welche welcher welches man leute mitglieder antwort antworten gewählt genannt am le la "
        "les de des du un une et ou est sont a ont que quel quelle quels quelles combien qui pour "
        "dans sur el los las y o es son cuál cuáles cuántos cuántas cuánto qué quién para en por os "
        "as e é são qual quais quantos quantas quanto que quem em no na por"
    )
)


def answer_question(question: ResultsQuestion) -> list[Claim]:
    """Return at most three claims; no claims if no figure contains the words of the question."""
    words = {word.casefold() for word in _WORD.findall(question.question)}
    wanted = [kind for kind, (asked, _) in _KINDS.items() if words & asked]
    is_most, is_least = bool(words & _MOST), bool(words & _LEAST)
    asked_words = frozenset().union(*(_KINDS[kind][0] for kind in wanted))
    content = words - _EMPTY - _MOST - _LEAST - asked_words
    if is_most or is_least:
        figures = _extremes(question.figures, content, least=is_least)
    else:
        figures = [each for each in question.figures if content and _mentions_all(_words(each.text), content)]
    for kind in wanted:
        figures = [figure for figure in figures if _is_of_kind(figure, kind)]
    return [Claim(f"{figure.text}: {figure.value}.", (figure.reference,)) for figure in figures[:MAX_CLAIMS]]


def _extremes(
    figures: Sequence[ReferencedFigure], content: AbstractSet[str], *, least: bool
) -> list[ReferencedFigure]:
    """The greatest, or least, of the options or themes of the only question with these words."""
    groups: dict[str, list[ReferencedFigure]] = defaultdict(list)
    for figure in figures:
        question, _, entry = figure.reference.rpartition(".")
        if "." in question and entry.isdigit() and _value(figure) is not None:
            groups[question].append(figure)
    fitting = [
        group
        for group in groups.values()
        if _mentions_all(set.intersection(*(_words(figure.text) for figure in group)), content)
    ]
    if len(fitting) != 1:
        return []
    extreme = (min if least else max)(_value(figure) or 0 for figure in fitting[0])
    return [figure for figure in fitting[0] if _value(figure) == extreme]


def _mentions_all(words: AbstractSet[str], content: AbstractSet[str]) -> bool:
    return all(_is_among(word, words) for word in content)


def _is_among(word: str, words: AbstractSet[str]) -> bool:
    """Return whether a word, or another form of the word, is among `words`."""
    if word in words:
        return True
    return any(
        min(len(word), len(other)) >= _MIN_BEGINNING and (word.startswith(other) or other.startswith(word))
        for other in words
    )


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _is_of_kind(figure: ReferencedFigure, kind: str) -> bool:
    if kind == "share" and "%" in figure.value:
        return True
    return bool((_words(figure.text) | _words(figure.reference)) & _KINDS[kind][1])


def _value(figure: ReferencedFigure) -> float | None:
    match = _NUMBER.search(figure.value)
    return None if match is None else float(match[0].replace(",", ""))
