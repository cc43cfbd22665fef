"""The dashboard: chosen charts in an order of their own, for staff and for readers of shared results."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from communities.models import AuditEntry, Community
from surveys.models import Dashboard, Project
from tests.support.caller import Caller
from tests.support.staff import Staff, text_of
from tests.support.surveys.imports import past, send
from tests.support.surveys.panel import panel, people
from tests.support.surveys.project_tabs import superuser, tab

pytestmark = pytest.mark.django_db
MANY = [replace(each, weight="2" if each.colour == "red" else "0.5") for each in people(40, seed=5)]
FIELDS = {"hidden_fields": {"campaign": ["mail"], "weight": ["1"]}}
SHARED = {**FIELDS, "share_results": True, "privacy_mode": "semi-private"}


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture
def project() -> dict[str, Any]:
    return panel(Caller(), MANY, **SHARED)


def ids(project: dict[str, Any]) -> dict[str, int]:
    return {str(each["name"]).lower(): each["id"] for each in project["script"]["blocks"]}


def keep(client: Client, project: dict[str, Any], *names: str, status: int = 302, **more: str) -> str:
    charts = [str(ids(project).get(name, name)) for name in names]
    response = client.post(tab(int(project["id"]), "dashboard"), {"charts": charts, "order": charts, **more})
    assert response.status_code == status, response.content
    return response.content.decode()


def drawn(client: Client, project: dict[str, Any]) -> str:
    return client.get(tab(int(project["id"]), "dashboard")).content.decode()


def order_of(page: str, project: dict[str, Any]) -> list[str]:
    """The names of the questions with a card, in the order of the page."""
    places = {name: page.find(f'id="question-{pk}"') for name, pk in ids(project).items()}
    return sorted((name for name, place in places.items() if place >= 0), key=lambda name: places[name])


def shared(project: dict[str, Any]) -> Any:
    token = Project.objects.get(pk=project["id"]).results_token
    return Client().get(f"/r/{token}"), Client().get(f"/r/{token}.json")


def test_charts_are_shown_in_their_order(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.379."""
    assert "shows the charts that you choose" in drawn(client, project)
    selected = {"where": 'colour = "red"', "weight_by": "weight"}
    results = html.unescape(client.get(tab(int(project["id"]), "results"), selected).content.decode())
    [address] = re.findall(r'href="([^"]*/results/dashboard/[^"]*)">Dashboard', results)
    begun = html.unescape(client.get(address).content.decode())
    assert 'value="colour = "red""' in begun
    assert '<option value="weight" selected>' in begun

    keep(client, project, "age", "colour", "recommend", title="At a glance")

    page = drawn(client, project)
    assert order_of(page, project) == ["age", "colour", "recommend"]
    assert "At a glance" in page
    assert Dashboard.objects.get().block_ids == [
        ids(project)[name] for name in ("age", "colour", "recommend")
    ]
    [entry] = AuditEntry.objects.filter(action="project.updated")
    assert (entry.after or {})["dashboard.title"] == "At a glance"


def test_it_counts_the_responses_with_a_condition_weighted(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.379."""
    keep(client, project, "stars", where='colour = "red"', weight_by="weight")

    told = html.unescape(text_of(client.get(tab(int(project["id"]), "dashboard"))))

    red = [each for each in MANY if each.colour == "red"]
    given = [each for each in red if each.stars is not None]
    assert f'{len(red)} responses, where colour = "red"' in told
    assert "Weighted by weight." in told
    assert f"{len(given)} answers, weighted {2 * len(given)}" in told


def test_it_is_live(client: Client) -> None:
    """Rule 6.379."""
    caller = Caller()
    made = panel(caller, MANY[:3], **FIELDS)
    keep(client, made, "colour")
    assert send(caller, made, past(("colour", "red"))).status_code == 201

    assert "4 responses" in text_of(client.get(tab(int(made["id"]), "dashboard")))


@pytest.mark.parametrize(
    ("charts", "more", "fault"),
    [
        ((), {}, "Choose at least one chart."),
        (("colour",), {"where": "nobody = 1"}, "nobody"),
    ],
)
def test_faults_are_told_at_their_field(
    client: Client, project: dict[str, Any], charts: tuple[str, ...], more: dict[str, str], fault: str
) -> None:
    """Rule 6.379."""
    page = html.unescape(keep(client, project, *charts, status=400, **more))

    assert "There is a problem" in page
    assert fault in page
    assert not Dashboard.objects.exists()


def test_it_is_removed(client: Client, project: dict[str, Any]) -> None:
    keep(client, project, "colour")

    keep(client, project, "colour", remove="1")

    assert not Dashboard.objects.exists()
    assert "shows the charts that you choose" in drawn(client, project)


def test_only_editors_who_read_responses_choose_it(project: dict[str, Any]) -> None:
    """Rule 6.379."""
    address = tab(int(project["id"]), "dashboard")
    community = Community.objects.get(pk=project["community_id"])
    admin, member = (Staff(role, community=community, name=role).client for role in ("admin", "member"))

    assert admin.get(address).status_code == 200
    assert member.get(address).status_code in (302, 403, 404)
    assert member.post(address, {"charts": [str(ids(project)["colour"])]}).status_code in (302, 403, 404)
    assert not Dashboard.objects.exists()


# --- Shared -----------------------------------------------------------------------------------------


def test_the_shared_results_show_it_in_the_place_of_all(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.380."""
    keep(client, project, "age", "colour")
    page, told = shared(project)
    assert len(order_of(page.content.decode(), project)) == 6
    assert "title" not in told.json()

    keep(client, project, "age", "colour", is_shared="on", title="At a glance")

    page, told = shared(project)
    assert order_of(page.content.decode(), project) == ["age", "colour"]
    assert "At a glance" in page.content.decode()
    assert [each["block_name"].lower() for each in told.json()["blocks"]] == ["age", "colour"]
    assert (told.json()["title"], told.json()["weighting"]) == ("At a glance", None)


def test_few_answers_of_a_selection_are_not_shared(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.380."""
    few = [each for each in MANY if each.colour == "red" and each.stars == 5]
    assert 0 < len(few) < 5
    keep(client, project, "colour", is_shared="on", where='colour = "red" AND stars = 5')
    page, told = shared(project)
    assert "Too few to show yet." in page.content.decode()
    assert told.json()["blocks"][0]["distribution"] is None

    keep(client, project, "stars", "age", is_shared="on", where='colour = "red"', weight_by="weight")
    page, told = shared(project)

    words = html.unescape(text_of(page))
    assert "Weighted by weight." in words
    assert "responses that were selected" in words
    assert "colour" not in words
    assert told.json()["weighting"]["field"] == "weight"
    stars, age = told.json()["blocks"]
    assert stars["weighted_count"] == 2 * stars["response_count"]
    assert age["stats"]["min"] is None


def test_anonymous_projects_share_no_selection(client: Client) -> None:
    """Rule 6.381."""
    fields = {"hidden_fields": {"campaign": ["mail", "poster"], "weight": ["1", "2"]}}
    made = panel(Caller(), [replace(each, weight="1") for each in MANY[:12]], **fields, share_results=True)
    Project.objects.filter(pk=made["id"]).update(privacy_mode="anonymous")

    page = keep(client, made, "colour", is_shared="on", where="stars > 1", status=400)
    keep(client, made, "colour", is_shared="on")

    assert "without conditions and weights" in html.unescape(page)
    assert shared(made)[0].status_code == 200
    Dashboard.objects.update(weight_by="weight")
    assert [each.status_code for each in shared(made)] == [404, 404]
