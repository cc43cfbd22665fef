"""Thirty at once: nothing is lost, nothing is earned twice, and each entry goes on from the one before."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction

from communities.services import people as places
from tests.xp.earning import NOON, Kind, award, chain, community, member, standing
from xp.models import EarnedAchievement, RoleGrant, XpEntry
from xp.services import achievements, ledger, people, roles, standings

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 30


def at_once(works: Sequence[Callable[[], Any]]) -> list[Any]:
    """Each in a thread and with a connection of its own, all begun together; what they gave."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(run, works))


def holds(of: Any) -> bool:
    """Whether the balances are the sums so far, and the standing the last of them."""
    changes, balances = zip(*chain(of), strict=True)
    return list(balances) == list(accumulate(changes)) and standing(of).xp_total == balances[-1]


def test_awards_and_deductions_of_thirty_add_up() -> None:
    ann = member()
    award(ann, 10_000)
    amounts = [n if n % 3 else -n for n in range(1, THREADS + 1)]

    def work(amount: int) -> list[int]:
        return [award(ann, amount).delta for _ in range(3)]

    told = at_once([partial(work, amount) for amount in amounts])

    total = 10_000 + 3 * sum(amounts)
    assert told == [[amount] * 3 for amount in amounts]
    assert holds(ann)
    assert len(chain(ann)) == 1 + 3 * THREADS
    assert standings.of_member(member_id=ann.pk, at=NOON) == standings.Totals(total, total, 0)


def test_the_first_xp_of_a_member_may_come_thirty_times_at_once() -> None:
    ann = member()

    at_once([lambda: award(ann, 10)] * THREADS)

    assert holds(ann)
    assert standing(ann).xp_total == 10 * THREADS


def test_deductions_at_once_never_take_more_than_there_is() -> None:
    ann = member()
    award(ann, 100)

    taken = at_once([lambda: award(ann, -7).delta] * THREADS)

    assert sorted(taken) == [-7] * 14 + [-2] + [0] * 15
    assert holds(ann)


def test_awards_in_transactions_that_go_on_wait_for_each_other() -> None:
    ann = member()
    award(ann, 50)

    def work(amount: int, is_undone: bool) -> None:
        with transaction.atomic():
            award(ann, amount)
            ledger.participate(member_id=ann.pk, community_id=ann.community_id)
            award(ann, -amount // 2)
            transaction.set_rollback(is_undone)

    at_once([partial(work, 2 * n, n % 2 == 0) for n in range(THREADS)])

    assert holds(ann)
    assert standing(ann).xp_total == 50 + sum(n for n in range(THREADS) if n % 2)
    assert standing(ann).participation == THREADS // 2


def test_a_reset_among_awards_leaves_what_came_after_it() -> None:
    ann = member()
    award(ann, 1_000)

    def reset() -> XpEntry | None:
        return ledger.reset(member_id=ann.pk, community_id=ann.community_id, actor_id=ann.user_id, at=NOON)

    at_once([reset, *[lambda: award(ann, 10)] * 9])

    entries = list(XpEntry.objects.filter(member=ann).order_by("id"))
    place = next(n for n, entry in enumerate(entries) if entry.source_kind == Kind.RESET)
    assert holds(ann)
    assert entries[place].balance_after == 0
    assert standing(ann).xp_total == 10 * (len(entries) - place - 1)


def test_an_erasure_among_awards_deletes_all_or_leaves_only_later_ones() -> None:
    ann = member()
    award(ann, 1_000)

    def erase() -> None:
        with transaction.atomic():
            places.lock(community_id=ann.community_id, member_id=ann.pk)
            people.erase(member_id=ann.pk)

    at_once([erase, *[lambda: award(ann, 10)] * 9])

    if chain(ann):
        assert chain(ann)[0] == (10, 10)
        assert holds(ann)


def test_an_achievement_granted_by_many_at_once_is_earned_once() -> None:
    ann = member()

    def work() -> bool:
        return achievements.grant(
            member_id=ann.pk, number=4, name="Fourth", image_url=None, project_id=None, at=NOON
        )

    told = at_once([work] * 8)

    assert sorted(told) == [False] * 7 + [True]
    assert EarnedAchievement.objects.count() == 1


def test_many_define_at_once_and_get_numbers_of_their_own() -> None:
    made = community()

    numbers = at_once([lambda: achievements.define(community_id=made.pk, name="New")] * 8)

    assert sorted(numbers) == list(range(1, 9))


def test_a_role_granted_by_many_at_once_waits_once() -> None:
    ann = member()

    def work() -> None:
        roles.grant(member_id=ann.pk, role_id="77", project_id=5, project_name="Evening", at=NOON)

    at_once([work] * 8)

    assert RoleGrant.objects.count() == 1
