"""Data sets that others published, counted by us: our figures are theirs."""

from __future__ import annotations

import uuid
from collections import Counter
from itertools import chain
from typing import Any

import pytest

from surveys.models import Answer, Conversation, Tally
from tests.support.caller import Caller
from tests.support.datasets import admission_test, students
from tests.support.moments import NOON
from tests.support.surveys import plain_counts
from tests.support.surveys.results import OPEN_WEB, converse, counts, results

pytestmark = pytest.mark.django_db
THROUGH_THE_INTERFACE = 397  # one of so many; the others are written as rows


def choice(prompt: str, values: tuple[str, ...], **fields: Any) -> dict[str, Any]:
    return {
        "type": "single_punch",
        "prompt": prompt,
        "options": [{"value": each} for each in values],
        **fields,
    }


def answered(caller: Caller, project: dict[str, Any], people: list[tuple[str, ...]]) -> None:
    """Each person's choices: some through the interface, the rest as the rows that this makes."""
    for person in people[::THROUGH_THE_INTERFACE]:
        converse(caller, project, list(person))
    others = [each for n, each in enumerate(people) if n % THROUGH_THE_INTERFACE]
    blocks = project["script"]["blocks"]
    ids = [{option["value"]: int(option["id"]) for option in block["options"]} for block in blocks]
    made = [
        Conversation(
            id=uuid.uuid4(),
            project_id=int(project["id"]),
            seed=1,
            state={},
            is_listed=True,
            started_at=NOON,
            updated_at=NOON,
            completed_at=NOON,
        )
        for _ in others
    ]
    Conversation.objects.bulk_create(made)
    Answer.objects.bulk_create(
        chain.from_iterable(
            (
                Answer(conversation=talk, block_id=block["id"], ordinal=0, option_id=of[value], value=value)
                for block, of, value in zip(blocks, ids, person, strict=True)
            )
            for talk, person in zip(made, others, strict=True)
        )
    )
    plain_counts.pack_answer_rows()
    Tally.objects.create(
        project_id=int(project["id"]),
        slot=Tally.SLOTS,
        answered=len(others) * len(blocks),
        completed=len(others),
        listed=len(others),
    )


def test_hair_and_eyes_of_students_are_counted_as_published() -> None:
    caller = Caller()
    project = caller.make_open(
        choice("What colour is your hair?", students.HAIR),
        choice("What colour are your eyes?", students.EYES),
        choice("What is your sex?", students.SEXES),
        delivery=OPEN_WEB,
    )
    answered(caller, project, list(students.students()))

    told = results(caller, project)

    assert (told["conversation_count"], told["completion_count"]) == (students.SIZE, students.SIZE)
    assert [counts(block) for block in told["blocks"]] == [
        students.BY_HAIR,
        students.BY_EYES,
        students.BY_SEX,
    ]
    assert [each["percentage"] for each in told["blocks"][1]["distribution"]] == [37.16, 36.32, 15.71, 10.81]


def test_eyes_divided_by_hair_are_the_published_table() -> None:
    caller = Caller()
    project = caller.make_open(
        choice("What colour is your hair?", students.HAIR),
        choice("What colour are your eyes?", students.EYES),
        choice("What is your sex?", students.SEXES),
        delivery=OPEN_WEB,
    )
    answered(caller, project, list(students.students()))
    hair, eyes, _ = project["script"]["blocks"]

    told = results(caller, project, f"?segment_by={hair['id']}")

    assert {each["value"]: each["count"] for each in told["segment_by"]["segments"]} == students.BY_HAIR
    by_hair = {each["value"]: tuple(counts(each).values()) for each in told["blocks"][1]["segments"]}
    assert by_hair == students.EYES_BY_HAIR
    blond = told["blocks"][1]["segments"][3]
    assert [each["percentage"] for each in blond["distribution"]] == [5.51, 74.02, 7.87, 12.6]
    assert told["blocks"][1]["block_id"] == eyes["id"]


def test_an_admission_tests_right_answers_are_as_many_as_published() -> None:
    caller = Caller()
    items = [
        choice(f"Item {n}", ("right", "wrong"), correct_answer_index=0, required=True) for n in range(1, 6)
    ]
    project = caller.make_open(*items, scoring_enabled=True, delivery=OPEN_WEB)
    people = [tuple("right" if each == "1" else "wrong" for each in p) for p in admission_test.persons()]
    answered(caller, project, people)

    told = results(caller, project)

    assert told["conversation_count"] == admission_test.SIZE
    right = [block["distribution"][0]["percentage"] for block in told["blocks"]]
    assert right == [pytest.approx(100 * each) for each in admission_test.RIGHT]
    assert told["response_count"] == 5 * admission_test.SIZE
    totals = Counter(person.count("right") for person in people)
    assert tuple(totals[n] for n in range(6)) == admission_test.BY_TOTAL


def test_who_answered_the_last_item_rightly_is_told_apart_from_who_did_not() -> None:
    caller = Caller()
    items = [choice(f"Item {n}", ("right", "wrong")) for n in range(1, 6)]
    project = caller.make_open(*items, delivery=OPEN_WEB)
    patterns = list(admission_test.persons())
    answered(caller, project, [tuple("right" if each == "1" else "wrong" for each in p) for p in patterns])
    last = project["script"]["blocks"][-1]["id"]

    told = results(caller, project, f"?segment_by={last}")

    both = Counter(pattern[0] for pattern in patterns if pattern[4] == "1")
    right, wrong = told["blocks"][0]["segments"]
    assert counts(right) == {"right": both["1"], "wrong": both["0"]}
    assert sum(counts(right).values()) + sum(counts(wrong).values()) == admission_test.SIZE
