"""The results tab: scores, calculated results, and filters by field."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from surveys.models import ResultsCount
from surveys.services.results import very_large
from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys.panel import panel, people
from tests.support.surveys.project_tabs import superuser, tab
from tests.support.surveys.quizzes import quiz
from tests.support.surveys.sent_fields import PEOPLE, answer, made_by

pytestmark = pytest.mark.django_db
SHARED = {"settings": {"share_results": True}}


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture(scope="module")
def project(kept_rows: None) -> dict[str, Any]:
    caller = Caller()
    project = made_by(caller, settings={"hidden_fields": ["campaign"]})
    for person in PEOPLE:
        answer(caller, project, person)
    return project


def page(client: Client, project: dict[str, Any], query: str = "", status: int = 200) -> str:
    response = client.get(tab(int(project["id"]), "results") + query)
    assert response.status_code == status, response.content
    return response.content.decode()


def test_scores_and_results_stand_before_the_questions(client: Client) -> None:
    html = page(client, quiz(Caller()))

    assert html.index("Fire Mage") < html.index('id="questions"')
    assert html.index('id="score-3"') < html.index(">Total<")
    assert "1.8 of 3" in html
    assert ">much<" in html.replace("\n", "").replace(" ", "")


def another_creator(caller: Caller) -> Client:
    """A browser of a creator of the community who made none of its projects."""
    return Staff("creator", community=caller.community).client


def test_another_creator_sees_the_scores_of_shared_results_without_the_texts() -> None:
    caller = Caller()
    project = quiz(caller, privacy_mode="semi-private", **SHARED)

    html = page(another_creator(caller), project)

    assert html.index("Fire Mage") < html.index('id="questions"')
    assert "1.8 of 3" in html
    assert "Of completed responses, as they stood at the end." in html
    card = html[html.rindex(">Kind<") : html.index('id="questions"')]
    assert "2 different texts, in 5 responses. What they say is not shared." in card
    assert "others, in" not in html
    assert "<table" not in card
    assert "little" not in html


def test_scores_of_very_many_shared_responses_are_counted_by_a_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(very_large, "VERY_LARGE", 5)
    caller = Caller()
    project = quiz(caller, privacy_mode="semi-private", **SHARED)
    browser, address = another_creator(caller), tab(int(project["id"]), "results_counting")

    seen = page(browser, project)
    polled = browser.get(address)
    very_large.run(count_id=ResultsCount.objects.get().pk)
    ended = browser.get(address)

    assert "Scores and calculated results are being counted: 0% is done." in seen
    assert f'hx-get="{address}' in seen
    assert "Which?" in seen
    assert "Fire Mage" not in seen
    assert "are being counted: 0% is done." in polled.content.decode()
    assert (ended.status_code, ended["HX-Refresh"]) == (204, "true")
    assert "1.8 of 3" in page(browser, project)
    assert page(browser, project).count("What they say is not shared.") == 1


def test_the_progress_of_results_that_are_not_shared_is_hidden() -> None:
    caller = Caller()
    project = quiz(caller, privacy_mode="semi-private")

    response = another_creator(caller).get(tab(int(project["id"]), "results_counting"))

    assert response.status_code == 404


def test_another_creator_sees_no_scores_of_an_anonymous_project(client: Client) -> None:
    caller = Caller()
    project = quiz(caller, privacy_mode="anonymous", **SHARED)

    html = page(another_creator(caller), project)

    assert "These results are shared with the community" in html
    assert 'id="questions"' in html
    assert "Fire Mage" not in html
    assert "little" not in html
    assert "Fire Mage" in page(client, project)


def test_declared_fields_are_offered_first_with_the_values_that_exist(
    client: Client, project: dict[str, Any]
) -> None:
    html = page(client, project)

    places = [html.index(f'name="field.{name}"') for name in ("campaign", "customer", "plan")]
    assert places == sorted(places)
    for value in ("=acme", "=ACME", "=bolt", "=pro", "none"):
        assert f'value="{value}"' in html
    assert 'value="field.customer"' in html


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("?field.customer=", 5),
        ("?field.customer==nobody", 0),
        ("?field.customer==acme&field.plan=none", 1),
    ],
)
def test_a_field_filters(client: Client, project: dict[str, Any], query: str, count: int) -> None:
    html = page(client, project, query)

    assert f"<dd>{count}</dd>" in html


def test_numbers_times_and_scores_are_compared_in_bands(client: Client) -> None:
    """Rule 6.321."""
    made = panel(Caller(), people(6, seed=1))
    ids = {each["name"].lower(): each["id"] for each in made["script"]["blocks"]}

    bands = page(client, made, f"?segment_by={ids['age']}&bands=18,%2030.5")
    groups = page(client, made, f"?segment_by={ids['recommend']}:groups&bands=18")

    assert "Compared by: How old?" in bands
    assert "18 to under 30.5" in bands
    assert "Passives (7 and 8)" in groups
    for by in ("completed.week", "score", ids["doubled"], ids["order"], f"{ids['stars']}&bands=3"):
        assert "Compared by: " in page(client, made, f"?segment_by={by}")


def test_wrong_bands_are_told_at_their_field(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.321."""
    html = page(client, project, f"?segment_by={project['script']['blocks'][2]['id']}&bands=30,18", 400)

    assert 'id="bands-error">The numbers at which bands begin grow' in html


@pytest.mark.parametrize(
    "query",
    [
        "?field.town==Rome",
        "?field.customer==a%00b",
        f"?field.customer=={'x' * 501}",
        "?segment_by=nonsense",
    ],
)
def test_an_unknown_field_or_value_is_told_at_the_form(
    client: Client, project: dict[str, Any], query: str
) -> None:
    assert "There is a problem" in page(client, project, query, status=400)


@pytest.mark.parametrize(("count", "status"), [(20, 200), (21, 400)])
def test_an_address_brings_at_most_twenty_menus(
    client: Client, project: dict[str, Any], count: int, status: int
) -> None:
    query = "?" + "&".join(f"field.a{n:02}=" for n in range(count))

    html = page(client, project, query, status)

    assert html.count('name="field.a') == 20
    assert html.count('name="field.') == 23
    assert ("more than 20 fields of its own" in html) == (status == 400)


def test_more_than_twenty_filters_by_field_are_told_at_the_form(
    client: Client, project: dict[str, Any]
) -> None:
    names = ["customer", *(f"a{n:02}" for n in range(20))]
    query = "?" + "&".join(f"field.{name}=none" for name in names)

    assert "Results are filtered by at most 20 fields." in page(client, project, query, 400)
