from datetime import timedelta

import pytest

from communities.ground.errors import Conflict, Forbidden, InvalidRequest
from communities.models import Identity
from surveys.models import Conversation, Option, Project
from surveys.services.conversations import admission, moves, repository
from surveys.services.conversations import service as conversations
from surveys.services.ground import anonymity
from tests.support.moments import LUNCHTIME
from tests.support.refusals import refused
from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db


EARLIER = LUNCHTIME - timedelta(hours=1)


def test_a_talk_from_first_to_last():
    """Rule 1.39."""
    made = scenario.project(
        {**SAYING, "section": "intro", "prompt": "Hello."},
        {**CHOICE, "name": "Colour"},
        {**TEXT, "name": "Why", "prompt": "Why [Colour]?"},
        thanks="Thanks for [Why].",
    )

    told = scenario.begin(made)
    steps = [told.step]
    for move in (
        scenario.go_on,
        lambda told: scenario.say(told, 1),
        lambda told: scenario.say(told, "It glows"),
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
    assert scenario.stored(told) == [("Colour", 0, "green"), ("Why", 0, "It glows")]
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 2, "completed": 1, "listed": 1}
    assert [(past.block.prompt, past.answer) for past in told.history()] == [
        ("Hello.", ""),
        ("Prompt 1.", "green"),
        ("Why green?", "It glows"),
    ]


def test_an_answer_is_saved_as_it_is_given():
    made = scenario.project(CHOICE, TEXT)

    told = scenario.say(scenario.begin(made), 0)

    assert scenario.stored(told) == [("q0", 0, "red")]
    assert scenario.counts(made) == {"answered": 1, "completed": 0, "listed": 1}
    assert (told.is_completed, told.thank_you, told.conversation.session_number) == (False, None, None)


@pytest.mark.parametrize(
    ("block", "said", "rows"),
    [
        ({"type": "multi_punch", "options": ["a", "b", "c"]}, [2, 0], [("q0", 0, "a"), ("q0", 1, "c")]),
        ({"type": "ranking", "options": ["a", "b"]}, [1, 0], [("q0", 0, "1"), ("q0", 1, "2")]),
        ({"type": "nps"}, 7, [("q0", 0, "7")]),
        ({"type": "open_numeric"}, "2.50", [("q0", 0, "2.5")]),
    ],
)
def test_every_answered_block_counts_once_however_many_rows_it_has(block, said, rows):
    """Rules 1.39 and 6.49."""
    made = scenario.project(block, TEXT)

    told = scenario.say(scenario.begin(made), said)

    assert scenario.stored(told) == rows
    assert scenario.counts(made)["answered"] == 1


def test_a_skip_stores_nothing_and_a_conversation_of_skips_is_listed_when_completed():
    made = scenario.project(TEXT, TEXT)

    told = scenario.say(scenario.begin(made), None)
    assert scenario.counts(made) == {"answered": 0, "completed": 0, "listed": 0}
    told = scenario.say(told, None)

    assert told.is_completed
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 0, "completed": 1, "listed": 1}


def test_going_back_and_changing_replaces_the_rows():
    """Rule 6.28."""
    made = scenario.project({"type": "multi_punch", "options": ["a", "b", "c"]}, TEXT)
    told = scenario.back(scenario.say(scenario.begin(made), [0, 1, 2]))
    assert told.step.reply == {"option_ids": [option.id for option in told.step.block.options]}

    told = scenario.say(told, [1])

    assert scenario.stored(told) == [("q0", 0, "b")]
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 0, "listed": 1}


def test_changing_an_answer_to_a_skip_takes_it_back():
    made = scenario.project(TEXT, TEXT)
    told = scenario.back(scenario.say(scenario.begin(made), "Hm"))

    told = scenario.say(told, None)

    assert scenario.stored(told) == []
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 0, "completed": 0, "listed": 0}


