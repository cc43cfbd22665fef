"""Thirty threads at once: no award is lost or counted twice, and each balance continues the previous one."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction

from communities.services.people import personal_data as membership_data
from tests.factories import CommunityFactory, MemberFactory
from tests.support.concurrency import BackgroundCall
from tests.support.moments import NOON
from tests.support.xp.ledger import Kind, award, chain, standing
from xp.models import EarnedAchievement, RoleGrant, XpEntry
from xp.services import achievements, ledger, people, roles, standings

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 30


def at_once(functions: Sequence[Callable[[], Any]]) -> list[Any]:
    """The results of functions that start together, each in a thread with its own connection."""
    barrier = Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return function()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(functions)) as threads:
        return list(threads.map(run, functions))


def is_consistent(member: Any) -> bool:
    """Whether each balance is the sum of the changes so far, and the standing equals the last one."""
    changes, balances = zip(*chain(member), strict=True)
    return list(balances) == list(accumulate(changes)) and standing(member).xp_total == balances[-1]


def test_concurrent_awards_and_deductions_add_up() -> None:
    ann = MemberFactory.create()
    award(ann, 10_000)
    amounts = [n if n % 3 else -n for n in range(1, THREADS + 1)]

    def work(amount: int) -> list[int]:
        return [award(ann, amount).delta for _ in range(3)]

    deltas = at_once([partial(work, amount) for amount in amounts])

    total = 10_000 + 3 * sum(amounts)
    assert deltas == [[amount] * 3 for amount in amounts]
    assert is_consistent(ann)
    assert len(chain(ann)) == 1 + 3 * THREADS
    assert standings.of_member(member_id=ann.pk, at=NOON) == standings.Totals(total, total, 0)


def test_a_members_first_xp_may_come_from_many_threads() -> None:
    ann = MemberFactory.create()

    at_once([lambda: award(ann, 10)] * THREADS)

    assert is_consistent(ann)
    assert standing(ann).xp_total == 10 * THREADS


def test_concurrent_deductions_never_take_more_than_the_balance() -> None:
    ann = MemberFactory.create()
    award(ann, 100)

    taken = at_once([lambda: award(ann, -7).delta] * THREADS)

    assert sorted(taken) == [-7] * 14 + [-2] + [0] * 15
    assert is_consistent(ann)


def test_a_deduction_that_waits_for_a_gift_takes_of_the_gift() -> None:
    """Rule 8.970."""
    ann = MemberFactory.create()
    award(ann, 0)

    with transaction.atomic():
        award(ann, 40)
        deduction = BackgroundCall(lambda: award(ann, -10).balance_after)
        assert deduction.waits_for_lock()

    assert deduction.result() == 30
    assert is_consistent(ann)


def test_awards_in_longer_transactions_wait_for_each_other() -> None:
    ann = MemberFactory.create()
    award(ann, 50)

    def work(amount: int, is_undone: bool) -> None:
        with transaction.atomic():
            award(ann, amount)
            ledger.count_participation(member_id=ann.pk, community_id=ann.community_id)
            award(ann, -amount // 2)
            transaction.set_rollback(is_undone)

    at_once([partial(work, 2 * n, n % 2 == 0) for n in range(THREADS)])

    assert is_consistent(ann)
    assert standing(ann).xp_total == 50 + sum(n for n in range(THREADS) if n % 2)
    assert standing(ann).participation == THREADS // 2


def test_a_reset_among_awards_keeps_later_awards() -> None:
    ann = MemberFactory.create()
    award(ann, 1_000)

    def reset() -> XpEntry | None:
        return ledger.reset(member_id=ann.pk, community_id=ann.community_id, actor_id=ann.user_id, at=NOON)

    at_once([reset, *[lambda: award(ann, 10)] * 9])

    entries = list(XpEntry.objects.filter(member=ann).order_by("id"))
    place = next(n for n, entry in enumerate(entries) if entry.source_kind == Kind.RESET)
    assert is_consistent(ann)
    assert entries[place].balance_after == 0
    assert standing(ann).xp_total == 10 * (len(entries) - place - 1)


def test_an_erasure_among_awards_keeps_later_awards_only() -> None:
    ann = MemberFactory.create()
    award(ann, 1_000)

    def erase() -> None:
        with transaction.atomic():
            membership_data.lock(community_id=ann.community_id, member_id=ann.pk)
            people.erase(member_id=ann.pk)

    at_once([erase, *[lambda: award(ann, 10)] * 9])

    if chain(ann):
        assert chain(ann)[0] == (10, 10)
        assert is_consistent(ann)


def test_an_achievement_granted_concurrently_is_earned_once() -> None:
    ann = MemberFactory.create()

    def work() -> bool:
        return achievements.grant(
            member_id=ann.pk, number=4, name="Fourth", image_url=None, project_id=None, at=NOON
        )

    results = at_once([work] * 8)

    assert sorted(results) == [False] * 7 + [True]
    assert EarnedAchievement.objects.count() == 1


def test_concurrent_definitions_get_different_numbers() -> None:
    club = CommunityFactory.create()

    numbers = at_once([lambda: achievements.define(community_id=club.pk, name="New")] * 8)

    assert sorted(numbers) == list(range(1, 9))


def test_a_role_granted_concurrently_waits_once() -> None:
    ann = MemberFactory.create()

    def work() -> None:
        roles.grant(member_id=ann.pk, role_id="77", project_id=5, project_name="Evening", at=NOON)

    at_once([work] * 8)

    assert RoleGrant.objects.count() == 1
