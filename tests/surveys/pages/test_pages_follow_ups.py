"""Further questions about short answers, on the page (rule 10.68)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from surveys.models import Conversation, Project
from surveys.services.conversations import further
from tests.support.ai.loopback import Loopback
from tests.support.surveys.follow_ups import (
    CHANGE,
    COLOUR,
    QUESTION,
    SECOND,
    asks,
    caller_with_credits,
    leave,
    model,
    run_out,
    survey,
    write,
)
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_no_hurry")]


@pytest.fixture
def anthropic(settings: Any) -> Iterator[Loopback]:
    with model(settings) as loopback:
        yield loopback


@pytest.fixture
def project(anthropic: Loopback) -> Project:
    return Project.objects.get(pk=survey(caller_with_credits()))


def conversation() -> Conversation:
    return Conversation.objects.get()


def texts_of_the_past(visitor: Visitor) -> list[str]:
    past = re.search(r'<ol id="history".*?</ol>', visitor.page, re.DOTALL)
    assert past is not None
    without_signs = re.sub(r"<[^>]+>", " ", past[0])
    return [part.strip() for part in re.split(r"\s{2,}", without_signs) if part.strip()]


def answered(project: Project, *, htmx: bool) -> Visitor:
    return Visitor(project, htmx=htmx).look().send(value="The evenings")


@pytest.mark.parametrize("htmx", [False, True])
def test_both_questions_are_asked_below_the_answer(project: Project, anthropic: Loopback, htmx: bool) -> None:
    anthropic.queue(asks(QUESTION), asks(SECOND))
    visitor = answered(project, htmx=htmx)
    waiting = visitor.page
    write(conversation().pk)
    visitor.send("go")
    assert visitor.has_control('id="help" class="help">Asked by an AI<')
    asked, control = visitor.page, visitor.has_control('name="do" value="skip"')
    visitor.send(value="They end late")
    write(conversation().pk, asked=2)
    visitor.send("go")
    second = visitor.page
    visitor.send("skip")

    assert not visitor.has_control("Asked by an AI")

    assert "One moment, please." in waiting
    assert 'data-pause="2"' in waiting
    assert QUESTION in asked
    assert control
    assert not re.search(r"<textarea[^>]*>[^<]", asked)  # nothing of the answer stands in the control
    assert SECOND in second
    assert "Which colour?" in visitor.page
    assert [*conversation().state["follow_ups"].values()] == [
        [{"question": QUESTION, "answer": "They end late"}, {"question": SECOND, "answer": None}]
    ]
    visitor.look()
    said = " ".join(texts_of_the_past(visitor))
    order = ["What should we change?", "The evenings", QUESTION, "They end late", SECOND, "Skipped"]
    assert [said.index(text) for text in order] == sorted(said.index(text) for text in order)


def test_the_question_stands_above_while_a_further_one_is_asked(
    project: Project, anthropic: Loopback
) -> None:
    anthropic.queue(asks(QUESTION))
    visitor = answered(project, htmx=False)
    write(conversation().pk)
    visitor.look()

    past = " ".join(texts_of_the_past(visitor))
    assert ("What should we change?" in past, "The evenings" in past) == (True, True)
    assert QUESTION in visitor.page


def test_a_form_that_is_sent_twice_is_taken_once(project: Project, anthropic: Loopback) -> None:
    anthropic.queue(asks(QUESTION))
    visitor = Visitor(project).look()
    visitor.send(value="A colour")
    run_out(conversation().pk)
    first = dict(visitor.hidden)
    visitor.send("go")
    visitor.send("back")
    visitor.send(value="The evenings")
    form = dict(visitor.hidden) | {"follow_up": "0"}
    write(conversation().pk, asked=2)
    visitor.send("go")
    visitor.hidden = form
    visitor.send(value="The evenings")

    assert first["follow_up"] == "1"
    assert QUESTION in visitor.page
    assert "follow_ups" not in conversation().state


def test_a_step_back_that_is_sent_twice_moves_once(project: Project, anthropic: Loopback) -> None:
    two = Project.objects.get(pk=survey(caller_with_credits(), COLOUR, CHANGE))
    visitor = Visitor(two).look().send(value="Red").send(value="The evenings")
    form = dict(visitor.hidden)
    visitor.send("back")
    visitor.hidden = form
    visitor.send("back")

    assert form["follow_up"] == "1"
    assert re.search(r"<textarea[^>]*>The evenings", visitor.page)


def test_the_page_goes_on_once_the_time_is_over(project: Project) -> None:
    visitor = answered(project, htmx=False)
    run_out(conversation().pk)

    assert "Which colour?" in visitor.send("go").page


def test_a_page_without_javascript_loads_itself_until_there_is_a_question_or_none(
    project: Project, anthropic: Loopback
) -> None:
    anthropic.queue(asks(QUESTION))
    refresh = f'<noscript><meta http-equiv="refresh" content="3;url=/s/{project.slug}?_at=0"></noscript>'
    visitor = answered(project, htmx=False)
    written = visitor.page
    run_out(conversation().pk)
    none_came = visitor.look("?_at=0").page
    visitor.send("back").send(value="The mornings")
    write(conversation().pk, asked=2)
    asked = visitor.look("?_at=0").page

    assert (refresh in written, "Wait here" in written, ">Go on</button>" in written) == (True, False, True)
    assert (refresh in none_came, "Thank you, please go on." in none_came) == (False, True)
    assert (refresh in asked, QUESTION in asked, "Welcome back" in asked) == (False, True, False)


@pytest.mark.parametrize("is_asked", ["yes", "by no block", "by no model"])
def test_the_first_page_says_that_an_ai_may_ask(is_asked: str, project: Project, settings: Any) -> None:
    if is_asked == "by no block":
        project = Project.objects.get(pk=survey(caller_with_credits(), COLOUR))
    if is_asked == "by no model":
        settings.AI_PROVIDER = "local"

    page = re.sub(r"\s+", " ", Visitor(project).look().page)

    sentence = "that you give here. An AI may ask a further question about what you write."
    assert (sentence in page) == (is_asked == "yes")
    assert "that you give here." in page


def test_markup_of_a_model_stays_text(project: Project, anthropic: Loopback) -> None:
    anthropic.queue(asks("What [UserName] or [change] do you mean?"))
    visitor = answered(project, htmx=False)
    write(conversation().pk)

    assert "What [UserName] or [change] do you mean?" in visitor.send("go").page


def test_a_question_is_asked_again_after_a_step_back(project: Project, anthropic: Loopback) -> None:
    anthropic.queue(asks(QUESTION))
    visitor = answered(project, htmx=False)
    write(conversation().pk)
    visitor.send("go").send("back")
    before = visitor.page
    visitor.send(value="The evenings")

    assert re.search(r"<textarea[^>]*>The evenings", before)
    assert QUESTION in visitor.page
    assert not re.search(r"<textarea[^>]*>[^<]", visitor.page)


def test_a_form_that_was_left_leads_to_the_end(anthropic: Loopback) -> None:
    anthropic.queue(asks(QUESTION))
    visitor = answered(Project.objects.get(pk=survey(caller_with_credits(), CHANGE)), htmx=False)
    write(conversation().pk)
    visitor.send("go")
    leave(conversation().pk)
    further.skip_left(at=timezone.now())
    visitor.send(value="They end late")

    assert not visitor.has_control("Asked by an AI")
    assert "Thank you" in visitor.page
    assert [*conversation().state["follow_ups"].values()] == [[{"question": QUESTION, "answer": None}]]