def test_answers_that_became_hidden_do_not_count_until_their_block_is_visible_again():
    made = scenario.project(CHOICE, {**TEXT, "precondition": 'Q0 = "red"'}, TEXT, TEXT)
    told = scenario.begin(made)
    for said in (1, "secret", "later"):
        told = scenario.say(told, said)
    for _ in range(3):
        told = scenario.back(told)
    all_rows = [("q0", 0, "green"), ("q1", 0, "secret"), ("q2", 0, "later")]
    assert scenario.stored(told) == all_rows

    told = scenario.say(told, 0)
    assert scenario.stored(told) == [("q0", 0, "red"), ("q2", 0, "later")]
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 2, "completed": 0, "listed": 1}
    told = scenario.say(scenario.back(told), 1)
    assert scenario.stored(told) == all_rows
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 3, "completed": 0, "listed": 1}

    told = scenario.say(scenario.back(told), 0)
    told = scenario.say(scenario.say(told, "later"), "end")

    assert scenario.stored(told) == [("q0", 0, "red"), ("q2", 0, "later"), ("q3", 0, "end")]
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 3, "completed": 1, "listed": 1}
    assert (len(told.conversation.state["answers"]), "left" in told.conversation.state) == (3, False)


def test_an_answer_comes_back_only_if_its_option_is_still_there():
    made = scenario.project(CHOICE, {**CHOICE, "precondition": 'Q0 = "red"'}, TEXT)
    told = scenario.say(scenario.say(scenario.begin(made), 1), 1)
    told = scenario.say(scenario.back(scenario.back(told)), 0)
    Option.objects.filter(block__name="q1", value="green").delete()
    Project.objects.filter(pk=made.pk).update(revision=2)

    told = scenario.say(scenario.back(told), 1)

    assert (told.step.block.name, scenario.stored(told)) == ("q1", [("q0", 0, "green")])
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 1, "completed": 0, "listed": 1}


def test_back_passes_statements_one_by_one_and_stops_at_the_first_step():
    told = scenario.begin(scenario.project(TEXT, SAYING, TEXT))
    told = scenario.go_on(scenario.say(told, "a"))

    told = scenario.back(told)
    assert told.step.block.type == "content_block"
    told = scenario.back(told)
    assert not told.step.can_go_back

    refused(Conflict, scenario.back, told)


def test_going_on_is_for_statements_and_answering_for_questions():
    told = scenario.begin(scenario.project(SAYING, TEXT))
    statement = {"block_id": told.step.block.id, "value": "x"}

    refused(Conflict, moves.answer, conversation_id=told.conversation.pk, raw=statement, at=LUNCHTIME)
    told = scenario.go_on(told)
    refused(Conflict, scenario.go_on, told)
    told = scenario.say(told, "x")
    refused(Conflict, scenario.go_on, told)
    refused(Conflict, scenario.back, told)


def test_the_answer_just_taken_may_be_sent_again_and_changes_nothing():
    made = scenario.project(CHOICE, SAYING, TEXT)
    first = scenario.begin(made)
    told = scenario.say(first, 0)
    before = Conversation.objects.values().get(pk=told.conversation.pk)

    again = scenario.say(first, 0, at=LUNCHTIME + timedelta(minutes=5))

    assert again.step == told.step
    assert Conversation.objects.values().get(pk=told.conversation.pk) == before
    refused(Conflict, scenario.say, first, 1)
    told = scenario.go_on(told)
    assert scenario.say(first, 0).step == told.step
    done = scenario.say(told, "end")
    assert scenario.say(told, "end").thank_you == done.thank_you
    refused(Conflict, scenario.say, told, "another end")
    refused(Conflict, scenario.say, first, 0)
    assert scenario.counts(made) == scenario.recounted(made) == {"answered": 2, "completed": 1, "listed": 1}


def test_the_last_answer_may_be_sent_again_after_closing():
    made = scenario.project(TEXT, TEXT)
    first = scenario.begin(made)
    told = scenario.say(first, "a")
    made.status = "inactive"
    made.save()

    assert scenario.say(first, "a").step.block == told.step.block


def test_a_bad_answer_names_the_field_and_moves_nothing():
    told = scenario.begin(scenario.project({**CHOICE, "required": True}, TEXT))
    before = Conversation.objects.values().get()
    bad = {"block_id": told.step.block.id, "option_id": 999}

    error = refused(InvalidRequest, moves.answer, conversation_id=told.conversation.pk, raw=bad, at=LUNCHTIME)

    assert error.violations == [
        {"field": "option_id", "code": "not_found", "message": "No option of this question has this id."}
    ]
    refused(InvalidRequest, scenario.say, told, None)
    assert Conversation.objects.values().get() == before


