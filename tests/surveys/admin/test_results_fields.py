"""The results tab: the number of responses by the values of declared fields."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys.project_tabs import superuser, tab
from tests.support.surveys.sent_fields import PEOPLE, answer, made_by

pytestmark = pytest.mark.django_db
BARS = re.compile(
    r'<span class="text">\s*<bdi lang="">(.*?)</bdi>\s*</span>\s*'
    r'<span class="share">(.*?)<small>\((.*?)\)</small>',
    re.DOTALL,
)


def answered(caller: Caller, people: Any = PEOPLE, **fields: Any) -> dict[str, Any]:
    project = made_by(caller, **{"settings": {"hidden_fields": ["customer", "plan"]}, **fields})
    for person in people:
        answer(caller, project, person)
    return project


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture(scope="module")
def given(kept_rows: None) -> dict[str, Any]:
    return answered(Caller())


def page(client: Client, project: dict[str, Any], query: str = "") -> str:
    response = client.get(tab(int(project["id"]), "results") + query)
    assert response.status_code == 200, response.content
    return unescape(response.content.decode())


def card(html: str, name: str) -> str:
    start = html.index(f'id="field-{name}"')
    return html[start : html.index("</section>", start)]


def bars(html: str) -> list[tuple[str, ...]]:
    return [tuple(" ".join(part.split()) for part in found) for found in BARS.findall(html)]


def test_each_declared_field_has_a_card_with_counts_and_shares_most_first(
    client: Client, given: dict[str, Any]
) -> None:
    html = page(client, given)

    assert bars(card(html, "customer")) == [
        ("acme", "40%", "2"),
        ("ACME", "20%", "1"),
        ("bolt", "20%", "1"),
        ("Not given", "20%", "1"),
    ]
    assert bars(card(html, "plan")) == [("Not given", "80%", "4"), ("pro", "20%", "1")]
    assert "Show as a table" in card(html, "plan")
    assert html.index('id="fields"') < html.index(">Questions<") < html.index('id="questions"')


def test_the_cards_follow_the_filters(client: Client, given: dict[str, Any]) -> None:
    client, project = client, given

    filtered = page(client, project, "?field.customer==acme")
    nobody = page(client, project, "?field.customer==nobody")

    assert bars(card(filtered, "plan")) == [("pro", "50%", "1"), ("Not given", "50%", "1")]
    assert "No responses match these filters." in card(nobody, "plan")


def test_a_field_is_compared_by_questions_and_other_fields_but_not_by_itself(
    client: Client, given: dict[str, Any]
) -> None:
    client, project = client, given
    block = project["script"]["blocks"][0]["id"]

    by_question = page(client, project, f"?segment_by={block}")
    by_field = page(client, project, "?segment_by=field.customer")

    assert "Compared by: Which colour?" in card(by_question, "customer")
    assert "Compared by: customer" in card(by_field, "plan")
    assert "Compared by" not in card(by_field, "customer")


def test_readers_of_shared_results_see_nothing_of_fields(client: Client) -> None:
    caller = Caller()
    people = [({"customer": "acme"}, "red", 3, None)] * 6
    settings = {"hidden_fields": {"customer": ["acme"]}, "share_results": True}
    project = answered(caller, people, privacy_mode="anonymous", settings=settings)

    shared = page(Staff("creator", community=caller.community).client, project)
    whole = page(client, project)

    assert "These results are shared with the community" in shared
    assert "acme" not in shared
    assert 'id="fields"' not in shared
    assert bars(card(whole, "customer"))[0] == ("acme", "100%", "6")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?field.customer==acme", "customer is acme"),
        ("?field.customer=none", "customer was not given"),
        ("?status=partial", "partial"),
        ("?provider=web&field.plan==pro", "source is Web; plan is pro"),
        (
            "?submitted_after=2026-05-01&submitted_before=2026-05-09",
            "submitted from 1 May 2026 (UTC); submitted up to 9 May 2026 (UTC)",
        ),
    ],
)
def test_the_chosen_filters_are_told_in_words(
    client: Client, given: dict[str, Any], query: str, words: str
) -> None:
    html = page(client, given, query)

    assert f"selected here: {words}." in " ".join(html.split())


def test_filters_are_folded_and_a_fault_unfolds_them(client: Client, given: dict[str, Any]) -> None:
    """Rule 6.434."""
    plain, filtered = page(client, given, ""), page(client, given, "?provider=web&segment_by=field.plan")
    faulty = client.get(tab(int(given["id"])) + "?where=nobody+%3D+1").content.decode()

    assert '<details class="folded"><summary>' in "".join(plain.split("\n"))
    assert "active</span>" not in plain
    assert '<span class="badge">2 active</span>' in filtered
    assert '<details class="folded" open>' in faulty
    places = [plain.find(f'id="{each}"') for each in ("participation", "questions", "ask", "download")]
    assert places == sorted(places)
    assert min(places) > 0
