"""The site `/docs`: guides, the reference of the interface, and its promises (rules 11.60 to 11.66).

/docs, /docs/<name>             a document of `config/docs`
/docs/reference, …/<group>      the operations of the OpenAPI description, by tag
/docs/drawn/<block>             a block of a guide, as respondents see it
/docs/search.json               the index that the page searches by itself
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.cache import cache_control
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from communities.gate import throttling
from config import documents, reference
from config.documents import MENU
from surveys.drawing import security, theme, widgets
from surveys.drawing.widgets import StepWidget, Typed
from surveys.drawing.words import WORDS
from surveys.engine.intake import reader
from surveys.engine.language import expressions, formulas
from surveys.engine.language.lexer import ParseError
from surveys.engine.language.values import Value, number_text
from surveys.engine.script import Block
from surveys.engine.walk import defaults

DRAWN_IN = "write-a-script"
NAMES = ("game", "stars", "age", "snacks")  # of the answers that an expression can be tried with


@dataclass(frozen=True, slots=True)
class Link:
    """An entry of the menu."""

    title: str
    address: str


@dataclass(frozen=True, slots=True)
class Trial:
    """An expression or a formula that a reader tries, with the answers that it is evaluated for.

    `result` is its value in words; `fault` says why there is none.
    """

    text: str
    kind: str
    answers: Mapping[str, Value]
    result: str = ""
    fault: str = ""


@require_safe
@gzip_page
@cache_control(max_age=300)
def page(request: HttpRequest, document: str = "start") -> HttpResponse:
    """A document, or 404."""
    found = documents.documents().get(document)
    if found is None:
        raise Http404
    before, marker, after = found.html.partition(documents.TRY)
    trial = _trial(request) if marker else None
    context = {"document": found, "before": before, "after": after, "trial": trial}
    response = render(request, "docs/document.html", _frame(found.address, found.title) | context)
    if trial and trial.result + trial.fault:  # a browser would show a refusal again
        response["Cache-Control"] = "no-store"
    return response


@require_safe
@gzip_page
@cache_control(max_age=300)
def reference_overview(request: HttpRequest) -> HttpResponse:
    """The introduction to the interface, and the errors that all operations share."""
    context = {
        "parts": reference.introduction(),
        "groups": reference.groups().values(),
        "refusals": reference.refusals(),
    }
    address = reverse("docs-reference")
    return render(request, "docs/reference.html", _frame(address, "Reference") | context)


@require_safe
@gzip_page
@cache_control(max_age=300)
def reference_group(request: HttpRequest, group: str) -> HttpResponse:
    """The operations of a group and their objects, or 404."""
    found = reference.groups().get(group)
    if found is None:
        raise Http404
    context = {"group": found, "languages": documents.LANGUAGES, "highlighted": documents.highlighted}
    return render(request, "docs/group.html", _frame(reference.address_of(group), found.name) | context)


@require_safe
@gzip_page
@cache_control(max_age=300)
def search_index(request: HttpRequest) -> HttpResponse:
    """The titles and texts of all pages, which the page searches by itself."""
    return HttpResponse(_search_index(), content_type="application/json")


@require_safe
@cache_control(max_age=300)
def drawn(request: HttpRequest, block: str) -> HttpResponse:
    """A block of a guide with the control of the respondents' page, for a frame of the guide; or 404."""
    widget = _drawn().get(block)
    if widget is None:
        raise Http404
    looks = replace(theme.PLAIN, title=widget.prompt)
    response = render(request, "docs/drawn.html", {"page": looks, "step": widget, "words": WORDS})
    security.allow_own_frames(response)
    return response


# --- The frame ----------------------------------------------------------------------------------------


@cache
def _menu() -> Mapping[str, Sequence[Link]]:
    """The menu: the documents, with the reference before the promises."""
    menu = {}
    for heading, names in MENU.items():
        if heading == "Promises":
            menu["Reference"] = [
                Link("Overview and errors", reverse("docs-reference")),
                *(Link(tag, reference.address_of(slugify(tag))) for tag in reference.TAGS),
            ]
        found = map(documents.documents().__getitem__, names)
        menu[heading] = [Link(document.title, document.address) for document in found]
    return menu


def _frame(address: str, title: str) -> dict[str, object]:
    """The context that all pages have. The pages before and after this one are those of the menu."""
    links = [link for section in _menu().values() for link in section]
    at = next(place for place, link in enumerate(links) if link.address == address)
    return {
        "title": title,
        "address": address,
        "menu": _menu(),
        "previous": links[at - 1] if at else None,
        "next": links[at + 1] if at + 1 < len(links) else None,
    }


