"""Counting many responses keeps no thread from votes, and is not done twice for the same answers."""

import threading
from contextlib import contextmanager

import pytest
from cachetools import LRUCache, TTLCache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from communities.ground.errors import InvalidRequest, Unavailable
from communities.ground.statements import Part
from surveys.models import Project
from surveys.services.counting import counts as counting
from surveys.services.counting import crossing as crossing_counts
from surveys.services.counting import large
from surveys.services.ground import selecting
from surveys.services.results import cache, crossing, figures, participation
from surveys.services.results.figures import Selection
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.results import OPEN_WEB, converse, results
from tests.support.surveys.scenario import CHOICE

ASKED = {"type": "single_punch", "prompt": "?", "options": [{"value": "red"}, {"value": "green"}]}
WEB = Selection(provider="web")


@pytest.fixture(autouse=True)
def three_are_many(monkeypatch):
    monkeypatch.setattr(large, "LARGE", 3)
    monkeypatch.setattr(large, "_slots", threading.BoundedSemaphore(large.AT_ONCE))
    monkeypatch.setattr(large, "_stopped", TTLCache(large.MAX_STOPPED, large.SECONDS_STOPPED))
    monkeypatch.setattr(large, "_kept", LRUCache(large.MAX_BYTES, getsizeof=large._size))


@pytest.fixture
def passes(monkeypatch):
    """How often packed answers were counted."""
    seen = []
    packed = counting.packed_batches

    def noted(where, values, *field):
        seen.append(where)
        return packed(where, values, *field)

    monkeypatch.setattr(counting, "packed_batches", noted)
    return seen


def made_of(votes):
    made = scenario.project(CHOICE, CHOICE)
    vote(made, votes)
    return made


def vote(made, times=1):
    for _ in range(times):
        scenario.say(scenario.begin(made), 0, 1)


@contextmanager
def in_a_thread(work):
    """Run a function in a thread beside the block, with a connection of its own."""

    def run():
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@pytest.mark.django_db(transaction=True)
def test_while_many_are_counted_other_counts_are_refused_and_votes_and_few_are_not(monkeypatch):
    admin = Caller("admin")
    made, few = (admin.make_open(ASKED, delivery=OPEN_WEB) for _ in range(2))
    for _ in range(3):
        converse(admin, made, ["red"])
    path = f"/projects/{made['id']}/analysis/results"
    packed, counts, goes_on = counting.packed_batches, threading.Event(), threading.Event()

    def slowly(where, values, *field):
        if threading.current_thread() is not threading.main_thread():
            counts.set()
            assert goes_on.wait(30)
        return packed(where, values, *field)

    monkeypatch.setattr(counting, "packed_batches", slowly)
    told = []
    with in_a_thread(lambda: told.append(admin.get(f"{path}?provider=web"))):
        try:
            assert counts.wait(30)
            refused = [admin.get(f"{path}?status=completed&provider=web") for _ in range(7)]
            converse(admin, made, ["green"])
            small = results(admin, few, "?status=completed")
        finally:
            goes_on.set()

    assert {(each.status_code, each["Retry-After"], each.json()["error"]) for each in refused} == {
        (503, str(large.RETRY_AFTER), "unavailable")
    }
    assert told[0].json()["conversation_count"] == 3  # all of one moment, before the fourth
    assert small["conversation_count"] == 0
    assert results(admin, made, "?provider=web")["conversation_count"] == 4


@pytest.mark.django_db
def test_what_was_counted_is_counted_again_only_after_a_change(passes):
    made = made_of(3)
    other = scenario.script(made).blocks[1].id

    for _ in range(2):
        assert figures.count(project=made, selection=WEB).conversation_count == 3
        segments = figures.count(project=made, selection=WEB, segment_by=other).segments or ()
        assert [each["count"] for each in segments] == [0, 3]
        assert figures.count(project=made, segment_by=other).blocks[0]["segments"][1]["response_count"] == 3
    assert len(passes) == 3

    begun = scenario.begin(made)  # changes where people left, though no answer
    assert figures.count(project=made, selection=WEB).blocks[0]["drop_off"]["left"] == 1
    assert len(passes) == 3
    scenario.say(begun, 1)
    assert figures.count(project=made, selection=WEB).conversation_count == 4
    made.revision += 1
    made.save(update_fields=["revision"])
    assert figures.count(project=made, selection=WEB).conversation_count == 4
    assert len(passes) == 5


