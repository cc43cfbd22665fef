"""Choice of the template for an intent, by points for the words that both have in common.

    best_match(intent)   → TemplateMatch(template, points=8.25, word_points=8.25, words=("event feedback", …))

Each word of the intent counts once, in the place where the word weighs most. Of two templates with equal
points, the template whose texts are more like the intent wins, by pieces of words (TF-IDF).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from surveys.ai.local.drafts import languages, library
from surveys.ai.local.drafts.intent import Intent, asks_for_opinion
from surveys.ai.local.drafts.library import Template
from surveys.ai.local.drafts.stems import stem_set, stemmed_line, stems
from surveys.ai.local.drafts.stems import words as words_of
from surveys.ai.local.drafts.topics import is_about_people

# Points for a word or a phrase, by where the template has it.
DECISIVE, KEY_PHRASE, KEYWORD, NAME, DESCRIPTION = 8.0, 5.0, 3.0, 2.0, 0.5
YES_OR_NO_QUESTION = 12.0
MIN_POINTS = 2.0  # Below these points we did not understand the intent, and a general template is better.
SURE_POINTS = 10.0  # A decisive phrase and one further word give these points.
MARGIN = 0.4  # Below this confidence, the template may be wrong.
# An intent has at most this many words besides those that earned a match below the margin.
_MOST_OTHER_WORDS = 2
# Words that occur in almost every intent.
_GENERIC_STEMS = stem_set(["survey poll questionnaire form feedback question vote opinion"])
_GENERIC = 0.25
_DETERMINED = ("the ", "our ")
# A question with such a topic would not address the respondents.
_THEIRS = frozenset({"their", "his", "her"})


@dataclass(frozen=True, slots=True)
class TemplateMatch:
    """A template with its points, and the words (as stems) that earned the points.

    `word_points` are the points for words; `points` include those for other circumstances.
    """

    template: Template
    points: float
    word_points: float
    words: tuple[str, ...]

    @property
    def confidence(self) -> float:
        """How sure the match is, from 0 to 1."""
        return min(1.0, self.word_points / SURE_POINTS)


def best_match(intent: Intent) -> TemplateMatch:
    """Return the template of the intent's type with the most points; a general one if none has enough."""
    templates = [template for template in library.all_templates() if _is_possible(intent, template)]
    if intent.language != languages.ENGLISH:
        return _match_by_cues(intent, templates)
    matches = [_match(intent, template) for template in templates]
    understood = [
        match
        for match in matches
        if match.word_points >= _min_points(intent, match.template) and not _is_by_chance(intent, match)
    ]
    if not understood:
        return TemplateMatch(general_template(intent), 0.0, 0.0, ())

    def rank(match: TemplateMatch) -> tuple[bool, float, float]:
        # The intent names a standard by its name.
        is_named = match.template.id in library.STANDARD
        return is_named, match.points, likeness(intent, match.template)

    return max(understood, key=rank)


def _is_by_chance(intent: Intent, match: TemplateMatch) -> bool:
    """Return whether the match rests on one word, while the template lacks the other words of the intent."""
    others = {word for word in intent.stems if not word.isdecimal()} - _GENERIC_STEMS - set(match.words)
    return match.confidence < MARGIN and len(others) > _MOST_OTHER_WORDS


def _match_by_cues(intent: Intent, templates: Sequence[Template]) -> TemplateMatch:
    """Return the template with most cues in an intent that is not in English; the general template
    on a tie.
    """
    cues = languages.catalog(intent.language).cues
    matches = []
    for template in templates:
        if template.id == library.YES_NO_POLL and not intent.is_yes_or_no:
            continue
        found = (cue for cue in cues.get(template.id, ()) if re.search(rf"\b{re.escape(cue)}", intent.text))
        words = tuple(found)
        points = sum(KEYWORD * len(word.split()) for word in words)
        if words and template.id in library.STANDARD:  # The intent names the standard by its name.
            points = max(points, DECISIVE)
        matches.append(TemplateMatch(template, points, points, words))
    best, *others = sorted(matches, key=lambda match: (-match.points, -likeness(intent, match.template)))
    is_tied = bool(others) and others[0].points == best.points
    if is_tied:
        is_tied = likeness(intent, best.template) < _CLEARLY * likeness(intent, others[0].template)
    has_other_topic = intent.topics and not best.template.has_topic and best.points < DECISIVE
    has_other_topic = (
        has_other_topic and best.template.type != "poll" and best.template.id not in library.FORMS
    )
    if (
        not best.points
        or is_tied
        or has_other_topic
        or (intent.listed_options and not best.template.choices_of)
    ):
        return TemplateMatch(general_template(intent), 0.0, 0.0, ())
    return best


def general_template(intent: Intent) -> Template:
    """Return a template that suits any topic. For a poll without options, the template's options suit any
    question.
    """
    if intent.type == "poll":
        needs_own_options = intent.question is not None and not asks_for_opinion(intent.question)
        if intent.listed_options or intent.option_count or needs_own_options:
            return library.require(library.GENERAL_POLL)
        return library.require(library.OPINION_POLL)
    if intent.scoring and intent.topics and _GENERIC_STEMS.isdisjoint(intent.stems):
        return library.require(library.TOPIC_QUIZ)  # The intent wants points and names nothing but a topic.
    return library.require(library.GENERAL_SURVEY)


def topic_for(intent: Intent, template: Template) -> str | None:
    """Return the first topic that says more than the template's own subject; None if no topic does."""
    named = _subject_stems(template) | _GENERIC_STEMS
    known = named | _keyword_stems(
        template
    )  # `our hackathon` says more than `the event`, but `tickets` does not.
    return next(
        (
            topic
            for topic in intent.topics
            if not set(stems(topic)) <= (named if topic.startswith(_DETERMINED) else known)
            and _THEIRS.isdisjoint(topic.lower().split())
            and (topic.startswith(_DETERMINED) or not is_about_people(topic))
        ),
        None,
    )


