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


def test_the_title_of_a_group_stands_above_each_question(chat):
    """Rule 6.137."""
    row = {"type": "rating", "prompt": "Soup?", "max": 3, "group": "The *food*"}
    marit = begun(chat, {"name": "Soup", **row}, {"name": "Cake", **row, "prompt": "Cake?"})

    assert "-# The \\*food\\* · 1 of 2\nSoup?" in marit.text
    marit.press("2")
    assert "-# The \\*food\\* · 2 of 2\nCake?" in marit.text


def test_markdown_has_the_marks_of_the_platform(chat):
    """Rule 6.135."""
    text = {
        "type": "open_text",
        "prompt": "__Name__ in snake__case__, *please*?",
        "description": "__Or__ not.",
    }
    marit = begun(
        chat, {"name": "Name", **text}, {"name": "Bye", "type": "content_block", "prompt": "__Hi__ [Name]."}
    )

    assert "**Name** in snake__case__, *please*?\n\n**Or** not." in marit.text
    marit.press("✏️")
    assert "**Name**" in str(marit.window)
    marit.write("__A__")

    assert "**Hi** \\_\\_A\\_\\_." in marit.text
