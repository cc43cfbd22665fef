"""The page below results that crosses two questions."""

from __future__ import annotations

import csv
import html
from dataclasses import replace
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from tests.support.caller import TEXT, Caller
from tests.support.staff import Staff, text_of
from tests.support.surveys.panel import Person, panel
from tests.support.surveys.project_tabs import superuser, tab

pytestmark = pytest.mark.django_db
RED = Person("mail", "red", ("saw",), (), 5, 9, 20, is_completed=True)
BLUE = Person("poster", "blue", ("axe",), (), 1, 2, 61.5, is_completed=True)


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture(scope="module")
def project(kept_rows: None) -> dict[str, Any]:
    return panel(Caller(), [RED] * 12 + [BLUE] * 9)


def query_of(project: dict[str, Any], rows: str = "", columns: str = "", **more: str) -> str:
    ids = {each["name"].lower(): str(each["id"]) for each in project["script"]["blocks"]}
    chosen = {"rows": ids.get(rows, rows), "columns": ids.get(columns, columns), **more}
    return "?" + urlencode({name: value for name, value in chosen.items() if value})


def page(client: Client, project: dict[str, Any], query: str = "", status: int = 200) -> str:
    response = client.get(tab(int(project["id"]), "cross") + query)
    assert response.status_code == status, response.content
    return html.unescape(text_of(response))


def test_two_questions_are_crossed_with_counts_shares_and_a_test(
    client: Client, project: dict[str, Any]
) -> None:
    """Rules 6.325, 6.326 and 6.328."""
    told = page(client, project, query_of(project, "colour", "stars"))

    assert "21 responses with an answer to both" in told
    assert (
        "red ↓ less than in the other rows: 0% 0 0% 0 0% 0 0% 0 ↑ more than in the other rows: 100% 12"
        in told
    )
    assert "All 43% 9 0% 0 0% 0 0% 0 57% 12 100% 21" in told
    assert "The rows differ beyond chance (Fisher's exact test, p < 0.001)." in told
    assert "Rows with fewer than 10 responses: “blue”." in told


def test_percentages_are_of_rows_columns_or_all(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.325."""
    of_all = page(client, project, query_of(project, "colour", "field.campaign", share="all"))

    assert "red ↑ more than in the other rows: 57% 12" in of_all
    assert "Percentages are of all in the table" in of_all


def test_numbers_are_crossed_in_chosen_bands(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.321."""
    told = page(client, project, query_of(project, "age", "tools", row_bands="30, 60.5"))

    assert "30 to under 60.5" in told
    assert "A response can be in several rows or columns" in told


def test_the_table_is_a_file(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.325."""
    address = tab(int(project["id"]), "cross") + query_of(project, "colour", "field.campaign")

    response = client.get(f"{address}&as=csv")

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    lines = list(csv.reader(StringIO(response.content.decode("utf-8-sig"))))
    assert lines[:5] == [
        ["Which colour? × campaign", "mail", "poster", "Not given", "All"],
        ["red", "12", "0", "0", "12"],
        ["green", "0", "0", "0", "0"],
        ["blue", "0", "9", "0", "9"],
        ["All", "12", "9", "0", "21"],
    ]
    assert lines[6:8] == [["Percentages of the row", "mail", "poster", "Not given"], ["red", "100", "0", "0"]]
    assert lines[-2][0].startswith("The rows differ beyond chance")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ({"rows": "colour", "columns": "colour"}, "by something else than the rows"),
        ({"rows": "age", "columns": "colour", "row_bands": "9,3"}, "grow from left to right"),
        ({"rows": "colour", "columns": "nothing"}, "Select a valid choice"),
        ({"rows": "colour", "columns": "stars", "where": "nobody = 1"}, "nobody"),
    ],
)
def test_faults_are_told_at_the_form(
    client: Client, project: dict[str, Any], query: dict[str, str], fault: str
) -> None:
    """Rule 6.325."""
    told = page(client, project, query_of(project, **query), status=400)

    assert "There is a problem" in told
    assert fault in told


def test_without_a_choice_or_an_answer_the_page_says_so(client: Client, project: dict[str, Any]) -> None:
    bare = Caller().make_open(TEXT)

    assert "Choose what divides the responses" in page(client, project)
    assert "No responses match these filters" in page(
        client, project, query_of(project, "colour", "stars", where="stars = 3")
    )
    assert "no questions yet that divide its responses" in page(client, bare)
    assert "Cross two questions" not in client.get(tab(int(bare["id"]), "results")).content.decode()
    assert tab(int(project["id"]), "cross") in client.get(tab(int(project["id"]), "results")).content.decode()


def test_readers_of_shared_results_see_no_cross_table() -> None:
    """Rule 6.328."""
    caller = Caller()
    made = panel(caller, [RED], share_results=True, privacy_mode="semi-private")
    staff = Staff("member", community=caller.community)

    refused = staff.get("surveys_project_cross", made["id"], rows="completed.day", columns="completed.week")

    assert refused.status_code == 403


def test_a_weighted_table_says_so_and_tells_unweighted_numbers(client: Client) -> None:
    """Rules 6.375 and 6.376."""
    heavy, light = replace(RED, weight="2"), replace(BLUE, weight="0.5")
    made = panel(Caller(), [heavy] * 12 + [light] * 9 + [RED], hidden_fields={"weight": ["1"]})
    query = query_of(made, "colour", "stars", weight_by="weight")

    told = page(client, made, query)
    response = client.get(tab(int(made["id"]), "cross") + f"{query}&as=csv")

    assert "Weighted by weight. 21 responses with weights of 28.5 in all" in told
    assert "Left out because they have no usable weight: 1 response (1 without a value)." in told
    assert "All 16% 4.5 0% 0 0% 0 0% 0 84% 24 100% 28.5 21 Unweighted 9 0 0 0 12 21" in told
    assert "Kish's effective base" in told
    lines = list(csv.reader(StringIO(response.content.decode("utf-8-sig"))))
    assert lines[0][-2:] == ["All", "Unweighted"]
    assert lines[4:6] == [
        ["All", "4.5", "0", "0", "0", "24", "28.5", "21"],
        ["Unweighted", "9", "0", "0", "0", "12", "", "21"],
    ]
    assert ["Weighted by weight."] in lines


def test_results_are_weighed_by_a_declared_field_that_the_address_keeps(client: Client) -> None:
    """Rules 6.374 and 6.375."""
    answering = [replace(RED, weight="2.5"), RED, replace(BLUE, weight="heavy")]
    made = panel(Caller(), answering, hidden_fields={"campaign": ["mail"], "weight": ["1"]})
    address = tab(int(made["id"]))

    told = client.get(f"{address}?weight_by=weight").content.decode()
    words = html.unescape(text_of(client.get(f"{address}?weight_by=weight")))
    refused = client.get(f"{address}?weight_by=campaign")

    assert "Weigh by" in client.get(address).content.decode()
    assert '<option value="campaign"' not in told.split('id="weight_by"')[1].split("</select>")[0]
    assert '<option value="weight" selected>' in told
    assert "results/cross/?weight_by=weight" in told
    assert "Weighted by weight. 1 response with weights of 2.5 in all" in words
    assert "2 responses (1 without a value, 1 with another text than a number)" in words
    assert "1 answer, weighted 2.5" in words
    assert "Select a valid choice" in refused.content.decode()
    assert "Weigh by" not in client.get(tab(int(Caller().make_open(TEXT)["id"]))).content.decode()
