from datetime import timedelta

import pytest
from django.db import transaction

from communities.errors import Conflict, Forbidden, InvalidRequest, NotFound
from communities.models import Identity
from surveys.models import Conversation, Project
from surveys.services import anonymity
from surveys.services.conversations import admission, repository
from surveys.services.conversations import service as conversations
from tests.surveys import talking
from tests.surveys.talking import CHOICE, NOON, SAYING, TEXT

pytestmark = pytest.mark.django_db


def refused(error, move, *args, **kwargs):
    """The sentence with which a move is refused; what it had written is taken back, as at the door."""
    with pytest.raises(error) as caught, transaction.atomic():
        move(*args, **kwargs)
    return caught.value


def test_a_talk_from_first_to_last():
    made = talking.project(
        {**SAYING, "section": "intro", "prompt": "Hello."},
        {**CHOICE, "name": "Colour"},
        {**TEXT, "name": "Why", "prompt": "Why [Colour]?"},
        thanks="Thanks for [Why].",
    )

    told = talking.begin(made)
    steps = [told.step]
    for move in (
        talking.go_on,
        lambda told: talking.say(told, 1),
        lambda told: talking.say(told, "It glows"),
    ):
        told = move(told)
        steps.append(told.step)

    assert [step and (step.block.prompt, step.progress, step.can_go_back) for step in steps] == [
        ("Hello.", 0.0, False),
        ("Prompt 1.", 0.3333, True),
        ("Why green?", 0.6667, True),
        None,
    ]
    assert (told.is_completed, told.thank_you, told.conversation.session_number) == (
        True,
        "Thanks for It glows.",
        1,
    )
    assert talking.stored(told) == [("Colour", 0, "green"), ("Why", 0, "It glows")]
    assert talking.counts(made) == talking.recounted(made) == {"answered": 2, "completed": 1, "listed": 1}
    assert [(past.block.prompt, past.answer) for past in told.history()] == [
        ("Hello.", ""),
        ("Prompt 1.", "green"),
        ("Why green?", "It glows"),
    ]


def test_an_answer_is_saved_as_it_is_given():
    made = talking.project(CHOICE, TEXT)

    told = talking.say(talking.begin(made), 0)

    assert talking.stored(told) == [("q0", 0, "red")]
    assert talking.counts(made) == {"answered": 1, "completed": 0, "listed": 1}
    assert (told.is_completed, told.thank_you, told.conversation.session_number) == (False, None, None)


@pytest.mark.parametrize(
    ("block", "said", "rows"),
    [
        ({"type": "multi_punch", "options": ["a", "b", "c"]}, [2, 0], [("q0", 0, "a"), ("q0", 1, "c")]),
        ({"type": "ranking", "options": ["a", "b"]}, [1, 0], [("q0", 0, "1"), ("q0", 1, "2")]),
        ({"type": "nps"}, 7, [("q0", 0, "7")]),
        ({"type": "open_numeric"}, "2.50", [("q0", 0, "2.50")]),
    ],
)
def test_every_answered_block_counts_once_however_many_rows_it_has(block, said, rows):
    made = talking.project(block, TEXT)

    told = talking.say(talking.begin(made), said)

    assert talking.stored(told) == rows
    assert talking.counts(made)["answered"] == 1


def test_a_skip_stores_nothing_and_a_conversation_of_skips_is_listed_when_completed():
    made = talking.project(TEXT, TEXT)

    told = talking.say(talking.begin(made), None)
    assert talking.counts(made) == {"answered": 0, "completed": 0, "listed": 0}
    told = talking.say(told, None)

    assert told.is_completed
    assert talking.counts(made) == talking.recounted(made) == {"answered": 0, "completed": 1, "listed": 1}


def test_going_back_and_changing_replaces_the_rows():
    made = talking.project({"type": "multi_punch", "options": ["a", "b", "c"]}, TEXT)
    told = talking.back(talking.say(talking.begin(made), [0, 1, 2]))
    assert told.step.reply == {"option_ids": [option.id for option in told.step.block.options]}

    told = talking.say(told, [1])

    assert talking.stored(told) == [("q0", 0, "b")]
    assert talking.counts(made) == talking.recounted(made) == {"answered": 1, "completed": 0, "listed": 1}


