"""The rows that an anonymous answer in chat writes, at each step (rules 7.10 and 7.11)."""

import pytest

from tests.support.storage import OF_ANSWERS, OF_EVENTS, OF_SCRIPTS, joined, naming, stored_rows
from tests.support.surveys.participants import QUESTION, giving
from xp.models import Standing

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_step_writes_about_a_person_who_is_known(chat):
    blocks = (QUESTION, giving(xp_amount=5), {**QUESTION, "prompt": "And then?"})
    chat.open(*blocks, rewards={"use_xp": True}, settings={"privacy_mode": "anonymous"})
    marit = chat.agent("Marit Onymous")
    marit.command("me", chat.channel)
    words = (marit.person.id, "Marit Onymous")
    before = naming(stored_rows(), words)
    assert before

    marit.press("Answer", message=chat.message())
    for label in ("red", "Okay", "red"):
        marit.press(label)
        rows = stored_rows()
        assert naming(rows, words) == before
        assert set(joined(rows, answers=OF_ANSWERS)) <= OF_SCRIPTS | OF_EVENTS

    assert "within about an hour" in marit.text
    assert not Standing.objects.exists()
