"""Nobody's answer is told by what a results page shows before and after it."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from redis.exceptions import RedisError

from surveys.services import responses, shared_results
from tests.surveys import talking
from tests.surveys.talking import CHOICE, NOON, TEXT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


@pytest.fixture(autouse=True)
def _counted_at_every_change(monkeypatch):
    monkeypatch.setattr(shared_results, "RESPONSES_PER_SECOND_KEPT", 10**9)


def made_of(responses, *blocks, **fields):
    made = talking.project(
        *(blocks or (CHOICE,)), **{"share_results": True, "privacy_mode": "anonymous", **fields}
    )
    respond(made, responses)
    return made


def respond(made, times=1):
    for _ in range(times):
        talking.say(talking.begin(made), 1)


def look(made, *, after=0):
    return shared_results.read(project=made, at=NOON + timedelta(seconds=after))


def shown(made):
    return look(made).conversation_count


def test_what_is_shown_goes_on_by_five_responses_at_least():
    made = made_of(5)
    seen = []

    for _ in range(11):
        seen.append(shown(made))
        respond(made)

    assert seen == [5] * 5 + [10] * 5 + [15]


def test_it_tells_when_it_was_counted():
    made = made_of(5)
    look(made)
    respond(made)

    assert look(made, after=60).counted_at.replace(microsecond=0) == NOON.replace(microsecond=0)


def test_another_process_shows_the_same(monkeypatch):
    made = made_of(5)
    look(made)
    respond(made, 3)

    monkeypatch.setattr(shared_results, "_shelves", type(shared_results._shelves)())

    assert shown(made) == 5


def test_while_one_process_goes_on_another_shows_what_stands():
    made = made_of(5)
    look(made)
    respond(made, 5)
    cache.add(f"shared-results:{made.results_token}:{made.revision}:5", 1)

    assert shown(made) == 5


def test_a_response_that_was_deleted_is_gone_at_once():
    made = made_of(7)
    assert shown(made) == 7

    conversation = made.conversations.first()
    responses.delete(response_id=conversation.pk, may=lambda _: None, at=NOON)

    assert shown(made) == 6


def test_a_closed_project_shows_all():
    made = made_of(5)
    look(made)
    respond(made, 2)

    made.status = "inactive"

    assert shown(made) == 7


def test_a_transparent_project_shows_each_response():
    made = made_of(5, privacy_mode="transparent")
    look(made)
    respond(made)

    assert shown(made) == 6


def test_too_few_are_counted_as_they_come_and_nothing_is_kept():
    made = made_of(3)

    assert shown(made) == 3
    respond(made)
    assert shown(made) == 4
    assert cache.get(f"shared-results:{made.results_token}:{made.revision}") is None


def test_without_redis_the_page_shows_what_is_counted(monkeypatch):
    made = made_of(6)

    def is_away(*_):
        raise RedisError

    monkeypatch.setattr("surveys.services.result_steps.cache.get", is_away)

    assert shown(made) == 6


def test_what_stands_is_the_same_as_what_was_counted():
    made = made_of(5, CHOICE, TEXT)
    first = look(made)
    respond(made)

    assert look(made).blocks == first.blocks
