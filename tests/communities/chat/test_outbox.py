"""Tasks for the chat platform: requested in a transaction, retried, and given up."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import connection

from communities.chat_platform.client import PlatformError, RateLimited, Refused, Unauthorized, Unreachable
from communities.ground.actors import Actor
from communities.ground.errors import Conflict, NotFound
from communities.models import ChatInstallation, ChatTask, Community
from communities.services.chat import access, outbox
from communities.services.chat.outbox import Abandoned, Again, Blocked
from tests.factories import CommunityFactory, UserFactory
from tests.support.moments import NOON

pytestmark = pytest.mark.django_db
KIND = "xp.grant_role"
Status = ChatTask.Status


@pytest.fixture
def community() -> Community:
    made: Community = CommunityFactory.create()
    return made


def _put(community: Community, subject: str = "1", *, at: datetime = NOON, **fields: object) -> int:
    return outbox.put(community_id=community.pk, kind=KIND, subject=subject, at=at, **fields)  # type: ignore[arg-type]


class Work:
    """Carries out tasks. It fails as the test requests, else succeeds. `seen` are the subjects."""

    def __init__(self, *outcomes: Exception | Again | None) -> None:
        self.outcomes = list(outcomes)
        self.seen: list[str] = []

    def __call__(self, task: ChatTask, at: datetime) -> Again | None:
        self.seen.append(task.subject)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def _attempt(task_id: int, work: object, at: datetime = NOON) -> ChatTask:
    outbox.attempt(task_id=task_id, carry_out=work, now=lambda: at)  # type: ignore[arg-type]
    return ChatTask.objects.get(pk=task_id)


def test_a_task_is_done_once(community: Community) -> None:
    task_id, work = _put(community), Work()

    done = _attempt(task_id, work)
    _attempt(task_id, work)

    assert (done.status, done.due_at, done.last_attempt_at) == (Status.DELIVERED, None, NOON)
    assert work.seen == ["1"]


def test_asking_again_before_it_is_done_changes_nothing(community: Community) -> None:
    first, second, work = _put(community), _put(community), Work()

    _attempt(first, work)

    assert first == second
    assert work.seen == ["1"]
    assert ChatTask.objects.get().wanted == 2


def test_asking_again_while_it_is_done_does_it_once_more(community: Community) -> None:
    task_id = _put(community)
    seen: list[int] = []

    def ask_again(task: ChatTask, at: datetime) -> None:
        seen.append(task.wanted)
        if len(seen) == 1:
            _put(community)

    assert _attempt(task_id, ask_again).status == Status.PENDING
    assert _attempt(task_id, ask_again).status == Status.DELIVERED
    assert seen == [1, 2]


def test_asking_again_after_it_was_given_up_begins_anew(community: Community) -> None:
    task_id = _put(community)
    _attempt(task_id, Work(Abandoned("The role is gone.")))

    _put(community, at=NOON + timedelta(days=9))

    task = ChatTask.objects.get()
    assert (task.status, task.attempt_count, task.due_at) == (Status.PENDING, 0, NOON + timedelta(days=9))


def test_a_task_may_ask_to_be_called_again(community: Community) -> None:
    later = NOON + timedelta(seconds=7)

    task = _attempt(_put(community), Work(Again(later)))

    assert (task.status, task.due_at) == (Status.PENDING, later)


def test_a_task_for_later_waits(community: Community) -> None:
    task_id, work = _put(community, due_at=NOON + timedelta(minutes=1)), Work()

    _attempt(task_id, work)

    assert work.seen == []
    assert outbox.wake_due(at=NOON) == 0
    assert outbox.wake_due(at=NOON + timedelta(minutes=1)) == 1


@pytest.mark.parametrize("failure", [Unreachable("No answer."), Refused("Odd.", status=409), ValueError()])
def test_failures_are_tried_again_later_and_later(community: Community, failure: Exception) -> None:
    task_id, at, waits = _put(community), NOON, []

    for _ in range(9):
        task = _attempt(task_id, Work(failure), at)
        assert task.status == Status.FAILED
        assert task.due_at is not None
        waits.append((task.due_at - at).total_seconds())
        at = task.due_at

    for wait, planned in zip(waits, (1, 3, 9, 27, 81, 243, 729, 2187, 3600), strict=True):
        assert planned <= wait <= planned * 1.25
    assert task.attempt_count == 9
    assert task.error


def test_after_three_days_it_is_given_up(community: Community) -> None:
    task = _attempt(_put(community), Work(Unreachable("No answer.")), NOON + timedelta(days=3, seconds=1))

    assert (task.status, task.due_at, task.error) == (Status.ABANDONED, None, "No answer.")


def test_the_platform_says_how_long_to_wait(community: Community) -> None:
    failure = RateLimited("Wait.", status=429, retry_after=timedelta(seconds=42))

    task = _attempt(_put(community), Work(failure))

    assert (task.status, task.due_at) == (Status.PENDING, NOON + timedelta(seconds=42))
    assert task.attempt_count == 0


def test_a_refused_token_is_tried_again_in_some_minutes(community: Community) -> None:
    task = _attempt(_put(community), Work(Unauthorized("Wrong.", status=401)))

    assert task.due_at == NOON + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Abandoned("The role is gone."), "The role is gone."),
        (Refused("Unknown Channel", status=404, code=10003), "The channel does not exist any more."),
        (Refused("Something new", status=404, code=99999), "Something new"),
        (Refused("Not for bots", status=403, code=20001), "The platform does not allow this"),
    ],
)
def test_what_would_fail_again_is_given_up_with_the_reason(
    community: Community, failure: Exception, words: str
) -> None:
    task = _attempt(_put(community), Work(failure))

    assert task.status == Status.ABANDONED
    assert task.error.startswith(words)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Blocked("It may not post there."), "It may not post there."),
        (Refused("Missing Access", status=403, code=50001), "The bot may not see the channel"),
        (Refused("Missing Permissions", status=403, code=50013), "The bot lacks a permission"),
        (Refused("Unknown Guild", status=404, code=10004), "The bot is not in the server"),
        (Refused("Something new", status=403, code=99999), "Something new"),
    ],
)
def test_what_the_bot_has_no_access_for_waits_without_a_time(
    community: Community, failure: Exception, words: str
) -> None:
    told: list[str] = []
    task_id = _put(community)

    outbox.attempt(
        task_id=task_id,
        carry_out=Work(failure),
        give_up=lambda task, reason: told.append(reason),
        now=lambda: NOON,
    )

    task = ChatTask.objects.get()
    assert (task.status, task.due_at, task.attempt_count) == (Status.BLOCKED, None, 1)
    assert [each.startswith(words) for each in (task.error, *told)] == [True, True]


def test_what_is_blocked_is_tried_later_and_later_while_it_is_refused(community: Community) -> None:
    task_id, at, waits = _put(community), NOON, []

    for _ in range(9):
        _attempt(task_id, Work(Blocked("It may not post there.")), at)
        next_at = access.unblock(community_id=community.pk, at=at)
        assert next_at is not None
        waits.append((next_at - at).total_seconds())
        assert access.unblock(community_id=community.pk, at=next_at - timedelta(seconds=1)) == next_at
        assert access.unblock(community_id=community.pk, at=next_at) is None
        at = next_at

    assert waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert _attempt(task_id, Work(), at).status == Status.DELIVERED


def test_what_is_blocked_is_tried_at_once_if_something_has_changed(community: Community) -> None:
    task_id, other = _put(community), CommunityFactory.create()
    for _ in range(5):
        ChatTask.objects.update(status=Status.PENDING, due_at=NOON)
        _attempt(task_id, Work(Blocked("It may not post there.")))

    access.expect(community_id=other.pk)
    access.unblock(community_id=community.pk, at=NOON)
    assert ChatTask.objects.get().status == Status.BLOCKED
    access.expect(community_id=community.pk)
    access.unblock(community_id=community.pk, at=NOON)
    assert ChatTask.objects.get().due_at == NOON


def test_what_is_blocked_is_tried_again_once_the_platform_does_something_else(community: Community) -> None:
    no_access = Refused("No.", status=403, code=50013)
    refused = _put(community)
    _attempt(refused, Work(no_access))
    elsewhere = outbox.put(community_id=CommunityFactory.create().pk, kind=KIND, subject="2", at=NOON)
    _attempt(elsewhere, Work(no_access))

    def after_a_success(seconds: int) -> list[str]:
        at, what = NOON + timedelta(seconds=seconds), f"after {seconds}"
        other = outbox.put(community_id=community.pk, kind="surveys.send_summary", subject=what, at=at)
        _attempt(other, Work(), at)
        return [ChatTask.objects.get(pk=each).status for each in (refused, elsewhere)]

    early, later = after_a_success(29), after_a_success(30)
    again = _attempt(refused, Work(no_access), NOON + timedelta(seconds=30))

    assert early == [Status.BLOCKED, Status.BLOCKED]
    assert later == [Status.PENDING, Status.BLOCKED]
    assert again.status == Status.BLOCKED
    assert after_a_success(60) == [Status.BLOCKED, Status.BLOCKED]  # a minute after the second refusal


def test_what_was_asked_for_again_meanwhile_is_not_given_up(community: Community) -> None:
    def ask_again(task: ChatTask, at: datetime) -> None:
        _put(community)
        raise Abandoned("The channel is gone.")

    task = _attempt(_put(community), ask_again)

    assert (task.status, task.due_at is None) == (Status.FAILED, False)


def test_a_server_without_the_bot_is_checked_soon(community: Community) -> None:
    ChatInstallation.objects.create(community=community, status="connected", check_at=None, commands="x")

    _attempt(_put(community), Work(Refused("Unknown Guild", status=404, code=10004)))

    row = ChatInstallation.objects.get()
    assert (row.check_at, row.commands) == (NOON, "")


def test_a_worker_that_dies_gives_its_task_back(community: Community) -> None:
    task_id = _put(community)

    class Killed(BaseException):
        pass

    def die(task: ChatTask, at: datetime) -> None:
        raise Killed

    with pytest.raises(Killed):
        _attempt(task_id, die)
    work = Work()

    _attempt(task_id, work, NOON + outbox.LEASE - timedelta(seconds=1))
    assert work.seen == []
    assert _attempt(task_id, work, NOON + outbox.LEASE).status == Status.DELIVERED


def test_a_worker_goes_on_with_others_of_its_kind(community: Community) -> None:
    task_id, work = _put(community, "1"), Work(Unreachable("No answer."))
    _put(community, "2")
    _put(community, "3", due_at=NOON + timedelta(hours=1))
    outbox.put(community_id=community.pk, kind="surveys.send_public_message", subject="2", at=NOON)

    _attempt(task_id, work)

    assert work.seen == ["1", "2"]


def test_communities_take_turns(community: Community) -> None:
    other: Community = CommunityFactory.create()
    for number in range(4):
        _put(community, f"many {number}", at=NOON + timedelta(seconds=number))
    _put(community, "yields", yields=True)
    _put(other, "few 0", at=NOON + timedelta(seconds=8))
    _put(other, "few 1", at=NOON + timedelta(seconds=9))
    first, work = ChatTask.objects.get(subject="many 0"), Work()

    _attempt(first.pk, work, NOON + timedelta(seconds=9))

    assert work.seen == ["many 0", "few 0", "many 1", "few 1", "many 2", "many 3", "yields"]


def test_the_sweep_wakes_each_community_before_the_rest_of_one(
    community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(outbox, "wake", lambda _, *, task_id: woken.append(task_id))
    monkeypatch.setattr(outbox, "BATCH", 2)
    for number in range(4):
        _put(community, f"many {number}", due_at=NOON + timedelta(seconds=number + 1))
    few = _put(CommunityFactory.create(), "few", due_at=NOON + timedelta(seconds=9))

    outbox.wake_due(at=NOON + timedelta(seconds=9))

    assert woken == [ChatTask.objects.get(subject="many 0").pk, few]


def test_what_yields_is_done_once_nothing_else_is_due(community: Community) -> None:
    task_id, work = _put(community, "1", yields=True), Work()
    _put(community, "2", yields=True)
    _put(community, "3", at=NOON + timedelta(seconds=1))

    _attempt(task_id, work, NOON + timedelta(seconds=1))

    assert work.seen == ["1", "3", "2"]


def test_what_yields_stops_for_another_kind_that_is_due(community: Community) -> None:
    task_id, work = _put(community, "1", yields=True), Work()
    _put(community, "2", yields=True)
    outbox.put(community_id=community.pk, kind="surveys.send_summary", subject="3", at=NOON)

    _attempt(task_id, work)

    assert work.seen == ["1"]


def test_what_yields_no_longer_does_once_it_is_asked_for_in_earnest(community: Community) -> None:
    yields = []
    for asked in (True, False, True):
        _put(community, yields=asked)
        yields.append(ChatTask.objects.get().yields)

    assert yields == [True, False, False]


def test_no_transaction_is_open_while_it_is_carried_out(community: Community, transactional_db: None) -> None:
    def look(task: ChatTask, at: datetime) -> None:
        assert not connection.in_atomic_block

    made: Community = CommunityFactory.create()

    assert _attempt(_put(made), look).status == Status.DELIVERED


def test_a_process_carries_out_a_few_at_a_time(community: Community) -> None:
    task_id, work = _put(community), Work()
    taken = [outbox._free.acquire(blocking=False) for _ in range(outbox.AT_ONCE)]
    try:
        _attempt(task_id, work)
    finally:
        for _ in taken:
            outbox._free.release()

    assert (all(taken), work.seen) == (True, [])


def test_an_admin_may_have_it_tried_again(community: Community) -> None:
    task_id = _put(community)
    _attempt(task_id, Work(Abandoned("The role is gone.")))

    actor = Actor(
        user_id=UserFactory.create(is_superuser=True).pk,
        role="admin",
        community_id=community.pk,
        tier="basic",
    )
    foreign = replace(actor, community_id=CommunityFactory.create().pk)

    outbox.try_again(actor=actor, task_id=task_id, at=NOON + timedelta(days=5))

    task = ChatTask.objects.get()
    assert (task.status, task.error, task.due_at) == (Status.PENDING, "", NOON + timedelta(days=5))
    with pytest.raises(NotFound):
        outbox.try_again(actor=foreign, task_id=task_id, at=NOON)
    _attempt(task_id, Work(), NOON + timedelta(days=5))
    with pytest.raises(Conflict):
        outbox.try_again(actor=actor, task_id=task_id, at=NOON)


def test_what_is_over_is_forgotten_after_a_month(community: Community) -> None:
    _attempt(_put(community, "1"), Work())
    _put(community, "2")

    assert outbox.forget_old(at=NOON + timedelta(days=29)) == 0
    assert outbox.forget_old(at=NOON + timedelta(days=31)) == 1
    assert ChatTask.objects.get().subject == "2"


def test_a_payload_is_sealed_and_erased_when_it_is_done(community: Community) -> None:
    task_id = _put(community, payload="a token")
    assert b"a token" not in bytes(ChatTask.objects.get().payload or b"")

    assert _attempt(task_id, Work()).payload is None


def test_all_failures_of_the_platform_are_known() -> None:
    assert {each.__name__ for each in PlatformError.__subclasses__()} == {
        *("Unreachable", "RateLimited", "Unauthorized", "Refused"),
    }
