"""The forms and links of a page, filled in as an attacker would who knows ids of another community."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

WORDS = {"email": "somebody@example.org", "url": "https://example.com/", "number": "1"}


@dataclass
class PageForm:
    """A form with its controls, each by name with the values that it can send."""

    action: str
    method: str
    controls: dict[str, list[str]] = field(default_factory=dict)

    def sent_with(self, name: str, value: str) -> str:
        """The body of the form with one of its controls changed, and the others as they are."""
        sent = {each: values[0] for each, values in self.controls.items() if values}
        return urlencode({**sent, name: value})


class _Forms(HTMLParser):
    def __init__(self, page: str, address: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.by_id: dict[str, PageForm] = {}
        self.links: list[str] = []
        self.address = address
        self.select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        match tag:
            case "form":
                action = urljoin(self.address, values.get("action", ""))
                self.forms.append(PageForm(action, values.get("method", "get").lower()))
                self.by_id[values.get("id", "")] = self.forms[-1]
            case "a" if "?" in values.get("href", ""):
                self.links.append(urljoin(self.address, values["href"]))
            case "select":
                self.select = values.get("name", "")
                self._add(self.select, values)
            case "option" if self.select:
                self._add(self.select, values, value=values.get("value", ""))
            case "input" | "button" if values.get("name"):
                word = WORDS.get(values.get("type", ""), "Something")
                is_typed = tag == "input" and values.get("type", "text") in {"text", "", *WORDS}
                self._add(values["name"], values, value=values.get("value") or (word if is_typed else ""))
            case "textarea":
                self._add(values.get("name", ""), values, value="Something")

    def _add(self, name: str, values: Mapping[str, str], *, value: str | None = None) -> None:
        form = self.forms[-1] if self.forms else None
        if "form" in values:
            form = self.by_id.get(values["form"])
        if form is not None and name:
            form.controls.setdefault(name, []).extend([] if value is None else [value])


def with_other_ids(page: str, address: str, ids: Mapping[str, str]) -> Iterator[tuple[str, str, bytes]]:
    """Requests that the page offers, each with one of its ids replaced: method, address and body."""
    read = _Forms(page, address)
    for form in read.forms:
        for name, values in form.controls.items():
            for value in {each for each in values if each in ids}:
                body = form.sent_with(name, ids[value])
                if form.method == "post":
                    yield "post", form.action, body.encode()
                else:
                    yield "get", f"{form.action.partition('?')[0]}?{body}", b""
    for link in read.links:
        query = parse_qsl(urlsplit(link).query)
        for name, value in query:
            if value in ids:
                changed = [(each, ids[old] if each == name else old) for each, old in query]
                yield "get", f"{link.partition('?')[0]}?{urlencode(changed)}", b""


def path_of(address: str) -> str:
    """An address with its ids replaced by a word, so the same form for other rows is recognised."""
    return re.sub(r"[0-9a-f-]{36}|\d{6,}", "ID", address)
