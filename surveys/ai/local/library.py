"""The template library: well-made surveys and polls, a JSON file each in `templates/`.

    all_templates()     all of them, by category and name
    get("yes-no-poll")  one, or None

Beside what the interface tells of a template, a file holds what choosing and filling need:

    keywords     words and phrases of intents that the template suits
    decisive     those among them that nearly settle it (`nps`, `game night`)
    subject      what `{topic}` says where no topic is known; always a noun phrase ("our community")
    needs_topic  it makes no sense without one
    importance   names of its questions, those to keep longest first; none before one that it refers to
    choices_of   the question whose options give way to options that the intent lists
    result_of    the calculated block that finds the highest bucket, where buckets can take other names
    more         further questions, for who wants more of them

In prompts `{topic}` is a noun phrase, `{Topic}` the same at the beginning of a sentence, and what stands
<<between these>> is said only where a topic is known. Texts are English.
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

# Those that `choosing` knows by name, for intents that call for no other.
GENERAL_SURVEY, TOPIC_QUIZ = "general-survey", "topic-quiz"
GENERAL_POLL, OPINION_POLL, YES_NO_POLL = "general-poll", "opinion-poll", "yes-no-poll"

RawBlock = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)  # each is itself alone, and can be a key
class Template:
    """One file of the library. `blocks` are the interface's Blocks, their texts not yet filled."""

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
        return sum(block["type"] in QUESTIONS for block in self.blocks)

    @property
    def takes_topic(self) -> bool:
        return any("{topic}" in block["prompt"].lower() for block in self.blocks)


@cache
def all_templates() -> tuple[Template, ...]:
    """Every template, by category and name. Read once; nothing is checked here but by the tests."""
    found = [_read(path) for path in FOLDER.glob("*.json")]
    return tuple(sorted(found, key=lambda template: (template.category, template.name, template.id)))


def get(template_id: str) -> Template | None:
    """The template of that id, or None."""
    return _by_id().get(template_id)


@cache
def further_questions() -> tuple[RawBlock, ...]:
    """Questions that can be asked about nearly anything, for surveys that are to be longer."""
    return tuple(json.loads(FURTHER_QUESTIONS.read_text(encoding="utf-8")))


@cache
def _by_id() -> Mapping[str, Template]:
    return {template.id: template for template in all_templates()}


def _read(path: Path) -> Template:
    raw: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    lists: dict[str, Any] = {key: tuple(value) for key, value in raw.items() if isinstance(value, list)}
    return Template(**{**raw, **lists})