def test_changing_an_answer_to_a_skip_takes_it_back():
    made = talking.project(TEXT, TEXT)
    told = talking.back(talking.say(talking.begin(made), "Hm"))

    told = talking.say(told, None)

    assert talking.stored(told) == []
    assert talking.counts(made) == talking.recounted(made) == {"answered": 0, "completed": 0, "listed": 0}


def test_answers_that_became_hidden_stay_until_completion_and_are_dropped_then():
    made = talking.project(CHOICE, {**TEXT, "precondition": 'Q0 = "red"'}, TEXT)
    told = talking.say(talking.begin(made), 1, "secret")
    told = talking.say(talking.back(talking.back(told)), 0)
    assert ("q1", 0, "secret") in talking.stored(told)

    told = talking.say(told, "end")

    assert talking.stored(told) == [("q0", 0, "red"), ("q2", 0, "end")]
    assert talking.counts(made) == talking.recounted(made) == {"answered": 2, "completed": 1, "listed": 1}
    assert len(told.conversation.state["answers"]) == 2


def test_back_passes_statements_one_by_one_and_stops_at_the_first_step():
    told = talking.begin(talking.project(TEXT, SAYING, TEXT))
    told = talking.go_on(talking.say(told, "a"))

    told = talking.back(told)
    assert told.step.block.type == "content_block"
    told = talking.back(told)
    assert not told.step.can_go_back

    refused(Conflict, talking.back, told)


def test_going_on_is_for_statements_and_answering_for_questions():
    told = talking.begin(talking.project(SAYING, TEXT))
    statement = {"block_id": told.step.block.id, "value": "x"}

    refused(Conflict, conversations.answer, conversation_id=told.conversation.pk, raw=statement, at=NOON)
    told = talking.go_on(told)
    refused(Conflict, talking.go_on, told)
    told = talking.say(told, "x")
    refused(Conflict, talking.go_on, told)
    refused(Conflict, talking.back, told)


def test_the_answer_just_taken_may_be_sent_again_and_changes_nothing():
    made = talking.project(CHOICE, SAYING, TEXT)
    first = talking.begin(made)
    told = talking.say(first, 0)
    before = Conversation.objects.values().get(pk=told.conversation.pk)

    again = talking.say(first, 0, at=NOON + timedelta(minutes=5))

    assert again.step == told.step
    assert Conversation.objects.values().get(pk=told.conversation.pk) == before
    refused(Conflict, talking.say, first, 1)
    told = talking.go_on(told)
    assert talking.say(first, 0).step == told.step
    done = talking.say(told, "end")
    assert talking.say(told, "end").thank_you == done.thank_you
    refused(Conflict, talking.say, told, "another end")
    refused(Conflict, talking.say, first, 0)
    assert talking.counts(made) == talking.recounted(made) == {"answered": 2, "completed": 1, "listed": 1}


def test_the_last_answer_may_be_sent_again_after_closing():
    made = talking.project(TEXT, TEXT)
    first = talking.begin(made)
    told = talking.say(first, "a")
    made.status = "inactive"
    made.save()

    assert talking.say(first, "a").step.block == told.step.block


def test_a_bad_answer_names_the_field_and_moves_nothing():
    told = talking.begin(talking.project({**CHOICE, "required": True}, TEXT))
    before = Conversation.objects.values().get()
    bad = {"block_id": told.step.block.id, "option_id": 999}

    error = refused(
        InvalidRequest, conversations.answer, conversation_id=told.conversation.pk, raw=bad, at=NOON
    )

    assert error.violations == [
        {"field": "option_id", "code": "not_found", "message": "No option of this question has this id."}
    ]
    refused(InvalidRequest, talking.say, told, None)
    assert Conversation.objects.values().get() == before


