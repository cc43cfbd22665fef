"""Shared results are counted rarely, however many people read them."""

from datetime import timedelta

import pytest
from cachetools import LRUCache

from surveys.drawing.figures import aggregate
from surveys.services.results import cache, figures
from surveys.services.results import shared as shared_results
from tests.support.caller import Caller
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(cache, "_cached", LRUCache(cache.MAX_BYTES, getsizeof=cache._size))


@pytest.fixture
def counts(monkeypatch):
    """How often was counted."""
    seen = []
    count = figures.count

    def noted(**asked):
        seen.append(asked)
        return count(**asked)

    monkeypatch.setattr(figures, "count", noted)
    return seen


def made_of(votes, *blocks):
    made = scenario.project(*(blocks or (CHOICE,)), share_results=True)
    vote(made, votes)
    return made


def vote(made, votes=1):
    for _ in range(votes):
        scenario.say(scenario.begin(made), 1)


def look(made, *, after=0.0):
    return shared_results.read(project=made, at=LUNCHTIME + timedelta(seconds=after))


def test_nothing_is_counted_again_while_nothing_changes(counts):
    made = made_of(3)

    for after in (0, 5, 3600):
        assert look(made, after=after).conversation_count == 3

    assert len(counts) == 1


def test_a_look_at_what_is_kept_takes_one_statement(django_assert_num_queries):
    made = made_of(3)
    look(made)

    with django_assert_num_queries(1):
        look(made)


def test_many_responses_are_counted_once_in_a_while(monkeypatch):
    monkeypatch.setattr(cache, "RESPONSES_PER_CACHED_SECOND", 1)
    made = made_of(3)
    look(made)
    vote(made)

    assert look(made, after=2.9).conversation_count == 3
    assert look(made, after=3).conversation_count == 4


def test_a_script_that_is_written_anew_is_counted_at_once(monkeypatch, counts):
    monkeypatch.setattr(cache, "RESPONSES_PER_CACHED_SECOND", 1)
    made = made_of(3)
    look(made)

    made.revision += 1
    made.save(update_fields=["revision"])
    look(made)

    assert len(counts) == 2


def test_while_one_counts_the_others_see_what_was_counted_before(monkeypatch):
    made = made_of(3)
    look(made)
    vote(made)
    seen = []
    count = figures.count

    def slowly(**asked):
        seen.append(look(made, after=9).conversation_count)
        return count(**asked)

    monkeypatch.setattr(figures, "count", slowly)

    assert look(made, after=9).conversation_count == 4
    assert seen == [3]


def test_a_count_that_fails_does_not_stay_away(monkeypatch):
    made = made_of(3)
    with monkeypatch.context() as broken:
        broken.setattr(figures, "count", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            look(made)

    assert look(made).conversation_count == 3


def kept(kind="figures"):
    return [project_id for of, project_id in cache._cached if of == kind]


def test_what_is_kept_is_bounded_by_its_size(monkeypatch, counts):
    projects = [made_of(1) for _ in range(3)]
    look(projects[0])
    one = cache._cached.currsize
    monkeypatch.setattr(cache, "_cached", LRUCache(2 * one + 100, getsizeof=cache._size))

    for made in projects:
        look(made)

    assert kept() == [made.pk for made in projects[1:]]
    monkeypatch.setattr(cache, "_cached", LRUCache(one // 2, getsizeof=cache._size))
    assert look(projects[0]).conversation_count == 1  # larger than all that may be kept
    assert kept() == []


def test_a_project_made_private_is_shown_less_though_it_was_counted_before():
    made = made_of(3)
    assert look(made).blocks[0]["distribution"]

    made.privacy_mode = "anonymous"
    made.save(update_fields=["privacy_mode"])

    assert look(made).blocks[0]["distribution"] is None


def test_texts_ask_for_an_analysis_and_other_questions_do_not(django_assert_num_queries):
    made = scenario.project(TEXT, share_results=True)
    look(made)

    with django_assert_num_queries(2):
        look(made)


BRANCH = {**CHOICE, "precondition": 'Q0 = "red"'}


@pytest.mark.parametrize(("people", "shown"), [(4, None), (5, 5)])
def test_questions_behind_conditions_need_five_answers(people, shown):
    """Rule 1.153."""
    made = scenario.project(CHOICE, BRANCH, privacy_mode="semi-private", share_results=True)
    for _ in range(people):
        scenario.say(scenario.begin(made), 1, 0)
    scenario.say(scenario.begin(made), 0)
    admin = Caller("admin", community=made.community)
    path = f"/projects/{made.pk}/analysis/results"

    own, told = (each.get(path).json() for each in (admin, admin.beside("creator")))
    page = look(made)

    assert [block["response_count"] for block in own["blocks"]] == [people + 1, people]
    for blocks in (told["blocks"], page.blocks):
        assert [block["response_count"] for block in blocks] == [people + 1, shown]
        assert (blocks[1]["distribution"] is None) == (shown is None)
    assert told["response_count"] == people + 1 + (shown or 0)
    html = admin.client.get(f"/r/{made.results_token}").content.decode()
    assert ("Too few answers to show yet." in html) == (shown is None)
    totals = aggregate.read(made, actor=admin.beside("creator").actor, at=LUNCHTIME)
    assert [bool(each.card.notice) for each in totals.cards] == [False, shown is None]
