"""The page on which staff read and try the values that an address can fill in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from surveys.models import Project
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import client_as, look, superuser, tab
from tests.support.surveys.scenario import CHOICE, SAYING, TEXT

pytestmark = pytest.mark.django_db
COLOUR = {**CHOICE, "name": "colour", "prompt": "Which colour?"}
NAME = {**TEXT, "name": "First name", "prompt": "Your name?"}


def survey(*blocks: Any, **fields: Any) -> Project:
    return scenario.project(*(blocks or (SAYING, NAME, COLOUR)), **fields)


def tried(made: Project, address: str, reader: Client | None = None) -> str:
    return str(look(reader or superuser(), made, f"?{urlencode({'address': address})}", page="share_values"))


def test_the_tab_shows_an_example_and_leads_to_the_page() -> None:
    made = survey(hidden_fields=["utm_source"])

    seen = look(superuser(), made, page="share")

    assert f"/s/{made.slug}?utm_source=newsletter&First_name=Hello" in seen
    assert tab(made.pk, "share_values") in seen


def test_every_parameter_stands_with_an_example_that_the_page_takes() -> None:
    made = survey(
        NAME,
        COLOUR,
        {"type": "multi_punch", "name": "topics", "options": ["go", "chess"], "min": 2},
        {"type": "multi_punch", "name": "commas", "options": ["a,b", "c,d"], "min": 2},
        {"type": "ranking", "name": "best", "options": ["x", "y", "z"], "rank_top_n": 2},
        {"type": "nps", "name": "score"},
        {"type": "rating", "name": "stars"},
        {"type": "open_numeric", "name": "age", "min": 18},
        {"type": "open_numeric", "name": "debt", "max": -1},
        hidden_fields=["customer", "utm_source", "last_name"],
    )
    examples = [
        "customer=example",
        "utm_source=newsletter",
        "last_name=Bell",
        "First_name=Hello",
        "colour=red",
        "topics=go,chess",
        "commas=a%2Cb&commas=c%2Cd",
        "best=x,y",
        "score=10",
        "stars=5",
        "age=18",
        "debt=-1",
    ]

    seen = look(superuser(), made, page="share_values")
    result = tried(made, "?" + "&".join(examples))

    assert [f"<code>{each}</code>" in seen for each in examples] == [True] * len(examples)
    assert "Left out" not in result
    assert result.count("Fills in “") == len(examples) - 4
    assert result.count("Sets the order shown in “") == 1


def test_allowed_values_of_an_anonymous_project_are_told() -> None:
    made = survey(privacy_mode="anonymous", hidden_fields={"campaign": ["mail", "poster"]})

    seen = look(superuser(), made, page="share_values")

    assert "with one of these values: mail, poster." in seen
    assert "people see every answer before it is saved" in seen
    assert "First name: on anonymous projects an address fills in no texts and numbers." in seen
    assert "<code>First_name=Hello</code>" not in seen
    assert "fills in no texts and numbers" in tried(made, "first_name=Ann")
    assert "Fills in “Which colour?”." in tried(made, "colour=red")


def test_trying_an_address_tells_what_becomes_of_each_value() -> None:
    made, reader = survey(hidden_fields=["customer"]), superuser()
    for query, says in [
        ("colour=red", "Fills in “Which colour?”."),
        ("COLOUR=green", "Fills in “Which colour?”."),
        ("colour=pink", "Left out: No option of this question has this value."),
        ("colour=", "Left out: There is no value."),
        ("other=x", "Left out: no question and no declared field has this name."),
        ("customer=C-1", "Stored with the response as a field."),
        ("customer=", "Left out: This field does not take such a value."),
        ("skip=1", "Questions that are filled in are passed"),
        ("skip=yes", "Skips nothing"),
        ("embed=1", "Belongs to the page itself"),
        ("first_name=" + "x" * 2_000, "Left out: the values are longer"),
    ]:
        assert says in tried(made, query, reader), query
        if query.startswith(("colour=red", "customer=C", "skip=yes")):
            assert says in tried(made, f"https://colloquy.example/s/{made.slug}?{query}", reader), query


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("&".join(f"a{n}=1" for n in range(1_100)), "This address is too long to be tried."),
        ("https://[x?a=1", "This is no address."),
        ("https://colloquy.example/s/other", "This address leads to another page."),
        ("colloquy.example/r/other?colour=red", "This address leads to another page."),
    ],
)
def test_what_is_no_address_with_values_is_told(address: str, says: str) -> None:
    assert says in tried(survey(), address)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("https://colloquy.example/s/{}", "This address has no values."),
        ("https://colloquy.example/s/{}/?colour=red#top", "Fills in “Which colour?”."),
        ("/s/{}?colour=red", "Fills in “Which colour?”."),
        ("first_name=https://x.example/s/other?a", "Fills in “Your name?”."),
    ],
)
def test_an_address_of_this_page_is_tried_however_it_is_written(address: str, says: str) -> None:
    made = survey()

    seen = tried(made, address.format(made.slug))

    assert says in seen
    assert "another page" not in seen


def test_an_address_of_another_survey_is_refused_with_the_beginning_of_the_right_one() -> None:
    made, other = survey(), survey()

    seen = tried(made, f"https://colloquy.example/s/{other.slug}?colour=red")

    assert f"/s/{made.slug}." in seen
    assert "Fills in “Which colour?”.</span>" not in seen


def test_what_is_tried_is_no_markup() -> None:
    query = urlencode({"address": "?<script>alert(1)</script>=<script>alert(2)</script>"})

    page = superuser().get(f"{tab(survey().pk, 'share_values')}?{query}")

    assert b"alert(2)" in page.content
    assert b"<script>alert" not in page.content


def test_others_do_not_see_the_page() -> None:
    made = survey()

    assert client_as("foreigner").get(tab(made.pk, "share_values")).status_code == 404
    assert superuser().post(tab(made.pk, "share_values")).status_code == 405
