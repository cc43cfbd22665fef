"""Responses that a project keeps for some days only (rule 7.110)."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import Conversation, Project
from surveys.services.responses import deletion
from tests.support.caller import Caller, faults
from tests.support.surveys import scenario
from tests.support.surveys.participants import QUESTION, Talk, a_member, deltas
from tests.support.surveys.scenario import TEXT
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)
WEB = {"audience": {"participation": "open_web"}}


def aged(days: float) -> None:
    """Let all conversations be so old."""
    at = timezone.now() - timedelta(days=days)
    Conversation.objects.filter(completed_at__isnull=False).update(completed_at=at)
    Conversation.objects.update(updated_at=at, started_at=at)


def expire() -> int:
    return deletion.delete_expired(at=timezone.now())


@pytest.mark.parametrize(
    ("privacy", "age", "left"),
    [
        ("transparent", 29.99, 1),
        ("transparent", 30.01, 0),
        ("anonymous", 30.03, 1),  # an hour is 0.0417 days
        ("anonymous", 30.05, 0),
    ],
)
@pytest.mark.parametrize("is_completed", [True, False])
def test_a_response_goes_once_its_days_are_over(
    is_completed: bool, privacy: str, age: float, left: int
) -> None:
    caller = Caller()
    project = caller.make_open(
        QUESTION, QUESTION, delivery=WEB, privacy_mode=privacy, settings={"keep_responses_days": 30}
    )
    talk = Talk(caller, project)
    talk.answer()
    if is_completed:
        talk.answer()
    aged(age)

    assert expire() == 1 - left

    made = Project.objects.get()
    assert caller.get(f"/projects/{project['id']}/responses").json()["pagination"]["total"] == left
    assert scenario.counts(made) == scenario.recounted(made)


@pytest.mark.parametrize("rounds_to_day", [False, True])
def test_a_rounded_time_deletes_nothing_early(rounds_to_day: bool) -> None:
    """Rule 7.114."""
    late = datetime(2030, 5, 1, 23, 58, tzinfo=UTC)
    made = scenario.project(
        TEXT, TEXT, privacy_mode="anonymous", rounds_times_to_day=rounds_to_day, keep_responses_days=1
    )
    begun = scenario.say(scenario.begin(made, at=late), "a", at=late)
    scenario.say(scenario.begin(made, at=late), "a", "b", at=late)

    early = deletion.delete_expired(at=late + timedelta(minutes=4))
    scenario.say(begun, "b", at=late + timedelta(minutes=5))
    deletion.delete_expired(at=late + timedelta(hours=23, minutes=59))
    left = Conversation.objects.count()
    deletion.delete_expired(at=late + timedelta(days=2, minutes=10))

    assert (early, left, Conversation.objects.count()) == (0, 2, 0)


def test_without_the_setting_responses_stay() -> None:
    caller = Caller()
    Talk(caller, caller.make_open(QUESTION, delivery=WEB)).answer()
    aged(10_000)

    assert expire() == 0


def test_an_expiry_is_a_deletion_to_readers_of_the_feed_and_frees_the_place() -> None:
    caller = Caller()
    settings = {"keep_responses_days": 1, "max_completes": 1}
    project = caller.make_open(QUESTION, delivery=WEB, settings=settings)
    path = f"/projects/{project['id']}/responses/changes"
    talk = Talk(caller, project)
    talk.answer()
    first = caller.get(path).json()
    aged(2)

    expire()

    changes = caller.get(f"{path}?cursor={first['cursor']}").json()["data"]
    assert [each["id"] for each in changes if each.get("deleted")] == [talk.told["id"]]
    Talk(caller, project).answer()


def test_a_beginning_without_an_answer_expires_too() -> None:
    caller = Caller()
    Talk(caller, caller.make_open(QUESTION, delivery=WEB, settings={"keep_responses_days": 1}))
    aged(2)

    assert (expire(), Conversation.objects.count()) == (1, 0)


def test_the_xp_of_an_expired_vote_stays() -> None:
    caller = Caller()
    member = a_member(caller)
    project = caller.make_open(
        QUESTION, type="poll", rewards={"use_xp": True}, settings={"keep_responses_days": 1}
    )
    Talk(caller, project, member_id=member).answer()
    before: Any = deltas(caller, member)
    assert before
    aged(2)

    assert expire() == 1
    assert deltas(caller, member) == before


def test_at_most_a_number_is_deleted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "MOST_AT_ONCE", 2)
    caller = Caller()
    project = caller.make_open(QUESTION, delivery=WEB, settings={"keep_responses_days": 1})
    for _ in range(3):
        Talk(caller, project).answer()
    aged(2)

    assert [expire(), expire(), expire()] == [2, 1, 0]


def test_responses_whose_deletion_fails_do_not_take_the_places_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletion, "MOST_AT_ONCE", 2)
    caller = Caller()
    project = caller.make_open(QUESTION, delivery=WEB, settings={"keep_responses_days": 1})
    given = [talk.told["id"] for talk in (Talk(caller, project) for _ in range(5)) if talk.answer()]
    aged(2)
    failing = {
        str(pk) for pk in Conversation.objects.order_by("completed_at", "pk").values_list("pk", flat=True)[:3]
    }
    expire_one = deletion._expire

    def expire_if_healthy(conversation_id: uuid.UUID, **times: Any) -> bool:
        if str(conversation_id) in failing:
            raise ValueError("This response cannot be deleted.")
        return expire_one(conversation_id, **times)

    monkeypatch.setattr(deletion, "_expire", expire_if_healthy)

    assert [expire(), expire()] == [2, 0]
    assert {str(pk) for pk in Conversation.objects.values_list("pk", flat=True)} == failing < set(given)


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0, "too_small"), (1, None), (3_650, None), (3_651, "too_large"), (None, None), ("7", "invalid_type")],
)
def test_the_days_have_limits(days: object, expected: str | None) -> None:
    caller = Caller()
    project = caller.make(QUESTION)

    answer = caller.patch(f"/projects/{project['id']}", {"settings": {"keep_responses_days": days}})

    found = {("settings.keep_responses_days", expected)} if expected else set()
    assert faults(answer) == found


# Conversations without an answer


@pytest.mark.parametrize("privacy", ["transparent", "anonymous"])
def test_a_conversation_without_an_answer_goes_after_its_days(settings: Any, privacy: str) -> None:
    """Rule 12.572."""
    settings.UNANSWERED_DAYS = 30
    caller = Caller()
    project = caller.make_open(QUESTION, QUESTION, delivery=WEB, privacy_mode=privacy)
    _, begun, done = (Talk(caller, project) for _ in range(3))
    begun.answer()
    done.answer()
    done.answer()
    counts = scenario.counts(Project.objects.get())
    events = Event.objects.count()
    aged(29.99)
    early = deletion.forget_unanswered(at=timezone.now())
    aged(30.01)

    forgotten = [deletion.forget_unanswered(at=timezone.now()) for _ in range(2)]

    assert (early, forgotten) == (0, [1, 0])
    assert Conversation.objects.count() == 2
    assert scenario.counts(Project.objects.get()) == counts
    assert Event.objects.count() == events


def test_a_conversation_that_goes_on_at_the_last_moment_stays() -> None:
    """Rule 12.572."""
    caller = Caller()
    Talk(caller, caller.make_open(QUESTION, QUESTION, delivery=WEB)).answer()
    conversation = Conversation.objects.get()

    before, at = timezone.now() + timedelta(days=1), timezone.now()

    assert not deletion._forget(conversation.pk, before=before, at=at)
    assert Conversation.objects.count() == 1
