"""Consent in chat (rule 6.170): a button comes before the first question, and before a vote."""

from __future__ import annotations

from typing import Any

import pytest

from surveys.chat import moves
from surveys.models import Conversation, Project
from tests.support.chat.agent import text_of
from tests.support.surveys.participants import QUESTION

pytestmark = pytest.mark.django_db
AGREED = "I agree that you store this."


def consents() -> list[Any]:
    return [each["state"].get("consent", {}).get("text") for each in Conversation.objects.values("state")]


def test_a_survey_in_chat_begins_with_a_button_to_agree(chat: Any) -> None:
    chat.open({**QUESTION, "name": "colour"}, settings={"consent": AGREED})
    marit = chat.agent("Marit")

    marit.press("Answer", message=chat.message())
    assert AGREED in marit.text
    assert marit.labels == ["I agree"]
    assert consents() == []
    marit.press("I agree")

    assert "Which?" in marit.text
    assert consents() == [AGREED]


def test_a_vote_in_chat_comes_after_the_agreement(chat: Any) -> None:
    chat.open({**QUESTION, "name": "colour"}, type="poll", settings={"consent": AGREED})
    marit = chat.agent("Marit")

    marit.press("red", message=chat.message())
    assert marit.labels == ["I agree"]
    marit.press("I agree")
    marit.press("red")

    assert "You voted **red**" in marit.text
    assert consents() == [AGREED]
    assert AGREED not in text_of(chat.message())


def test_a_button_for_another_text_shows_the_new_one(chat: Any) -> None:
    chat.open({**QUESTION, "name": "colour"}, settings={"consent": AGREED})
    marit = chat.agent("Marit")
    marit.press("Answer", message=chat.message())
    Project.objects.update(consent="I agree to everything.")

    marit.press("I agree")

    assert "I agree to everything." in marit.text
    assert consents() == []


@pytest.mark.parametrize("before", [AGREED, ""])
def test_a_text_that_is_changed_during_a_click_is_asked_for(
    chat: Any, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """Rule 6.170."""
    chat.open({**QUESTION, "name": "colour"}, settings={"consent": before or None})
    marit = chat.agent("Marit")
    has_to_agree = moves._has_to_agree

    def changed(*given: Any) -> bool:
        has_to = has_to_agree(*given)
        Project.objects.update(consent="I agree to everything.")
        return has_to

    if before:
        marit.press("Answer", message=chat.message())
    monkeypatch.setattr(moves, "_has_to_agree", changed)
    if before:
        marit.press("I agree")
    else:
        marit.press("Answer", message=chat.message())
    asked = (marit.labels, "I agree to everything." in marit.text, consents())
    marit.press("I agree")

    assert asked == (["I agree"], True, [])
    assert consents() == ["I agree to everything."]