def _min_points(intent: Intent, template: Template) -> float:
    """Return the points that a template needs to be chosen.

    A template with its own options needs more points, because its options rarely answer the intent's own
    question.
    """
    has_other_question = intent.question and not intent.is_yes_or_no and not intent.listed_options
    return DECISIVE if has_other_question and template.choices_of else MIN_POINTS


def _is_possible(intent: Intent, template: Template) -> bool:
    if template.type != intent.type or (template.id in library.STANDARD and not _is_named(intent, template)):
        return False
    return not template.needs_topic or topic_for(intent, template) is not None


def _is_named(intent: Intent, template: Template) -> bool:
    names = template.decisive
    if intent.language != languages.ENGLISH:
        names = (*names[1:], *languages.catalog(intent.language).cues.get(template.id, ()))
    return any(re.search(rf"\b{re.escape(name)}\b", intent.text) for name in names)


def _match(intent: Intent, template: Template) -> TemplateMatch:
    points_by_word = dict(_common_words(intent, template))
    if intent.is_yes_or_no and template.id == library.YES_NO_POLL:
        points_by_word["?"] = YES_OR_NO_QUESTION
    word_points = sum(points_by_word.values())
    return TemplateMatch(
        template=template,
        points=word_points + _other_points(intent, template),
        word_points=word_points,
        words=tuple(word.strip() for word in points_by_word),
    )


def _common_words(intent: Intent, template: Template) -> Iterator[tuple[str, float]]:
    """Yield the words and phrases of the intent that the template has too, each with its points."""
    phrases = _phrase_points(template)
    yield from ((phrase, points) for phrase, points in phrases.items() if phrase in intent.stemmed_line)
    words = _word_points(template)
    for word in dict.fromkeys(intent.stems):
        if word in words and f" {word} " not in phrases:
            yield word, _GENERIC if word in _GENERIC_STEMS else words[word]


def _other_points(intent: Intent, template: Template) -> float:
    """Points for and against a template that do not depend on words."""
    points = 0.0
    if intent.listed_options:
        accepts_them = template.choices_of is not None or template.result_of is not None
        points += (4.0 if accepts_them else -6.0) if intent.type == "poll" else 2.0 * accepts_them
    if template.scoring_enabled and intent.scoring is not None:
        points += 2.0 if intent.scoring else -2.0
    if topic_for(intent, template) is not None and not template.has_topic:
        points -= KEYWORD
    return points


# --- Likeness -------------------------------------------------------------------------------------

_PIECE = 4  # A piece of a word has this many letters.
# A template wins against another with as many cues if it is this many times as like the intent.
_CLEARLY = 1.2


def likeness(intent: Intent, template: Template) -> float:
    """Return how similar the intent and the texts of a template are, from 0 to 1: the cosine of weighted
    pieces of words.
    """
    weights, vectors = _vectors(intent.language)
    wanted = Counter(_pieces(intent.text))
    vector = {piece: count * weights[piece] for piece, count in wanted.items() if piece in weights}
    other = vectors[template.id]
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return sum(weight * other.get(piece, 0.0) for piece, weight in vector.items()) / length if length else 0.0


@cache
def _vectors(language: str) -> tuple[Mapping[str, float], Mapping[str, Mapping[str, float]]]:
    """The weight of each piece, and the pieces of each template as a vector of length 1."""
    templates = library.all_templates()
    counts = {each.id: Counter(_pieces(_text_of(each, language))) for each in templates}
    found_in = Counter(piece for pieces in counts.values() for piece in pieces)
    weights = {piece: math.log(len(templates) / count) + 0.1 for piece, count in found_in.items()}
    vectors = {}
    for key, pieces in counts.items():
        vector = {piece: (1 + math.log(count)) * weights[piece] for piece, count in pieces.items()}
        length = math.sqrt(sum(weight * weight for weight in vector.values()))
        vectors[key] = {piece: weight / length for piece, weight in vector.items()}
    return weights, vectors


def _text_of(template: Template, language: str) -> str:
    prompts = [block["prompt"] for block in (*template.blocks, *template.more) if block.get("prompt")]
    if language == languages.ENGLISH:
        return " ".join(
            [template.name, template.description, *template.keywords, *template.decisive, *prompts]
        )
    words = languages.catalog(language)
    return " ".join([*words.cues.get(template.id, ()), *map(words.text, prompts)])


def _pieces(text: str) -> Iterator[str]:
    for word in words_of(text):
        padded = f" {word} "
        yield from (padded[n : n + _PIECE] for n in range(max(1, len(padded) - _PIECE + 1)))


@cache
def _phrase_points(template: Template) -> dict[str, float]:
    decisive = {stemmed_line(phrase): DECISIVE for phrase in template.decisive}
    return {stemmed_line(phrase): KEY_PHRASE for phrase in template.keywords if " " in phrase} | decisive


@cache
def _word_points(template: Template) -> dict[str, float]:
    texts_by_points = (
        (DESCRIPTION, [template.description]),
        (NAME, [template.name, template.id.replace("-", " ")]),
        (KEYWORD, [phrase for phrase in template.keywords if " " not in phrase]),
    )
    return {word: points for points, texts in texts_by_points for word in stem_set(texts)}


@cache
def _subject_stems(template: Template) -> frozenset[str]:
    return stem_set([template.name, *template.decisive, template.subject])


@cache
def _keyword_stems(template: Template) -> frozenset[str]:
    return stem_set(template.keywords)
