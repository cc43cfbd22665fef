"""Further questions about short answers, in chat (rule 10.68)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from communities.ground.privacy_words import AI_ASKS
from communities.models import ChatTask
from surveys.models import Answer, Block, Conversation, Project
from surveys.services.conversations import further, moves, unsent_answers
from surveys.services.conversations import service as conversations
from tests.support.ai.loopback import Loopback
from tests.support.chat.agent import text_of
from tests.support.surveys.follow_ups import CHANGE, COLOUR, asks, leave, model, run_out, write

pytestmark = pytest.mark.django_db

QUESTION = "What about the *evenings* would you like to be different?"


@pytest.fixture
def anthropic(settings: Any) -> Iterator[Loopback]:
    with model(settings) as loopback:
        loopback.queue(asks(QUESTION))
        yield loopback


@pytest.fixture
def marit(chat: Any, anthropic: Loopback) -> Any:
    """Somebody who has answered shortly."""
    chat.community.bot_credits = 1
    chat.community.save()
    chat.open(CHANGE | {"follow_ups": 1}, COLOUR)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    for text in (text_of(chat.message()), marit.text):
        assert "who answered what. An AI may ask a further question about what you write" in text
    marit.press("Write answer")
    assert AI_ASKS in str(marit.window)
    marit.write("The evenings")
    return marit


def pass_time(chat: Any) -> None:
    """Run the tasks that are due after the pause of a timed text."""
    ChatTask.objects.filter(kind="surveys.advance_in_chat", due_at__isnull=False).update(
        due_at=timezone.now()
    )
    chat.work()


def stored() -> Any:
    return Conversation.objects.get().state.get("follow_ups")


def test_the_message_becomes_the_question_by_itself(chat: Any, marit: Any) -> None:
    while_written = marit.text
    pass_time(chat)
    still_written = marit.text
    write(Conversation.objects.get().pk)
    pass_time(chat)

    assert "One moment, please." in while_written
    assert "One moment, please." in still_written
    assert "-# Asked by an AI" in marit.text
    assert r"What about the \*evenings\* would you like" in marit.text
    assert marit.labels == ["Write answer", "Back", "Skip"]
    marit.press("Write answer")
    assert "value" not in marit.window["components"][-1]["component"]
    assert AI_ASKS not in str(marit.window)
    marit.write("They end late")
    assert "Which colour?" in marit.text
    assert "An AI" not in marit.text
    assert list(stored().values()) == [[{"question": QUESTION, "answer": "They end late"}]]


def test_the_window_says_that_an_ai_asks_if_that_was_not_so_at_the_start(
    chat: Any, anthropic: Loopback
) -> None:
    """Rule 7.971."""
    chat.open(CHANGE | {"follow_ups": None}, COLOUR)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    assert "An AI" not in marit.text
    chat.community.bot_credits = 1
    chat.community.save()
    Block.objects.filter(type="open_text").update(follow_ups=1)
    Project.objects.update(revision=F("revision") + 1)

    marit.press("Write answer")
    assert AI_ASKS in str(marit.window)


def test_the_button_leads_to_the_question_too_and_it_can_be_skipped(marit: Any) -> None:
    marit.press("Go on")
    assert "One moment, please." in marit.text
    write(Conversation.objects.get().pk)
    marit.press("Go on")
    assert "would you like to be different?" in marit.text
    marit.press("Skip")

    assert "Which colour?" in marit.text
    assert list(stored().values()) == [[{"question": QUESTION, "answer": None}]]


def test_the_talk_goes_on_by_itself_once_the_time_is_over(chat: Any, marit: Any) -> None:
    run_out(Conversation.objects.get().pk)
    pass_time(chat)

    assert "Which colour?" in marit.text
    assert stored() is None


def test_a_step_back_leads_to_the_answer_which_may_stay(marit: Any) -> None:
    marit.press("Back")
    marit.press("Change answer")
    marit.write("The evenings")
    still_written = marit.text
    write(Conversation.objects.get().pk)
    marit.press("Go on")

    assert "One moment, please." in still_written
    assert "would you like to be different?" in marit.text


def test_a_window_from_before_answers_no_further_question(marit: Any) -> None:
    marit.press("Back")
    marit.press("Change answer")
    earlier = marit.window
    marit.write("The mornings")  # no more is asked than the script allows
    marit.window = earlier
    marit.write("Blue")

    assert "Which colour?" in marit.text
    assert [*Answer.objects.values_list("value", flat=True)] == ["The mornings"]


def test_a_window_of_the_question_itself_answers_no_further_one(marit: Any) -> None:
    conversation = Conversation.objects.get()
    write(conversation.pk)
    marit.press("Go on")
    marit.press("Write answer")
    further = marit.window
    marit.write("They end late")
    marit.press("Back")
    marit.window = further
    marit.write("Blue")

    assert "What should we change?" in marit.text
    assert [*Answer.objects.values_list("value", flat=True)] == ["The evenings"]


def test_a_question_is_asked_again_about_the_same_answer_and_answered_in_its_words(marit: Any) -> None:
    write(Conversation.objects.get().pk)
    marit.press("Go on")
    marit.press("Back")
    marit.press("Change answer")
    marit.write("The evenings")
    again = marit.text
    marit.press("Write answer")
    marit.write("The evenings")

    assert "would you like to be different?" in again
    assert "Which colour?" in marit.text
    assert list(stored().values()) == [[{"question": QUESTION, "answer": "The evenings"}]]


def test_a_message_that_was_left_shows_the_end(chat: Any, anthropic: Loopback) -> None:
    chat.community.bot_credits = 1
    chat.community.save()
    chat.open(COLOUR, CHANGE)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    for text in ("Blue", "The evenings"):
        marit.press("Write answer")
        marit.write(text)
    conversation = Conversation.objects.get()
    write(conversation.pk)
    marit.press("Go on")
    leave(conversation.pk)
    further.skip_left(at=timezone.now())
    marit.press("Skip")

    assert "Thank you" in marit.text
    assert "would you like to be different?" not in marit.text
    assert list(stored().values()) == [[{"question": QUESTION, "answer": None}]]


def test_a_text_that_was_not_taken_stays_with_its_question(
    chat: Any, marit: Any, anthropic: Loopback
) -> None:
    conversation = Conversation.objects.get()
    block_id = conversation.state["further"]["block_id"]

    def keep(text: str) -> int:
        """The place among the steps at which a text is kept."""
        place = conversations.get(conversation_id=conversation.pk, at=timezone.now()).state.place
        unsent_answers.keep_text(conversation_id=conversation.pk, block_id=block_id, text=text, step=place)
        return place

    def kept() -> str:
        return unsent_answers.of(conversations.get(conversation_id=conversation.pk, at=timezone.now())).text

    marit.press("Back")
    at_question = keep("Of the question")
    moves.answer(
        conversation_id=conversation.pk,
        raw={"block_id": block_id, "value": "The evenings"},
        at=timezone.now(),
    )
    write(conversation.pk)
    moves.go_on(conversation_id=conversation.pk, at=timezone.now())
    texts = [kept()]
    keep("Of the further one")
    unsent_answers.keep_text(
        conversation_id=conversation.pk, block_id=block_id, text="Late", step=at_question
    )
    texts.append(kept())
    moves.back(conversation_id=conversation.pk, at=timezone.now())
    texts.append(kept())

    assert texts == ["", "Of the further one", "The evenings"]
