"""Limits and locks, with several threads. The tests count the rows of the database.

Rule 6.9.
"""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from communities.ground.errors import Conflict, NotFound, Refusal
from surveys.models import Conversation, Project
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.projects import removal
from surveys.services.responses import service as responses
from tests.support.actors import superuser_actor
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.scenario import SAYING, TEXT

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*moves):
    """Run the moves in threads that begin together. Returns their results, or their refusals."""
    barrier = Barrier(len(moves))

    def run(move):
        try:
            barrier.wait()
            return move()
        except Refusal as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(moves)) as threads:
        return list(threads.map(run, moves))


def test_parallel_beginnings_of_one_respondent_give_one_conversation():
    made = scenario.project(TEXT, TEXT)
    scenario.begin(made, "ann")
    Conversation.objects.all().delete()

    told = at_once(*[lambda: scenario.begin(made, "ann")] * 8)

    assert len({each.conversation.pk for each in told}) == 1
    assert sorted(each.resumed for each in told) == [False] + [True] * 7
    assert Conversation.objects.count() == 1


def test_one_answer_sent_twice_at_once_is_taken_once():
    made = scenario.project(TEXT, TEXT)
    first = scenario.begin(made)

    told = at_once(*[lambda: scenario.say(first, "a")] * 4)

    assert {each.step.block.name for each in told} == {"q1"}
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 0, "listed": 1}


def test_of_two_answers_at_once_one_is_taken_and_one_refused():
    made = scenario.project(TEXT, TEXT)
    first = scenario.begin(made)

    told = at_once(lambda: scenario.say(first, "a"), lambda: scenario.say(first, "b"))

    assert sorted(isinstance(each, Conflict) for each in told) == [False, True]
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 0, "listed": 1}


@pytest.mark.parametrize("most", [1, 3])
def test_ten_anonymous_devices_of_one_person_do_not_exceed_the_limit(most):
    made = scenario.project(TEXT, TEXT, privacy_mode="anonymous")
    begun = [scenario.say(scenario.begin(made, "ann"), "a") for _ in range(10)]
    Project.objects.update(max_completes_per_user=most)

    told = at_once(*[lambda each=each: scenario.say(each, "b") for each in begun])

    assert sum(isinstance(each, Conflict) for each in told) == 10 - most
    assert scenario.completions(made) == [1] * most
    assert scenario.counts(made) == scenario.recounted(made)
    assert scenario.counts(made) == {"answered": 10 + most, "completed": most, "listed": 10}


@pytest.mark.parametrize("most", [1, 3])
def test_ten_devices_of_one_member_do_not_exceed_the_limit(most):
    made = scenario.project(TEXT, TEXT, max_completes_per_user=most)
    person = admission.member(community_id=1, member_id=str(scenario.member().pk))

    def again_and_again():
        for _ in range(most + 1):
            told = conversations.begin(project_id=made.pk, respondent=person, at=LUNCHTIME)
            while told.step is not None:
                told = scenario.say(told, "a")

    told = at_once(*[again_and_again] * 10)

    assert all(isinstance(each, Conflict) for each in told)
    while scenario.completions(made) != [most]:
        again_and_again_until_the_limit(made, person)
    assert scenario.counts(made) == scenario.recounted(made)
    done = Conversation.objects.filter(completed_at__isnull=False)
    assert list(done.order_by("session_number").values_list("session_number", flat=True)) == list(
        range(1, most + 1)
    )


def again_and_again_until_the_limit(made, person):
    told = conversations.begin(project_id=made.pk, respondent=person, at=LUNCHTIME)
    while told.step is not None:
        told = scenario.say(told, "a")


def test_votes_of_one_person_at_once_count_once_where_they_may_be_changed():
    made = scenario.poll(change_poll=True)
    question = scenario.script(made).blocks[0]
    raw = {"block_id": question.id, "option_id": question.options[0].id}

    at_once(
        *[
            lambda: conversations.vote(
                project_id=made.pk, respondent=admission.external(external_id="ann"), raw=raw, at=LUNCHTIME
            )
        ]
        * 6
    )

    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}


def test_strangers_voting_at_once_are_all_counted():
    made = scenario.poll()
    question = scenario.script(made).blocks[0]
    raw = {"block_id": question.id, "option_id": question.options[0].id}

    at_once(
        *[
            lambda n=n: conversations.vote(
                project_id=made.pk, respondent=admission.external(external_id=f"p{n}"), raw=raw, at=LUNCHTIME
            )
            for n in range(10)
        ]
    )

    assert (
        scenario.counts(made) == scenario.recounted(made) == {"answered": 10, "completed": 10, "listed": 10}
    )


def test_deleting_a_project_and_answering_it_at_once_harm_neither():
    for _ in range(5):
        made = scenario.project(TEXT, TEXT, SAYING)
        begun = [scenario.begin(made) for _ in range(4)]

        told = at_once(
            lambda made=made: _close_and_delete(made),
            lambda made=made: scenario.begin(made),
            *[lambda each=each: scenario.say(each, "a", "b") for each in begun],
        )

        refused = [each for each in told if isinstance(each, Refusal)]
        assert [each for each in refused if not isinstance(each, NotFound | Conflict)] == []
        assert not Conversation.objects.exists()


def _close_and_delete(made):
    Project.objects.filter(pk=made.pk).update(status="inactive")
    removal.delete_project(actor=superuser_actor(), project_id=made.pk, at=LUNCHTIME)


def test_a_response_deleted_while_it_is_answered():
    made = scenario.project(TEXT, TEXT)
    told = scenario.say(scenario.begin(made), "a")

    at_once(
        lambda: scenario.say(told, "b"),
        lambda: responses.delete(response_id=told.conversation.pk, actor=superuser_actor(), at=LUNCHTIME),
    )

    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 0, "completed": 0, "listed": 0}