def test_options_keep_their_order_in_one_conversation():
    made = talking.project({**CHOICE, "options": list("abcdefgh"), "randomize_options": True}, TEXT)
    told = talking.begin(made, "x")
    seen = [option.id for option in told.step.block.options]

    again = talking.back(talking.say(talking.begin(made, "x"), 3))
    others = {tuple(o.id for o in talking.begin(made).step.block.options) for _ in range(5)}

    assert [option.id for option in again.step.block.options] == seen
    assert len(others) > 1


def test_a_graded_answer_is_told_its_words():
    made = talking.project(
        {**CHOICE, "when_correct": "[answer] is right.", "when_incorrect": "Not [answer]."},
        TEXT,
        scoring_enabled=True,
    )
    block = talking.script(made).blocks[0]
    made.blocks.filter(pk=block.id).update(correct_answer_ids=[block.options[1].id])
    first = talking.begin(made)

    told = talking.say(first, 0)

    assert told.feedback == "Not red."
    assert talking.say(first, 0).feedback == "Not red."
    assert talking.back(told).feedback is None
    assert talking.say(first, 1).feedback == "green is right."


class TestWhoResponds:
    def test_starting_again_resumes(self):
        made = talking.project(TEXT, TEXT)
        first = talking.say(talking.begin(made, "ann"), "a")

        again = talking.begin(made, "ann")

        assert (again.resumed, again.conversation.pk, again.step) == (True, first.conversation.pk, first.step)
        assert not talking.begin(made, "bob").resumed
        assert not talking.begin(made).resumed
        assert not talking.begin(made).resumed

    def test_a_member_is_told_by_their_identity_and_called_by_name(self):
        made = talking.project({**TEXT, "prompt": "Hi [UserName]!"}, participation="private")
        member = talking.member("Ann", chat_id="4711")

        told = conversations.begin(
            project_id=made.pk,
            respondent=admission.member(community_id=1, member_id=str(member.pk)),
            at=NOON,
        )

        row = told.conversation
        assert (row.user_id, row.platform_id, row.provider) == (member.user_id, "4711", "chat")
        assert told.step is not None
        assert told.step.block.prompt == "Hi Ann!"
        assert talking.say(told, "x").history()[0].block.prompt == "Hi Ann!"

    @pytest.mark.parametrize("member_id", ["0", "999999", "-1", "x", "", "9" * 30, "1.5"])
    def test_an_unknown_member_is_refused_by_name_of_the_field(self, member_id):
        error = refused(InvalidRequest, admission.member, community_id=1, member_id=member_id)

        assert [(v["field"], v["code"]) for v in error.violations] == [("member_id", "not_found")]

    def test_a_member_of_another_community_or_one_who_left_is_unknown(self):
        talking.community(1)
        other, gone = talking.member(number=2), talking.member()
        gone.left_at = NOON
        gone.save()

        for member in (other, gone):
            refused(InvalidRequest, admission.member, community_id=1, member_id=str(member.pk))

    def test_an_external_id_is_one_person_in_one_community(self):
        first, second = talking.project(TEXT), talking.project(TEXT)

        told = [talking.begin(made, "crm-7").conversation for made in (first, second)]

        assert told[0].user_id == told[1].user_id is not None
        assert (told[0].platform_id, told[0].provider) == ("crm-7", "web")
        assert told[0].respondent != told[1].respondent
        assert Identity.objects.count() == 1

    def test_a_private_project_lets_members_alone_in(self):
        made = talking.project(TEXT, participation="private")

        refused(Forbidden, talking.begin, made)
        refused(Forbidden, talking.begin, made, "crm-7")
        assert Identity.objects.count() == 0

    @pytest.mark.parametrize("wanted", [{"required_role_ids": ["1"]}, {"verified_source_ids": [1]}])
    def test_what_cannot_be_checked_lets_nobody_in(self, wanted):
        made = talking.project(TEXT, delivery={"audience": wanted})

        refused(Forbidden, talking.begin, made)