@pytest.mark.django_db
def test_few_responses_are_counted_each_time_and_nothing_is_kept(passes):
    made = made_of(2)

    figures.count(project=made, selection=WEB)
    figures.count(project=made, selection=WEB)

    assert len(passes) == 2
    assert not large._kept


@pytest.mark.django_db
def test_what_is_kept_is_bounded_by_its_size(monkeypatch):
    made = made_of(3)
    figures.count(project=made, selection=WEB)
    one = large._kept.currsize
    monkeypatch.setattr(large, "_stopped", TTLCache(large.MAX_STOPPED, large.SECONDS_STOPPED))
    monkeypatch.setattr(large, "_kept", LRUCache(int(2.5 * one), getsizeof=large._size))

    for selection in (WEB, Selection(covers="completed"), Selection(covers="completed", provider="web")):
        figures.count(project=made, selection=selection)
    assert len(large._kept) == 2

    figures.count(project=made, segment_by=scenario.script(made).blocks[0].id)
    assert large._kept.currsize <= 2.5 * one


@pytest.mark.django_db
def test_the_values_of_filters_count_towards_the_size():
    made, long = made_of(3), Selection(fields=(("campaign", "x" * 500),))
    figures.count(project=made, selection=WEB)
    short = large._kept.currsize

    large.keep((made.pk, long), next(iter(large._kept.values())).counted)

    assert large._kept.currsize - short > short + 499


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_a_turn_has_no_transaction_and_takes_what_another_counted(passes, monkeypatch):
    made, in_transaction = made_of(3), []

    class Turns:
        def acquire(self, *, timeout):
            in_transaction.append(connection.in_atomic_block)
            if len(in_transaction) == 1:  # while this one waits, another counts the same
                figures.count(project=made, selection=WEB, max_wait=None)
            return True

        def release(self):
            pass

    monkeypatch.setattr(large, "_slots", Turns())
    assert figures.count(project=made, selection=WEB, max_wait=None).conversation_count == 3

    assert in_transaction == [False, False]
    assert len(passes) == 1


@pytest.mark.django_db
def test_a_worker_waits_for_its_turn():
    made = made_of(3)
    with large.counting_slot(max_wait=0):
        with pytest.raises(Unavailable):
            figures.count(project=made)
        threading.Timer(0.05, large._slots.release).start()
        assert figures.count(project=made, max_wait=None).conversation_count == 3
        large._slots.acquire()


@pytest.mark.django_db
def test_shared_results_wait_for_some_seconds_and_show_what_they_have(client, monkeypatch):
    monkeypatch.setattr(large, "SECONDS_FOR_SHOWN", 0.01)
    never_shown, shown = made_of(3), made_of(3)
    for made in (never_shown, shown):
        Project.objects.filter(pk=made.pk).update(share_results=True)
        made.refresh_from_db()
    assert "3 responses" in client.get(f"/r/{shown.results_token}").content.decode()
    scenario.say(scenario.begin(shown), 1)

    with large.counting_slot(max_wait=0):
        stale = client.get(f"/r/{shown.results_token}")
        refused = client.get(f"/r/{never_shown.results_token}")
        as_json = client.get(f"/r/{never_shown.results_token}", headers={"Accept": "application/json"})

    assert "3 responses" in stale.content.decode()
    assert [each.status_code for each in (refused, as_json)] == [503, 503]
    assert refused["Retry-After"] == as_json["Retry-After"] == str(large.RETRY_AFTER)
    assert "try again in a few seconds" in refused.content.decode()
    assert "4 responses" in client.get(f"/r/{shown.results_token}").content.decode()


