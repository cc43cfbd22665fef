"""Markdown on pages: what is drawn, what only looks like it, and what stays plain (rules 6.135 and 6.136)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from surveys.drawing.rich_text import rich
from surveys.engine.language import markup, piping
from surveys.engine.language.piping import Authored
from tests.support.surveys import scenario
from tests.support.surveys.exports import questions
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry", "redis")]

LINK = '<a href="https://example.org/?a=1&amp;b=2" target="_blank" rel="noopener">'
SIGNS = st.text("*_[]()<>\"'&\\-+.1 \nabh:/tps", max_size=60)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**Bold** and *it*", "<strong>Bold</strong> and <em>it</em>"),
        ("[a **b**](https://example.org/?a=1&b=2)", f"{LINK}a <strong>b</strong></a>"),
        (
            "See:\n- one\n- *two*\nend",
            'See:<span class="list" role="list"><span class="item" role="listitem">one</span>'
            '<span class="item" role="listitem"><em>two</em></span></span>end',
        ),
        (
            "1. a\n2. b",
            '<span class="list" role="list"><span class="item numbered" role="listitem">1. a</span>'
            '<span class="item numbered" role="listitem">2. b</span></span>',
        ),
        ("<b>*x*</b>", "&lt;b&gt;<em>x</em>&lt;/b&gt;"),
        ("a\n\nb & c", "a\n\nb &amp; c"),
    ],
)
@pytest.mark.parametrize("kind", [str, Authored])
def test_markdown_as_html(text, html, kind):
    """Rule 6.135."""
    assert rich(kind(text)) == html


@given(SIGNS)
def test_no_text_makes_other_html(text):
    """Rule 6.136."""
    allowed = r'</?(?:strong|em)>|</a>|</?span(?: class="(?:list|item|item numbered)" role="list(?:item)?")?>'
    link = r'<a href="(?:https?:|mailto:)[^"<>]*" target="_blank" rel="noopener">'

    left = re.sub(f"{allowed}|{link}", "", str(rich(text)))

    assert "<" not in left
    assert ">" not in left


@pytest.mark.parametrize(
    "address",
    ["https://two%20words/x", "https://a.example:b/", "https://a^b/", "https:x", "https:///x", "mailto:"],
)
def test_an_address_without_a_host_makes_no_link(address):
    """Rule 6.192."""
    assert rich(f"[see]({address})") == f"[see]({address})"


@pytest.mark.parametrize(
    ("address", "value", "link"),
    [
        ("https://[t]/x", "a.example", "https://a.example/x"),
        ("https://a.example:[t]/x", "8000", "https://a.example:8000/x"),
        ("https://a.example/[t]", "two words", "https://a.example/two%20words"),
        ("https://[t]/x", "two words", ""),
        ("https://[t]/x", "", ""),
        ("https://a.[t].example/[t]", "<b>", ""),
    ],
)
@pytest.mark.parametrize("more", ["", " **[t]**"])
def test_a_value_that_is_no_host_leaves_the_link_as_typed(address, value, link, more):
    """Rule 6.192."""
    html = rich(piping.fill(f"[see]({address}){more}", {"t": value}.get, escape=markup.escape))

    assert (f'<a href="{link}" target' in html) == bool(link)
    assert html.count("<a") == bool(link)
    assert html.startswith("<a" if link else "[see](https://")


@given(SIGNS)
def test_text_without_markup_is_only_escaped(text):
    text = re.sub(r"[*_\\\]\-+.)]", "", text)

    assert rich(text) == escape(text)


def test_prompts_descriptions_and_past_steps_have_their_markdown_and_answers_have_none():
    """Rules 6.135 and 6.136."""
    made = scenario.project(
        {**TEXT, "prompt": "Your **name**?", "description": "As in *books*."},
        {**SAYING, "prompt": "Hello **[Q0]**, *dear* [Q0]."},
        {**CHOICE, "prompt": "So?"},
        thanks="Thanks, *[Q0]*!",
    )
    visitor = Visitor(made).look()
    assert "Your <strong>name</strong>?" in visitor.page
    assert "As in <em>books</em>." in visitor.page

    visitor.send(value="*A* _b_ [c](https://d.org)")

    assert (
        "Hello <strong>*A* _b_ [c](https://d.org)</strong>, <em>dear</em> *A* _b_ [c](https://d.org)."
        in visitor.page
    )
    assert "Your <strong>name</strong>?" in visitor.page
    assert re.search(r"<span>\*A\* _b_ \[c\]\(https://d\.org\)</span>", visitor.page)
    visitor.send("go").send(option=scenario.option_id(made, "q2", 0))
    assert "Thanks, <em>*A* _b_ [c](https://d.org)</em>!" in visitor.page


def test_feedback_has_its_markdown():
    """Rule 6.135."""
    graded = {
        **CHOICE,
        "correct_answer_ids": None,
        "correct_answer_index": 0,
        "when_correct": "**Yes**, [answer]!",
    }
    made = scenario.project(graded, TEXT, scoring_enabled=True)

    visitor = Visitor(made).look().send(option=scenario.option_id(made, "q0", 0))

    assert "<strong>Yes</strong>, red!" in visitor.page


def test_the_results_of_a_poll_have_a_plain_title():
    """Rule 6.135."""
    made = scenario.poll(poll_results_mode="public")
    made.blocks.filter(type="single_punch").update(prompt="Your **vote**, 5*3*2?")
    type(made).objects.filter(pk=made.pk).update(revision=made.revision + 1)

    page = Visitor(made).look().page

    assert "Your <strong>vote</strong>, 5*3*2?" in page
    assert "**" not in page
    assert "Your vote, 5*3*2?" in page


def test_exports_have_the_text_alone():
    """Rule 6.135."""
    made = scenario.project({**TEXT, "prompt": "Your **name**, [here](https://example.org)?"})
    scenario.say(scenario.begin(made), "*A*")

    assert questions(made) == [["Your name, here?"], ["*A*"]]
