"""What people wrote, for staff: the newest answers on the cards of results, and all to one question."""

import html
import re
from datetime import timedelta

import pytest

from surveys.models import Conversation
from surveys.services.conversations import moves
from surveys.services.results import written
from tests.support.moments import LUNCHTIME
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import look, superuser, tab
from tests.support.surveys.scenario import CHOICE, TEXT

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def client(kept_rows):
    return superuser()


def answered(made, who, *said, at=LUNCHTIME):
    return scenario.say(scenario.begin(made, who, at=at), *said, at=at).conversation.pk


def page(client, made, query="", *, block=0, status=200):
    """The source of the page of all answers to a question."""
    response = client.get(tab(made.pk, "results_answers", scenario.script(made).blocks[block].id) + query)
    assert response.status_code == status, response.content
    return response.content.decode()


def texts(shown):
    return re.findall(r'<p class="text">(.*?)</p>', shown, re.DOTALL)


def excerpts(client, made, query=""):
    return re.findall(r"<blockquote>(.*?)</blockquote>", look(client, made, query))


def link(shown, rel):
    """The address of the page before (`prev`) or after (`next`); None without one."""
    found = re.search(rf'rel="{rel}" href="([^"]+)"', shown)
    return html.unescape(found[1]) if found else None


def pages(client, made, query, rel="next"):
    """The texts of each page as one goes on from page to page, and the last page."""
    every = []
    while query is not None:
        shown = page(client, made, query)
        every.append(texts(shown))
        query = link(shown, rel)
    return every, shown


# --- What is shown ----------------------------------------------------------------------------------


def test_the_newest_five_stand_on_the_card_each_with_its_response(client):
    made = scenario.project(CHOICE, {**TEXT, "required": False})
    keys = [answered(made, f"crm-{n}", 0, f"Answer {n}") for n in range(6)]
    answered(made, None, 0, None)

    shown = look(client, made)

    assert excerpts(client, made) == [f"Answer {n}" for n in (5, 4, 3, 2, 1)]
    assert f'<a href="{tab(made.pk, "response", keys[5])}">crm-5</a>' in shown
    assert re.search(r'results/answers/\d+/">\s*Read all 6 answers', shown)


def test_all_are_read_on_a_page_of_their_own(client):
    made = scenario.project({**TEXT, "prompt": "Why, [username]?"}, TEXT)
    key = answered(made, "crm-7", "<b>Tea</b>\nplease", "Another question's")
    answered(made, "crm-8", "x" * 2_001)

    shown = page(client, made)

    assert [each[:2000] for each in texts(shown)] == ["x" * 2_000, "&lt;b&gt;Tea&lt;/b&gt;\nplease"]
    assert "Why, …?" in shown
    assert shown.count("Read the rest") == 1
    assert f'<a href="{tab(made.pk, "response", key)}">crm-7</a> · <time' in shown


def test_texts_for_an_option_stand_on_the_card_of_its_choice_and_on_a_page_of_their_own(client):
    """Rule 6.153."""
    made = scenario.project({**CHOICE, "options": ["tea", {"value": "Other", "is_other": True}]}, TEXT)
    other = scenario.option_id(made, "q0", 1)
    for text in ("<b>Mate</b>", "Chai", None):
        told = scenario.begin(made)
        own = {"option_id": other, "other_text": text} if text else {"value": "tea"}
        raw = {"block_id": told.step.block.id, **own}
        moves.answer(conversation_id=told.conversation.pk, raw=raw, at=LUNCHTIME)

    shown = look(client, made)

    assert {"<b>Mate</b>", "Chai"} == set(excerpts(client, made))
    assert re.search(r"Newest texts.*Read all 2 texts", shown, re.DOTALL)
    assert set(texts(page(client, made))) == {"&lt;b&gt;Mate&lt;/b&gt;", "Chai"}
    assert texts(page(client, made, "?q=chai")) == ["Chai"]
    page(client, scenario.project(CHOICE), status=404)


