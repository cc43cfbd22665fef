from datetime import timedelta

import pytest

from communities.ground.errors import Conflict, InvalidRequest
from surveys.models import Conversation
from surveys.services.conversations import admission, moves, removal
from surveys.services.conversations import service as conversations
from tests.support.moments import LUNCHTIME
from tests.support.refusals import refused
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING

pytestmark = pytest.mark.django_db


def vote(made, who, place, **more):
    question = next(block for block in scenario.script(made).blocks if block.asks)
    return conversations.vote(
        project_id=made.pk,
        respondent=admission.external(external_id=who) if who else admission.NAMELESS,
        raw={"block_id": question.id, "option_id": question.options[place].id, **more},
        at=LUNCHTIME,
    )


def test_a_vote_completes():
    made = scenario.poll()

    told = scenario.say(scenario.begin(made, "ann"), 1)

    assert (told.is_completed, told.step, told.thank_you) == (True, None, "Thank you.")
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}


@pytest.mark.parametrize("sent", [{"skip": True}, {"value": ""}, {"option_ids": []}])
def test_the_question_of_a_poll_is_never_skipped(sent):
    made = scenario.project({"type": "multi_punch", "options": ["a", "b"], "required": False}, type="poll")
    told = scenario.begin(made, "ann")

    with pytest.raises(InvalidRequest) as refusal:
        moves.answer(
            conversation_id=told.conversation.pk, raw={"block_id": told.step.block.id, **sent}, at=LUNCHTIME
        )

    assert told.step.block.required is True
    assert [violation["code"] for violation in refusal.value.violations] == ["required"]
    assert scenario.counts(made) == {"answered": 0, "completed": 0, "listed": 0}


def test_words_after_the_question_are_shown_when_the_vote_is_counted():
    made = scenario.project(
        {**SAYING, "prompt": "Welcome."}, CHOICE, {**SAYING, "prompt": "You chose [Q1]."}, type="poll"
    )

    told = scenario.say(scenario.go_on(scenario.begin(made, "ann")), 1)
    assert (told.is_completed, told.thank_you) == (True, None)
    assert (told.step.block.prompt, told.step.can_go_back) == ("You chose green.", False)
    made.status = "inactive"
    made.save()
    told = scenario.go_on(told)

    assert (told.step, told.thank_you) == (None, "Thank you.")
    assert scenario.counts(made) == {"answered": 1, "completed": 1, "listed": 1}


def test_without_change_a_vote_stands():
    made = scenario.poll(max_completes_per_user=1)
    told = scenario.say(scenario.begin(made, "ann"), 1)

    refused(Conflict, scenario.back, told)
    refused(Conflict, scenario.begin, made, "ann")
    refused(Conflict, removal.retract, conversation_id=told.conversation.pk, at=LUNCHTIME)


class TestWhereVotesMayBeChanged:
    @pytest.fixture
    def made(self):
        return scenario.poll(change_poll=True)

    def test_beginning_again_gives_the_completed_conversation_and_back_reopens_it(self, made):
        first = scenario.say(scenario.begin(made, "ann"), 1)

        again = scenario.begin(made, "ann")
        assert (again.resumed, again.is_completed, again.step) == (True, True, None)
        assert again.conversation.pk == first.conversation.pk
        opened = scenario.back(again)
        assert opened.step.reply == {"option_ids": [opened.step.block.options[1].id]}
        assert scenario.stored(opened) == [("q0", 0, "green")]

        changed = scenario.say(opened, 0, at=LUNCHTIME + timedelta(minutes=1))

        assert scenario.stored(changed) == [("q0", 0, "red")]
        assert (changed.step, changed.thank_you) == (None, "Thank you.")
        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}
        )
        assert scenario.completions(made) == [1]
        assert changed.conversation.completed_at == LUNCHTIME

    def test_from_the_end_back_leads_to_the_vote_past_the_words_after_it(self):
        made = scenario.project(CHOICE, SAYING, SAYING, type="poll", change_poll=True)
        told = scenario.go_on(scenario.say(scenario.begin(made, "ann"), 1))
        assert scenario.back(told).step.block.name == "q1"
        told = scenario.go_on(scenario.go_on(told))
        assert told.step is None

        assert scenario.back(told).step.block.name == "q0"

    def test_after_closing_a_vote_stands(self, made):
        told = scenario.say(scenario.begin(made, "ann"), 1)
        made.status = "inactive"
        made.save()

        refused(Conflict, scenario.back, told)
        refused(Conflict, removal.retract, conversation_id=told.conversation.pk, at=LUNCHTIME)

    def test_a_vote_taken_back_leaves_every_count_and_may_be_cast_anew(self, made):
        told = scenario.say(scenario.begin(made, "ann"), 1)

        removal.retract(conversation_id=told.conversation.pk, at=LUNCHTIME)

        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 0, "completed": 0, "listed": 0}
        )
        assert scenario.completions(made) == [0]
        again = scenario.say(scenario.begin(made, "ann"), 0)
        assert again.conversation.session_number == 2

    def test_a_vote_cannot_be_changed_to_none(self, made):
        told = scenario.back(scenario.say(scenario.begin(made, "ann"), 1))

        refused(InvalidRequest, scenario.say, told, None)

        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}
        )

    def test_new_words_do_not_reopen_a_vote(self, made):
        scenario.say(scenario.begin(made, "ann"), 1)
        made.revision = 1
        made.save()

        assert scenario.begin(made, "ann").step is None


class TestAVoteInOneRequest:
    def test_it_begins_and_answers(self):
        made = scenario.project(SAYING, CHOICE, type="poll")

        told = vote(made, "ann", 1)

        assert (told.is_completed, told.step) == (True, None)
        assert scenario.stored(told) == [("q1", 0, "green")]
        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}
        )

    def test_it_goes_on_with_a_conversation_that_was_begun(self):
        made = scenario.project(SAYING, CHOICE, type="poll")
        begun = scenario.begin(made, "ann")

        told = vote(made, "ann", 1)

        assert told.conversation.pk == begun.conversation.pk
        assert told.is_completed

    def test_it_changes_a_vote_where_that_is_allowed(self):
        made = scenario.project(CHOICE, SAYING, type="poll", change_poll=True)
        first = scenario.go_on(vote(made, "ann", 1))

        told = vote(made, "ann", 0)

        assert told.conversation.pk == first.conversation.pk
        assert scenario.stored(told) == [("q0", 0, "red")]
        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 1, "listed": 1}
        )

    def test_it_obeys_the_limit_and_leaves_nothing_when_refused(self):
        made = scenario.poll(max_completes_per_user=1)
        vote(made, "ann", 1)

        refused(Conflict, vote, made, "ann", 0)
        refused(InvalidRequest, vote, made, "bob", 0, value="red")
        refused(Conflict, vote, made, "bob", 0, block_id=-1)

        assert Conversation.objects.count() == 1
        vote(made, None, 0)
        vote(made, None, 0)
        assert (
            scenario.counts(made) == scenario.recounted(made) == {"answered": 3, "completed": 3, "listed": 3}
        )

    def test_it_takes_few_statements(self):
        made = scenario.poll(max_completes_per_user=1)
        scenario.begin(made, "ann")
        scenario.script(made)

        with scenario.at_most(6):  # one of them the script, which is kept after a commit
            vote(made, None, 1)
