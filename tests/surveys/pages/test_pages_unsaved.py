"""An answer that was not taken, because the conversation had moved on, is shown in words."""

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

    assert "This page was out of date" in other.page
    assert "Second." in other.page
    assert f'{SHOWN} class="entry" readonly>a long thought<' in other.page
    assert scenario.counts(made)["answered"] == 1


def test_a_text_for_a_survey_that_another_window_finished():
    made = scenario.project(TEXT)
    one, other = two_windows(made)
    one.send(value="short")

    other.send(value="a long thought")

    assert "Thank you." in other.page
    assert "you have finished already" in other.page
    assert f'{SHOWN} class="entry" readonly>a long thought<' in other.page


def test_a_first_text_of_a_window_that_did_not_know_of_the_conversation():
    made = scenario.project(TEXT, SECOND)
    one, other = Visitor(made, is_framed=True).look(), Visitor(made, is_framed=True)
    other.hidden = dict(one.hidden)
    one.send(value="short")

    other.send(value="a long thought")

    assert "This page was out of date" in other.page
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


ORDER = {"type": "ranking", "options": ["a", "b"]}
POINTS = {
    "type": "opinion_scale",
    "min": 1,
    "max": 2,
    "options": [{"value": "1", "label": "No"}, {"value": "2", "label": "Yes"}],
}


@pytest.mark.parametrize(
    ("block", "first", "second", "words"),
    [
        (CHOICE, {"option": 0}, {"option": 1}, "green"),
        ({**CHOICE, "type": "multi_punch"}, {"option": 0}, {"option": [0, 1]}, "red, green"),
        (ORDER, {"ranks": [1, 2]}, {"ranks": [2, 1]}, "b, a"),
        (POINTS, {"value": "2"}, {"value": "1"}, "No"),
        ({"type": "nps"}, {"value": "2"}, {"value": "9"}, "9"),
    ],
)
def test_an_answer_of_any_kind_for_a_question_that_another_window_answered(block, first, second, words):
    made = scenario.project(block, SECOND, {**TEXT, "prompt": "Third."})
    ids = [option.id for option in scenario.script(made).blocks[0].options]

    def fields(sent):
        if "ranks" in sent:
            return {f"rank-{each}": rank for each, rank in zip(ids, sent["ranks"], strict=True)}
        chosen = sent.get("option")
        if chosen is None:
            return sent
        return {"option": [ids[each] for each in chosen] if isinstance(chosen, list) else ids[chosen]}

    one, other = two_windows(made)
    again = Visitor(made)
    again.client = one.client
    again.look()
    one.send(**fields(first)).send(value="x")

    other.send(**fields(second))
    again.send(**fields(first))

    for window in (other, again):
        assert "This page was out of date" in window.page
        assert "Third." in window.page
    assert f'{SHOWN} class="entry" readonly>{words}<' in other.page
    assert SHOWN not in again.page


def test_back_in_a_window_that_is_behind_moves_nothing():
    made = scenario.project(TEXT, SECOND, {**TEXT, "prompt": "Third."}, {**TEXT, "prompt": "Fourth."})
    one, other = Visitor(made).look().send(value="1"), Visitor(made)
    other.client = one.client
    other.look()
    one.send(value="2").send(value="3")

    other.send("back")

    assert "This page was out of date" in other.page
    assert "Fourth." in other.page
    assert "Third." in other.look().send("back").page


def test_a_second_vote_in_another_window_is_said_not_to_count():
    made = scenario.poll(max_completes_per_user=1)
    one, other = two_windows(made)
    red, green = (option.id for option in scenario.script(made).blocks[0].options)
    one.send(option=red)

    other.send(option=green)

    assert "you have voted already" in other.page
    assert f'{SHOWN} class="entry" readonly>green<' in other.page
    assert scenario.counts(made)["completed"] == 1


@pytest.mark.parametrize("kind", ["poll", "convo"])
def test_an_anonymous_end_in_another_window_is_said_and_nothing_is_shown_again(kind):
    made = scenario.project(CHOICE, type=kind, privacy_mode="anonymous")
    one, other = two_windows(made)
    red, green = (option.id for option in scenario.script(made).blocks[0].options)
    one.send(option=red)

    other.send(option=green)  # as the same vote sent twice, which is saved, and of which nothing is known

    said = "You have voted in this poll." if kind == "poll" else "You have answered this already."
    assert said in other.page
    assert SHOWN not in other.page
    assert scenario.counts(made)["completed"] == 1


def test_a_poll_keeps_the_vote_that_was_given():
    made = scenario.poll(max_completes_per_user=1)
    one, other = two_windows(made)
    red, green = (option.id for option in scenario.script(made).blocks[0].options)
    one.send(option=red)
    other.client = Client(enforce_csrf_checks=True)

    other.send(option=green)

    assert SHOWN not in other.page


class TestTheOwnerOfWhatTheBrowserKeeps:
    """The name identifies a person and a conversation, so no other person gets the stored answers."""

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