def test_further_questions_stand_below_their_answer_and_are_searched(client):
    made = scenario.project(TEXT, TEXT)
    keys = [answered(made, f"crm-{n}", f"Answer {n}", "Another question's") for n in range(2)]
    block, other = (each.id for each in scenario.script(made).blocks)
    told = [
        {"question": "Which <b>hours</b>?", "answer": "Late \\ ones"},
        {"question": "Why?", "answer": None},
    ]
    state = Conversation.objects.get(pk=keys[0]).state
    state["follow_ups"] = {str(block): told, str(other): [{"question": "Else?", "answer": "Else."}]}
    Conversation.objects.filter(pk=keys[0]).update(state=state)

    card, shown = client.get(tab(made.pk)).content.decode(), page(client, made)
    corrected = client.get(tab(made.pk, "results_answer", block, keys[0])).content.decode()

    assert excerpts(client, made)[:3] == ["Answer 1", "Answer 0", "Late \\ ones"]
    for source in (card, shown, corrected):
        words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", source))
        assert "Answer 0 Which &lt;b&gt;hours&lt;/b&gt;? Late \\ ones Why? Skipped" in words
    assert "Else" not in shown
    for term in ("late+ANSWER", "hours"):
        assert texts(page(client, made, f"?q={term}")) == ["Answer 0"]
    for term in ("else", "question"):
        assert texts(page(client, made, f"?q={term}")) == []


@pytest.mark.parametrize("few", [0, 2_000])
def test_anonymous_answers_are_in_the_order_of_ids_and_name_nobody(client, monkeypatch, few):
    monkeypatch.setattr(written, "FEW", few)
    made = scenario.project(TEXT, privacy_mode="anonymous")
    said = {str(answered(made, f"crm-{n}", f"Answer {n}")): f"Answer {n}" for n in range(6)}
    ordered = [said[key] for key in sorted(said)]

    shown, card = page(client, made), look(client, made)

    assert texts(shown) == texts(page(client, made, "?submitted_after=2026-01-01")) == ordered
    assert excerpts(client, made) == ordered[:5]
    assert "crm-" not in shown + card
    assert "Newest" not in shown + card
    assert f">Response {min(said)[:8]}</a>" in shown
    assert f">Response {min(said)[:8]}</a>" in card


def test_what_is_about_to_be_deleted_is_left_out(client):
    made = scenario.project(TEXT)
    answered(made, None, "Stays.")
    key = answered(made, None, "Goes.")

    client.post(tab(made.pk, "response_delete", key))

    assert texts(page(client, made)) == excerpts(client, made) == ["Stays."]


# --- What narrows it, and pages ---------------------------------------------------------------------


@pytest.mark.parametrize("few", [0, 2_000])
def test_the_filters_of_the_results_hold_on_the_page_and_on_the_card(client, monkeypatch, few):
    monkeypatch.setattr(written, "FEW", few)
    made = scenario.project(TEXT, CHOICE)
    first = answered(made, None, "First.", 0)
    Conversation.objects.filter(pk=first).update(provider="chat")
    answered(made, None, "Second, 100% cold.", 0, at=LUNCHTIME + timedelta(days=2))
    answered(made, None, "Begun later.")
    queries = {
        "?status=completed": ["Second, 100% cold.", "First."],
        "?submitted_before=2026-01-31&provider=chat": ["First."],
        "?submitted_after=soon&status=gone": ["Begun later.", "Second, 100% cold.", "First."],
    }

    for query, found in queries.items():
        assert texts(page(client, made, query)) == found, query
        shown = html.unescape(client.get(tab(made.pk) + query).content.decode())
        assert re.findall(r"<blockquote>(.*?)</blockquote>", shown) == found, query


@pytest.mark.parametrize(("few", "query"), [(0, ""), (2_000, "?submitted_after=2026-01-01&q=answer")])
def test_pages_follow_each_other_in_both_directions(client, monkeypatch, few, query):
    monkeypatch.setattr(written, "FEW", few)
    monkeypatch.setattr("communities.staff.listing.PER_PAGE", 2)
    made = scenario.project(TEXT)
    for n in range(5):
        answered(made, None, f"Answer {n}")

    forward, last = pages(client, made, query)
    back, _ = pages(client, made, link(last, "prev"), rel="prev")

    assert forward == [["Answer 4", "Answer 3"], ["Answer 2", "Answer 1"], ["Answer 0"]]
    assert back == [forward[1], forward[0]]
