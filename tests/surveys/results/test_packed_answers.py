"""Packed answers always equal the answer rows, and filtered figures equal the figures of the rows."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import Block, Conversation, Option
from surveys.services.conversations import moves, removal
from surveys.services.conversations import service as conversations
from surveys.services.counting import answer_groups, numbers, packed
from surveys.services.counting import counts as counting
from surveys.services.ground import anonymity
from surveys.services.results import figures
from surveys.services.results.figures import Selection
from tests.support.moments import LUNCHTIME
from tests.support.surveys import plain_counts, scenario

pytestmark = pytest.mark.django_db
OPTIONS = ["a", "b", "c", "d"]
SCRIPT: list[dict[str, Any]] = [
    {"type": "single_punch", "options": OPTIONS},
    {"type": "multi_punch", "options": OPTIONS},
    {"type": "rating", "required": False},
    {"type": "open_numeric", "required": False, "precondition": 'q0 != "b"'},
    {"type": "nps", "required": False},
    {"type": "ranking", "options": OPTIONS, "rank_top_n": 2},
    {"type": "open_text", "required": False},
    {"type": "opinion_scale", "min": 0, "max": 10},
]
EXTREMES = ["0.1", "0.2", "-0.7", "0", "-0", "20", "21", "999999999999999", "-999999999999999", "1e-30"]
EXTREMES += ["0.123456789012345", "3.3333333333333333333", "123456.789", "0." + "0" * 90 + "1", "20.0"]
SELECTIONS = [
    Selection(covers="completed"),
    Selection(covers="partial"),
    Selection(provider="web"),
    Selection(submitted_after=LUNCHTIME + timedelta(minutes=3)),
    Selection(covers="completed", submitted_before=LUNCHTIME + timedelta(minutes=3), provider="web"),
]


def reply(chance, block):
    match block.type:
        case "single_punch":
            return chance.randrange(4)
        case "multi_punch":
            return chance.sample(range(4), chance.randint(1, 4))
        case "ranking":
            return chance.sample(range(4), 2)
        case "open_numeric":
            return chance.choice(EXTREMES)
        case "open_text":
            return chance.choice(["words", "other words", None])
        case "nps":
            return str(chance.randint(0, 10))
    return str(chance.randint(1, 5))


def walk(made, chance, steps):
    told = scenario.begin(made, at=LUNCHTIME)
    for _ in range(steps):
        at = LUNCHTIME + timedelta(minutes=chance.randrange(6))
        if told.step is None:
            break
        if told.step.can_go_back and chance.random() < 0.25:
            told = scenario.back(told, at=at)
            continue
        is_skipped = chance.random() < 0.15 and told.step.block.required is False
        told = scenario.say(told, None if is_skipped else reply(chance, told.step.block), at=at)
    return told


def chosen(made, selection):
    """The selected conversations, one by one."""

    def is_chosen(each):
        done, after, before = each.completed_at, selection.submitted_after, selection.submitted_before
        return (
            (selection.covers != "completed" or done is not None)
            and (selection.covers != "partial" or done is None)
            and (after is None or (done is not None and done >= after))
            and (before is None or (done is not None and done < before))
            and (selection.provider is None or each.provider == selection.provider)
        )

    return [each for each in Conversation.objects.filter(project=made) if is_chosen(each)]


def counted(figures_of):
    names = ("response_count", "distribution", "stats", "ranking", "nps")
    return {
        block["block_id"]: {name: block[name] for name in names}
        for block in figures_of.blocks
        if block["block_type"] != "content_block"
    }


def test_packed_answers_are_the_rows_and_their_figures_those_of_the_rows(monkeypatch):
    monkeypatch.setattr(counting, "CONVERSATIONS_AT_ONCE", 7)
    monkeypatch.setattr(packed, "_ROWS_AT_ONCE", 3)
    monkeypatch.setattr(numbers, "_ROWS_AT_ONCE", 3)
    chance = Random(2)
    made = scenario.project(*SCRIPT, privacy_mode="anonymous")
    talks = [walk(made, chance, chance.randint(0, 16)) for _ in range(18)]
    Conversation.objects.filter(pk__in=[each.conversation.pk for each in talks[::3]]).update(provider="chat")
    for each in talks[::6]:
        removal.remove(conversation=Conversation.objects.get(pk=each.conversation.pk), at=LUNCHTIME)
    blocks = scenario.script(made).blocks
    Option.objects.filter(pk=blocks[1].options[0].id).update(is_archived=True)
    Block.objects.filter(pk=blocks[2].id).update(is_archived=True)
    made.revision += 1
    made.save(update_fields=["revision"])
    going_on = Conversation.objects.filter(project=made, completed_at__isnull=True)[:5]
    for each in going_on:  # their replies to what was removed stay
        view = conversations.get(conversation_id=each.pk, at=LUNCHTIME)
        if view.step is not None:
            block = view.step.block
            scenario.say(view, [0] if block.type == "multi_punch" else reply(chance, block))
    assert plain_counts.unequal_packs() == []
    Conversation.objects.update(started_at=LUNCHTIME - timedelta(days=3), updated_at=LUNCHTIME)
    assert anonymity.settle(at=timezone.now())
    assert plain_counts.unequal_packs() == []

    for selection in SELECTIONS:
        within = chosen(made, selection)
        told = figures.count(project=made, selection=selection)
        expected = plain_counts.statistics_of(made, within)
        assert counted(told) == {block_id: expected[block_id] for block_id in counted(told)}
        assert told.conversation_count == sum(each.is_listed for each in within)
    for dividing in (blocks[0], blocks[1], blocks[2], blocks[7]):
        for selection in (figures.ALL, SELECTIONS[2]):
            told = figures.count(project=made, selection=selection, segment_by=dividing.id)
            by_segment = plain_counts.segments_of(made, chosen(made, selection), dividing.id)
            for each in told.blocks:
                for entry, segment in zip(told.segments or (), each["segments"], strict=True):
                    key = (entry["option_id"], None if entry["option_id"] else int(entry["value"]))
                    assert by_segment[key][each["block_id"]].items() <= segment.items()


def test_a_vote_that_is_changed_or_taken_back_is_packed_anew():
    made = scenario.poll(change_poll=True)
    for who in ("ann", "ben"):
        scenario.say(scenario.begin(made, who), 0)
    again = moves.back(conversation_id=scenario.begin(made, "ann").conversation.pk, at=LUNCHTIME)
    scenario.say(again, 1)
    removal.retract(conversation_id=scenario.begin(made, "ben").conversation.pk, at=LUNCHTIME)

    told = figures.count(project=made, selection=Selection(provider="web"))

    assert plain_counts.unequal_packs() == []
    assert [each["count"] for each in told.blocks[0]["distribution"]] == [1]
    assert told.blocks[0]["distribution"][0]["value"] == "green"


def test_with_too_many_different_numbers_quartiles_are_left_out(monkeypatch):
    made = scenario.project({"type": "open_numeric"})
    for number in ("25", "0.5", "3"):
        scenario.say(scenario.begin(made), number)
    exact = figures.count(project=made)

    with monkeypatch.context() as patch:
        patch.setattr(answer_groups, "MOST_LISTED", 2)
        assert figures.count(project=made) == exact
    monkeypatch.setattr(numbers, "MOST_DIFFERENT", 1)
    told = figures.count(project=made, selection=Selection(provider="web")).blocks[0]

    stats = exact.blocks[0]["stats"]
    assert (stats["median"], exact.blocks[0]["histogram"]["ranges"][0]["count"]) == (3, 2)
    unknown = {"lower_quartile": None, "median": None, "upper_quartile": None}
    assert (told["stats"], told["histogram"]) == ({**stats, **unknown}, None)


def test_ids_far_apart_are_found_by_searching(monkeypatch):
    made = scenario.project(*SCRIPT)
    chance = Random(3)
    for _ in range(6):
        walk(made, chance, 12)
    block = scenario.script(made).blocks[1].id
    by_table = figures.count(project=made, segment_by=block)

    monkeypatch.setattr(packed, "MAX_TABLE_BITS", 0)

    assert figures.count(project=made, segment_by=block) == by_table