@cache
def _search_index() -> bytes:
    """Entries with an address, the title of the page, a heading, and a text."""
    entries = [
        {
            "url": document.address + (f"#{section.anchor}" if section.anchor else ""),
            "page": document.title,
            "title": section.title,
            "text": section.text,
        }
        for document in documents.documents().values()
        for section in document.sections
    ]
    for slug, group in reference.groups().items():
        address = reference.address_of(slug)
        entries += [
            {
                "url": f"{address}#{each.id}",
                "page": group.name,
                "title": each.title,
                "text": f"{each.method} {each.path} {each.words}".replace("`", ""),
            }
            for each in group.operations
        ]
        entries += [
            {
                "url": f"{address}#{each.name}",
                "page": group.name,
                "title": each.name,
                "text": " ".join(field.name for field in each.fields),
            }
            for each in group.objects
        ]
    entries += [
        {
            "url": f"{reverse('docs-reference')}#{slug}",
            "page": "Reference",
            "title": heading,
            "text": html.striptags(),
        }
        for heading, slug, html in reference.introduction()
        if heading
    ]
    return orjson.dumps(entries)


# --- Drawn blocks, and tried expressions --------------------------------------------------------------


@cache
def _drawn() -> Mapping[str, StepWidget]:
    """The drawn blocks of the guide to scripts, by name."""
    blocks = documents.documents()[DRAWN_IN].blocks
    read = reader.read_blocks(list(blocks), path="blocks").blocks
    return {block.name or "": _widget(number, block) for number, block in enumerate(read, 1)}


def _widget(number: int, block: Block) -> StepWidget:
    options = tuple(replace(option, id=100 * number + n) for n, option in enumerate(block.options))
    block = defaults.effective(replace(block, id=number, options=options), is_poll=False)
    block = replace(block, prompt=block.prompt.replace("[xp_points]", str(_xp(block))))
    return widgets.draw(block, typed=Typed(), button=defaults.button_of(block))


def _xp(block: Block) -> int:
    return (block.action_config and block.action_config.xp_amount) or 0


def _trial(request: HttpRequest) -> Trial:
    """Evaluate the expression of the address. It counts as a request without a key, so nobody tries many."""
    sent = request.GET
    kind = "formula" if sent.get("kind") == "formula" else "expression"
    trial = Trial(sent.get("expression", ""), kind, _answers(sent))
    if not trial.text.strip():
        return replace(trial, text='stars >= 4 AND "Tea" in snacks')
    if throttling.take_for_address(request).is_used_up:
        return replace(trial, fault="Too many requests came from your address. Wait a minute.")
    try:
        return replace(trial, result=_result(trial))
    except ParseError as error:
        return replace(trial, fault=f"{error.message} (Column {error.column:,}.)")


def _result(trial: Trial) -> str:
    """The value of the text in words. Raises ParseError for a fault, or for a name without a meaning."""
    parsed: Any = formulas.parse(trial.text) if trial.kind == "formula" else expressions.parse(trial.text)
    for mention in parsed.mentions:
        if mention.name.casefold() not in NAMES:
            message = f"Nothing is called “{mention.name}” here: the questions are {', '.join(NAMES)}."
            raise ParseError(message, mention.column)

    def value_of(name: str) -> Value:
        return trial.answers.get(name.casefold())

    if trial.kind == "expression":
        return "true" if parsed.holds(value_of) else "false"
    result = parsed.evaluate(value_of, str)
    return number_text(result) if isinstance(result, Decimal) else str(result)


def _answers(sent: QueryDict) -> Mapping[str, Value]:
    """The answers of the form; those of an empty form are a guest's who liked the evening."""
    if "expression" not in sent:
        return {"game": "Blitz", "stars": Decimal(5), "age": Decimal(34), "snacks": ("Tea", "Cake")}
    answers: dict[str, Value] = {"game": sent.get("game") or None}
    for name in ("stars", "age"):
        text = sent.get(name, "")
        answers[name] = Decimal(text) if text.isascii() and text.isdigit() and len(text) < 4 else None
    answers["snacks"] = (
        tuple(each for each in ("Tea", "Cake", "Fruit") if each in sent.getlist("snacks")) or None
    )
    return answers
