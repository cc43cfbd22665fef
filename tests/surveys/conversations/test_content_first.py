"""The message about an answer while the conversation stands at a text."""

from __future__ import annotations

import pytest

from tests.support.caller import SAYING, TEXT, Caller
from tests.support.surveys.participants import Talk

pytestmark = pytest.mark.django_db


def test_an_answer_before_a_text_was_passed_is_told_to_continue() -> None:
    """Rule 6.257."""
    caller = Caller()
    made = caller.make_open(
        {**SAYING, "name": "welcome"}, TEXT, delivery={"audience": {"participation": "open_web"}}
    )
    question = caller.get(f"/projects/{made['id']}/script").json()["blocks"][1]["id"]
    talk = Talk(caller, made)

    too_early = caller.post(f"{talk.path}/answers", {"block_id": question, "value": "x"})
    to_the_text = caller.post(f"{talk.path}/answers", {"block_id": talk.block["id"], "value": "x"})

    assert (too_early.status_code, to_the_text.status_code) == (409, 409)
    assert (
        "It stands at `welcome`, which takes no answer: send `continue` first." in too_early.json()["message"]
    )
    assert to_the_text.json()["message"] == "The current block takes no answer: send `continue`."
