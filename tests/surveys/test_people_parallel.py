"""Whoever is erased while something else happens to them, or while the process is killed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from communities.ground.errors import Conflict, NotFound, Refusal
from communities.models import Identity, Member, User
from communities.services.people import personal_data as membership_data
from surveys.models import Completion, Conversation, FiredAction, Project
from surveys.services.conversations import repository
from tests.support.caller import CHOICE, TEXT, Caller
from tests.support.concurrency import BackgroundCall
from tests.support.dumps import dump
from tests.support.kills import die, dying_after, in_a_process_that_dies
from tests.support.surveys import known_person, scenario
from tests.support.surveys.known_person import AT, AUDIENCE, GIVES_XP, MEMBER_ID, USER_ID, erasing, everywhere
from tests.support.surveys.participants import QUESTION, Talk, a_member, giving, once_the_hour_is_over
from xp.models import Standing, XpEntry
from xp.services import ledger
from xp.services import people as earnings

DATA = f"/members/{MEMBER_ID}/data"
pytestmark = [pytest.mark.long, pytest.mark.django_db]


# --- At the same time -------------------------------------------------------------------------------

at_once = pytest.mark.django_db(transaction=True)


def nothing_is_left() -> bool:
    """Except keyed hashes in anonymous projects, which identify nobody."""
    return not (
        any(model.objects.exists() for model in (Standing, XpEntry))
        or Completion.objects.exclude(project__privacy_mode="anonymous").exists()
        or Conversation.objects.filter(user=USER_ID).exists()
        or User.objects.filter(pk=USER_ID).exists()
        or Member.objects.filter(pk=MEMBER_ID).exists()
    )


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_an_answer_before_is_waited_for_and_one_after_is_nameless(privacy_mode: str) -> None:
    caller = Caller()
    known_person.person(caller.community)
    survey = caller.make_open(CHOICE, GIVES_XP, TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    first, second = known_person.begin(survey), None
    if privacy_mode == "anonymous":
        second = known_person.begin(survey)

    with transaction.atomic():
        told = scenario.say(first, 0, at=AT)  # gives XP
        told = scenario.go_on(told, at=AT)
        eraser = BackgroundCall(erasing(caller))
        assert eraser.waits_for_lock()
    assert eraser.result() is None

    assert nothing_is_left()
    assert scenario.say(told, "The end.", at=AT).is_completed
    assert second is None or scenario.say(second, 0, at=AT)
    assert nothing_is_left()
    project = Project.objects.get(pk=survey["id"])
    assert scenario.counts(project) == scenario.recounted(project)


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_an_answer_that_comes_while_erasing_is_taken_without_a_name(privacy_mode: str) -> None:
    caller = Caller()
    known_person.person(caller.community)
    survey = caller.make_open(GIVES_XP, TEXT, privacy_mode=privacy_mode, **AUDIENCE)
    told = scenario.go_on(known_person.begin(survey), at=AT)

    with transaction.atomic():
        erasing(caller)()
        answerer = BackgroundCall(lambda: scenario.say(told, "The end.", at=AT))
        assert answerer.waits_for_lock()

    assert answerer.result().is_completed
    assert nothing_is_left()
    assert Conversation.objects.filter(completed_at__isnull=False).count() == 1


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_who_begins_while_being_erased_is_refused(privacy_mode: str) -> None:
    caller = Caller()
    known_person.person(caller.community)
    survey = caller.make_open(TEXT, privacy_mode=privacy_mode, **AUDIENCE)

    with transaction.atomic():
        erasing(caller)()
        beginner = BackgroundCall(lambda: known_person.begin(survey))
        assert beginner.waits_for_lock()

    assert isinstance(beginner.result(), Refusal)
    assert nothing_is_left()
    assert Conversation.objects.count() == 0


@at_once
@pytest.mark.parametrize("privacy_mode", ["transparent", "anonymous"])
def test_a_conversation_that_begins_before_is_waited_for(privacy_mode: str) -> None:
    caller = Caller()
    known_person.person(caller.community)
    survey = caller.make_open(TEXT, privacy_mode=privacy_mode, **AUDIENCE)

    with transaction.atomic():
        told = known_person.begin(survey)
        eraser = BackgroundCall(erasing(caller))
        assert eraser.waits_for_lock()

    assert eraser.result() is None
    assert nothing_is_left()
    row = Conversation.objects.get(pk=told.conversation.pk)
    assert (row.user_id, row.platform_id, row.respondent) == (None,) * 3


@at_once
def test_who_begins_and_answers_while_the_erasing_begins_has_it_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caller = Caller()
    known_person.person(caller.community)
    survey = caller.make_open(TEXT, **AUDIENCE)
    held, released = threading.Event(), threading.Event()
    lock, others = membership_data.lock, []

    def hold(told: Any) -> None:
        with transaction.atomic():
            repository.lock(conversation_id=told.conversation.pk)
            held.set()
            released.wait()

    def begin_first(**which: Any) -> None:
        told = BackgroundCall(lambda: known_person.begin(survey)).result()
        others.append(BackgroundCall(lambda: hold(told)))
        held.wait()
        lock(**which)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(membership_data, "lock", begin_first)
        with pytest.raises(Conflict) as refused:
            erasing(caller)()
        released.set()

    assert others[0].result() is None
    assert refused.value.retry_after == 1
    assert Member.objects.filter(pk=MEMBER_ID).count() == 1
    erasing(caller)()
    assert nothing_is_left()


@at_once
def test_an_award_before_is_waited_for_and_one_after_finds_nobody() -> None:
    caller = Caller()
    ann = known_person.person(caller.community)

    with transaction.atomic():
        known_person.award(ann)
        eraser = BackgroundCall(erasing(caller))
        assert eraser.waits_for_lock()
    assert eraser.result() is None
    assert nothing_is_left()
    with pytest.raises(NotFound):
        known_person.award(ann)


@at_once
@pytest.mark.parametrize("is_first", [True, False])
def test_an_award_that_comes_while_erasing_finds_nobody(is_first: bool) -> None:
    caller = Caller()
    ann = known_person.person(caller.community)
    if not is_first:
        known_person.award(ann)

    with transaction.atomic():
        erasing(caller)()
        giver = BackgroundCall(lambda: known_person.award(ann))
        assert giver.waits_for_lock()

    assert isinstance(giver.result(), NotFound)
    assert nothing_is_left()


@at_once
def test_two_who_erase_at_once() -> None:
    caller = Caller()
    everywhere(caller)

    with transaction.atomic():
        erasing(caller)()
        other = BackgroundCall(erasing(caller))
        assert other.waits_for_lock()

    assert isinstance(other.result(), NotFound)


@at_once
def test_everything_at_once() -> None:
    caller = Caller()
    ann = known_person.person(caller.community)
    surveys = [
        caller.make_open(CHOICE, GIVES_XP, TEXT, privacy_mode=mode, **AUDIENCE)
        for mode in ("transparent", "anonymous")
    ]
    endless = {"settings": {"max_completes_per_user": None}}
    poll = caller.make_open(CHOICE, type="poll", rewards={"use_xp": True}, **endless, **AUDIENCE)
    ready = threading.Barrier(6)

    def until_refused(move: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            ready.wait()
            while True:
                try:
                    move()
                except Refusal as refused:
                    return refused

        return run

    def take_part(survey: dict[str, Any]) -> None:
        told = scenario.say(known_person.begin(survey), 0, at=AT)
        scenario.say(known_person.past_statements(told), "The end.", at=AT)

    def give_and_take(member: Member) -> None:
        whose = {"member_id": member.pk, "community_id": member.community_id}
        ledger.reset(**whose, actor_id=caller.user.pk, at=AT)
        known_person.award(member)

    def erase() -> None:
        ready.wait()
        while True:
            try:
                return erasing(caller)()
            except Conflict:
                continue

    threads = [
        *(BackgroundCall(until_refused(partial(take_part, survey))) for survey in surveys),
        BackgroundCall(until_refused(lambda: scenario.say(known_person.begin(poll), 0, at=AT))),
        BackgroundCall(until_refused(lambda: known_person.award(ann))),
        BackgroundCall(until_refused(lambda: give_and_take(ann))),
        BackgroundCall(erase),
    ]

    ended = [thread.result() for thread in threads]

    assert ended[-1] is None
    assert [each for each in ended[:-1] if not isinstance(each, Refusal)] == []
    assert nothing_is_left()
    for project in Project.objects.all():
        assert scenario.counts(project) == scenario.recounted(project)


# --- Killed -----------------------------------------------------------------------------------------


STEPS = {
    "before the lock": (membership_data, "lock", die, False),
    "after the answers became nameless": (earnings, "erase", die, False),
    "after what was earned went": (earnings, "erase", dying_after(earnings.erase), False),
    "after the member went": (membership_data, "erase_user", die, False),
    "before the commit": (BaseDatabaseWrapper, "commit", die, False),
    "after the commit": (BaseDatabaseWrapper, "commit", dying_after(BaseDatabaseWrapper.commit), True),
}


@at_once
@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_erases_all_or_nothing(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, deadly, is_done = STEPS[step]
    caller = Caller()
    ann = everywhere(caller)
    before = {table: rows for table, rows in dump().items() if table in ann.traces(dump())}
    headers = {"Idempotency-Key": "erase-ann"}

    with monkeypatch.context() as killing:
        killing.setattr(where, name, deadly)
        in_a_process_that_dies(lambda: caller.delete(DATA, **headers))

    after = dump()
    assert (ann.traces(after) == known_person.ERASED) == is_done
    if not is_done:
        kept = {table: rows for table, rows in after.items() if table in before}
        kept.pop("communities_apikey"), before.pop("communities_apikey")  # the time of its last use
        assert kept == before

    again = caller.delete(DATA, **headers)

    assert (again.status_code, "Idempotency-Replayed" in again) == (204, is_done)
    assert ann.traces(dump()) == known_person.ERASED
    assert Identity.objects.count() == 0


def test_what_fired_in_sessions_of_anonymous_projects_is_told(db: None) -> None:
    caller = Caller()
    member = a_member(caller)
    block = giving(xp_amount=5, fire_scope="session")
    project = caller.make_open(block, QUESTION, privacy_mode="anonymous")
    Talk(caller, project, member_id=member).through()
    Talk(caller, project, member_id=member)
    assert FiredAction.objects.count() == 2
    assert caller.get(f"/members/{member}/data").json()["participation"] == []

    once_the_hour_is_over()
    (told,) = caller.get(f"/members/{member}/data").json()["participation"]
    assert len(told["actions"]) == 2
