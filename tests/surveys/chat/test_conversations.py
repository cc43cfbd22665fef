"""Surveys in chat, as somebody in the server answers them."""

import pytest

from surveys.models import Answer, Conversation
from tests.support.chat.agent import labels_of, text_of

pytestmark = pytest.mark.django_db

GAME = {
    "name": "game",
    "type": "single_punch",
    "prompt": "What do you play?",
    "required": True,
    "options": [{"value": "Blitz"}, {"value": "Long games"}],
}


def stored():
    return [
        (answer.block.name, answer.value)
        for answer in Answer.objects.select_related("block").order_by("block__position", "ordinal")
    ]


def test_a_survey_is_answered_in_one_message_that_changes(chat):
    chat.open(
        GAME,
        {"name": "minutes", "type": "open_numeric", "prompt": "How many minutes?", "min": 1, "max": 15},
        {"name": "again", "type": "nps", "prompt": "You like [game]. Bring a friend?"},
    )
    marit = chat.agent()

    marit.press("Answer", message=chat.message())
    first = marit.screen["id"]
    assert "What do you play?" in marit.text
    assert "Question 1 of 3" in marit.text
    assert marit.labels == ["Blitz", "Long games"]

    marit.press("Blitz")
    assert "How many minutes?" in marit.text
    marit.press("Enter a number")
    marit.write("12")
    assert "You like Blitz. Bring a friend?" in marit.text
    assert marit.labels[:11] == [str(n) for n in range(11)]

    marit.press("9")
    assert marit.screen["id"] == first
    assert "Thank you" in marit.text
    conversation = Conversation.objects.get()
    assert (conversation.provider, conversation.platform_id) == ("chat", marit.person.id)
    assert conversation.completed_at is not None
    assert stored() == [("game", "Blitz"), ("minutes", "12"), ("again", "9")]


def test_the_response_has_the_language_of_the_persons_client(chat):
    """Rule 6.400."""
    chat.open(GAME)
    marit = chat.agent()
    marit.locale = "pt-BR"

    marit.press("Answer", message=chat.message())

    assert Conversation.objects.get().state["language"] == "pt"


def test_the_invitation_says_what_it_is_and_closes(chat):
    project = chat.open(GAME, invitation={"message": "Tell us!", "footer": "Chess Club"})

    assert labels_of(chat.message()) == ["Answer"]
    assert "Tell us!" in text_of(chat.message())
    assert "1 question" in text_of(chat.message())
    chat.close(project)
    assert labels_of(chat.message()) == []
    assert "closed" in text_of(chat.message())
    assert len(chat.channel.messages) == 1


def test_a_number_that_does_not_fit_is_explained_and_what_was_typed_is_kept(chat):
    chat.open({"name": "minutes", "type": "open_numeric", "prompt": "Minutes?", "min": 1, "max": 15})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.press("Enter a number")
    marit.write("ninety")
    assert "This is not a number. Please write it with digits, for example 12.50." in marit.text
    marit.press("Change answer")
    assert marit.window["components"][-1]["component"]["value"] == "ninety"
    marit.write("99")
    assert "at most 15" in marit.text
    marit.press("Change answer")
    marit.write("15")
    assert stored() == [("minutes", "15")]


def test_several_options_are_ticked_and_sent(chat):
    chat.open(
        {
            "name": "days",
            "type": "multi_punch",
            "prompt": "When?",
            "min": 2,
            "max": 2,
            "options": [{"value": day} for day in ("Mon", "Tue", "Wed")],
        }
    )
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    assert marit.button("Submit (0)")["disabled"]
    marit.press("Wed")
    marit.press("Mon")
    assert marit.labels[:3] == ["✓ Mon", "Tue", "✓ Wed"]
    marit.press("Tue")
    assert "Choose at most 2" in marit.text
    marit.press("✓ Wed")
    marit.press("Tue")
    marit.press("Submit (2)")
    assert stored() == [("days", "Mon"), ("days", "Tue")]


def test_twenty_items_are_ranked_one_by_one(chat):
    items = [f"Item {n}" for n in range(1, 21)]
    chat.open(
        {
            "name": "order",
            "type": "ranking",
            "prompt": "Order these.",
            "required": True,
            "options": [{"value": item} for item in items],
        }
    )
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.press("Item 20")
    marit.press("Undo")
    for item in reversed(items):
        marit.press_button(next(b for b in _buttons(marit) if b.get("label") == item))
    marit.press("Submit")
    assert [value for _, value in stored()] == [str(n) for n in range(1, 21)]
    answers = Answer.objects.select_related("option").order_by("ordinal")
    assert [answer.option and answer.option.value for answer in answers] == list(reversed(items))


def _buttons(agent):
    return [part for row in agent.screen["components"] for part in row["components"]]


def test_a_graded_answer_stays_and_is_shown(chat):
    feedback = {"correct_answer_index": 1, "when_correct": "Yes!", "when_incorrect": "Long games."}
    why = {"name": "why", "type": "open_text", "prompt": "Why?"}
    chat.open({**GAME, **feedback}, why, scoring_enabled=True)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("Blitz")
    assert "Long games." in marit.text

    marit.press("Back")

    assert "Your answer stays" in marit.text
    assert marit.labels == ["Continue"]
    marit.press("Continue")
    assert "Why?" in marit.text
    assert stored() == [("game", "Blitz")]


def test_a_ranking_is_chosen_and_never_filled_in(chat):
    options = [{"value": each} for each in "abc"]
    chat.open({"type": "ranking", "prompt": "Your order?", "options": options, "required": True})
    marit = chat.agent()

    marit.press("Answer", message=chat.message())

    assert "choose number 1 of 3" in marit.text
    assert "Submit" not in marit.labels


def test_a_number_is_read_as_its_writers_language_has_it(chat):
    chat.open({"name": "minutes", "type": "open_numeric", "prompt": "How many minutes?"})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())
    marit.press("Enter a number")

    marit.write("12,500")

    assert stored() == [("minutes", "12500")]


def test_a_full_project_refuses_the_end_and_marks_the_response(chat):
    """Rule 6.290."""
    chat.open({**GAME, "name": "first"}, GAME, settings={"max_completes": 1})
    marit, ola = chat.agent(), chat.agent()
    for each in (marit, ola):
        each.press("Answer", message=chat.message())
        each.press("Blitz")
    marit.press("Blitz")

    ola.press("Blitz")

    assert "kept as an unfinished response" in ola.text
    assert Conversation.objects.get(completed_at=None).outcome == "full"