def test_options_keep_their_order_in_one_conversation():
    """Rule 3.13."""
    made = scenario.project({**CHOICE, "options": list("abcdefgh"), "randomize_options": True}, TEXT)
    told = scenario.begin(made, "x")
    seen = [option.id for option in told.step.block.options]

    again = scenario.back(scenario.say(scenario.begin(made, "x"), 3))
    others = {tuple(o.id for o in scenario.begin(made).step.block.options) for _ in range(5)}

    assert [option.id for option in again.step.block.options] == seen
    assert len(others) > 1


def test_a_graded_answer_is_told_its_words():
    """Rule 5.14."""
    made = scenario.project(
        {**CHOICE, "when_correct": "[answer] is right.", "when_incorrect": "Not [answer]."},
        TEXT,
        scoring_enabled=True,
    )
    block = scenario.script(made).blocks[0]
    made.blocks.filter(pk=block.id).update(correct_answer_ids=[block.options[1].id])
    first = scenario.begin(made)

    told = scenario.say(first, 0)

    assert told.feedback == "Not red."
    assert scenario.say(first, 0).feedback == "Not red."
    assert scenario.back(told).feedback is None
    assert scenario.say(scenario.begin(made), 1).feedback == "green is right."


class TestWhoResponds:
    def test_starting_again_resumes(self):
        made = scenario.project(TEXT, TEXT)
        first = scenario.say(scenario.begin(made, "ann"), "a")

        again = scenario.begin(made, "ann")

        assert (again.resumed, again.conversation.pk, again.step) == (True, first.conversation.pk, first.step)
        assert not scenario.begin(made, "bob").resumed
        assert not scenario.begin(made).resumed
        assert not scenario.begin(made).resumed

    def test_a_member_is_told_by_their_identity_and_called_by_name(self):
        made = scenario.project({**TEXT, "prompt": "Hi [UserName]!"}, participation="private")
        member = scenario.member("Ann", chat_id="4711")

        told = conversations.begin(
            project_id=made.pk,
            respondent=admission.member(community_id=1, member_id=str(member.pk)),
            at=LUNCHTIME,
        )

        row = told.conversation
        assert (row.user_id, row.platform_id, row.provider) == (member.user_id, "4711", "chat")
        assert told.step is not None
        assert told.step.block.prompt == "Hi Ann!"
        assert scenario.say(told, "x").history()[0].block.prompt == "Hi Ann!"

    @pytest.mark.parametrize("member_id", ["0", "999999", "-1", "x", "", "9" * 30, "1.5"])
    def test_an_unknown_member_is_refused_by_name_of_the_field(self, member_id):
        error = refused(InvalidRequest, admission.member, community_id=1, member_id=member_id)

        assert [(v["field"], v["code"]) for v in error.violations] == [("member_id", "not_found")]

    def test_a_member_of_another_community_or_one_who_left_is_unknown(self):
        scenario.community(1)
        other, gone = scenario.member(number=2), scenario.member()
        gone.left_at = LUNCHTIME
        gone.save()

        for member in (other, gone):
            refused(InvalidRequest, admission.member, community_id=1, member_id=str(member.pk))

    def test_an_external_id_is_one_person_in_one_community(self):
        first, second = scenario.project(TEXT), scenario.project(TEXT)

        told = [scenario.begin(made, "crm-7").conversation for made in (first, second)]

        assert told[0].user_id == told[1].user_id is not None
        assert (told[0].platform_id, told[0].provider) == ("crm-7", "web")
        assert told[0].respondent != told[1].respondent
        assert Identity.objects.count() == 1

    def test_a_private_project_lets_members_alone_in(self):
        made = scenario.project(TEXT, participation="private")

        refused(Forbidden, scenario.begin, made)
        refused(Forbidden, scenario.begin, made, "crm-7")
        assert Identity.objects.count() == 0

    @pytest.mark.parametrize("wanted", [{"required_role_ids": ["1"]}, {"verified_source_ids": [1]}])
    def test_what_cannot_be_checked_lets_nobody_in(self, wanted):
        made = scenario.project(TEXT, delivery={"audience": wanted})

        refused(Forbidden, scenario.begin, made)


