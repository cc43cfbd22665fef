"""Options that are more than a text, in chat."""

import pytest

from surveys.models import Answer

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
