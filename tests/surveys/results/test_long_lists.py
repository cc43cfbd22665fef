"""Long lists of options: those that nobody chose are folded (rule 6.433)."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from surveys.models import Project
from tests.support.caller import Caller
from tests.support.staff import text_of
from tests.support.surveys.imports import past, send
from tests.support.surveys.project_tabs import superuser, tab
from tests.support.surveys.results import OPEN_WEB

pytestmark = pytest.mark.django_db
PLACES = [f"Place {n:03}" for n in range(120)]
WAYS, KINDS = [f"Way {n}" for n in range(8)], [f"Kind {n:02}" for n in range(20)]
FOLDED = "118 options without an answer"


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture(scope="module")
def project(kept_rows: None) -> dict[str, Any]:
    caller = Caller()
    made = caller.make_open(
        _question("place", PLACES, "select_menu"),
        _question("way", WAYS, "buttons"),
        _question("kind", KINDS, "buttons"),
        delivery=OPEN_WEB,
        settings={"share_results": True, "privacy_mode": "semi-private"},
    )
    given = [
        past(("place", PLACES[7]), ("way", WAYS[0]), ("kind", KINDS[0])),
        past(("place", PLACES[99]), ("way", WAYS[1]), ("kind", KINDS[0])),
    ]
    assert send(caller, made, *given).status_code == 201
    return made


def _question(name: str, values: list[str], style: str) -> dict[str, Any]:
    options = [{"value": each} for each in values]
    return {
        "name": name,
        "type": "single_punch",
        "prompt": f"Which {name}?",
        "answer_style": style,
        "options": options,
    }


def id_of(project: dict[str, Any], name: str) -> int:
    return next(each["id"] for each in project["script"]["blocks"] if each["name"] == name)


def card_of(html: str, project: dict[str, Any], name: str) -> str:
    return html.split(f'id="question-{id_of(project, name)}"')[1].split("</section>")[0]


def drawn(card: str) -> str:
    """What is drawn before anything is unfolded."""
    return card.partition("<details")[0]


def test_results_the_dashboard_and_the_shared_page_fold_them(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.433."""
    number = int(project["id"])
    client.post(tab(number, "dashboard"), {"charts": [str(id_of(project, "place"))]})
    token = Project.objects.get(pk=number).results_token
    pages = [client.get(tab(number)), client.get(tab(number, "dashboard")), Client().get(f"/r/{token}")]

    for page in pages:
        card = card_of(page.content.decode(), project, "place")
        assert drawn(card).count("<li>") == 2
        assert (PLACES[7] in drawn(card), PLACES[8] in drawn(card), PLACES[8] in card) == (True, False, True)
        assert FOLDED in card
    card = card_of(pages[0].content.decode(), project, "kind")
    assert drawn(card).count("<li>") == 20
    assert "without an answer" not in card


def test_the_picture_has_those_that_were_chosen(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.433."""
    address = tab(int(project["id"]), "picture", f"question-{id_of(project, 'place')}", "svg")

    told = client.get(address).content.decode()

    assert (PLACES[99] in told, PLACES[8] in told, FOLDED in told) == (True, False, True)
    assert "more are not drawn" not in told


def test_comparisons_have_those_with_an_answer(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.433."""
    number = int(project["id"])

    by_way = client.get(tab(number) + f"?segment_by={id_of(project, 'way')}").content.decode()
    by_place = client.get(tab(number) + f"?segment_by={id_of(project, 'place')}").content.decode()

    compared = card_of(by_way, project, "place").split('class="segments"')[1]
    assert drawn(compared).count('class="group"') == 2
    assert f"{FOLDED}, in the table alone." in compared
    assert PLACES[8] in compared
    table = card_of(by_place, project, "way").split('class="segments"')[1]
    assert PLACES[99] in table
    assert PLACES[8] not in table


def test_cross_tables_have_rows_and_columns_with_a_response(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.433."""
    address = (
        f"{tab(int(project['id']), 'cross')}?rows={id_of(project, 'place')}&columns={id_of(project, 'way')}"
    )

    page = client.get(address)
    file = client.get(f"{address}&as=csv").content.decode()
    told = client.get(f"{address}&as=svg").content.decode()

    table = page.content.decode().split('class="card chart crossed"')[1]
    assert table.count('<th scope="row"') == 3
    assert table.count('<th scope="col"') == 9
    assert "118 rows without a response: in the CSV file alone." in text_of(page)
    assert "118 rows without a response: in the CSV file alone." in told
    assert f"{PLACES[8]}," in file
