from datetime import timedelta

import pytest
from cachetools import FIFOCache

from surveys.models import Project
from surveys.services.results import poll as poll_results
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def three_are_many(monkeypatch):
    monkeypatch.setattr(poll_results, "MANY_VOTERS", 3)


def poll_of(votes):
    made = scenario.poll()
    vote(made, votes)
    return made, scenario.script(made).blocks[0]


def vote(made, votes):
    for _ in range(votes):
        scenario.say(scenario.begin(made), 1)


def counted(block, *, after=0.0):
    project = Project.objects.get(blocks=block.id)
    return poll_results.count(project=project, block=block, at=LUNCHTIME + timedelta(seconds=after))


def voters(block, *, after=0.0):
    return counted(block, after=after).voters


def test_few_votes_are_counted_for_every_look():
    made, block = poll_of(1)

    assert voters(block) == 1
    vote(made, 1)
    assert voters(block) == 2


def test_many_votes_are_counted_every_other_second():
    made, block = poll_of(3)

    assert voters(block) == 3
    vote(made, 1)
    assert voters(block, after=1.9) == 3
    assert voters(block, after=2) == 4
    vote(made, 1)
    assert voters(block, after=3.9) == 4
    assert voters(block, after=4) == 5


def test_while_one_counts_the_others_see_what_was_counted_before(monkeypatch, django_assert_num_queries):
    _, block = poll_of(3)
    before = counted(block)
    seen = []
    count = poll_results._count

    def slowly(block):
        seen.append(counted(block, after=5))
        return count(block)

    monkeypatch.setattr(poll_results, "_count", slowly)
    with django_assert_num_queries(3):  # two of them look the project up
        voters(block, after=5)

    assert seen == [before]


def test_a_count_that_fails_does_not_stay_away(monkeypatch):
    _, block = poll_of(3)
    voters(block)
    with monkeypatch.context() as broken:
        broken.setattr(poll_results, "_count", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            voters(block, after=2)

    assert voters(block, after=4) == 3


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(poll_results, "_cache", FIFOCache(2))
    blocks = [poll_of(3)[1] for _ in range(3)]

    for block in blocks:
        voters(block)

    assert list(poll_results._cache) == [blocks[1].id, blocks[2].id]
