"""Figures of all responses are counted from indexes, figures of a selection by joins. Both are equal."""

from random import Random
from typing import Any

import pytest

from surveys.models import Block, Option, Project
from surveys.services.results import figures
from surveys.services.results.figures import Selection
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db
OPTIONS = ["a", "b", "c", "d"]
EVERY_TYPE: list[dict[str, Any]] = [
    {"type": "single_punch", "options": OPTIONS},
    {"type": "multi_punch", "options": OPTIONS},
    {"type": "rating"},
    {"type": "opinion_scale", "min": 1, "max": 7},
    {"type": "nps"},
    {"type": "ranking", "options": OPTIONS, "rank_top_n": 2},
    {"type": "open_numeric"},
    {"type": "open_text"},
]
WEB = Selection(provider="web")


def answered(made, people=40, seed=5):
    """People who answer at random, skip some questions, and some of them leave before the end."""
    chance = Random(seed)
    for _ in range(people):
        told = scenario.begin(made)
        said = [
            chance.randrange(4),
            chance.sample(range(4), chance.randint(1, 4)),
            str(chance.randint(1, 5)),
            str(chance.randint(1, 7)),
            str(chance.randint(0, 10)),
            chance.sample(range(4), 2),
            str(chance.randint(-300, 300) / 100),
            "words",
        ]
        said = [None if chance.random() < 0.2 else each for each in said]
        scenario.say(told, *said[: chance.choice([0, 1, 5, 8, 8, 8])])


@pytest.fixture(scope="module")
def answered_project(kept_rows):
    made = scenario.project(*EVERY_TYPE)
    answered(made)
    return made


@pytest.fixture
def made(answered_project):
    return Project.objects.get(pk=answered_project.pk)


def retyped(made, place, kind):
    """The script, with a block that is of another type now and keeps its answers."""
    block = scenario.script(made).blocks[place]
    Block.objects.filter(pk=block.id).update(type=kind)
    if kind in ("rating", "open_numeric", "open_text"):
        Option.objects.filter(block_id=block.id).update(is_archived=True)
    made.revision += 1
    made.save(update_fields=["revision"])


def test_both_ways_tell_the_same(made):
    everything = figures.count(project=made)

    assert everything == figures.count(project=made, selection=WEB)
    kept = scenario.counts(made)
    assert (everything.conversation_count, everything.completion_count, everything.response_count) == (
        kept["listed"],
        kept["completed"],
        kept["answered"],
    )


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (0, "multi_punch"),
        (1, "single_punch"),
        (1, "rating"),
        (6, "rating"),
        (7, "open_numeric"),
        (2, "open_text"),
        (5, "multi_punch"),
        (3, "single_punch"),
    ],
)
def test_both_ways_tell_the_same_of_a_block_that_was_of_another_type(made, place, kind):
    people = figures.count(project=made).blocks[place]["response_count"]
    retyped(made, place, kind)

    everything = figures.count(project=made)

    assert everything == figures.count(project=made, selection=WEB)
    assert everything.blocks[place]["response_count"] == people


def test_both_ways_tell_the_same_of_a_ranking_that_was_a_choice_of_many():
    made = scenario.project({"type": "multi_punch", "options": [f"o{n}" for n in range(40)]})
    for said in (range(40), range(39, -1, -1), [3]):
        scenario.say(scenario.begin(made), list(said))
    retyped(made, 0, "ranking")

    everything = figures.count(project=made)

    assert everything == figures.count(project=made, selection=WEB)


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_segments_add_up_to_those_who_answered(made, place):
    block = scenario.script(made).blocks[place]

    told = figures.count(project=made, segment_by=block.id)

    assert told == figures.count(project=made, segment_by=block.id, selection=WEB)
    assert told.blocks[place]["response_count"] == figures.count(project=made).blocks[place]["response_count"]
    own = [each["response_count"] for each in told.blocks[place]["segments"]]
    assert own == [each["count"] for each in told.segments or ()]
    if place != 1:
        assert sum(own) == told.blocks[place]["response_count"]


def test_the_completed_and_the_partial_are_all(made):
    parts = [
        figures.count(project=made, selection=Selection(covers=each)) for each in ("completed", "partial")
    ]
    everything = figures.count(project=made)

    assert sum(each.response_count for each in parts) == everything.response_count
    assert sum(each.conversation_count for each in parts) == everything.conversation_count
    lefts = [[block["drop_off"]["left"] for block in each.blocks] for each in (parts[1], everything)]
    assert lefts[0] == lefts[1]


def test_every_move_makes_changes_grow(made):
    before = figures.changes(made.pk)

    scenario.say(scenario.begin(made), 0)

    assert figures.changes(made.pk) > before
