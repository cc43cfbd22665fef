"""Markdown in authors' texts: its text alone, and values that are none (rules 6.135 and 6.136)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surveys.engine.language import markup, piping

VALUES = ["*a*", "_a_", "__a__", "- x\n- y", "1. a\n2. b", "[x](https://e.org)", "a_b\\", "x*", "\\*", "5."]
FRAMES = ["{}", "**{}**", "see\n{}\nend", "[{}](https://example.org)", "- a\n- {}"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hello, you & <b>me</b>!", "Hello, you & <b>me</b>!"),
        ("**Bold**, *it*, _it_ and __bold__", "Bold, it, it and bold"),
        ("***both***", "both"),
        ("A [**site**](https://a.org/?x=1) and [mail](mailto:ann@example.org)", "A site and mail"),
        ("- one\n- **two**", "- one\n- two"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("**重要**な", "重要な"),
        (r"\*no\* \[x\](https://a.org)", "*no* [x](https://a.org)"),
    ],
)
def test_the_text_of_markdown(text, plain):
    """Rule 6.135."""
    assert markup.plain(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "5*3*2 = 30",
        "snake_case_name and __init__py",
        "2 * 3 * 4",
        "* required",
        "1. Why?",
        "- alone",
        "[x](javascript:alert(1)) [y](/path) [z](data:text/html,x) [UserName](you)",
        "[x] (https://a.org)",
        "<a href='https://a.org'>x</a> `code` # head",
        "C:\\dir\\new",
        "*open",
        "a* b*",
    ],
)
def test_what_is_no_markup_stays_as_typed(text):
    """Rule 6.136."""
    assert markup.plain(text) == text


def test_an_escaped_value_is_no_markup_anywhere():
    """Rule 6.136."""
    for frame, value in product(FRAMES, VALUES):
        expected = markup.plain(frame.format("Q")).replace("Q", value)

        assert markup.plain(frame.format(markup.escape(value))) == expected


@given(st.text("*_[]()\\-+.1 \nab:/", max_size=40).map(str.strip))
def test_any_escaped_value_reads_as_it_is(value):
    """Rule 6.136."""
    assert markup.plain(f"a {markup.escape(value)} b\nc") == f"a {value} b\nc"


def test_a_link_is_no_token():
    """Rule 4.27."""
    text = "[our site](https://example.org), [Q1](http://a.org), [me](mailto:a@b.org), [Q1](you), [Q1]"

    assert piping.tokens(text) == ("Q1", "Q1")
    assert piping.rename(text, {"Our_Site": "new"}) == text
