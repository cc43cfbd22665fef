"""A merge of two accounts writes no row of an anonymous answer, and both count as one person afterwards."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from communities.models import Member, User
from communities.services.people import personal_data as membership_data
from surveys.models import Completion, Project, SealedGifts
from surveys.services.conversations import completions, gifts
from surveys.services.people.merging import merge_users
from tests.factories import MemberFactory
from tests.support.caller import TEXT, Caller
from tests.support.concurrency import BackgroundCall
from tests.support.storage import OF_ANSWERS, OF_EVENTS, OF_SCRIPTS, StoredRow, joined, stored_rows
from tests.support.surveys.participants import QUESTION, Talk, deltas, giving, once_the_hour_is_over
from xp.models import Standing, XpEntry

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis")]

ONCE = giving(xp_amount=5)
EACH_TIME = giving(xp_amount=3, fire_scope="session")


@pytest.fixture
def caller() -> Caller:
    return Caller()


@pytest.fixture
def keep(caller: Caller) -> Member:
    return MemberFactory.create(community=caller.community, user__name="Ann")


@pytest.fixture
def drop(caller: Caller) -> Member:
    return MemberFactory.create(community=caller.community, user__name="Ann, too")


def merge(keep: Member, drop: Member) -> None:
    merge_users(keep_id=keep.user_id, drop_id=drop.user_id, at=timezone.now())


def rows_of_answers() -> set[StoredRow]:
    """With their places, and the transactions that wrote and locked them."""
    return {row for row in stored_rows() if row.table in OF_ANSWERS}


@pytest.mark.parametrize("moves", range(6))
def test_a_merge_at_any_step_neither_writes_nor_locks_a_row_of_an_answer(
    caller: Caller, keep: Member, drop: Member, moves: int
) -> None:
    made = caller.make_open(QUESTION, ONCE, QUESTION, TEXT, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(keep.pk)).through()
    talk = Talk(caller, made, member_id=str(drop.pk))
    for _ in range(moves):
        if talk.told["step"] is not None:
            talk.go_on() if talk.block["type"] == "action_block" else talk.answer()
    before = rows_of_answers()

    merge(keep, drop)

    assert rows_of_answers() == before
    assert set(joined(stored_rows(), answers=OF_ANSWERS)) <= OF_SCRIPTS | OF_EVENTS
    assert talk.through()["status"] == "completed"
    once_the_hour_is_over()
    assert sum(delta for _, delta in deltas(caller, str(keep.pk))) == (10 if moves else 5)  # fired before
    assert Standing.objects.get().participation == 2


def test_what_was_answered_as_either_counts_towards_the_limit(
    caller: Caller, keep: Member, drop: Member
) -> None:
    made = caller.make_open(QUESTION, privacy_mode="anonymous", settings={"max_completes_per_user": 5})
    for member, times in ((keep, 1), (drop, 3)):
        for _ in range(times):
            Talk(caller, made, member_id=str(member.pk)).through()
    running = Talk(caller, made, member_id=str(drop.pk))
    merge(keep, drop)

    Talk(caller, made, member_id=str(keep.pk)).through()
    refused = caller.post(f"/projects/{made['id']}/conversations", {"member_id": str(keep.pk)})
    late = caller.post(f"{running.path}/answers", {"block_id": running.block["id"], "value": "red"})

    assert (refused.status_code, late.status_code) == (409, 409)
    assert Completion.objects.count() == 5


def test_an_action_that_fired_for_either_does_not_fire_again(
    caller: Caller, keep: Member, drop: Member
) -> None:
    made = caller.make_open(QUESTION, ONCE, EACH_TIME, rewards={"use_xp": True}, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(drop.pk)).through()
    once_the_hour_is_over()
    merge(keep, drop)

    Talk(caller, made, member_id=str(keep.pk)).through()
    once_the_hour_is_over()

    assert deltas(caller, str(keep.pk)) == [("opening_balance", 18), ("action_block", 3)]


def test_a_session_that_a_merge_interrupts_stays_the_same_session(
    caller: Caller, keep: Member, drop: Member
) -> None:
    """A step back and a second answer give nothing again; the next session gives again."""
    made = caller.make_open(QUESTION, EACH_TIME, QUESTION, TEXT, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(keep.pk)).through()
    running = Talk(caller, made, member_id=str(drop.pk))
    running.answer()
    merge(keep, drop)
    running.back()
    running.answer()
    running.through()
    Talk(caller, made, member_id=str(keep.pk)).through()

    once_the_hour_is_over()

    assert deltas(caller, str(keep.pk)) == [("action_block", 3)] * 3


def test_what_waits_for_either_is_given_once(caller: Caller, keep: Member, drop: Member) -> None:
    made = caller.make_open(QUESTION, ONCE, QUESTION, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(drop.pk)).through()
    merge(keep, drop)
    later = timezone.now() + timedelta(hours=2)

    gifts.settle(at=later)
    gifts.settle(at=later)

    assert XpEntry.objects.filter(source_kind="action_block").count() == 1
    assert Standing.objects.get(member=keep).xp_total == 5


def test_who_is_merged_twice_is_one_person(caller: Caller, keep: Member, drop: Member) -> None:
    third = MemberFactory.create(community=caller.community)
    made = caller.make_open(QUESTION, privacy_mode="anonymous", settings={"max_completes_per_user": 2})
    Talk(caller, made, member_id=str(drop.pk)).through()
    running = Talk(caller, made, member_id=str(drop.pk))
    merge(keep, drop)
    merge(third, keep)

    running.through()
    once_the_hour_is_over()

    assert User.objects.get(pk=third.user_id).merged_ids == [drop.user_id, keep.user_id]
    assert Standing.objects.get(member=third).participation == 2
    assert (
        caller.post(f"/projects/{made['id']}/conversations", {"member_id": str(third.pk)}).status_code == 409
    )


def test_a_merge_that_commits_while_a_move_waits_loses_nothing(
    caller: Caller, keep: Member, drop: Member
) -> None:
    made = caller.make_open(QUESTION, rewards={"use_xp": True}, privacy_mode="anonymous")
    talk = Talk(caller.in_another_thread(), made, member_id=str(drop.pk))

    with transaction.atomic():
        merge(keep, drop)
        moving = BackgroundCall(talk.answer)
        assert moving.waits_for_lock()

    assert moving.result()["status"] == "completed"
    once_the_hour_is_over()
    assert deltas(caller, str(keep.pk)) == [("survey_completion", 10)]
    known = membership_data.get_person(community_id=caller.community.pk, member_id=keep.pk)
    assert known.user_ids == (keep.user_id, drop.user_id)


def test_gifts_that_are_given_while_a_merge_commits_are_given_to_the_kept_user(
    caller: Caller, keep: Member, drop: Member
) -> None:
    made = caller.make_open(QUESTION, rewards={"use_xp": True}, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(drop.pk)).through()
    later = timezone.now() + timedelta(hours=2)

    with transaction.atomic():
        merge(keep, drop)
        giving_now = BackgroundCall(lambda: gifts.settle(at=later))
        assert giving_now.waits_for_lock()

    assert giving_now.result() == 1
    assert Standing.objects.get(member=keep).xp_total == 10


def test_who_is_erased_after_a_merge_gets_nothing(caller: Caller, keep: Member, drop: Member) -> None:
    made = caller.make_open(QUESTION, ONCE, QUESTION, privacy_mode="anonymous")
    Talk(caller, made, member_id=str(drop.pk)).through()
    running = Talk(caller, made, member_id=str(drop.pk))
    running.answer()
    merge(keep, drop)
    told = caller.get(f"/members/{keep.pk}/data").json()

    assert caller.delete(f"/members/{keep.pk}/data").status_code == 204

    assert told["user"] == {"id": str(keep.user_id), "name": keep.user.name}
    assert running.through()["status"] == "completed"
    once_the_hour_is_over()
    assert (SealedGifts.objects.count(), XpEntry.objects.count(), Standing.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize("times", [1, 3, 4, 5, 16, 17, 70])
def test_who_completes_often_is_counted_right_with_few_statements(
    caller: Caller, keep: Member, times: int
) -> None:
    project = Project.objects.get(pk=caller.make_open(QUESTION, privacy_mode="anonymous")["id"])
    respondent = "ab" * 32
    counted = {"project_id": project.pk, "respondents": [respondent]}
    for _ in range(times):
        assert completions.complete_anonymously(**counted, at_most=None) is not None

    sessions = completions.sessions(project_id=project.pk, respondent=respondent)

    assert (sessions, Completion.objects.count()) == (times, times)
    assert completions.complete_anonymously(**counted, at_most=times) is None
    assert completions.complete_anonymously(**counted, at_most=times + 1) is not None
    assert Completion.objects.count() == times + 1
