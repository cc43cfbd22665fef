"""Windows in which a text in a format, or a whole number, is written."""

import pytest

pytestmark = pytest.mark.django_db


def begun(chat, *blocks, **fields):
    chat.open(*blocks, **fields)
    agent = chat.agent()
    agent.press("Answer", message=chat.message())
    return agent


def field_of(agent):
    labelled = next(part for part in agent.window["components"] if "component" in part)
    return labelled["label"], labelled.get("description"), labelled["component"]


def test_the_window_says_what_is_asked_for_and_refuses_anything_else(chat):
    """Rule 6.132."""
    marit = begun(chat, {"name": "Day", "type": "open_text", "prompt": "When?", "format": "date"})
    marit.press("✏️")
    label, hint, field = field_of(marit)
    assert (label, hint) == ("Your date", "A date, such as 2026-01-31.")
    assert (field["style"], field["placeholder"]) == (1, "2026-01-31")

    marit.write("31.1.2026")
    assert "Answer with a date, such as 2026\\-01\\-31." in marit.text
    marit.press("✏️")
    marit.write("2026-01-31")

    assert "Thank you" in marit.text


def test_a_fraction_is_no_whole_number(chat):
    """Rule 6.131."""
    marit = begun(chat, {"name": "Count", "type": "open_numeric", "prompt": "How many?", "whole": True})
    marit.press("✏️")
    assert field_of(marit)[1] == "A whole number."

    marit.write("3.5")

    assert "Answer with a whole number, such as 3." in marit.text