class TestWhenItIsOpen:
    @pytest.mark.parametrize(
        "fields",
        [
            {"status": "inactive"},
            {"status": "inactive", "opens_at": LUNCHTIME + timedelta(seconds=1)},
            {"closes_at": LUNCHTIME},
            {"closes_at": LUNCHTIME - timedelta(seconds=1)},
        ],
    )
    def test_nobody_begins_while_it_is_not_open(self, fields):
        """Rule 6.6."""
        made = scenario.project(TEXT, participation="private", **fields)

        refused(Conflict, scenario.begin, made)

    @pytest.mark.parametrize(
        ("fields", "state"),
        [
            ({"status": "inactive", "opened_at": None}, "not open yet"),
            ({"status": "inactive", "opens_at": LUNCHTIME + timedelta(seconds=1)}, "not open yet"),
            (
                {"status": "inactive", "opened_at": None, "opens_at": EARLIER, "closes_at": LUNCHTIME},
                "closed",
            ),
            ({"status": "inactive"}, "closed"),
        ],
    )
    def test_the_refusal_calls_closed_only_what_was_open(self, fields, state):
        refusal = refused(Conflict, scenario.begin, scenario.project(TEXT, **fields))

        assert f"This project is {state}" in refusal.message

    @pytest.mark.parametrize(
        "fields",
        [{"status": "inactive", "opens_at": LUNCHTIME}, {"closes_at": LUNCHTIME + timedelta(seconds=1)}],
    )
    def test_the_moment_decides_not_the_scheduler(self, fields):
        assert scenario.begin(scenario.project(TEXT, **fields)).step is not None

    def test_an_answer_after_closing_is_refused_and_what_was_saved_stays(self):
        """Rule 6.27."""
        made = scenario.project(TEXT, TEXT, closes_at=LUNCHTIME + timedelta(minutes=1))
        told = scenario.say(scenario.begin(made), "in time")
        late = LUNCHTIME + timedelta(minutes=1)

        refused(Conflict, scenario.say, told, "late", at=late)
        refused(Conflict, scenario.back, told, at=late)

        assert scenario.stored(told) == [("q0", 0, "in time")]
        assert scenario.counts(made) == {"answered": 1, "completed": 0, "listed": 1}

    def test_a_statement_at_the_end_does_not_complete_after_closing(self):
        made = scenario.project(TEXT, SAYING)
        told = scenario.say(scenario.begin(made), "a")
        made.status = "inactive"
        made.save()

        refused(Conflict, scenario.go_on, told)


def test_a_script_written_anew_is_taken_up_where_it_stands():
    made = scenario.project(TEXT, TEXT, TEXT)
    told = scenario.say(scenario.begin(made, "ann"), "a", "b")
    made.blocks.get(name="q1").delete()
    made.revision = 1
    made.save()

    again = scenario.begin(made, "ann")
    assert again.step.block.name == "q2"
    done = scenario.say(again, "c")

    assert done.is_completed
    assert [name for name, _, _ in scenario.stored(told)] == ["q0", "q2"]


@pytest.mark.parametrize("is_over", [False, True])
def test_who_only_reads_may_see_the_project_as_it_was_and_the_script_as_it_is_now(monkeypatch, is_over):
    made = scenario.project(TEXT, TEXT, TEXT)
    told = scenario.say(scenario.begin(made, "ann"), *("abc" if is_over else "ab"))
    read_before = repository.find(conversation_id=told.conversation.pk)
    made.blocks.get(name="q1").delete()
    Project.objects.filter(pk=made.pk).update(revision=1)
    monkeypatch.setattr(repository, "find", lambda **_: read_before)

    again = conversations.get(conversation_id=told.conversation.pk, at=LUNCHTIME)

    assert [exchange.block.name for exchange in again.history()] == ["q0", "q2"][: 2 if is_over else 1]
    assert (again.step and again.step.block.name) == (None if is_over else "q2")
    assert again.project.revision == 1


def test_what_is_over_stays_over_where_the_script_has_a_question_more():
    made = scenario.project(TEXT, TEXT)
    told = scenario.say(scenario.begin(made, "ann"), "a", "b")
    made.blocks.filter(name="q1").delete()
    scenario.write(made, {**TEXT, "name": "more", "position": 5})
    made.revision = 1
    made.save()

    again = conversations.get(conversation_id=told.conversation.pk, at=LUNCHTIME)

    assert (again.is_completed, again.step, again.thanks and again.thanks.prompt) == (
        True,
        None,
        "Thank you.",
    )


def test_a_changed_privacy_stops_conversations_begun_before():
    made = scenario.project(TEXT, TEXT)
    told = scenario.begin(made, "ann")
    made.privacy_mode = "anonymous"
    made.save()

    refused(Conflict, scenario.say, told, "x")
    assert anonymity.is_anonymous(scenario.begin(made, "ann").conversation.pk)
