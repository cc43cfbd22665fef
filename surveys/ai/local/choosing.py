"""Which template an intent calls for: points for words that both have, and the words are told.

    choose(wish)   → Choice(template, points=8.25, for_words=8.25, because=("event feedback", "feedback"))

Every word of the intent counts once, where it weighs most. Two of equal points: the first of the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from surveys.ai.local import library
from surveys.ai.local.library import Template
from surveys.ai.local.stems import sentence, stems, stems_of
from surveys.ai.local.wishes import Wish, asks_for_opinion

DECISIVE, KEY_PHRASE, KEYWORD, NAME, DESCRIPTION = 8.0, 5.0, 3.0, 2.0, 0.5
YES_OR_NO = 12.0  # a question that asks for it
ENOUGH = 2.0  # with less nothing was understood, and a general template is the better one
# Said in nearly every intent, whatever it is about.
_OF_EVERY_KIND = stems_of(["survey poll questionnaire form feedback question vote opinion"])
_HARDLY = 0.25


@dataclass(frozen=True, slots=True)
class Choice:
    """A template with what spoke for it: words, by their stems. `points` count other things too."""

    template: Template
    points: float
    for_words: float
    because: tuple[str, ...]


def choose(wish: Wish) -> Choice:
    """The template of the wish's type with the most points; a general one where none has enough."""
    rated = [_rated(wish, template) for template in library.all_templates() if _is_possible(wish, template)]
    understood = [choice for choice in rated if choice.for_words >= _enough(wish, choice.template)]
    if not understood:
        return Choice(general(wish), 0.0, 0.0, ())
    return max(understood, key=lambda choice: choice.points)  # the first of equals


def general(wish: Wish) -> Template:
    """What takes any topic: of a poll without options one whose options suit everything."""
    if wish.type == "poll":
        needs_own_options = wish.question is not None and not asks_for_opinion(wish.question)
        if wish.choices or wish.options or needs_own_options:
            return _known(library.GENERAL_POLL)
        return _known(library.OPINION_POLL)
    if wish.scoring and wish.topics and _OF_EVERY_KIND.isdisjoint(wish.stems):
        return _known(library.TOPIC_QUIZ)  # points are asked for, and nothing but a topic is told
    return _known(library.GENERAL_SURVEY)


def topic_for(wish: Wish, template: Template) -> str | None:
    """The first topic of the wish that says more than what the template is about anyway."""
    about = _about(template) | _OF_EVERY_KIND
    return next((topic for topic in wish.topics if not set(stems(topic)) <= about), None)


def _enough(wish: Wish, template: Template) -> float:
    """The points without which a template was not meant. Its own options hardly answer another question."""
    asks_otherwise = wish.question is not None and not wish.is_yes_or_no and not wish.choices
    return DECISIVE if asks_otherwise and template.choices_of else ENOUGH


def _known(template_id: str) -> Template:
    template = library.get(template_id)
    assert template is not None
    return template


def _is_possible(wish: Wish, template: Template) -> bool:
    return template.type == wish.type and not (template.needs_topic and topic_for(wish, template) is None)


def _rated(wish: Wish, template: Template) -> Choice:
    found = dict(_matches(wish, template))
    if wish.is_yes_or_no and template.id == library.YES_NO_POLL:
        found["?"] = YES_OR_NO
    points = sum(found.values())
    return Choice(
        template, points + _circumstances(wish, template), points, tuple(each.strip() for each in found)
    )


def _matches(wish: Wish, template: Template) -> Iterator[tuple[str, float]]:
    """Words and phrases of the intent that the template has too, and what each weighs."""
    phrases = _phrases(template)
    yield from ((phrase, weight) for phrase, weight in phrases.items() if phrase in wish.sentence)
    weights = _weights(template)
    for word in dict.fromkeys(wish.stems):
        if word in weights and f" {word} " not in phrases:
            yield word, _HARDLY if word in _OF_EVERY_KIND else weights[word]


def _circumstances(wish: Wish, template: Template) -> float:
    """What speaks for and against a template beside words."""
    points = 0.0
    if wish.choices:
        takes_them = template.choices_of is not None or template.result_of is not None
        points += (4.0 if takes_them else -6.0) if wish.type == "poll" else 2.0 * takes_them
    if template.scoring_enabled and wish.scoring is not None:
        points += 2.0 if wish.scoring else -2.0
    if topic_for(wish, template) is not None and not template.takes_topic:
        points -= KEYWORD
    return points


@cache
def _phrases(template: Template) -> dict[str, float]:
    decisive = {sentence(phrase): DECISIVE for phrase in template.decisive}
    return {sentence(phrase): KEY_PHRASE for phrase in template.keywords if " " in phrase} | decisive


@cache
def _weights(template: Template) -> dict[str, float]:
    weighed = (
        (DESCRIPTION, [template.description]),
        (NAME, [template.name, template.id.replace("-", " ")]),
        (KEYWORD, [phrase for phrase in template.keywords if " " not in phrase]),
    )
    return {word: weight for weight, texts in weighed for word in stems_of(texts)}


@cache
def _about(template: Template) -> frozenset[str]:
    return stems_of([template.name, *template.keywords, *template.decisive, template.subject])
