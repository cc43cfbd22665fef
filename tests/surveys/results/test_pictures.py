"""Charts as pictures: SVG and PNG with the figures of their cards, for the readers of the page."""

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
from surveys.drawing.figures import picture
from surveys.drawing.figures.charts import Card, ChartBar
from surveys.models import Project
from tests.support.caller import Caller
from tests.support.staff import Staff
from tests.support.surveys.panel import Person, panel
from tests.support.surveys.project_tabs import superuser, tab

pytestmark = pytest.mark.django_db
RED = Person("mail", "red", ("saw",), ("saw", "axe", "file"), 5, 9, 20, is_completed=True, weight="3")
BLUE = replace(RED, colour="blue", tools=("axe",), stars=1, recommend=2, age=61.5, weight="1")
SHARED = {"share_results": True, "privacy_mode": "semi-private"}
NAME = "{http://www.w3.org/2000/svg}"
PALETTE = dict.fromkeys(("ink", "soft", "accent", "bubble", "line", "good", "bad", "card"), "#000000")


@pytest.fixture(scope="module")
def client(kept_rows: None) -> Client:
    return superuser()


@pytest.fixture(scope="module")
def project(kept_rows: None) -> dict[str, Any]:
    return panel(Caller(), [RED] * 6 + [BLUE] * 2, hidden_fields={"weight": ["1"]}, **SHARED)


def key_of(project: dict[str, Any], name: str) -> str:
    return next(
        f"question-{each['id']}" for each in project["script"]["blocks"] if each["name"].lower() == name
    )


def drawn(client: Client, project: dict[str, Any], key: str, query: str = "", kind: str = "svg") -> Any:
    return client.get(tab(int(project["id"]), "picture", key, kind) + query)


def texts(response: Any) -> list[str]:
    assert response["Content-Type"] == "image/svg+xml"
    tree = ElementTree.fromstring(response.content)
    return ["".join(each.itertext()) for each in tree.iter(f"{NAME}text")]


def widths(response: Any) -> list[float]:
    tree = ElementTree.fromstring(response.content)
    rects = [each for each in tree.iter(f"{NAME}rect") if each.get("height") == "12.0"]
    return [float(each.get("width") or 0) for each in rects]


