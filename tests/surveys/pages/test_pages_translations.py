"""Our own texts for respondents, in each language that has a catalog."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from communities.ground import translation
from communities.ground.translation import in_language, number, say
from communities.models import CommunitySettings
from surveys.drawing import endings, words
from surveys.drawing.parts import Action
from surveys.engine.script import Scale
from surveys.engine.walk import defaults, formats
from surveys.models import Project
from surveys.pages.respondent import not_admitted, notices
from surveys.services.conversations import admission, places
from surveys.services.results import poll
from surveys.services.scripts import outro
from tests.support.cases import try_each
from tests.support.surveys import scenario
from tests.support.surveys.visitor import Visitor

OTHERS = translation.LANGUAGES[1:]
KEYS = translation.catalog("de").keys()
OF_PLACES = re.compile(r"\{\w+\}")
SAID = re.compile(r'say\("([^"]+)"\)')
SAME = {"Okay", "Error", "Question", "Test.", "j F Y, H:i", "six"}  # in some languages
AUTHORED = "שלום"  # has no letter of ours


@try_each("language", OTHERS)
def test_each_text_has_a_translation_with_the_same_values(language: str) -> None:
    """Rule 6.943."""
    catalog = translation.catalog(language)

    assert {text: OF_PLACES.findall(text) for text in catalog} == {
        text: sorted(OF_PLACES.findall(translated), key=OF_PLACES.findall(text).index)
        for text, translated in catalog.items()
    }
    assert {*catalog} ^ _texts() == set()
    assert {text for text, translated in catalog.items() if text == translated} <= SAME


def test_numbers_have_the_separators_of_the_language() -> None:
    """Rule 6.943."""
    assert number(1234.5) == "1,234.5"
    assert say("{n} of {all}", n=3, all=8) == "3 of 8"
    with in_language("pt-BR"):
        assert number(1234.5) == "1.234,5"
    with in_language("de_AT"):
        assert say("{n} of {all}", n=3, all=8) == "3 von 8"
        assert say("A text of an author: {this}") == "A text of an author: {this}"
    with in_language("den"):  # another language, Slavey
        assert say("Continue") == "Continue"


def test_an_error_page_is_in_the_first_language_of_the_browser(client: Client) -> None:
    """Rule 6.944."""
    page = client.get("/s/unknown/more/", headers={"Accept-Language": "fr-CH,de;q=0.9"}).content.decode()

    assert '<html lang="fr"' in page
    assert "Cette page est introuvable." in page


def _texts() -> set[str]:
    """All texts that `say` and `count` get, and those of templates."""
    constants = [value for name, value in vars(words).items() if name.isupper() and isinstance(value, str)]
    labels = [each.label for module in (endings, notices, not_admitted) for each in _actions(module)]
    written = [text for each in formats.FORMATS.values() for text in (each.help, each.problem)]
    tables = [*poll._WHEN_SEEN.values(), poll._ONCE_CLOSED, *notices._OVER.values()]
    others = [
        admission.DEACTIVATED,
        places.WORDS,
        *outro.OWN_TEXTS,
        defaults.SKIP,
        *defaults.NPS_ENDS,
        translation.NUMBER,
    ]
    others += [
        notices._FULL_NEW,
        notices._FULL_BEGUN,
        notices._FULL_REVIEWED,
        *not_admitted._FOR_WHOM.values(),
    ]
    others += [notices._POLL_IN_CHAT, notices._SURVEY_IN_CHAT]
    found = {
        *words.WORDS.values(),
        *constants,
        *labels,
        *written,
        *others,
        *(text for two in tables for text in two),
    }
    for template in [*Path("templates").glob("*.html"), *Path("templates/respondent").rglob("*.html")]:
        found |= {*SAID.findall(template.read_text("utf-8"))}
    for folder in ("communities", "surveys"):
        for path in Path(folder).rglob("*.py"):
            source = path.read_text("utf-8")
            if "communities.ground.translation import" in source:
                found |= {*_written(ast.parse(source))}
    return found - {translation.ENGLISH}


def _actions(module: object) -> Iterator[Action]:
    for value in vars(module).values():
        yield from [
            each for each in (value if isinstance(value, tuple) else [value]) if isinstance(each, Action)
        ]


def _written(tree: ast.Module) -> Iterator[str]:
    """The texts that stand in calls, also by the name of a constant of the same module."""
    named: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                named |= {
                    each.id: value
                    for each, value in zip(names, values, strict=True)
                    if isinstance(each, ast.Name)
                }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("say", "count")
        ):
            for argument in node.args:
                yield from _strings(argument, named)


def _strings(node: ast.expr, named: dict[str, ast.expr]) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from (*_strings(one, named), *_strings(other, named))
        case ast.Name(id=name) if name in named:
            yield from _strings(named[name], named)
        case ast.Subscript(value=table):
            yield from _strings(table, named)
        case ast.Dict(values=values) | ast.Tuple(elts=values):
            yield from (text for each in values for text in _strings(each, named))


class _Marked(dict[str, str]):
    """A catalog in which each text is marked. Refuses a text that the real catalogs lack."""

    def get(self, text: str, default: Any = None) -> Any:
        if text == translation.NUMBER:
            return None
        if text.startswith("j "):  # how dates are written
            return "Y"
        if text not in KEYS:
            return text
        return f"⟦{text.replace('{option}', '⟧{option}⟦').replace('{name}', '⟧{name}⟦')}⟧"


class _Bare(HTMLParser):
    """The texts of a page, and of the attributes that people hear or see, outside of marks."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.bare: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            is_said = name.startswith("data-") or name in (
                "aria-label",
                "aria-valuetext",
                "title",
                "alt",
                "placeholder",
            )
            if is_said and re.search(r"[a-z] [a-z]", value or ""):
                self.handle_data(value or "")

    def handle_data(self, text: str) -> None:
        rest = text
        while (shorter := re.sub(r"⟦[^⟦⟧]*⟧", "", rest)) != rest:
            rest = shorter
        if re.search(r"[A-Za-z]", rest.replace("XP", "").replace("UTC", "")):
            self.bare.append(rest.strip())


