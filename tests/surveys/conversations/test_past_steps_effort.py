"""Past steps that are read together add up the points of each block once. Work is counted."""

from __future__ import annotations

from decimal import Decimal

import pytest

from surveys.engine.walk import scoring
from surveys.models import Bucket, Project
from surveys.services.conversations.view import ConversationView
from surveys.services.responses import reading
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db
COUNT = 12


def answered() -> ConversationView:
    """A response whose texts all name the score."""
    made = scenario.project(scoring_enabled=True)
    Bucket.objects.create(project=made, name="Fire", order=0)
    option = {"value": "a", "score_values": {"fire": Decimal(1)}}
    asked = {"type": "single_punch", "prompt": "[score_fire]", "options": [option]}
    scenario.write(made, *[asked | {"name": f"B{n}"} for n in range(COUNT)])
    told: ConversationView = scenario.say(scenario.begin(Project.objects.get(pk=made.pk)), *["a"] * COUNT)
    return told


def prompts_of_history(view: ConversationView) -> list[str]:
    return [exchange.block.prompt for exchange in view.history()]


def prompts_of_response(view: ConversationView) -> list[str]:
    return [step.prompt for step in reading.part_for_respondent(view, start=0).steps]


@pytest.mark.parametrize("prompts", [prompts_of_history, prompts_of_response])
def test_past_steps_add_the_points_of_each_block_once(monkeypatch, prompts):
    view, added = answered(), list[object]()
    plain = scoring.Sums.add

    def add(self, block, reply):
        added.append(block.id)
        plain(self, block, reply)

    monkeypatch.setattr(scoring.Sums, "add", add)

    assert prompts(view) == [str(n) for n in range(COUNT)]
    assert COUNT - 1 <= len(added) <= COUNT
