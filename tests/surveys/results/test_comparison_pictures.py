"""Comparisons and cross tables as pictures, with the figures of their pages."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from PIL import Image

from communities.models import Community
from surveys.drawing.figures import comparison_picture, picture
from surveys.drawing.figures.charts import Card, ChartBar, DataTable
from surveys.drawing.figures.crossing import DrawnCell, DrawnLine, DrawnTable
from surveys.drawing.figures.segments import OptionComparison, SegmentBar, SegmentComparison, Series
from tests.support.caller import Caller
from tests.support.staff import Staff, text_of
from tests.support.surveys.panel import Person, panel
from tests.support.surveys.project_tabs import superuser, tab

pytestmark = pytest.mark.django_db
RED = Person("mail", "red", ("saw",), ("saw", "axe", "file"), 5, 9, 20, is_completed=True, weight="3")
BLUE = replace(RED, colour="blue", tools=("axe",), stars=1, recommend=2, age=61.5, weight="1")
NAME = "{http://www.w3.org/2000/svg}"
PALETTE = dict.fromkeys(
    ("ink", "soft", "accent", "bubble", "line", "hairline", "good", "bad", "card", "star", "accent-ink"),
    "#000000",
)


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture(scope="module")
def project(kept_rows: None) -> dict[str, Any]:
    settings = {"hidden_fields": {"weight": ["1"], "campaign": ["mail"]}, "privacy_mode": "semi-private"}
    return panel(Caller(), [RED] * 40 + [BLUE] * 20 + [replace(BLUE, stars=5)] * 5, **settings)


def id_of(project: dict[str, Any], name: str) -> int:
    return next(each["id"] for each in project["script"]["blocks"] if each["name"].lower() == name)


def texts(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "image/svg+xml"
    tree = ElementTree.fromstring(response.content)
    return ["".join(each.itertext()) for each in tree.iter(f"{NAME}text")]


def compared(client: Client, project: dict[str, Any], name: str, query: str = "", kind: str = "svg") -> Any:
    address = tab(int(project["id"]), "picture", f"question-{id_of(project, name)}-compared", kind)
    return client.get(f"{address}?segment_by={id_of(project, 'colour')}{query}")


def crossed(client: Client, project: dict[str, Any], query: str = "", kind: str = "svg") -> Any:
    rows, columns = id_of(project, "colour"), id_of(project, "stars")
    address = tab(int(project["id"]), "cross")
    return client.get(f"{address}?rows={rows}&columns={columns}&as={kind}{query}")


def test_a_comparison_has_a_bar_of_each_segment(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.432."""
    told = texts(compared(client, project, "tools"))

    assert told[:3] == ["Several choices · 65 answers", "Which tools?", "Compared by: Which colour?"]
    assert told[3:7] == ["A", "red · 40 responses", "C", "blue · 25 responses"]
    assert told[7:12] == ["saw", "A", "100% (40)", "C", "0% (0)"]
    assert told[-1].startswith("Opening moves · counted at ")


@pytest.mark.parametrize("name", ["tools", "stars", "age"])
def test_each_kind_of_comparison_has_both_formats(client: Client, project: dict[str, Any], name: str) -> None:
    """Rule 6.432."""
    told = texts(compared(client, project, name))
    response = compared(client, project, name, kind="png")

    assert "Compared by: Which colour?" in told
    assert response["Content-Type"] == "image/png"
    with Image.open(io.BytesIO(response.content)) as image:
        assert image.width == 2 * picture.WIDTH
        assert len(image.getcolors(1 << 24) or ()) > 2


