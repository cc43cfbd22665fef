"""A survey with readings of its open answers, for the themes Price and Speed."""

from __future__ import annotations

from typing import Any

from surveys.ai.provider import TextReading, TextTheme
from surveys.models import Project, Theme
from surveys.services.ai_work import codebook, readings
from tests.support.moments import NOON
from tests.support.surveys import scenario
from tests.support.surveys.scenario import TEXT

TITLES = ["Price", "Speed"]
READ = {
    "Slow and dear": TextReading((0, 1), "negative", "Slow and dear"),
    "Dear": TextReading((0,), "positive", "Dear"),
    "Nothing": TextReading((), "neutral", ""),
}


def read_survey(**fields: Any) -> Project:
    """A survey with one open question, three answers to it, and their readings."""
    made = scenario.project({**TEXT, "prompt": "Why?"}, **fields)
    for text in READ:
        scenario.say(scenario.begin(made), text)
    block_id = made.blocks.get(type="open_text").pk
    themes = codebook.add(
        project=made,
        block_id=block_id,
        named=[TextTheme(title, f"About {title.lower()}.", ()) for title in TITLES],
        provider="anthropic",
        unfit=1,
    )
    unread = readings.to_read(
        project_id=made.pk, block_id=block_id, covers="all", after=None, length=10, older_than=None
    )
    readings.store(
        project=made,
        block_id=block_id,
        version=codebook.read(project=made, block_id=block_id).version,
        against=themes,
        texts=unread,
        readings=[READ[each.text] for each in unread],
        quotes=[READ[each.text].quote or "" for each in unread],
        generated_by="anthropic",
        at=NOON,
    )
    return made


def theme(made: Project, title: str) -> int:
    """The id of a theme of a survey."""
    return Theme.objects.get(block__project=made, title=title).pk
