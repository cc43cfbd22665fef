"""The site `/docs`: every page is there, every link leads somewhere, and nothing comes from other sites."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client

from config import docs, documents, reference
from surveys.engine.script import BLOCK_TYPES, CALCULATED
from tests.support.caller import Caller
from tests.support.cases import try_each
from tests.support.openapi import described

LOADED = re.compile(r'<(?:script|link|img|iframe)[^>]* (?:src|href)="([^"]*)"')
LINK = re.compile(r'<a [^>]*href="([^"]*)"')
ID = re.compile(r' id="([^"]*)"')
VERB = re.compile(r"[A-Z][a-z]+s,? ")


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    """The HTML of each page of the menu, by address."""
    addresses = [link.address for links in docs._menu().values() for link in links]
    found = {}
    for address in addresses:
        response = Client().get(address)
        assert response.status_code == 200, address
        assert response.headers["Content-Security-Policy"].startswith("default-src 'self';")
        found[address] = response.content.decode()
    return found


def test_the_menu_has_every_document() -> None:
    files = {path.stem for path in documents.FOLDER.glob("*.md")}

    assert set(documents.documents()) == files


def test_pages_load_nothing_from_other_sites_and_have_no_inline_code(pages: Mapping[str, str]) -> None:
    """Rule 11.60."""
    for address, text in pages.items():
        assert [each for each in LOADED.findall(text) if not each.startswith("/")] == [], address
        assert "<script>" not in text
        assert " style=" not in text
        assert re.search(r" on\w+=", re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)) is None, address


def test_every_link_leads_to_a_page_and_a_place(pages: Mapping[str, str]) -> None:
    ids = {address: set(ID.findall(text)) for address, text in pages.items()}
    broken = []
    for address, text in pages.items():
        for link in map(html.unescape, LINK.findall(text)):
            target = urlsplit(link)
            path = target.path or address
            if target.scheme or not path.startswith("/docs"):
                continue
            if path not in ids or (target.fragment and target.fragment not in ids[path]):
                broken.append((address, link))

    assert broken == []


def test_headings_lead_to_themselves(pages: Mapping[str, str]) -> None:
    assert (
        '<h2 id="2-write-a-survey"><a class="anchor" href="#2-write-a-survey">2. Write a survey</a></h2>'
        in (pages["/docs"])
    )
    for address, text in pages.items():
        assert "&lt;h2" not in text, address


def test_ids_are_unique_on_a_page(pages: Mapping[str, str]) -> None:
    for address, text in pages.items():
        found = ID.findall(text)
        assert len(found) == len(set(found)), address


def test_the_search_finds_pages_and_places_that_exist(client: Client, pages: Mapping[str, str]) -> None:
    """Rule 11.61."""
    entries = json.loads(client.get("/docs/search.json").content)

    assert {"/docs", "/docs/glossary", "/docs/errors-and-limits#rule-11.61"} <= {
        each["url"] for each in entries
    }
    for each in entries:
        path, _, anchor = each["url"].partition("#")
        assert not anchor or f' id="{anchor}"' in pages[path], each["url"]


@try_each("address", ["/docs/nothing", "/docs/reference/nothing", "/docs/drawn/nothing", "/docs/start.js"])
def test_an_unknown_page_is_not_found(address: str) -> None:
    assert Client().get(address).status_code == 404


def test_the_reference_has_every_operation_with_who_may_call_it(pages: Mapping[str, str]) -> None:
    """Rule 11.62."""
    described_ids = {
        each["operationId"] for methods in described()["paths"].values() for each in methods.values()
    }
    operations = [each for group in reference.groups().values() for each in group.operations]

    assert described_ids <= {each.id for each in operations}
    for group in reference.groups().values():
        for each in group.operations:
            assert f'id="{each.id}"' in pages[reference.address_of(group.slug)]
            assert each.answers, each.id
            if each.method != "EVENT":
                assert "key" in each.who, each.id
                assert {"400", "401", "403", "404"} <= {refusal.status for refusal in each.refusals}


def test_an_operation_is_described_by_a_verb_first() -> None:
    faulty = [
        (each.id, each.words[:40])
        for group in reference.groups().values()
        for each in group.operations
        if each.method != "EVENT" and not VERB.match(each.words)
    ]

    assert faulty == []


def test_a_deprecated_operation_says_when_it_ends() -> None:
    """Rule 11.67."""
    for methods in described()["paths"].values():
        for operation in methods.values():
            if operation.get("deprecated"):
                for response in operation["responses"].values():
                    assert {"Deprecation", "Sunset"} <= set(response["headers"]), operation["operationId"]


def test_the_guide_to_scripts_draws_every_type(client: Client) -> None:
    """Rule 11.65."""
    blocks = documents.documents()["write-a-script"].blocks

    assert {each["type"] for each in blocks} == set(BLOCK_TYPES) - {CALCULATED}
    for block in blocks:
        response = client.get(f"/docs/drawn/{block['name']}")
        text = response.content.decode()
        assert response.status_code == 200
        assert "frame-ancestors 'self'" in response.headers["Content-Security-Policy"]
        for option in block.get("options", []):
            assert html.escape(option.get("label", option["value"])) in text


@pytest.mark.django_db
def test_blocks_that_the_guide_to_scripts_shows_are_accepted_as_they_are() -> None:
    """Rule 11.952."""
    text = (documents.FOLDER / "write-a-script.md").read_text()
    codes = re.findall(r"^```json[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    values = [json.loads(code) for code in codes]
    shown = [block for value in values for block in (value if isinstance(value, list) else [value])]

    answer = Caller().post("/projects", {"name": "Shown", "type": "convo", "script": {"blocks": shown}})

    assert (answer.status_code, answer.headers.get("X-Ignored-Fields")) == (201, None), answer.content
    assert len(shown) > len(BLOCK_TYPES)


@pytest.fixture
def try_it(client: Client, redis: object):
    def ask(expression: str, **more: str) -> str:
        query: dict[str, Any] = {
            "expression": expression,
            "game": "Blitz",
            "stars": "4",
            "snacks": ["Tea", "Cake"],
            **more,
        }
        text = client.get("/docs/use-logic", query).content.decode()
        return html.unescape(re.findall(r"<output[^>]*>(.*?)</output>", text)[0])

    return ask


@try_each(
    ("expression", "kind", "outcome"),
    [
        ('stars >= 4 AND "Tea" in snacks', "expression", "true"),
        ("stars > 4", "expression", "false"),
        ('game != "Rapid"', "expression", "true"),
        ("age > 1", "expression", "false"),
        ("Stars = 4", "expression", "true"),
        ("[stars] * 20 + 0.5", "formula", "80.5"),
        ('if [stars] >= 4 then "fan" else "guest"', "formula", "fan"),
        ("[age] + 1", "formula", "1"),
    ],
)
def test_an_expression_is_evaluated(expression: str, kind: str, outcome: str, try_it) -> None:
    """Rule 11.66."""
    assert try_it(expression, kind=kind) == outcome


@try_each(
    ("expression", "words"),
    [
        ("stars >=", "(Column 9.)"),
        (
            "colour = 1",
            "Nothing is called “colour” here: the questions are game, stars, age, snacks. (Column 1.)",
        ),
        ("x" * 2001, "at most 2,000 characters"),
        ("<b>", "(Column 1.)"),
    ],
)
def test_a_faulty_expression_says_what_is_wrong(expression: str, words: str, try_it) -> None:
    assert words in try_it(expression)


def test_many_attempts_are_refused(try_it) -> None:
    """Rule 11.66."""
    outcomes = [try_it("stars = 4") for _ in range(61)]

    assert outcomes[:60] == ["true"] * 60
    assert outcomes[60] == "Too many requests came from your address. Wait a minute."


def test_samples_name_this_site(pages: Mapping[str, str]) -> None:
    for address, text in pages.items():
        assert address.startswith("/docs/reference") or documents.EXAMPLE_SITE not in text
    assert f"{settings.BASE_URL}/static/surveys/embed.js" in pages["/docs/embed-a-survey"]
