"""Who reads the answers, said in chat before the first one (rules 7.111 and 7.820)."""

from __future__ import annotations

from typing import Any

import pytest

from communities.models import CommunitySettings
from surveys.models import Conversation, Project
from tests.support.chat.agent import text_of
from tests.support.surveys.participants import QUESTION

pytestmark = pytest.mark.django_db
ADDRESS = "https://example.com/privacy"
LINK = f"[How this community handles data]({ADDRESS})"
HIDDEN = {"embed_config": {"rows": {"privacy": False}}}
BEHIND_A_BUTTON = {"embed_config": {"info_display": "button"}}


def asks_where(chat: Any) -> None:
    CommunitySettings.objects.update_or_create(community=chat.community, defaults={"privacy_url": ADDRESS})


def test_the_first_question_says_how_answers_are_handled(chat: Any) -> None:
    asks_where(chat)
    chat.open(QUESTION, QUESTION, settings={"keep_responses_days": 1})
    marit = chat.agent("Marit")

    marit.press("Answer", message=chat.message())
    assert "can see who answered what. Answers are deleted after 1 day." in marit.text
    assert LINK in marit.text
    marit.press("red")

    assert LINK not in marit.text


@pytest.mark.parametrize("invitation", [HIDDEN, BEHIND_A_BUTTON])
def test_the_line_cannot_be_switched_off_where_a_vote_is_cast(chat: Any, invitation: Any) -> None:
    asks_where(chat)
    chat.open(QUESTION, type="poll", invitation=invitation, settings={"keep_responses_days": 30})

    text = text_of(chat.message())

    assert "Everybody in the community can see who answered what. Answers are deleted after 30 days." in text
    assert LINK in text


@pytest.mark.parametrize("change", [{"privacy_mode": "transparent"}, {"keep_responses_days": None}])
def test_a_message_that_told_of_another_privacy_takes_no_vote(chat: Any, change: Any) -> None:
    """Rules 7.820, 7.920."""
    own = {**QUESTION, "options": [{"value": "red"}, {"value": "other", "is_other": True}]}
    chat.open(own, type="poll", settings={"privacy_mode": "anonymous", "keep_responses_days": 30})
    marit, message = chat.agent("Marit"), chat.message()
    Project.objects.update(**change)

    marit.press("red", message=message)
    assert "What was said about your answers has changed" in marit.text
    marit.press("other", message=message)
    marit.write("blue")
    assert "What was said about your answers has changed" in marit.text
    assert not Conversation.objects.exists()
    chat.work()
    marit.press("red", message=chat.message())
    assert Conversation.objects.count() == 1
