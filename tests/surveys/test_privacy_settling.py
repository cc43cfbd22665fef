"""The order of rows and their transactions join no anonymous answer to a person."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from surveys.models import Answer, Conversation
from surveys.services.conversations import gifts
from surveys.services.ground import anonymity
from tests.support.caller import Caller
from tests.support.database import truncate
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk, a_member, giving

pytestmark = pytest.mark.django_db(transaction=True)

OF_PEOPLE = ("xp_xpentry", "xp_standing", "xp_earnedachievement", "communities_member")
OF_ANSWERS = ("surveys_conversation", "surveys_answer")
REWARDS = {"use_xp": True, "achievement_enabled": True}
LATER = timedelta(hours=2)


def answered(caller: Caller, people: int = 6, **fields: Any) -> None:
    """This number of members have answered an anonymous survey with gifts in the middle and at the end."""
    project = caller.make_open(
        QUESTION, giving(xp_amount=5), QUESTION, rewards=REWARDS, privacy_mode="anonymous", **fields
    )
    for n in range(people):
        Talk(caller, project, member_id=a_member(caller, f"Person {n}")).through("red" if n % 2 else "green")


def rows(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def transactions(tables: tuple[str, ...]) -> set[str]:
    """The transactions that wrote and that locked the rows of these tables."""
    both = " UNION ".join(f"SELECT xmin::text FROM {t} UNION SELECT xmax::text FROM {t}" for t in tables)
    return {row[0] for row in rows(both)} - {"0"}


def contents() -> dict[str, Any]:
    return {
        "conversations": list(Conversation.objects.order_by("pk").values()),
        "answers": list(Answer.objects.order_by("pk").values()),
    }


def test_before_its_hour_is_over_nothing_is_settled() -> None:
    answered(Caller(), people=2)

    assert anonymity.settle(at=timezone.now()) == 0
    assert gifts.settle(at=timezone.now()) == 0


def test_many_answers_are_settled_in_several_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.840."""
    monkeypatch.setattr(anonymity, "ROWS_AT_ONCE", 4)
    answered(Caller())  # two answers of each
    before = contents()

    assert anonymity.settle(at=timezone.now() + LATER) == 6

    assert len(transactions(OF_ANSWERS)) > 1
    after = contents()
    assert after["answers"] == before["answers"]
    assert all(each["is_settled"] for each in after["conversations"])


def test_afterwards_no_transaction_wrote_both_of_people_and_of_answers() -> None:
    answered(Caller())

    assert anonymity.settle(at=timezone.now() + LATER) == 6
    assert gifts.settle(at=timezone.now() + LATER) == 12

    assert transactions(OF_PEOPLE)
    assert not transactions(OF_PEOPLE) & transactions(OF_ANSWERS)
    assert len(transactions(OF_ANSWERS)) == 1


def test_afterwards_rows_stand_in_the_order_of_their_random_ids() -> None:
    truncate(*OF_ANSWERS)
    answered(Caller())

    anonymity.settle(at=timezone.now() + LATER)

    for table, key in (("surveys_conversation", "id"), ("surveys_answer", "conversation_id")):
        stored = [row[0] for row in rows(f"SELECT {key} FROM {table} ORDER BY ctid")]
        assert stored == sorted(stored)


def test_what_the_rows_say_is_the_same_afterwards() -> None:
    answered(Caller())
    before = contents()

    anonymity.settle(at=timezone.now() + LATER)

    assert {row.pop("is_settled") for row in before["conversations"]} == {False}
    after = contents()
    assert {row.pop("is_settled") for row in after["conversations"]} == {True}
    for row in (*before["conversations"], *after["conversations"]):
        del row["changed_in"]  # the place in the feed, which only settled rows have
    assert after == before


def test_it_is_done_once_and_again_after_the_next_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymity, "SETTLED_AT_ONCE", 4)
    caller = Caller()
    answered(caller)
    project = caller.make_open(QUESTION, QUESTION, privacy_mode="anonymous")
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer()

    assert anonymity.settle(at=timezone.now() + LATER) == 7
    assert anonymity.settle(at=timezone.now() + LATER) == 0
    talk.answer()

    assert anonymity.settle(at=timezone.now() + LATER) == 1


def test_a_single_one_is_written_with_others_of_its_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anonymity, "_random_position", lambda: UUID(int=0))  # before all ids
    caller = Caller()
    project = caller.make_open(QUESTION, privacy_mode="anonymous")
    talks = [Talk(caller, project, member_id=a_member(caller, f"Person {n}")) for n in range(5)]
    for talk in talks[1:]:
        talk.answer()
    anonymity.settle(at=timezone.now() + LATER)
    talks[0].answer()

    assert anonymity.settle(at=timezone.now() + LATER) == 1

    assert len(transactions(OF_ANSWERS)) == 1


def test_who_is_forgotten_after_a_day_of_silence_is_settled_anew() -> None:
    answered(Caller(), people=2)
    caller = Caller()
    talk = Talk(
        caller, caller.make_open(QUESTION, QUESTION, privacy_mode="anonymous"), member_id=a_member(caller)
    )
    talk.answer()
    anonymity.settle(at=timezone.now() + LATER)

    assert anonymity.forget_silent(at=timezone.now() + timedelta(days=2)) == 1

    assert anonymity.settle(at=timezone.now() + timedelta(days=2)) == 1


def test_a_more_anonymous_one_waits_until_its_day_is_over() -> None:
    made = scenario.project(scenario.CHOICE, privacy_mode="anonymous", rounds_times_to_day=True)
    scenario.say(scenario.begin(made, "somebody", at=LUNCHTIME), 0, at=LUNCHTIME)

    assert anonymity.settle(at=LUNCHTIME + timedelta(hours=11)) == 0
    assert anonymity.settle(at=LUNCHTIME + timedelta(hours=12)) == 1


def test_what_is_not_anonymous_is_left_alone() -> None:
    made = scenario.project(scenario.CHOICE)
    scenario.say(scenario.begin(made, "somebody"), 0)

    assert anonymity.settle(at=LUNCHTIME + timedelta(days=2)) == 0


@contextmanager
def somebody_moves(conversation: Conversation) -> Iterator[None]:
    """The conversation is locked, on another connection."""
    other = connection.copy()
    with transaction.atomic():
        try:
            other.set_autocommit(False)
            with other.cursor() as cursor:
                cursor.execute(
                    "SELECT 1 FROM surveys_conversation WHERE id = %s FOR UPDATE", [conversation.pk]
                )
            yield
        finally:
            other.rollback()
            other.close()


def test_who_answers_at_this_moment_is_left_for_later() -> None:
    answered(Caller(), people=3)

    with somebody_moves(Conversation.objects.order_by("pk")[1]):
        assert anonymity.settle(at=timezone.now() + LATER) == 2

    assert anonymity.settle(at=timezone.now() + LATER) == 1


def test_who_comes_while_it_is_done_goes_on_afterwards() -> None:
    caller = Caller()
    project = caller.make_open(QUESTION, QUESTION, privacy_mode="anonymous")
    talk = Talk(caller, project, member_id=a_member(caller))
    talk.answer()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert anonymity.settle(at=timezone.now() + LATER) == 1
            coming = pool.submit(closing_connections(talk.answer))
            wait_until_somebody_waits()
        told = coming.result()

    assert told["status"] == "completed"


def closing_connections(work: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return run


def wait_until_somebody_waits() -> None:
    """For a lock that this connection holds."""
    waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    for _ in range(1_000):
        if rows(waiting):
            return
        Event().wait(0.01)
    raise AssertionError("Nobody came.")