ALL: list[dict[str, Any]] = [
    {"type": "single_punch", "options": [{"value": AUTHORED, "is_other": True}, "ש"]},
    {"type": "multi_punch", "options": [AUTHORED, "ש", "ל"], "max": 2, "min": 2},
    {"type": "single_punch", "options": [AUTHORED, "ש"], "answer_style": "select_menu"},
    {"type": "ranking", "options": [AUTHORED, "ש"]},
    {"type": "nps"},
    {"type": "rating"},
    {
        "type": "opinion_scale",
        "min": 1,
        "max": 2,
        "scale": Scale(icon="emoji"),
        "options": [{"value": "1", "emoji": "😞"}, {"value": "2", "emoji": "😀"}],
    },
    {"type": "open_numeric", "min": 1, "max": 5000, "whole": True},
    {"type": "open_text", "format": "email"},
    {"type": "open_text", "format": "date"},
    {"type": "rating", "group": AUTHORED},
    {"type": "rating", "group": AUTHORED},
    {"type": "content_block", "video_url": "https://youtu.be/aqz-KE-bpKQ"},
    {"type": "open_text"},
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("in_no_hurry", "redis")
def test_a_page_has_no_text_of_ours_that_is_not_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules 6.943 and 6.944."""
    monkeypatch.setattr(translation, "catalog", lambda language: {} if language == "en" else _Marked())
    words._words_in.cache_clear()
    community = scenario.community()
    type(community).objects.update(name=AUTHORED)
    community.refresh_from_db()
    CommunitySettings.objects.create(community=community, privacy_url="https://example.org/")
    pages = [
        *_survey(review=True, consent=AUTHORED, keep_responses_days=30, mail_copy=True),
        *_poll(),
        *_notices(),
    ]
    words._words_in.cache_clear()

    own = {"Mila", "Mila:", "x@", "a@example.org"}  # the interviewer's name, and what was typed
    assert {text for page in pages for text in _Bare(page).bare} <= own
    assert all("⟦" in page for page in pages)


def _project(*blocks: dict[str, Any], **fields: Any) -> Project:
    prompted = [{"prompt": AUTHORED, **block} for block in blocks]
    return scenario.project(
        *prompted, name=AUTHORED, thanks="Thank you! Your answers have been saved.", **fields
    )


def _reader(made: Project, **options: Any) -> Visitor:
    """A visitor whose browser asks for German, of a community that has chosen no language."""
    visitor = Visitor(made, **options)
    visitor.client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de-CH,en;q=0.5"
    return visitor


def _survey(**fields: Any) -> Iterator[str]:
    made = _project(*ALL, **fields)
    visitor = _reader(made).look()
    yield visitor.response.content.decode()
    yield visitor.send().response.content.decode()  # without consent
    blocks = scenario.script(made).blocks
    rows = {f"row-{each.id}": "2" for each in blocks if each.group}
    for block in [each for each in blocks if f"row-{each.id}" not in [*rows][1:]]:
        refused = {"value": "x@", "consent": visitor_consent(visitor)}
        yield visitor.send(**refused).response.content.decode()
        ids = [str(option.id) for option in block.options]
        value = {"email": "a@example.org", "date": "1990-05-01"}.get(block.format or "", "2")
        ranks = {f"rank-{each}": n for n, each in enumerate(ids, start=1)}
        chosen = ids[:2] if block.type == "multi_punch" else ids[1:2]
        sent: dict[str, Any] = {**refused, "option": chosen, "value": value, **ranks, **rows}
        yield visitor.send("answer" if block.asks else "go", **sent).response.content.decode()
    yield visitor.send("send").response.content.decode()
    for do in ("copy", "mail", "look", "hide"):
        yield visitor.send(do, email="nobody").response.content.decode()


def visitor_consent(visitor: Visitor) -> str:
    found = re.search(r'name="consent" value="([^"]*)"', visitor.page)
    return found[1] if found else ""


def _poll() -> Iterator[str]:
    made = _project(
        {"type": "rating"},
        type="poll",
        poll_results_mode="public",
        change_poll=True,
        closes_at=timezone.now() + timedelta(days=99),
    )
    visitor = _reader(made).look()
    yield visitor.response.content.decode()
    yield visitor.send(value="4").response.content.decode()
    for do in ("ask-retract", "look", "change", "retract"):
        yield visitor.send(do).response.content.decode()
    Project.objects.filter(pk=made.pk).update(status="inactive", closes_at=None)
    yield _reader(made).look().response.content.decode()
    hidden = _project({"type": "nps"}, type="poll", privacy_mode="anonymous", poll_results_mode="voters_only")
    yield _reader(hidden).look().response.content.decode()


def _notices() -> Iterator[str]:
    made = _project({"type": "open_text"})
    yield _reader(made).look("?link=nothing").response.content.decode()
    yield _reader(made).look("?_answers=nothing").response.content.decode()
    Project.objects.filter(pk=made.pk).update(max_completes=1)
    yield _reader(made).look().response.content.decode()
    for fields in (
        {"response_channel": "chat", "max_completes": None},
        {"response_channel": "web", "participation": "private"},
        {"status": "inactive", "participation": "open_web"},
    ):
        Project.objects.filter(pk=made.pk).update(**fields)
        yield _reader(made).look().response.content.decode()