class TestWhenItIsOpen:
    @pytest.mark.parametrize(
        "fields",
        [
            {"status": "inactive"},
            {"status": "inactive", "opens_at": NOON + timedelta(seconds=1)},
            {"closes_at": NOON},
            {"closes_at": NOON - timedelta(seconds=1)},
        ],
    )
    def test_nobody_begins_while_it_is_not_open(self, fields):
        made = talking.project(TEXT, participation="private", **fields)

        refused(Conflict, talking.begin, made)

    @pytest.mark.parametrize(
        "fields", [{"status": "inactive", "opens_at": NOON}, {"closes_at": NOON + timedelta(seconds=1)}]
    )
    def test_the_moment_decides_not_the_scheduler(self, fields):
        assert talking.begin(talking.project(TEXT, **fields)).step is not None

    def test_an_answer_after_closing_is_refused_and_what_was_saved_stays(self):
        made = talking.project(TEXT, TEXT, closes_at=NOON + timedelta(minutes=1))
        told = talking.say(talking.begin(made), "in time")
        late = NOON + timedelta(minutes=1)

        refused(Conflict, talking.say, told, "late", at=late)
        refused(Conflict, talking.back, told, at=late)

        assert talking.stored(told) == [("q0", 0, "in time")]
        assert talking.counts(made) == {"answered": 1, "completed": 0, "listed": 1}

    def test_a_statement_at_the_end_does_not_complete_after_closing(self):
        made = talking.project(TEXT, SAYING)
        told = talking.say(talking.begin(made), "a")
        made.status = "inactive"
        made.save()

        refused(Conflict, talking.go_on, told)


def test_a_conversation_that_is_not_there_is_not_found():
    made = talking.project(TEXT)
    told = talking.begin(made)
    made.delete()

    refused(NotFound, talking.say, told, "x")
    refused(NotFound, talking.begin, made)


def test_a_script_written_anew_is_taken_up_where_it_stands():
    made = talking.project(TEXT, TEXT, TEXT)
    told = talking.say(talking.begin(made, "ann"), "a", "b")
    made.blocks.get(name="q1").delete()
    made.revision = 1
    made.save()

    again = talking.begin(made, "ann")
    assert again.step.block.name == "q2"
    done = talking.say(again, "c")

    assert done.is_completed
    assert [name for name, _, _ in talking.stored(told)] == ["q0", "q2"]


@pytest.mark.parametrize("is_over", [False, True])
def test_who_only_reads_may_see_the_project_as_it_was_and_the_script_as_it_is_now(monkeypatch, is_over):
    made = talking.project(TEXT, TEXT, TEXT)
    told = talking.say(talking.begin(made, "ann"), *("abc" if is_over else "ab"))
    read_before = repository.find(conversation_id=told.conversation.pk)
    made.blocks.get(name="q1").delete()
    Project.objects.filter(pk=made.pk).update(revision=1)
    monkeypatch.setattr(repository, "find", lambda **_: read_before)

    again = conversations.get(conversation_id=told.conversation.pk, at=NOON)

    assert [exchange.block.name for exchange in again.history()] == ["q0", "q2"][: 2 if is_over else 1]
    assert (again.step and again.step.block.name) == (None if is_over else "q2")
    assert again.project.revision == 1


def test_what_is_over_stays_over_where_the_script_has_a_question_more():
    made = talking.project(TEXT, TEXT)
    told = talking.say(talking.begin(made, "ann"), "a", "b")
    made.blocks.filter(name="q1").delete()
    talking.write(made, {**TEXT, "name": "more", "position": 5})
    made.revision = 1
    made.save()

    again = conversations.get(conversation_id=told.conversation.pk, at=NOON)

    assert (again.is_completed, again.step, again.thank_you) == (True, None, "Thank you.")


def test_a_project_with_nothing_to_show_is_completed_at_once():
    made = talking.project({**TEXT, "precondition": "true"})

    told = talking.begin(made, "ann")

    assert (told.step, told.is_completed, told.thank_you) == (None, True, "Thank you.")
    assert talking.counts(made) == talking.recounted(made) == {"answered": 0, "completed": 1, "listed": 1}


def test_a_changed_privacy_stops_conversations_begun_before():
    made = talking.project(TEXT, TEXT)
    told = talking.begin(made, "ann")
    made.privacy_mode = "anonymous"
    made.save()

    refused(Conflict, talking.say, told, "x")
    assert anonymity.is_anonymous(talking.begin(made, "ann").conversation.pk)