@pytest.mark.django_db
def test_a_cross_table_is_counted_once_for_the_same_answers():
    """Rule 6.325."""
    made = made_of(4)
    first, second = (block.id for block in scenario.script(made).blocks)

    def count():
        return crossing.count(project=made, rows=first, columns=second)

    counted = count()
    with CaptureQueriesContext(connection) as captured:
        again = count()
    vote(made)
    later = count()

    assert not [each for each in captured if "row_mark" in each["sql"]]
    assert (counted.count, again.cells, later.count) == (4, counted.cells, 5)


SEVERAL = {**CHOICE, "type": "multi_punch"}


@pytest.mark.django_db
def test_the_work_of_a_count_decides_whether_it_takes_a_slot(monkeypatch):
    """Rule 11.123."""
    monkeypatch.setattr(large, "LARGE", 1_000)
    made = scenario.project(SEVERAL, SEVERAL)
    vote(made, 2)
    rows, columns = (block.id for block in scenario.script(made).blocks)
    counts = (
        lambda: crossing.count(project=made, rows=rows, columns=columns),
        lambda: figures.count(project=made, segment_by=rows),
    )

    with large.counting_slot(max_wait=0):
        for count in counts:
            count()
        monkeypatch.setattr(large, "MUCH_ADDED", 3)
        for count in counts:
            with pytest.raises(Unavailable):
                count()
        assert figures.count(project=made).conversation_count == 2


@pytest.mark.django_db
def test_a_count_that_takes_too_long_is_stopped_and_not_begun_again(monkeypatch):
    """Rule 11.124."""
    made = made_of(3)
    rows, columns = (block.id for block in scenario.script(made).blocks)
    counts = {
        "columns": lambda: crossing.count(project=made, rows=rows, columns=columns),
        "segment_by": lambda: figures.count(project=made, segment_by=rows),
    }
    begun, packed = [], counting.packed_batches

    def slowly(where, values, *_):
        begun.append(where)
        return packed(where, values, ("pg_sleep(5)::text", []))

    monkeypatch.setattr(large, "MOST_SECONDS", 0.05)
    for module in (counting, crossing_counts):
        monkeypatch.setattr(module, "packed_batches", slowly)

    for parameter, count in counts.items():
        for _ in range(3):
            with pytest.raises(InvalidRequest, match="takes too long") as refused:
                count()
            assert [each["field"] for each in refused.value.violations] == [parameter]

    assert len(begun) == 2
    assert figures.count(project=made).conversation_count == 3
    vote(made)
    with pytest.raises(InvalidRequest):
        counts["columns"]()
    assert len(begun) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("many", [3, 50_000])
def test_an_expression_that_takes_too_long_is_stopped_everywhere_and_not_begun_again(
    monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """Rules 6.279 and 11.132: the time holds for all statements of a count together, also where the count
    was expected to be short.
    """
    monkeypatch.setattr(large, "LARGE", many)
    made = made_of(3)
    boss = Caller(community=made.community)
    chosen = Selection(where='Q0 = "red"')
    slow: Part = "pg_sleep(0.04) IS NOT NULL", []
    monkeypatch.setattr(selecting, "MOST_SECONDS", 0.06)
    monkeypatch.setattr(counting, "CONVERSATIONS_AT_ONCE", 1)
    monkeypatch.setattr(selecting._Compiler, "condition", lambda *_: slow)

    for _ in range(2):
        with pytest.raises(Unavailable, match="takes too long") as refused:
            figures.count(project=made, selection=chosen)
        assert refused.value.retry_after == large.SECONDS_STOPPED
        with pytest.raises(Unavailable):
            participation.read(actor=boss.actor, project=made, selection=chosen, at=timezone.now())
    assert figures.count(project=made).conversation_count == 3


@pytest.mark.django_db
def test_a_thread_waits_some_seconds_for_the_count_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.132."""
    made = made_of(3)
    monkeypatch.setattr(large, "SECONDS_FOR_SHOWN", 0.01)

    with cache._lock_of(made.pk), pytest.raises(Unavailable):
        cache.counted(project=made, at=timezone.now())

    assert cache.counted(project=made, at=timezone.now()).figures.conversation_count == 3
