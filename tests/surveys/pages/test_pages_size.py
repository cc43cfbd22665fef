"""Pages draw long conversations in parts, and each stays below 1 MB (rule 6.40)."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from surveys.drawing import past
from surveys.engine.walk.answers import MAX_TEXT
from surveys.models import Answer, Conversation
from surveys.services.conversations import admission
from surveys.services.conversations import service as conversations
from surveys.services.conversations.view import Exchange, WalkView
from surveys.services.responses import reading
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import superuser, tab
from tests.support.surveys.scenario import SAYING, TEXT
from tests.support.surveys.visitor import Visitor

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("in_no_hurry")]

MOST_BYTES = 1_000_000
LONG = "&" * 4_000  # a character that takes 5 bytes in HTML
CHOICES = {"type": "multi_punch", "prompt": LONG, "options": [f"{n:03}" + "&" * 497 for n in range(100)]}


@pytest.fixture
def in_no_hurry(settings, redis):
    settings.LEAST_SECONDS_TO_FIRST_ANSWER = 0


def visited(made, count):
    """A browser without JavaScript that has answered `count` questions."""
    visitor = Visitor(made).look()
    for n in range(count):
        visitor.send(value=f"Answer {n}.")
    return visitor


def drawn(visitor):
    """The numbers of the past answers on the page."""
    return [int(number) for number in re.findall(r"<span>Answer (\d+)\.<", visitor.page)]


def more(visitor, label):
    """Press a button above or below the past steps."""
    form = rf'name="_past" value="(\d+)">\s*<button class="button quiet" name="do" value="show-past">{label}<'
    found = re.search(form, visitor.page)
    assert found is not None
    return visitor.send("show-past", _past=found[1])


def answered_all_but_one(told):
    """The conversation at its last question, each answer as long as possible. Moves would take a minute."""
    blocks = told.script.blocks
    replies = {
        block.id: {"option_ids": list(block.option_by_id)} if block.options else {"text": "&" * MAX_TEXT}
        for block in blocks[:-1]
    }
    state = replace(told.state, at=len(blocks) - 1, path=tuple(replies), replies=replies)
    kept = {**told.conversation.state, **state.as_json()}
    Conversation.objects.filter(pk=told.conversation.pk).update(state=kept, is_listed=True)
    return conversations.get(conversation_id=told.conversation.pk, at=LUNCHTIME)


def statements(look):
    with CaptureQueriesContext(connection) as captured:
        look()
    return len(captured)


def test_every_page_of_the_longest_conversation_is_below_1_mb():
    member = scenario.member("Ann")
    asked: list[Any] = [{**TEXT, "prompt": LONG}] * 180 + [CHOICES] * 20
    made = scenario.project(*asked, thanks=LONG, max_completes_per_user=1)
    respondent = admission.person(community_id=1, user_id=member.user_id)
    assert respondent is not None
    told = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    told = answered_all_but_one(told)
    own, staff = Client(), superuser()
    own.force_login(member.user)

    def size(client: Client, address: str) -> str:
        response = client.get(address)
        assert response.status_code == 200
        assert len(response.content) < MOST_BYTES, address
        return response.content.decode()

    page = size(own, f"/s/{made.slug}")
    assert page.count('<li id="exchange-') == past.MAX_PAST_STEPS
    for before in (50, 100, 150):
        assert size(own, f"/s/{made.slug}?_past={before}").count('<li id="exchange-') == past.MAX_PAST_STEPS
    for client, address, name in (
        (own, f"/account/responses/{told.conversation.pk}/", "from"),
        (staff, tab(made.pk, "response", told.conversation.pk), "part"),
    ):
        page = size(client, address)
        assert page.count("&amp;" * MAX_TEXT) > 1
        (following,) = re.findall(rf"\?{name}=(\d+)", page)
        for start in (following, "150", "198"):
            size(client, f"{address}?{name}={start}")
    scenario.say(told, list(range(100)))
    assert size(own, f"/s/{made.slug}").count('<li id="exchange-') == past.MAX_PAST_STEPS


def test_the_page_of_a_poll_is_below_1_mb():
    made = scenario.project(
        *[{**SAYING, "prompt": LONG}] * 99,
        {**CHOICES, "type": "single_punch"},
        *[{**SAYING, "prompt": LONG}] * 99,
        type="poll",
        poll_results_mode="public",
        thanks=LONG,
    )
    visitor = Visitor(made).look()
    first = len(visitor.response.content)

    visitor.send(option=scenario.script(made).blocks[99].options[0].id)

    assert "data-results" in visitor.page
    assert max(first, len(visitor.response.content)) < MOST_BYTES


def test_texts_are_cut_only_on_a_page_that_would_be_too_big(monkeypatch):
    made = scenario.project(TEXT, TEXT, TEXT)
    visitor = Visitor(made).look().send(value="x" * 9_000)

    assert "x" * 9_000 in visitor.page

    monkeypatch.setattr(past, "MAX_PAST_CHARACTERS", 8_000)
    visitor.look()
    assert "x" * 79 + "…" in visitor.page
    assert "x" * 80 not in visitor.page


def test_earlier_and_later_steps_are_shown_on_request_without_javascript(monkeypatch):
    monkeypatch.setattr(past, "MAX_PAST_STEPS", 3)
    made = scenario.project(*[TEXT] * 9)

    visitor = visited(made, 7)

    assert drawn(visitor) == [4, 5, 6]
    assert "hx-disable" not in visitor.page
    assert drawn(more(visitor, "Show earlier answers")) == [1, 2, 3]
    assert "hx-disable" in visitor.page
    assert "Prompt 7." in visitor.page
    assert drawn(more(visitor, "Show earlier answers")) == [0]
    assert "Show earlier" not in visitor.page
    assert drawn(more(visitor, "Show later answers")) == [1, 2, 3]
    assert drawn(visitor.send(value="Answer 7.")) == [5, 6, 7]
    values = Answer.objects.filter(conversation__project=made)
    assert list(values.order_by("block").values_list("value", flat=True)) == [
        f"Answer {n}." for n in range(8)
    ]


def test_a_visit_without_cookies_leads_to_earlier_steps_too(monkeypatch):
    monkeypatch.setattr(past, "MAX_PAST_STEPS", 2)
    made = scenario.project(*[TEXT] * 6)
    visitor = Visitor(made, is_framed=True).look()
    for n in range(5):
        visitor.client.cookies.clear()
        visitor.send(value=f"Answer {n}.")

    visitor.client.cookies.clear()
    more(visitor, "Show earlier answers")

    assert drawn(visitor) == [1, 2]
    assert "Prompt 5." in visitor.page


def test_a_finished_conversation_leads_to_its_earlier_steps(monkeypatch):
    monkeypatch.setattr(past, "MAX_PAST_STEPS", 2)
    visitor = visited(scenario.project(*[TEXT] * 3), 3)

    assert drawn(visitor) == [1, 2]
    assert drawn(more(visitor, "Show earlier answers")) == [0]
    assert "Thank you." in visitor.page


@pytest.mark.parametrize("before", ["0", "1", "99", "9999", "99999", "-1", "x", ""])
def test_any_part_that_an_address_names_is_a_page(before):
    visitor = visited(scenario.project(*[TEXT] * 3), 2)

    assert visitor.look(f"?_past={before}").status == 200
    assert drawn(visitor) in ([0], [0, 1])


def test_steps_that_are_not_drawn_are_not_filled_in(monkeypatch):
    monkeypatch.setattr(past, "MAX_PAST_STEPS", 2)
    visitor = visited(scenario.project(*[TEXT] * 8), 7)
    filled: list[int] = []
    exchange = WalkView.exchange

    def noted(view: WalkView, step: int) -> Exchange:
        filled.append(step)
        return exchange(view, step)

    monkeypatch.setattr(WalkView, "exchange", noted)

    visitor.look()

    assert filled == [5, 6]


def test_the_number_of_statements_does_not_grow(monkeypatch):
    monkeypatch.setattr(past, "MAX_PAST_STEPS", 2)
    made = scenario.project(*[TEXT] * 6)
    visitor = visited(made, 1)
    visitor.look()
    few = statements(visitor.look)
    for n in range(1, 5):
        visitor.send(value=f"Answer {n}.")

    assert statements(visitor.look) == statements(lambda: visitor.look("?_past=3")) == few


def test_a_response_is_read_in_parts(monkeypatch):
    monkeypatch.setattr(reading, "MAX_CHARACTERS", 30)
    made = scenario.project(*[TEXT] * 4)
    told = scenario.say(scenario.begin(made), *[f"Answer {n}." for n in range(4)])
    client, address, shown = superuser(), tab(made.pk, "response", told.conversation.pk), []

    while address:
        page = client.get(address).content.decode()
        shown.append(re.findall(r"Answer \d", page))
        assert re.search(r"Answered questions</dt><dd>4<", page)
        address = next(iter(re.findall(r'rel="next" href="([^"]+part=[^"]+)"', page)), "")

    assert shown == [["Answer 0"], ["Answer 1"], ["Answer 2"], ["Answer 3"]]


def test_ones_own_response_is_read_in_parts(monkeypatch):
    monkeypatch.setattr(reading, "MAX_CHARACTERS", 30)
    member = scenario.member("Ann")
    respondent = admission.person(community_id=1, user_id=member.user_id)
    assert respondent is not None
    made = scenario.project(*[TEXT] * 3)
    told = conversations.begin(project_id=made.pk, respondent=respondent, at=LUNCHTIME)
    told = scenario.say(told, *[f"Answer {n}." for n in range(3)])
    client, address, shown = Client(), f"/account/responses/{told.conversation.pk}/", []
    client.force_login(member.user)

    while address:
        page = client.get(address).content.decode()
        shown.append(re.findall(r"Answer \d", page))
        address = next(iter(re.findall(r'href="([^"]+from=[^"]+)"', page)), "")

    assert shown == [["Answer 0"], ["Answer 1"], ["Answer 2"]]
    assert "From the beginning" in page
