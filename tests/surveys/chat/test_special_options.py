"""Options that are more than a text, in chat."""

import pytest

from surveys.models import Answer, Conversation

pytestmark = pytest.mark.django_db

PUBLIC = {"poll_results_mode": "public", "change_poll": True}
GAMES = {
    "name": "games",
    "type": "multi_punch",
    "prompt": "Which do you play?",
    "required": True,
    "options": [{"value": "Chess"}, {"value": "Go"}, {"value": "None", "is_exclusive": True}],
}


def chosen():
    return list(Answer.objects.order_by("ordinal").values_list("value", flat=True))


def test_an_exclusive_option_takes_the_others_out(chat):
    """Rule 6.150."""
    chat.open({**GAMES, "min": 2})
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.press("Chess")
    assert marit.button("Submit (1)")["disabled"]
    marit.press("None")
    assert marit.labels[:3] == ["Chess", "Go", "✓ None"]
    assert not marit.button("Submit (1)").get("disabled")
    marit.press("Go")
    assert marit.labels[:3] == ["Chess", "✓ Go", "None"]
    marit.press("None")
    marit.press("Submit (1)")

    assert chosen() == ["None"]


def test_a_menu_takes_an_exclusive_option_alone(chat):
    chat.open({**GAMES, "min": 2}, type="poll", settings=PUBLIC)
    marit = chat.agent()

    marit.choose("Chess", "None", message=chat.message())
    assert "“None” cannot be chosen together with others." in marit.text
    assert chosen() == []
    marit.choose("None", message=chat.message())

    assert chosen() == ["None"]


OTHER = {"value": "Other", "is_other": True}
PICK = {**GAMES, "type": "single_punch", "options": [{"value": "Chess"}, OTHER]}
TOLD = {"name": "told", "type": "content_block", "prompt": "You play [games]."}


def texts():
    return [
        each["text"] for one in Conversation.objects.all() for each in one.state.get("other", {}).values()
    ]


@pytest.mark.parametrize("style", [None, "select_menu"])
def test_a_window_asks_for_the_text_of_an_option(chat, style):
    """Rule 6.154."""
    chat.open({**PICK, "answer_style": style}, TOLD)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.choose("Other") if style else marit.press("Other")
    assert chosen() == []
    marit.write("*Go*")

    assert (chosen(), texts()) == (["Other"], ["*Go*"])
    assert "You play \\*Go\\*." in marit.text


def test_an_option_is_ticked_with_its_text_among_others(chat):
    chat.open({**GAMES, "options": [{"value": "Chess"}, {"value": "Go"}, OTHER], "max": 2}, TOLD)
    marit = chat.agent()
    marit.press("Answer", message=chat.message())

    marit.press("Chess")
    marit.press("Other")
    marit.write("Mahjong")
    assert marit.labels[:3] == ["✓ Chess", "Go", "✓ Other"]
    assert "> Mahjong" in marit.text
    marit.press("✓ Chess")
    marit.press("Submit (1)")

    assert (chosen(), texts()) == (["Other"], ["Mahjong"])


def test_a_vote_with_a_text_is_given_and_changed(chat):
    chat.open(PICK, type="poll", settings=PUBLIC)
    marit = chat.agent()

    marit.press("Other", message=chat.message())
    assert chosen() == []
    marit.write("Mahjong")
    assert "You voted **Mahjong**" in marit.text
    marit.press("Change my vote")
    marit.press("Other")
    marit.write("Shogi")

    assert (chosen(), texts()) == (["Other"], ["Shogi"])
