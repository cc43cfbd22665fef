"""The template library: surveys and polls in English, each a JSON file in `templates/`.

    all_templates()     all templates, by category and name
    get("yes-no-poll")  one template, or None

A file contains the fields that the API returns, and these fields for matching and filling a template:

    keywords     words and phrases that occur in intents for this template
    decisive     keywords that almost settle the choice (`nps`, `game night`)
    subject      stands in for `{topic}` if the intent has no topic; always a noun phrase ("our community")
    needs_topic  the template makes no sense without a topic
    importance   names of its questions, the most important first; a question comes after those it refers to
    choices_of   the question whose options are replaced by options that the intent lists
    result_of    the calculated block that finds the highest bucket, if its buckets can be renamed
    more         further questions, for a longer survey

In a prompt, `{topic}` is a noun phrase, `{Topic}` is the same at the beginning of a sentence, and text
between << and >> is left out if there is no topic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from surveys.engine.script import QUESTIONS

FOLDER = Path(__file__).parent / "templates"
FURTHER_QUESTIONS = Path(__file__).parent / "further_questions.json"

# Templates for intents that match no other.
GENERAL_SURVEY, TOPIC_QUIZ = "general-survey", "topic-quiz"
GENERAL_POLL, OPINION_POLL, YES_NO_POLL = "general-poll", "opinion-poll", "yes-no-poll"
RSVP = "event-rsvp"
# Sets of questions that belong together. An intent must name them. Its asks come in addition to them.
STANDARD = frozenset(
    {"system-usability-scale", "product-market-fit", "price-sensitivity", "net-promoter-score"}
)
# Forms, in which a noun phrase is something to fill in, and not something to rate.
FORMS = frozenset({RSVP, "event-registration", "application", "volunteer-application"})

RawBlock = Mapping[str, Any]


# Templates are compared by identity, so a template can be a key.
@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """One file of the library. `blocks` have the form of our API; their texts are not filled in yet."""

    id: str
    name: str
    description: str
    type: str
    category: str
    keywords: tuple[str, ...]
    estimated_minutes: int
    subject: str
    importance: tuple[str, ...]
    blocks: tuple[RawBlock, ...]
    decisive: tuple[str, ...] = ()
    scoring_enabled: bool = False
    buckets: tuple[str, ...] = ()
    needs_topic: bool = False
    choices_of: str | None = None
    result_of: str | None = None
    more: tuple[RawBlock, ...] = field(default=())

    @property
    def question_count(self) -> int:
        """The number of questions among the template's blocks."""
        return sum(block["type"] in QUESTIONS for block in self.blocks)

    @property
    def has_topic(self) -> bool:
        """Whether any prompt of the template has a place for a topic."""
        return any("{topic}" in block["prompt"].lower() for block in self.blocks)


@cache
def all_templates() -> tuple[Template, ...]:
    """All templates, by category and name. Each process reads the files once; tests check their content."""
    templates = [_read(path) for path in FOLDER.glob("*.json")]
    return tuple(sorted(templates, key=lambda template: (template.category, template.name, template.id)))


def get(template_id: str) -> Template | None:
    """The template with this id, or None."""
    return _by_id().get(template_id)


def require(template_id: str) -> Template:
    """The template with this id. Raises KeyError if the library has none."""
    return _by_id()[template_id]


@cache
def further_questions() -> tuple[RawBlock, ...]:
    """Questions that suit almost any topic, to make a survey longer."""
    return tuple(json.loads(FURTHER_QUESTIONS.read_text(encoding="utf-8")))


@cache
def _by_id() -> Mapping[str, Template]:
    return {template.id: template for template in all_templates()}


def _read(path: Path) -> Template:
    raw: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    lists: dict[str, Any] = {key: tuple(value) for key, value in raw.items() if isinstance(value, list)}
    return Template(**{**raw, **lists})
