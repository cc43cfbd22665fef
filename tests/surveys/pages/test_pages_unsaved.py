"""A text that was not taken, because the conversation had moved on, is shown to be copied."""

import pytest
from django.test import Client

from tests.support.surveys import scenario
from tests.support.surveys.scenario import CHOICE, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis", "in_no_hurry")]

SECOND = {**TEXT, "prompt": "Second."}
SHOWN = 'id="unsaved-text"'


def two_windows(made, *, htmx=False):
    """One browser with a page in two windows."""
    one, other = Visitor(made), Visitor(made, htmx=htmx)
    one.look()
    other.client = one.client
    other.look()
    return one, other


@pytest.mark.parametrize("htmx", [True, False])
def test_a_text_for_a_question_that_another_window_answered(htmx):
    made = scenario.project(TEXT, SECOND)
    one, other = two_windows(made, htmx=htmx)
    one.send(value="short")

    other.send(value="a long thought")

    assert "You answered this already" in other.page
    assert "Second." in other.page
    assert f'{SHOWN} class="entry" readonly>a long thought<' in other.page
    assert scenario.counts(made)["answered"] == 1


def test_a_text_for_a_survey_that_another_window_finished():
    made = scenario.project(TEXT)
    one, other = two_windows(made)
    one.send(value="short")

    other.send(value="a long thought")

    assert "Thank you." in other.page
    assert f'{SHOWN} class="entry" readonly>a long thought<' in other.page


def test_a_first_text_of_a_window_that_did_not_know_of_the_conversation():
    made = scenario.project(TEXT, SECOND)
    one, other = Visitor(made, is_framed=True).look(), Visitor(made, is_framed=True)
    other.hidden = dict(one.hidden)
    one.send(value="short")

    other.send(value="a long thought")

    assert "Welcome back" in other.page
    assert f"{SHOWN}" in other.page
    assert "a long thought" in other.page


def test_a_text_for_a_question_that_its_author_took_out():
    made = scenario.project(TEXT, SECOND)
    visitor = Visitor(made).look()
    visitor.hidden["block"] = "999999999"

    visitor.send(value="a long thought")

    assert "The author has changed the questions." in visitor.page
    assert f'{SHOWN} class="entry" readonly>a long thought<' in visitor.page


def test_markup_in_it_stays_text():
    made = scenario.project(TEXT, SECOND)
    one, other = two_windows(made)
    one.send(value="short")

    other.response = other.client.post(
        other.address, {**other.hidden, "do": "answer", "value": "</textarea><b>"}
    )

    assert "&lt;/textarea&gt;&lt;b&gt;" in other.response.content.decode()


@pytest.mark.parametrize(
    ("do", "sent"),
    [
        ("answer", {"value": "short"}),
        ("answer", {"value": "  short\r\n"}),
        ("answer", {"value": " "}),
        ("skip", {"value": "a long thought"}),
        ("back", {"value": "a long thought"}),
    ],
)
def test_nothing_is_shown_where_nothing_is_lost(do, sent):
    made = scenario.project({**TEXT, "required": False}, SECOND, {**TEXT, "prompt": "Third."})
    one, other = two_windows(made)
    one.send(value="short").send(value="more")

    other.send(do, **sent)

    assert SHOWN not in other.page


def test_a_choice_is_not_called_written():
    made = scenario.project(CHOICE, SECOND)
    one, other = two_windows(made)
    red, green = (option.id for option in scenario.script(made).blocks[0].options)
    one.send(option=red)

    other.send(option=green)

    assert "You answered this already" in other.page
    assert SHOWN not in other.page


def test_a_poll_keeps_the_vote_that_was_given():
    made = scenario.poll(max_completes_per_user=1)
    one, other = two_windows(made)
    red, green = (option.id for option in scenario.script(made).blocks[0].options)
    one.send(option=red)
    other.client = Client(enforce_csrf_checks=True)

    other.send(option=green)

    assert SHOWN not in other.page


class TestTheOwnerOfWhatTheBrowserKeeps:
    """It names a person and a conversation, so that nothing comes back to another."""

    def owner(self, visitor):
        return visitor.page.split('data-owner="')[1].split('"')[0]

    def test_it_stays_through_a_reload_also_where_nothing_is_remembered(self):
        made = scenario.project(TEXT)

        owners = {self.owner(Visitor(made, is_framed=True).look()) for _ in range(2)}

        assert len(owners) == 1

    def test_another_conversation_has_another(self):
        made = scenario.project(TEXT, SECOND)

        owners = {self.owner(Visitor(made).look().send(value="one")) for _ in range(2)}

        assert len(owners) == 2
        assert len({owner.split(".")[0] for owner in owners}) == 1

    def test_another_person_has_another(self):
        visitor = Visitor(scenario.project(TEXT))
        owners = [self.owner(visitor.look())]
        for name in ("Ann", "Bob"):
            visitor.client.force_login(scenario.member(name).user)
            owners.append(self.owner(visitor.look()))

        assert len({owner.split(".")[0] for owner in owners}) == 3

    def test_it_shows_no_id(self):
        made = scenario.project(TEXT, SECOND)
        visitor = Visitor(made).look().send(value="one")

        assert str(made.conversations.get().pk) not in self.owner(visitor)
