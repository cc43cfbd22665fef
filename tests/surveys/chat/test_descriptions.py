"""Descriptions in messages and windows of the chat platform."""

import pytest

pytestmark = pytest.mark.django_db

BELOW = {"description": "**Below**, [Name]."}


def begun(chat, *blocks, **fields):
    chat.open(*blocks, **fields)
    agent = chat.agent()
    agent.press("Answer", message=chat.message())
    return agent


def test_a_description_stands_below_the_prompt_in_messages_and_windows(chat):
    """Rule 6.130."""
    marit = begun(
        chat,
        {"name": "Name", "type": "open_text", "prompt": "Name?"},
        {"name": "Why", "type": "open_text", "prompt": "Why?", **BELOW},
        {"name": "Bye", "type": "content_block", "prompt": "Bye.", **BELOW},
    )
    marit.press("✏️")
    marit.write("*A*")

    assert "Why?\n\n**Below**, \\*A\\*." in marit.text
    marit.press("✏️")
    assert "**Below**" in str(marit.window)
    marit.write("So.")
    assert "Bye.\n\n**Below**, \\*A\\*." in marit.text