def test_a_picture_has_the_figures_of_its_card(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.382."""
    response = drawn(client, project, key_of(project, "colour"))

    told = texts(response)
    assert told[:2] == ["One choice · 8 answers", "Which colour?"]
    assert told[2:8] == ["red", "75% (6)", "green", "0% (0)", "blue", "25% (2)"]
    assert told[8].startswith("Opening moves · counted at ")
    assert widths(response) == [880, 660, 880, 880, 220]
    assert re.fullmatch(
        rf'attachment; filename="chart-{project["id"]}-question-\d+\.svg"', response["Content-Disposition"]
    )


@pytest.mark.parametrize("name", ["tools", "order", "stars"])
def test_each_kind_of_chart_has_both_formats(client: Client, project: dict[str, Any], name: str) -> None:
    """Rule 6.382."""
    told = texts(drawn(client, project, key_of(project, name)))
    response = drawn(client, project, key_of(project, name), kind="png")

    assert len(told) > 4
    assert (response["Content-Type"], response["Content-Disposition"][-5:]) == ("image/png", '.png"')
    with Image.open(io.BytesIO(response.content)) as image:
        assert image.width == 2 * picture.WIDTH
        assert len(image.getcolors(1 << 24) or ()) > 2


def test_scores_results_and_fields_have_pictures(client: Client, project: dict[str, Any]) -> None:
    page = client.get(tab(int(project["id"]))).content.decode()
    addresses = re.findall(r'href="([^"]+/picture/[^"]+\.svg)"', page)

    assert {address.rpartition("/")[2].partition("-")[0] for address in addresses} == {
        "question", "score", "variable", "field",
    }  # fmt: skip
    assert [client.get(address).status_code for address in addresses] == [200] * len(addresses)


def test_filters_and_weights_hold_and_are_told(client: Client, project: dict[str, Any]) -> None:
    """Rules 6.375 and 6.382."""
    query = "?weight_by=weight&where=stars+%3E+0"

    told = texts(drawn(client, project, key_of(project, "colour"), query))
    page = client.get(tab(int(project["id"])) + query).content.decode()

    assert told[0] == "One choice · 8 answers, weighted 20"
    assert told[3] == "90% (18)"
    assert "8 responses: where stars > 0" in told
    assert any(text.startswith("Weighted by weight.") for text in told)
    assert f"{key_of(project, 'colour')}.svg?where=stars+%3E+0&amp;weight_by=weight" in page


@pytest.mark.parametrize(
    ("key", "kind", "query"),
    [
        ("question-0", "svg", ""),
        ("colour", "svg", ""),
        ("question-{}", "gif", ""),
        ("question-{}", "svg", "?where="),
    ],
)
def test_nothing_else_is_drawn(
    client: Client, project: dict[str, Any], key: str, kind: str, query: str
) -> None:
    number = key_of(project, "colour").partition("-")[2]
    query = query and f"{query}nobody+%3D+1"

    assert drawn(client, project, key.format(number), query, kind).status_code == 404


def test_readers_of_shared_results_get_the_charts_that_they_see(project: dict[str, Any]) -> None:
    """Rule 6.382."""
    community = Community.objects.get(pk=project["community_id"])
    reader = Staff("creator", community=community, name="Rae").client
    key = key_of(project, "colour")

    assert "75% (6)" in texts(drawn(reader, project, key, "?where=stars+%3D+1"))
    Project.objects.filter(pk=project["id"]).update(share_results=False)
    try:
        assert drawn(reader, project, key).status_code in (403, 404)
        assert drawn(Client(), project, key).status_code == 302
    finally:
        Project.objects.filter(pk=project["id"]).update(share_results=True)


def test_the_shared_page_offers_its_charts(client: Client, project: dict[str, Any]) -> None:
    """Rule 6.382."""
    own = Project.objects.get(pk=project["id"])
    address = f"/r/{own.results_token}"
    key = key_of(project, "colour")

    page = Client().get(address).content.decode()
    told = texts(Client().get(f"{address}?picture={key}.svg"))

    assert f'href="?picture={key}.png"' in page
    assert told[1:4] == ["Which colour?", "red", "75% (6)"]
    client.post(tab(own.pk, "dashboard"), {"charts": [key_of(project, "age")[9:]], "is_shared": "on"})
    for name in (f"{key}.svg", "question-x.svg", f"{key_of(project, 'age')}.gif", "", "."):
        assert Client().get(f"{address}?picture={name}").status_code == 404
    assert Client().get(f"{address}?picture={key_of(project, 'age')}.svg").status_code == 200
    Project.objects.filter(pk=own.pk).update(share_results=False)
    assert Client().get(f"{address}?picture={key_of(project, 'age')}.svg").status_code == 404


def test_few_answers_of_anonymous_projects_are_not_drawn() -> None:
    """Rule 6.382."""
    made = panel(Caller(), [RED] * 3, hidden_fields={"weight": ["3"]}, share_results=True)
    Project.objects.filter(pk=made["id"]).update(privacy_mode="anonymous")
    token = Project.objects.get(pk=made["id"]).results_token

    assert Client().get(f"/r/{token}?picture={key_of(made, 'colour')}.svg").status_code == 404


# --- Drawing ----------------------------------------------------------------------------------------


def card_of(*bars: ChartBar, prompt: str = "Which?") -> Card:
    return Card(id=1, number=1, prompt=prompt, kind="One choice", answered="1 answer", bars=bars)


def test_texts_are_escaped_and_always_xml() -> None:
    bar = ChartBar("<script>alert(1)</script> & \x0b\x00“so”", 1, "100%", "100.00")

    told = picture.svg(picture.shapes_of(card_of(bar, prompt='"><b>'), PALETTE, foot=["a < b"]))

    assert "<script" not in told
    tree = ElementTree.fromstring(told)
    assert tree.get("aria-label") == '"><b>'
    assert "a < b" in [each.text for each in tree.iter(f"{NAME}text")]


@pytest.mark.parametrize("text", ["猫が好き", "😀"])
def test_letters_that_the_font_lacks_make_an_svg(text: str) -> None:
    """Rule 6.382."""
    drawing = picture.shapes_of(card_of(ChartBar(text, 1, "100%", "100.00")), PALETTE, foot=())

    response = picture.download(drawing, kind="png", name="chart")

    assert picture.png(drawing) is None
    assert (response["Content-Type"], response["Content-Disposition"]) == (
        "image/svg+xml",
        'attachment; filename="chart.svg"',
    )


def test_long_texts_are_divided_and_many_bars_are_told() -> None:
    bars = [ChartBar(f"Option {n} " + "x" * 300, 1, "1%", "1.00") for n in range(picture.MAX_BARS + 7)]

    drawing = picture.shapes_of(card_of(*bars, prompt="word " * 400), PALETTE, foot=())

    lines = [each for each in drawing.shapes if isinstance(each, picture.Line)]
    assert all(picture.width_of(each.text, each.size) <= picture.INNER + each.size for each in lines)
    assert "7 more are not drawn." in [each.text for each in lines]
    assert drawing.height < 8_000
