"""Markdown in authors' texts: its text alone, and values that are none (rules 6.135 and 6.136)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surveys.drawing.rich_text import rich
from surveys.engine.language import markup, piping
from tests.support.cases import try_each

VALUES = ["*a*", "_a_", "__a__", "- x\n- y", "1. a\n2. b", "[x](https://e.org)", "a_b\\", "x*", "\\*", "5."]
FRAMES = ["{}", "**{}**", "see\n{}\nend", "[{}](https://example.org)", "- a\n- {}"]


@try_each(
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


@try_each(
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


@pytest.fixture
def parsed(monkeypatch):
    """The texts that the parser has read."""
    texts, parse = [], markup._PARSER.parseInline

    def counted(text):
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(markup._PARSER, "parseInline", counted)
    markup._kept.clear()
    return texts


@pytest.mark.parametrize("sign", ["[", "*_", "[a](", "_a ", "\\*", "*a* ", "]["])
def test_a_text_with_many_signs_is_not_parsed(sign, parsed):
    """Rule 11.33."""
    text = "*" + sign * 600

    assert markup.plain(text) == text
    assert parsed == []


@try_each(
    ("text", "plain"),
    [
        ("*a* " * 100 + "b", "a " * 100 + "b"),
        (f"**Name**: {'_' * 600}", f"Name: {'_' * 600}"),
        ("****a****", "****a****"),
    ],
)
def test_signs_in_a_row_count_once_and_more_than_three_are_none(text, plain):
    """Rules 6.136 and 11.33."""
    assert markup.plain(text) == plain


def test_lines_of_a_list_without_signs_are_not_parsed(parsed):
    """Rule 11.33."""
    assert markup.plain("- a\n" * 900 + "- **b**") == "- a\n" * 900 + "- b"
    assert parsed == ["**b**"]


def test_the_end_of_a_label_is_looked_for_only_before_an_address(monkeypatch):
    """Rule 11.33."""
    looked, parse_label = [], markup._PARSER.helpers.parseLinkLabel

    def counted(state, start, disable_nested):
        looked.append(start)
        return parse_label(state, start, disable_nested)

    monkeypatch.setattr(markup._PARSER.helpers, "parseLinkLabel", counted)

    assert markup.plain("[a](https://b.org) *" + "[" * 400) == "a *" + "[" * 400
    assert looked == [0]


@pytest.mark.parametrize("frame", [*FRAMES, "5*{}*3", "**{}**b", "{}**b**", "(*{}*)"])
@pytest.mark.parametrize("value", [*VALUES, "7", "é", "a\nb"])
def test_values_are_put_into_the_parsed_text_as_they_are(value, frame, parsed):
    """Rules 6.136 and 11.34: the same text as when all of it is parsed, and the parser reads no value."""
    text = piping.fill(frame.format("[Q1]"), lambda _: value, escape=markup.escape)
    whole = markup.plain(str(text)) if value[0].isalnum() and value[-1].isalnum() else None
    parsed.clear()

    first = markup.plain(text)
    assert all(value not in each or len(value) == 1 for each in parsed)
    parsed.clear()

    assert markup.plain(text) == first
    assert parsed == []
    assert value in first
    assert whole in (None, first) or "\n" in value


def test_values_in_addresses_are_put_in_too(parsed):
    """Rule 11.34."""
    frame = "*a* [b [Q1]](https://c.org/[Q1]?d=[Q1]) [Q1](e) [f](mailto:[Q1]) [g](h[Q1])"
    texts = [piping.fill(frame, {"Q1": value}.get, escape=markup.escape) for value in ("x y", "<&*")]

    pages = [str(rich(text)) for text in texts]

    assert len(parsed) == 2  # one text for each kind of a value's ends
    assert pages[0].count("https://c.org/x%20y?d=x%20y") == 1
    assert [rich(str(text)) for text in texts] == pages
    assert [markup.plain(str(text)) for text in texts] == [markup.plain(text) for text in texts]


def test_what_was_cut_is_parsed_with_its_values(parsed):
    """Rule 11.34: such a text is not kept, because it has a respondent's words."""
    cut = piping.fill("*a* [Q1] " + "b" * piping.MAX_FILLED, lambda _: "x y", escape=markup.escape)

    assert markup.plain(cut).startswith("a x y bbb")
    assert not markup._kept


def test_what_is_kept_has_a_limit(monkeypatch):
    """Rule 11.35: the sizes count the texts, their forms and a share for each."""
    markup._kept.clear()
    for n in range(markup.MAX_KEPT // (markup.SIZE_OF_KEPT + 4_000) + 50):
        markup.plain(piping.Authored(f"*a* {n} {'b' * 2_000}"))
    full = len(markup._kept)
    markup.plain(piping.Authored("*one more*"))

    assert markup._kept.currsize <= markup.MAX_KEPT
    assert full < markup.MAX_KEPT // markup.SIZE_OF_KEPT
    assert markup._kept.currsize > markup.MAX_KEPT * 0.9


def test_what_an_author_did_not_write_alone_is_not_kept(parsed):
    """Rule 11.35."""
    markup.plain("*typed*")

    assert parsed == ["*typed*"]
    assert not markup._kept


def test_a_text_below_a_title_stays_its_authors():
    """Rule 11.34."""
    title = piping.Authored("Title")
    filled = piping.fill("*[Q1]*", lambda _: "x", escape=markup.escape)

    assert type(piping.joined("\n", [title, piping.Authored("*a*")])) is piping.Authored
    assert markup.plain(piping.joined("\n", [title, filled])) == "Title\nx"
    assert type(piping.joined("\n", [title, "typed"])) is str


@try_each(
    ("text", "filled"),
    [
        ("[a], [b] **why**?", "Ann *1* **why**?"),
        ("**Hi** [a]!\n[a], why [b]?", "**Hi**!\nWhy ann *1*?"),
        ("Hi [a], [b], [a]", "Hi, ann *1*"),
    ],
)
def test_gaps_of_empty_values_close_in_both_forms(text, filled):
    """Rule 11.34: the form says what the text says."""
    values = {"a": "", "b": "ann *1*"}
    plain = piping.fill(text, values.get, escape=str)
    escaped = piping.fill(text, values.get, escape=markup.escape)

    assert plain == filled
    assert markup.plain(escaped) == plain.replace("**", "")