def test_a_comparison_of_numbers_is_a_table(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.432."""
    told = texts(compared(client, project, "age"))

    place = told.index("Mean")
    assert told[3:6] == ["A red", "B green", "C blue"]
    assert told[place : place + 4] == ["Mean", "20", "–", "61.5"]


def test_scores_results_and_fields_have_them_too(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.432."""
    page = client.get(tab(int(project["id"])) + f"?segment_by={id_of(project, 'colour')}").content.decode()
    addresses = re.findall(r'href="([^"]+/picture/([a-z]+)-[^"]+-compared\.svg\?[^"]+)"', page)

    assert {kind for _, kind in addresses} >= {"question", "score", "variable"}
    for address, _ in addresses:
        assert "Compared by: Which colour?" in texts(client.get(address.replace("&amp;", "&")))


def test_filters_and_weights_of_a_comparison_are_told(client: Client, project: dict[str, Any]) -> None:
    """Rules 6.375 and 6.432."""
    told = texts(compared(client, project, "tools", "&weight_by=weight&where=stars+%3E+4"))

    assert told[0] == "Several choices · 45 answers, weighted 125"
    assert "100% (120)" in told
    assert "45 responses: where stars > 4" in told
    assert any(text.startswith("Weighted by weight.") for text in told)


def test_a_cross_table_has_its_shares_counts_and_marks(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.432."""
    told = texts(crossed(client, project))

    assert told[:2] == ["65 responses with an answer to both", "Which colour? × How good?"]
    red = told.index("red")
    assert told[red : red + 9] == [
        *("red", "0% (0)", picture.DOWN, "0% (0)", "0% (0)", "0% (0)", "100% (40)", picture.UP, "62% (40)")
    ]
    last = told.index("All", red)
    assert told[last : last + 7] == [
        *("All", "31% (20)", "0% (0)", "0% (0)", "0% (0)", "69% (45)", "100% (65)")
    ]
    assert "Percentages are of the row" in " ".join(told)


def test_a_weighted_cross_table_tells_its_bases(client: Client, project: dict[str, Any]) -> None:
    """Rules 6.375 and 6.432."""
    told = texts(crossed(client, project, "&weight_by=weight&share=column&where=stars+%3E+0"))

    assert told[0] == "65 responses with an answer to both, weighted 145"
    red = told.index("red")
    assert [each for each in told[red : red + 10] if each not in (picture.UP, picture.DOWN)] == [
        *("red", "0% (0)", "0% (0)", "0% (0)", "0% (0)", "96% (120)", "83% (120)", "40")
    ]
    assert "Percentages are of the column" in " ".join(told)
    assert "65 responses: where stars > 0" in told


def test_a_cross_table_is_a_file_of_each_format(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.432."""
    page = client.get(
        crossed(client, project, kind="csv").wsgi_request.get_full_path().replace("&as=csv", "")
    )
    drawn = crossed(client, project, kind="png")

    assert "Picture (SVG)" in text_of(page)
    assert (drawn["Content-Type"], drawn["Content-Disposition"]) == (
        "image/png",
        f'attachment; filename="cross-table-{project["id"]}.png"',
    )
    assert crossed(client, project, kind="gif")["Content-Type"].startswith("text/html")


def test_what_is_not_compared_is_not_drawn(client: Client, project: dict[str, Any]) -> None:
    address = tab(int(project["id"]), "picture", f"question-{id_of(project, 'tools')}-compared", "svg")

    assert client.get(address).status_code == 404
    assert compared(client, project, "colour").status_code == 404
    assert crossed(client, project, "&where=stars+%3E+9")["Content-Type"].startswith("text/html")


def test_readers_of_shared_results_get_no_comparison(project: dict[str, Any]) -> None:
    """Rule 6.432."""
    reader = Staff("creator", community=Community.objects.get(pk=project["community_id"]), name="Rae").client

    assert compared(reader, project, "tools").status_code in (403, 404)
    assert crossed(reader, project).status_code in (302, 403, 404)


# --- Drawing ----------------------------------------------------------------------------------------


def test_many_options_and_segments_are_told_instead_of_drawn() -> None:
    """Rule 6.432."""
    legend = [Series(chr(65 + n), f"Segment {n} " + "x" * 200, 1, 1, f"s{n + 1}") for n in range(8)]
    bar = ChartBar("", 1, "1%", "1.00")
    groups = [
        OptionComparison(f"Option {n} " + "y" * 300, "", [SegmentBar(each, bar) for each in legend])
        for n in range(300)
    ]
    comparison = SegmentComparison(legend, groups, (), "", DataTable((), ()))
    card = Card(id=1, number=1, prompt="Which?", kind="One choice", answered="1 answer")

    drawing = comparison_picture.compared(comparison, card, divided_by="Who?", palette=PALETTE, foot=())

    assert drawing.height < 8_000
    assert "285 more options are not drawn." in words_of(drawing)
    table = SegmentComparison(legend, (), (), "", DataTable(["Answer", *"x" * 30], [["Mean", *"9" * 30]]))
    drawing = comparison_picture.compared(table, card, divided_by="Who?", palette=PALETTE, foot=())
    assert "18 more segments are not drawn." in words_of(drawing)


@pytest.mark.long
def test_a_wide_table_makes_the_picture_wider_and_has_an_end() -> None:
    """Rule 6.432."""
    cell = DrawnCell(1, {"row": 1.0}, "1%", "", "")
    line = DrawnLine("Row " + "x" * 300, 1, 1, "1%", [cell] * 30)
    table = DrawnTable(
        *("Rows", "Columns", "row", ["Column " + "z" * 90] * 30, [1.0] * 30, ["1%"] * 30, 1.0, [1] * 30, 1),
        *([line] * 99, ["Why."], [], ["Weighted by w."]),
    )

    drawing = comparison_picture.crossed(table, noun="response", palette=PALETTE, foot=())

    assert picture.WIDTH < drawing.width < 2_000
    assert drawing.height < 8_000
    assert {"49 more rows are not drawn.", "18 more columns are not drawn."} <= words_of(drawing)
    boxes = [each for each in drawing.shapes if isinstance(each, picture.Box)]
    assert max(each.x + each.width for each in boxes) <= drawing.width - picture.MARGIN + 1
    assert picture.png(drawing) is not None


def words_of(drawing: picture.Drawing) -> set[str]:
    return {each.text for each in drawing.shapes if isinstance(each, picture.Line)}
