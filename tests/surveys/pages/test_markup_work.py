"""Each text of an author is parsed once, for all pages, exports and requests (rules 11.33 to 11.35)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from surveys.engine.language import markup
from surveys.services.conversations.admission import consent_mark
from tests.support.access.addresses import ARGUMENT, addresses
from tests.support.caller import Caller
from tests.support.surveys import scenario
from tests.support.surveys.project_tabs import superuser
from tests.support.surveys.visitor import Visitor

OPTIONS = [f"o{n}" for n in range(8)]
BLOCKS = 6
OF_A_PROJECT = "admin/surveys/project/<int:project_id>/"
FORMATS = ["format=csv", "format=csv&form=long", "format=csv&values=codes", "format=csv&headers=names"]
FORMATS += [f"format={each}" for each in ("xlsx", "json", "ndjson", "parquet", "sav")]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the parser has read."""
    texts: list[str] = []
    parse = markup._PARSER.parseInline

    def counted(text: str) -> Any:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(markup._PARSER, "parseInline", counted)
    markup._kept.clear()
    return texts


@pytest.fixture
def made(db: None) -> Any:
    """A project whose prompts and descriptions have markup and a token."""
    choices = [
        {
            "type": "multi_punch",
            "options": OPTIONS,
            "required": False,
            "prompt": f"Hello [UserName|you], **q{n}**",
            "description": f"*Below {n}*",
        }
        for n in range(BLOCKS)
    ]
    rows = [
        {"type": "rating", "max": 3, "group": "*G*", "prompt": f"[UserName|you] **row {n}**"}
        for n in range(BLOCKS)
    ]
    return scenario.project(*rows, *choices, thanks="**Thanks**", share_results=True)


def of(made: Any) -> str:
    return f"/v1/communities/{made.community_id}/projects/{made.pk}"


def texts_of(made: Any) -> int:
    """The texts with markup that a project has: prompts, descriptions, the thanks, the consent."""
    return 3 * BLOCKS + 2


def once(parsed: list[str], ask: Any, most: int) -> None:
    """The parser reads each text at most twice, once for each form, and nothing when asked again."""
    parsed.clear()
    ask()
    assert len(parsed) <= most
    assert all(parsed.count(each) <= 2 for each in parsed), sorted(parsed)
    parsed.clear()
    ask()
    assert parsed == []


def answered(made: Any) -> str:
    told = scenario.begin(made, "ann")
    for block in scenario.script(made).blocks:
        told = scenario.say(told, "2" if block.type == "rating" else [0, 1])
    return str(told.conversation.pk)


def staff_pages() -> Iterator[str]:
    for route in addresses():
        names = {first or second for first, second in ARGUMENT.findall(route)}
        if route.startswith(OF_A_PROJECT) and names <= {"project_id", "response_id", "format"}:
            yield route


@pytest.mark.long
@pytest.mark.usefixtures("redis")
def test_pages_of_staff_parse_each_text_once(made: Any, parsed: list[str]) -> None:
    """Rule 11.34. Every address of a project, found in the routes."""
    values = {"project_id": str(made.pk), "response_id": answered(made), "format": "csv"}
    client, routes = superuser(), sorted(staff_pages())
    assert len(routes) > 30
    seen = 0

    for route in routes:
        path = "/" + ARGUMENT.sub(lambda found: values[found[1] or found[2]], route)

        def ask(path: str = path) -> None:
            answer = client.get(path)
            b"".join(answer) if answer.streaming else answer.content

        markup._kept.clear()
        parsed.clear()
        with transaction.atomic():
            once(parsed, ask, 2 * texts_of(made))
        seen += bool(markup._kept)

    assert seen >= 4  # results, responses, one response, exports: otherwise nothing was tested


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("query", FORMATS)
def test_exports_parse_each_prompt_once_and_not_for_each_option(
    made: Any, parsed: list[str], query: str
) -> None:
    """Rule 11.34."""
    answered(made)
    caller = Caller(community=made.community)
    path = f"{of(made)}/responses/export?{query}"

    once(parsed, lambda: b"".join(caller.get(path)), 2 * BLOCKS)


def test_one_response_and_the_results_parse_each_prompt_once(made: Any, parsed: list[str]) -> None:
    """Rule 11.34."""
    answered(made)
    caller = Caller(community=made.community)

    for path in (f"{of(made)}/analysis/results", f"{of(made)}/responses"):
        markup._kept.clear()
        once(parsed, lambda path=path: caller.get(path), 2 * texts_of(made))


@pytest.mark.usefixtures("in_no_hurry", "redis")
@pytest.mark.django_db(transaction=True)
def test_pages_of_respondents_parse_each_text_once(made: Any, parsed: list[str]) -> None:
    """Rule 11.34. A group of rows, a step below many past steps, the review, and the end."""
    type(made).objects.update(consent="*Do* you?", review=True)
    blocks = scenario.script(made).blocks
    visitor = Visitor(made)
    once(parsed, visitor.look, 2 * texts_of(made))

    rows = {f"row-{block.id}": "2" for block in blocks[:BLOCKS]}
    visitor.send(consent=consent_mark("*Do* you?"), **rows)
    once(parsed, visitor.look, 2 * texts_of(made))

    for _ in range(BLOCKS):
        visitor.send("skip")
    assert "before you send them" in visitor.page
    once(parsed, visitor.look, 2 * texts_of(made))

    visitor.send("send")
    assert "<strong>Thanks</strong>" in visitor.page
    once(parsed, visitor.look, 2 * texts_of(made))
